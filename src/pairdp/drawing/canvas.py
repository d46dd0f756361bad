"""What all plots share: the canvas, the scale of the values, and the group of a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from pairdp.drawing.elements import make, write_text
from pairdp.drawing.figure import Axis, Figure
from pairdp.drawing.scales import Scale, fit, fit_log
from pairdp.drawing.text import coordinate

WIDTH = 480
RIGHT, TOP = 14, 28  # margins


@dataclass(frozen=True)
class Drawn:
    """A series on the canvas: its index in the figure, its points, and its element."""

    row: int
    points: Sequence[tuple[float, float]]
    group: Element


@dataclass(frozen=True)
class Canvas:
    """A figure on a canvas of `WIDTH` by ``height``: axes, and series from back to front."""

    height: float
    axes: tuple[Element, ...]
    series: tuple[Drawn, ...]


def value_scale(figure: Figure, start: float, end: float) -> Scale:
    """Return the scale of the values and their intervals."""
    axis = figure.y
    values = [point.y for point in figure.points] + list(axis.include)
    ends = [bound for point in figure.points for bound in (point.low, point.high)]
    if figure.mark == "bar":
        return fit([0.0, *values, *ends], start, end, may_be_log=False)
    scale = fit_axis(axis, values, start, end)
    if scale.log:  # an interval that reaches zero is cut off at the axis
        return fit_log(values + [bound for bound in ends if bound >= scale.low], start, end)
    return fit(values + ends, start, end, may_be_log=False)


def fit_axis(
    axis: Axis, values: Sequence[float], start: float, end: float, pad: float = 0.06
) -> Scale:
    """Return the scale of an axis that shows values."""
    if axis.scale == "log":
        return fit_log(values, start, end, pad=pad)
    return fit(values, start, end, may_be_log=axis.scale == "auto", pad=pad)


def axis_name(axis: Axis, scale: Scale) -> str:
    """Return the label of an axis."""
    return axis.name + (" (log scale)" if scale.log else "")


def value_title(figure: Figure, scale: Scale) -> Element:
    """Return the name of the measured value, above its axis."""
    return write_text(axis_name(figure.y, scale), 4, 16, "ink")


def draw_series(
    row: int, points: Sequence[tuple[float, float]], paths: dict[str, str], texts: Sequence[Element]
) -> Drawn:
    """Return a series: filled areas and error bars by class, then its line, then texts."""
    line = " ".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    if len(points) == 1:
        line += f" {line}"  # a path of one point would have no marker
    every = {**paths, "l": f"M{line}"}
    group = make("g", {}, (make("path", {"class": c, "d": d}) for c, d in every.items() if d))
    group.extend(texts)
    return Drawn(row, points, group)
