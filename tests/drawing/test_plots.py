"""Bands, bars, curves without markers, and the tables beside them."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from pairdp.drawing import Axis, Figure, Point, Series, Style, write_group, write_page, write_svg
from pairdp.drawing.canvas import RIGHT, WIDTH, Canvas
from pairdp.drawing.line_plot import HEIGHT, LEFT
from pairdp.drawing.plot import draw
from pairdp.drawing.value_table import write_table
from tests.drawing.figures import RATES, coefficients, privacy_curve, roc

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text></svg><script>alert(1)</script>\"&'\x00"


def path(canvas: Canvas, row: int, style: str) -> np.ndarray:  # type: ignore[type-arg]
    (group,) = (drawn.group for drawn in canvas.series if drawn.row == row)
    (found,) = (element for element in group if element.get("class") == style)
    return np.array(re.findall(r"-?[\d.]+", found.attrib["d"]), float)


def read(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(write_svg(figure))  # noqa: S314  # our own document


def test_a_band_surrounds_its_line() -> None:
    canvas = draw(roc())
    line = path(canvas, 0, "l").reshape(-1, 2)
    band = path(canvas, 0, "a").reshape(-1, 2)
    upper, lower = band[: len(RATES)], band[: len(RATES) - 1 : -1]
    assert len(line) == len(upper) == len(lower) == len(RATES)
    for edge in (upper, lower):
        assert np.all(edge[:, 0] == line[:, 0])
    assert np.all(upper[:, 1] <= line[:, 1])  # up is down on a page
    assert np.all(line[:, 1] <= lower[:, 1])
    assert np.any(upper[:, 1] < line[:, 1])
    assert np.all((band[:, 0] >= LEFT) & (band[:, 0] <= WIDTH - RIGHT))
    assert np.all((band[:, 1] >= 0) & (band[:, 1] <= HEIGHT))


def test_curves_are_not_moved_sideways() -> None:
    figure = roc()
    twice = replace(figure, series=(*figure.series, replace(figure.series[0], name="other")))
    assert path(draw(twice), 2, "l").tolist() == path(draw(figure), 0, "l").tolist()


def test_a_band_without_width_is_a_line() -> None:
    flat = Series("", (Point(0, 1), Point(1, 2)), Style(band=True))
    (drawn,) = draw(Figure("", Axis("x"), Axis("y"), (flat,))).series
    assert [element.get("class") for element in drawn.group] == ["l"]


@pytest.mark.parametrize("values", [(0.5, -0.25, 1.0), (2.0, 3.0), (-2.0, -1.0), (0.0,)])
def test_bars_begin_at_zero_and_end_at_their_values(values: tuple[float, ...]) -> None:
    canvas = draw(coefficients(*values))
    ends = []
    zeros = set()
    for row, value in enumerate(values):
        zero, top, end, foot, back = path(canvas, row, "b")
        assert zero == back
        assert top < foot
        zeros.add(zero)
        ends.append(end - zero)
        assert np.sign(end - zero) == np.sign(value)
        low, _, high = path(canvas, row, "w")
        assert low <= end <= high
    assert len(zeros) == 1
    assert np.allclose(
        np.outer(ends, values), np.outer(values, ends), atol=0.1 * max(values) ** 2 + 0.3
    )


def test_one_value_of_x_can_be_a_plot_of_lines() -> None:
    one = Figure("", Axis("x"), Axis("y"), (Series("a", (Point(1, 2),)),))
    assert len(draw(one).series[0].points) == 1


def test_a_logarithmic_axis_can_be_asked_for() -> None:
    assert "δ (log scale)" in write_svg(privacy_curve())
    linear = replace(privacy_curve(), y=Axis("δ", scale="linear"))
    assert "log scale" not in write_svg(linear)


def test_files_say_what_intervals_are_and_have_tooltips() -> None:
    texts = [element.text for element in read(roc()).iter(f"{SVG}text")]
    assert "Band: 95 % intervals." in texts
    assert {"model", "chance"} <= set(texts)  # the legend
    texts = [element.text for element in read(coefficients(1.0, 2.0)).iter(f"{SVG}text")]
    assert "Error bars: 95 % intervals." in texts
    assert texts.count("feature 0") == 1  # beside its bar, and in no legend
    dots = replace(coefficients(1.0), mark="dot")
    (tip,) = (
        e.findtext(f"{SVG}title")
        for e in read(dots).iter()
        if e.get("transform") and e.find(f"{SVG}title") is not None
    )
    assert tip == "feature 0, coefficient: 1.000 [0.900, 1.200]"


@pytest.mark.parametrize(
    "figure", [roc(), privacy_curve(), coefficients(1.0)], ids=lambda f: f.title
)
def test_styles_of_files_are_plain_and_complete(figure: Figure) -> None:
    root = read(figure)
    style = root.findtext(f"{SVG}style") or ""
    assert not re.search(r"var\(|color-mix|@|url|--", style)
    used = {word for e in root.iter() for word in e.get("class", "").split()}
    assert used <= set(re.findall(r"\.(\w+)\{", style))


def test_few_values_go_across_and_many_down() -> None:
    table = write_table(coefficients(1.0, -0.5))
    assert table.startswith("<table data-names=1 data-lead=1><caption>Values with 95 % intervals")
    assert "<th>series<th>coefficient<tbody>" in table
    assert "<tr><th>feature 1<td>−0.5000 <i>[−0.6000, −0.3000]</i>" in table
    table = write_table(roc())
    assert "<thead><tr><th>FPR<th>model<th>chance<tbody>" in table
    assert table.count("<tr>") == 1 + len(RATES)
    assert "<tr><th>0<td>0.0000 <i>[0.0000, 0.0500]</i><td>0.0000" in table
    assert "<tr><th>0.5<td>0.8123 <i>± 0.0500</i><td>" in table


def test_kinds_have_a_column_and_a_button_where_there_are_any() -> None:
    figure = privacy_curve()
    assert "<th>kind" not in write_table(coefficients(1.0))
    assert "all series" not in write_group("curve", [figure])
    kinds = tuple(
        replace(figure.series[0], points=figure.series[0].points[:3], kind=kind)
        for kind in ("proved", "claimed")
    )
    figure = replace(figure, series=kinds)
    assert "data-names=2 data-lead=2" in write_table(figure)
    assert 'data-kind="proved"' in write_group("curve", [figure])
    assert "Series of" not in write_group("bars", [coefficients(1.0)])


def test_hostile_words_are_text() -> None:
    figures = [
        replace(
            figure,
            title=HOSTILE,
            x=replace(figure.x, name=HOSTILE),
            y=replace(figure.y, name=HOSTILE),
            series=tuple(replace(s, name=HOSTILE, kind=HOSTILE) for s in figure.series[:1]),
            description=HOSTILE,
            intervals=HOSTILE,
        )
        for figure in (roc(), coefficients(1.0))
    ]
    page = write_page(HOSTILE, write_group(HOSTILE, figures, value=HOSTILE), figures)
    assert "alert(1)</script>" not in page
    assert page.count("<script>") == 1
    for figure in figures:
        root = ElementTree.fromstring(write_svg(figure, HOSTILE))  # noqa: S314
        known = {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= known


def test_a_page_is_small_and_loads_nothing() -> None:
    page = write_page("Empty", "")
    assert len(page.encode()) < 20_000
    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
