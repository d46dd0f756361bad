"""Figures on axes of matplotlib: of certificates, models and evaluations."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pairdp.drawing import Axis, Figure, Point, Series, Style
from pairdp.drawing.matplotlib_axes import new_axes, plot_figure
from tests.drawing.figures import coefficients, privacy_curve, roc
from tests.report.models import evaluation, model_of

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_lines_bands_and_references_are_drawn() -> None:
    ax = plot_figure(roc())
    assert ax.get_xlabel() == "false positive rate"
    assert ax.get_title() == roc().title
    names = [line.get_label() for line in ax.get_lines()]
    assert names == [series.label for series in roc().series]
    assert len(ax.collections) == 1  # the band
    curve = roc().series[names.index("model")]
    drawn = ax.get_lines()[names.index("model")]
    np.testing.assert_array_equal(drawn.get_ydata(), [point.y for point in curve.points])


def test_bars_have_their_names_and_intervals() -> None:
    figure = coefficients(0.5, -0.25, 1.0)
    ax = plot_figure(figure)
    assert [text.get_text() for text in ax.get_yticklabels()] == [s.name for s in figure.series]
    assert [patch.get_width() for patch in ax.patches] == [0.5, -0.25, 1.0]


def test_scales_and_given_axes() -> None:
    from matplotlib import pyplot

    given = pyplot.subplots()[1]
    assert plot_figure(privacy_curve(), given) is given
    log = Figure(
        "log",
        Axis("x", scale="log"),
        Axis("y", scale="log"),
        (Series("s", (Point(1, 1e-3), Point(10, 1e-6)), Style(marker=None)),),
    )
    ax = plot_figure(log)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_names_are_not_read_as_formulas() -> None:
    series = (Series("$\\frac$ a_b", (Point(0, 1.0),)),)
    ax = plot_figure(Figure("bars", Axis(""), Axis("weight"), series, mark="bar"))
    ax.figure.canvas.draw()


def test_a_line_across_has_its_interval() -> None:
    series = Series("s", (Point(0, 1.0), Point(1, 2.0)))
    missing = Series("missing", (Point(0, 1.0, (0.5, 1.5)),), Style(7, None, "thin"), across=True)
    ax = plot_figure(Figure("lines", Axis("x"), Axis("y"), (series, missing)))
    ((low, high),) = ax.collections[0].get_segments()
    assert (low[1], high[1]) == (0.5, 1.5)


def test_many_rows_have_room_for_their_names() -> None:
    rows = tuple(Series(f"name {i}", (Point(0, 1.0),)) for i in range(60))
    figures = [
        Figure("few", Axis(""), Axis("y"), rows[:3], mark="dot"),
        Figure("many", Axis(""), Axis("y"), rows, mark="dot"),
    ]
    few, many = new_axes(figures).ravel()
    for ax, figure in ((few, figures[0]), (many, figures[1])):
        plot_figure(figure, ax)
    many.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in many.get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))
    assert few.get_window_extent().height < many.get_window_extent().height / 2


def test_certificates_and_evaluations_plot() -> None:
    model = model_of("linear")
    ax = model.certificate_.plot()
    assert ax.get_yscale() == "log"
    assert [line.get_label() for line in ax.get_lines()] == ["what the noise gives", "claim"]
    assert evaluation("scorecard").plot(ax) is ax
    with pytest.raises(ValueError, match="not paid for"):
        evaluation("linear", roc=False).plot()


def test_models_plot() -> None:
    ax = model_of("linear").plot()
    assert len(ax.patches) == 4
    scorecard = model_of("scorecard")
    grid = scorecard.plot()
    titles = [place.get_title() for place in grid.ravel()][: len(scorecard.figures())]
    assert titles == [figure.title for figure in scorecard.figures()]
    assert scorecard.plot("age", ax).get_title() == "age"
    with pytest.raises(ValueError, match="choose column among"):
        scorecard.plot(ax=ax)
    with pytest.raises(ValueError, match="there is no figure 'agee'"):
        scorecard.plot("agee")
    assert model_of("stream").plot() is not None
    assert model_of("metric").plot() is not None


def test_the_error_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"install pairdp\[plot\]"):
        model_of("linear").certificate_.plot()
