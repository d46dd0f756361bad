from __future__ import annotations

import dataclasses
import itertools
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pairdp.report.figures import sort_out
from pairdp.report.labels import place_labels
from pairdp.report.line_plot import HEIGHT, LEFT, RIGHT, WIDTH, draw_lines
from pairdp.report.looks import GREY, Looks
from pairdp.report.page import render
from pairdp.report.scales import Scale, fit, grow_by_one_factor
from pairdp.report.text import coordinate, escape, measured, number
from pairdp.studies.results import Cell, Results
from tests.report.synthetic import make_many, make_results

CELL = Cell(
    "xue2021", "Table 4", "diabetes", "AUC", "auto", "certified", "honest", "ε", 0.5,
    0.75, 0.7, 0.8, 20, "",
)  # fmt: skip
FINITE = st.floats(-1e9, 1e9).map(lambda v: 0.0 if abs(v) < 1e-9 else v)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.5, "0.5"), (256, "256"), (-0.25, "−0.25"), (1e-7, "10⁻⁷"),
        (2.5e-7, "2.5×10⁻⁷"), (1e6, "10⁶"), (-3e8, "−3×10⁸"), (0.00390625, "0.00390625"),
        (0.1 + 0.2, "0.3"), (123456, "123456"),
    ],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.64683, "0.6468"), (0.0, "0.0000"), (8.3, "8.300"), (40.3, "40.30"), (4030.2, "4030"),
        (-0.5, "−0.5000"), (1e-5, "10⁻⁵"), (123456.7, "123500"), (1.2345e7, "1.234×10⁷"),
    ],
)  # fmt: skip
def test_measured_numbers_have_four_digits(value: float, text: str) -> None:
    assert measured(value) == text


def test_a_width_has_the_decimals_of_its_mean() -> None:
    assert measured(1.55761, 40.3) == "1.56"
    assert measured(0.0123456, 0.75) == "0.0123"
    assert measured(0.00001, 40.3) == "10⁻⁵"


def test_text_means_itself() -> None:
    assert escape('<a href="x">\'&') == "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;"
    assert [coordinate(v) for v in (1.0, 1.25, -0.01, 480.04)] == ["1", "1.2", "0", "480"]


@given(st.lists(FINITE, min_size=1, max_size=8))
@settings(derandomize=True, deadline=None)
def test_every_value_and_every_tick_lies_inside_its_axis(values: list[float]) -> None:
    scale = fit(values, 10.0, 110.0)
    places = [scale(value) for value in values]
    assert all(10 <= place <= 110 for place in places)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    assert all(np.diff(np.array(places)[np.argsort(ranks)]) >= 0)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 12
    assert ticks == sorted(set(ticks))
    slack = 1e-9 * (scale.high - scale.low)
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)


def test_ticks_are_round() -> None:
    assert Scale(0.47, 0.86, 0, 1).ticks() == [0.5, 0.6, 0.7, 0.8]
    assert Scale(0, 100, 0, 1).ticks() == [0, 20, 40, 60, 80, 100]
    assert Scale(0.3, 70, 0, 1, log=True).ticks() == [0.5, 1, 2, 5, 10, 20, 50]
    assert Scale(1e-6, 10, 0, 1, log=True).ticks() == [1e-6, 1e-4, 1e-2, 1.0]


def test_ticks_at_the_values_keep_apart() -> None:
    scale = Scale(0, 10, 0, 100)
    assert scale.ticks_at([1, 2, 2.1, 9], 10) == [1, 2, 9]
    assert scale.ticks_at(list(np.linspace(0, 10, 40)), 10) == scale.ticks()


def test_sizes_that_differ_much_get_a_log_scale() -> None:
    assert fit([1, 100], 0, 1).log
    assert not fit([1, 5], 0, 1).log
    assert not fit([-1, 100], 0, 1).log
    assert not fit([1, 100], 0, 1, may_be_log=False).log


def test_sizes_that_double_get_a_log_scale() -> None:
    assert grow_by_one_factor([128, 256, 512])
    assert not grow_by_one_factor([0.5, 0.8, 1.0, 2.0])
    assert not grow_by_one_factor([1.0, 2.0])
    assert not grow_by_one_factor([0.0, 1.0, 2.0])
    over_n = [dataclasses.replace(CELL, x_name="n", x=n) for n in (128, 256, 512)]
    assert "training records n (log scale)" in draw(*over_n)
    assert "log scale" not in draw(*over_n[:2])


def draw(*cells: Cell) -> str:
    (study,) = sort_out(Results("", cells, (), {}, {}))
    return draw_lines(study.exhibits[0].plots[0], Looks([study]))


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
    assert re.search(r'<text class="row"[^>]*>(long )+\w*…, certified</text>', page)


