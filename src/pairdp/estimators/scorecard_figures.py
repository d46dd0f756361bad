"""Figures of a scorecard: the points of each column, with the noise in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import NumberCells
from pairdp.algorithms.scorecard.points import Points
from pairdp.drawing import Axis, Figure, Point, Series, Style, write_group, write_page
from pairdp.drawing.text import escape
from pairdp.estimators.bin_names import NONE, bin_names, end_of_bin
from pairdp.estimators.scorecard_tables import name_of_pair
from pairdp.schema import DateColumn, NumberColumn
from pairdp.schema.features import FeatureColumn

Array = NDArray[np.float64]
_YEAR = 365.2425
INTERVALS = "two standard deviations of the noise"
_POINTS = Axis("points (log-odds)", "points", scale="linear", include=(0.0,))


def figures_of(
    names: Sequence[str],
    points: Points,
    deviations: Array,
    sources: Sequence[FeatureColumn | None],
) -> tuple[Figure, ...]:
    """Return a figure for each column: a band over a number, or a dot for each category."""
    ends = np.cumsum([len(one) for one in points.points])[:-1]
    figures = []
    for place, (name, spread) in enumerate(zip(names, np.split(deviations, ends), strict=True)):
        column, edges, values = points.columns[place], points.edges[place], points.points[place]
        titles = bin_names(column, edges, sources[place])
        if isinstance(column, NumberCells):
            figures.append(_of_number(name, column, edges, values, spread, sources[place]))
        else:
            figures.append(_of_categories(name, titles, values, spread))
    return tuple(figures)


def figures_of_pairs(
    names: Sequence[str],
    points: Points,
    deviations: Array,
    sources: Sequence[FeatureColumn | None],
) -> tuple[Figure, ...]:
    """Return a figure for each pair: what it adds over one column, in three bins of the other."""
    figures = []
    for pair in points.pairs:
        over, other = sorted(
            pair, key=lambda place: not isinstance(points.columns[place], NumberCells)
        )
        weight, noise = points.interactions[pair], deviations[pair]
        titles = [bin_names(points.columns[c], points.edges[c], sources[c]) for c in (over, other)]
        series: list[Series] = []
        shown = [place for place, title in enumerate(titles[1]) if title != NONE]
        shown.sort(key=lambda place: points.factors[other][place])
        for color, place in enumerate(dict.fromkeys((shown[0], shown[len(shown) // 2], shown[-1]))):
            values = points.factors[over] * points.factors[other][place]
            label = f"{names[other]} {titles[1][place]}"
            series += _of_pair(
                points, over, titles[0], weight * values, noise * np.abs(values),
                sources[over], label, color,
            )  # fmt: skip
        is_number = isinstance(points.columns[over], NumberCells)
        figures.append(
            Figure(
                name_of_pair(names, *pair),
                _axis(names[over], sources[over]) if is_number else Axis(""),
                _POINTS,
                tuple(series),
                mark="line" if is_number else "dot",
                intervals=INTERVALS,
            )
        )
    return tuple(figures)


def _of_pair(
    points: Points,
    over: int,
    titles: list[str],
    values: Array,
    spread: Array,
    source: FeatureColumn | None,
    label: str,
    color: int,
) -> list[Series]:
    column = points.columns[over]
    if isinstance(column, NumberCells):
        listed = tuple(
            _point(x, values[place], spread[place])
            for place, x in _middles(column, points.edges[over], source)
        )
        return [Series(label, listed, Style(color, 0, band=True))]
    return [
        Series(f"{title}, {label}", (_point(0.0, value, noise),), Style(color, 0))
        for title, value, noise in zip(titles, values, spread, strict=True)
        if title != NONE
    ]


def _middles(
    column: NumberCells, edges: NDArray[np.int64], source: FeatureColumn | None
) -> list[tuple[int, float]]:
    """Return the place of each bin and its middle, but for those between two dates of one unit."""
    shown = [_position(end_of_bin(column, int(end), source), source) for end in edges]
    last = len(shown) - 2
    is_log = _is_log(source)
    return [
        (place, math.sqrt(low) * math.sqrt(high) if is_log else (low + high) / 2)
        for place, (low, high) in enumerate(pairwise(shown))
        if low < high or place == last
    ]


def _point(x: float, value: float, spread: float) -> Point:
    return Point(x, float(value), (float(value - 2 * spread), float(value + 2 * spread)))


def _of_number(
    name: str,
    column: NumberCells,
    edges: NDArray[np.int64],
    values: Array,
    spread: Array,
    source: FeatureColumn | None,
) -> Figure:
    middles = _middles(column, edges, source)
    series = [
        Series(
            "bins",
            tuple(_point(x, values[place], spread[place]) for place, x in middles),
            Style(0, 0, band=True),
        )
    ]
    if column.missing is not None:
        alone = _point(middles[0][1], values[-1], spread[-1])
        series.append(Series("missing", (alone,), Style(7, None, "thin"), across=True))
    return Figure(
        name,
        _axis(name, source),
        _POINTS,
        tuple(series),
        intervals=INTERVALS,
    )


def _is_log(source: FeatureColumn | None) -> bool:
    return isinstance(source, NumberColumn) and source.scale == "log"


def _axis(name: str, source: FeatureColumn | None) -> Axis:
    """Return the axis of a number, on the scale of the schema, or of a date."""
    return Axis(f"{name}{_unit(source)}", name, scale="log" if _is_log(source) else "linear")


def _position(value: float | str, source: FeatureColumn | None) -> float:
    """Return where a number, or a date as years or as days since the first, is on an axis."""
    if not isinstance(value, str) or not isinstance(source, DateColumn):
        return float(value)
    if _in_years(source):
        return 1970 + _days(value) / _YEAR
    return _days(value) - _days(source.first)


def _days(date: str) -> float:
    """Return the days from 1970 to a date."""
    return float(np.datetime64(date, "s").astype(np.int64)) / 86_400


def _in_years(source: DateColumn) -> bool:
    return _days(source.last) - _days(source.first) >= _YEAR


def _unit(source: FeatureColumn | None) -> str:
    """Return what the axis of a date counts."""
    if not isinstance(source, DateColumn):
        return ""
    return " (year)" if _in_years(source) else f" (days since {source.first})"


def _of_categories(name: str, titles: list[str], values: Array, spread: Array) -> Figure:
    series = tuple(
        Series(title, (_point(0.0, value, noise),), Style(0, 0))
        for title, value, noise in zip(titles, values, spread, strict=True)
        if title != NONE
    )
    return Figure(name, Axis(""), _POINTS, series, mark="dot", intervals=INTERVALS)


def page_of(figures: Sequence[Figure], high: object, claim: str) -> str:
    """Return an HTML page with the figures, which loads nothing from elsewhere."""
    header = (
        f"<p>Points add up to the log-odds of {escape(str(high))}. Bands are {INTERVALS} that was "
        f"added for privacy ({escape(claim)}); they do not contain the sampling error.</p>"
    )
    group = write_group("Points", figures, value="points", legend=False)
    return write_page("Scorecard", group, figures, header=header)
