from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np

from pairdp.drawing.canvas import RIGHT, WIDTH
from pairdp.drawing.colors import GREY
from pairdp.drawing.figure import keys_of
from pairdp.drawing.line_plot import HEIGHT, LEFT
from pairdp.drawing.page_figure import write_inline
from pairdp.studies.report.figures import choose_styles, to_figure, to_sections
from pairdp.studies.report.page import render
from pairdp.studies.results import Cell, Results
from tests.studies.report.synthetic import make_many, make_results

CELL = Cell(
    "xue2021", "Table 4", "diabetes", "AUC", "auto", "certified", "honest", "ε", 0.5,
    0.75, 0.7, 0.8, 20, "",
)  # fmt: skip


def test_sizes_that_double_are_drawn_on_a_log_scale() -> None:
    over_n = [dataclasses.replace(CELL, x_name="n", x=n) for n in (128, 256, 512)]
    assert "training records n (log scale)" in draw(*over_n)
    assert "log scale" not in draw(*over_n[:2])


def draw(*cells: Cell) -> str:
    (study,) = to_sections(Results("", cells, (), {}, {}))
    figure = to_figure(study.exhibits[0].plots[0], choose_styles([study]))
    return write_inline(figure, keys_of([figure]))


def test_auc_is_never_on_a_log_scale() -> None:
    low = dataclasses.replace(CELL, x=1.0, mean=0.01, low=0.01, high=0.01)
    assert "log scale" not in draw(CELL, low)
    assert "log scale" in draw(*(dataclasses.replace(c, measure="risk") for c in (CELL, low)))


def test_an_interval_below_zero_ends_at_a_log_axis() -> None:
    first = dataclasses.replace(CELL, measure="risk", mean=1e-3, low=-1.0, high=0.1)
    second = dataclasses.replace(CELL, measure="risk", x=1.0, mean=10.0, low=9.0, high=11.0)
    numbers = [float(v) for v in re.findall(r"[MV ](-?[\d.]+)", draw(first, second))]
    assert all(0 <= value <= WIDTH for value in numbers)


def test_a_baseline_measured_once_crosses_a_plot_over_epsilon() -> None:
    other = dataclasses.replace(CELL, x=1.0)
    baseline = dataclasses.replace(CELL, series="LR", kind="baseline")
    assert f"H{WIDTH - RIGHT}" in draw(CELL, other, baseline).split('class="l bare"')[1]
    over_n = [dataclasses.replace(cell, x_name="n") for cell in (CELL, other, baseline)]
    assert "bare" not in draw(*over_n)


def test_a_long_name_is_cut_before_its_kind() -> None:
    page = render(Results("", (dataclasses.replace(CELL, series="long " * 20),), (), {}, {}))
    assert re.search(r'<text class="ink end"[^>]*>(long )+\w*…, certified</text>', page)


def test_all_marks_lie_on_the_page() -> None:
    page = render(make_results())
    plots = re.findall(r'<svg class=plot viewBox="0 0 (\d+) ([\d.]+)".*?</svg>', page)
    paths = re.findall(r'<path class=l d="M([-\d. ]+)"', page)
    assert len(plots) == 8
    assert len(paths) > 60
    for path in paths:
        points = np.array(path.split(), float).reshape(-1, 2)
        assert np.all((points[:, 0] >= LEFT - 1) & (points[:, 0] <= WIDTH))
        assert np.all((points[:, 1] >= 0) & (points[:, 1] <= HEIGHT))


def test_plots_beside_each_other_have_axes_in_common() -> None:
    cells = make_results().cells
    plots = [p for s in to_sections(make_results()) for e in s.exhibits for p in e.plots]
    pairs = [(a, b) for a, b in itertools.pairwise(plots) if a.panel == b.panel == "diabetes"]
    assert pairs
    assert pairs[0][0].whole == pairs[0][1].whole
    assert len(pairs[0][0].whole) < len(cells)


def test_series_keep_their_style_and_differ_within_an_exhibit() -> None:
    studies = to_sections(make_results())
    styles = choose_styles(studies)
    for exhibit in (e for study in studies for e in study.exhibits):
        lines = [line for plot in exhibit.plots for line in plot.lines]
        private = {line.series for line in lines if line.kind != "baseline"}
        assert len({styles[series].color for series in private}) == len(private)
        every = {line.series for line in lines}
        assert len({styles[series] for series in every}) == len(every)
    assert styles["auto"].color == 0
    assert styles["Euclidean 3-NN"].color == GREY


def test_more_series_than_colours_still_differ() -> None:
    cells = [dataclasses.replace(CELL, series=f"algorithm {i}") for i in range(20)]
    styles = choose_styles(to_sections(Results("", tuple(cells), (), {}, {})))
    assert len({styles[cell.series] for cell in cells}) == 20


def test_many_cells_are_sorted_out_without_loss() -> None:
    results = make_many(2000, 3)
    plots = [p for s in to_sections(results) for e in s.exhibits for p in e.plots]
    shown = [cell for plot in plots for line in plot.lines for cell in line.cells]
    assert sorted(shown, key=repr) == sorted(results.cells, key=repr)