def test_all_marks_lie_on_the_page() -> None:
    page = render(make_results())
    plots = re.findall(r'<svg class="plot" viewBox="0 0 (\d+) ([\d.]+)".*?</svg>', page)
    paths = re.findall(r'<path class=l d="M([-\d. ]+)"', page)
    assert len(plots) == 8
    assert len(paths) > 60
    for path in paths:
        points = np.array(path.split(), float).reshape(-1, 2)
        assert np.all((points[:, 0] >= LEFT - 1) & (points[:, 0] <= WIDTH))
        assert np.all((points[:, 1] >= 0) & (points[:, 1] <= HEIGHT))


def test_plots_beside_each_other_have_axes_in_common() -> None:
    cells = make_results().cells
    plots = [p for s in sort_out(make_results()) for e in s.exhibits for p in e.plots]
    pairs = [(a, b) for a, b in itertools.pairwise(plots) if a.panel == b.panel == "diabetes"]
    assert pairs
    assert pairs[0][0].whole == pairs[0][1].whole
    assert len(pairs[0][0].whole) < len(cells)


def test_series_keep_their_look_and_differ_within_an_exhibit() -> None:
    studies = sort_out(make_results())
    looks = Looks(studies)
    for exhibit in (e for study in studies for e in study.exhibits):
        lines = [line for plot in exhibit.plots for line in plot.lines]
        private = {line.series for line in lines if line.kind != "baseline"}
        assert len({looks.look(series).colour for series in private}) == len(private)
        every = {line.series for line in lines}
        assert len({looks.look(series) for series in every}) == len(every)
    assert looks.look("auto").colour == 0
    assert looks.look("Euclidean 3-NN").colour == GREY


def test_more_series_than_colours_still_differ() -> None:
    cells = [dataclasses.replace(CELL, series=f"algorithm {i}") for i in range(20)]
    looks = Looks(sort_out(Results("", tuple(cells), (), {}, {})))
    assert len({looks.look(cell.series) for cell in cells}) == 20


def test_a_name_covers_no_other_line() -> None:
    flat = [(50.0, 100.0), (400.0, 100.0)]
    near = [(50.0, 88.0), (400.0, 88.0)]
    alone = place_labels(["name"], [flat], 40, 20, 260)
    assert alone[0].foot < 100
    assert place_labels(["name", None], [flat, near], 40, 20, 260)[0].foot > 100
    below = [(50.0, 112.0), (400.0, 112.0)]
    assert place_labels(["name", None, None], [flat, near, below], 40, 20, 260) == {}
    both = place_labels(["one", "other"], [flat, [(50.0, 104.0), (400.0, 104.0)]], 40, 20, 260)
    assert both[0].foot < 100 < both[1].foot


def test_many_cells_are_sorted_out_without_loss() -> None:
    results = make_many(2000, 3)
    plots = [p for s in sort_out(results) for e in s.exhibits for p in e.plots]
    shown = [cell for plot in plots for line in plot.lines for cell in line.cells]
    assert sorted(shown, key=repr) == sorted(results.cells, key=repr)


# How colours look without one kind of cone, in linear light: Machado, Oliveira and Fernandes,
# "A physiologically-based model for simulation of color vision deficiency" (2009), severity 1.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> NDArray[np.float64]:
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(light: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y, z = (
        np.cbrt(v) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116
        for v in TO_XYZ @ np.clip(light, 0, 1) / WHITE
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palettes() -> list[tuple[list[str], str]]:
    css = files("pairdp.report").joinpath("style.css").read_text("utf-8")
    blocks = re.findall(r"--card: (#\w+).*?(--c0:.*?--c7: #\w{6})", css, re.S)
    found = []
    for card, block in blocks:
        full = card if len(card) == 7 else "#" + "".join(2 * c for c in card[1:])
        found.append((re.findall(r"#\w{6}", block), full))
    return found


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_colours_differ_for_every_reader(blindness: str) -> None:
    assert len(palettes()) == 3
    for colours, _ in palettes():
        assert len(colours) == GREY + 1
        seen = [lab(BLINDNESS[blindness] @ linear(colour)) for colour in colours]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 19


def test_colours_stand_out_from_the_page() -> None:
    for colours, card in palettes():
        ground = TO_XYZ[1] @ linear(card)
        for colour in colours:
            light = TO_XYZ[1] @ linear(colour)
            high, low = max(light, ground), min(light, ground)
            assert (high + 0.05) / (low + 0.05) > 2.85


def test_both_dark_themes_are_one() -> None:
    light, system, chosen = palettes()
    assert system == chosen
    assert light != system
