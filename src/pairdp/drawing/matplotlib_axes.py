"""Figures on the axes of matplotlib, which is optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pairdp.drawing.canvas import axis_name, value_scale
from pairdp.drawing.colors import LIGHT
from pairdp.drawing.figure import Figure, Series
from pairdp.drawing.line_plot import x_scale

_LINES = {"solid": "-", "dashed": "--", "dotted": ":", "thin": "-"}
_MARKERS = ("o", "s", "^", "D", "v")
_HEIGHT, _ROW, _HIGHEST = 3.4, 0.18, 60.0


def plot_figure(figure: Figure, ax: Any = None) -> Any:
    """Draw a figure on axes of matplotlib, by default on those of a new figure, and return them.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    ax = new_axes() if ax is None else ax
    if figure.mark == "line":
        _draw_lines(figure, ax)
    else:
        _draw_rows(figure, ax)
    ax.set_title(figure.title)
    return ax


def new_axes(figures: Sequence[Figure] = (), columns: int = 1) -> Any:
    """Return axes of a new figure: one, or an array of rows and columns for several figures."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            "plots need matplotlib: install pairdp[plot], or use the HTML report, which does not "
            "need it"
        ) from None
    if not figures:
        return pyplot.subplots(layout="constrained")[1]
    heights = [
        max(map(_height, figures[start : start + columns]))
        for start in range(0, len(figures), columns)
    ]
    return pyplot.subplots(
        len(heights),
        columns,
        figsize=(4.8 * columns, sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )[1]


def _height(figure: Figure) -> float:
    """Return a height at which the names of all rows can be read, in inches, if they are few."""
    needed = 0.0 if figure.mark == "line" else 0.8 + _ROW * len(figure.series)
    return float(np.clip(needed, _HEIGHT, _HIGHEST))


def _color(series: Series) -> str:
    return LIGHT[f"c{series.style.color}"]


def _draw_lines(figure: Figure, ax: Any) -> None:
    for series in figure.series:
        style, color = series.style, _color(series)
        x, y = [p.x for p in series.points], [p.y for p in series.points]
        low, high = [p.low for p in series.points], [p.high for p in series.points]
        if series.across and len(x) == 1:
            ax.axhline(y[0], color=color, linewidth=1, label=series.label)
            if series.has_intervals:
                ax.vlines(x, low, high, color=color, alpha=0.5)
            continue
        ax.plot(
            x,
            y,
            _LINES[style.line],
            color=color,
            marker=None if style.marker is None else _MARKERS[style.marker],
            linewidth=1 if style.line == "thin" else 2,
            label=series.label,
        )
        if style.band and series.has_intervals:
            ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
        elif series.has_intervals:
            ax.vlines(x, low, high, color=color, alpha=0.5)
    horizontal, vertical = x_scale(figure), value_scale(figure, 0.0, 1.0)
    ax.set_xscale("log" if horizontal.log else "linear")
    ax.set_yscale("log" if vertical.log else "linear")
    ax.set_xlabel(axis_name(figure.x, horizontal))
    ax.set_ylabel(axis_name(figure.y, vertical))
    if len(figure.series) > 1:
        ax.legend()


def _draw_rows(figure: Figure, ax: Any) -> None:
    for row, series in enumerate(figure.series):
        point, color = series.points[0], _color(series)
        if figure.mark == "bar":
            ax.barh(row, point.y, color=color, alpha=0.75)
        else:
            ax.plot([point.y], [row], color=color, marker="o")
        if series.has_intervals:
            ax.hlines(row, point.low, point.high, color=LIGHT["ink"], linewidth=1)
    # Names are text, not formulas.
    names = [series.label.replace("$", r"\$") for series in figure.series]
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.axvline(0.0, color=LIGHT["soft"], linewidth=0.8)
    ax.set_xlabel(figure.y.name)
