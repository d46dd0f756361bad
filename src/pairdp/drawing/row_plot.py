"""One row per series, whose only point is a dot or a bar from zero."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from pairdp.drawing.canvas import (
    RIGHT,
    TOP,
    WIDTH,
    Canvas,
    Drawn,
    draw_series,
    value_scale,
    value_title,
)
from pairdp.drawing.elements import make, write_text
from pairdp.drawing.figure import Figure, Series
from pairdp.drawing.file_legend import LETTER
from pairdp.drawing.scales import Scale
from pairdp.drawing.text import coordinate, number

_ROW = 23.0
_BAR = 7.0  # half its height
_LONGEST = 40


def draw_rows(figure: Figure) -> Canvas:
    """Return the drawing of a figure of dots or bars."""
    names = [_name(series) for series in figure.series]
    left = 14 + LETTER * max(len(name) for name in names)
    bottom = TOP + _ROW * len(names)
    values = value_scale(figure, left, WIDTH - RIGHT)
    rows = tuple(_row(figure, i, name, values, left) for i, name in enumerate(names))
    return Canvas(bottom + 26, _axes(figure, values, bottom), rows)


def _name(series: Series) -> str:
    kind = f", {series.kind}" if series.kind and series.style.line != "thin" else ""
    room = _LONGEST - len(kind)
    return (series.name if len(series.name) <= room else series.name[: room - 1] + "…") + kind


def _row(figure: Figure, row: int, name: str, values: Scale, left: float) -> Drawn:
    point = figure.series[row].points[0]
    height = TOP + _ROW * (row + 0.5)
    label = write_text(name, left - 10, height + 4, "ink end")
    ends = f"M{coordinate(values(point.low))} {coordinate(height)}H{coordinate(values(point.high))}"
    interval = ends if point.high > point.low else ""
    if figure.mark == "dot":
        paths = {"e": interval}
    else:
        zero, end = coordinate(values(0.0)), coordinate(values(point.y))
        top, foot = coordinate(height - _BAR), coordinate(height + _BAR)
        paths = {"b": f"M{zero} {top}H{end}V{foot}H{zero}z", "w": interval}
    return draw_series(row, [(values(point.y), height)], paths, [label])


def _axes(figure: Figure, values: Scale, bottom: float) -> tuple[Element, ...]:
    places = [(value, values(value)) for value in values.ticks(4)]
    lines = "".join(f"M{coordinate(at)} {TOP}V{coordinate(bottom)}" for _, at in places)
    texts = (write_text(number(value), at, bottom + 18) for value, at in places)
    axes = (
        make("path", {"class": "grid", "d": lines}),
        make("g", {"class": "soft middle"}, texts),
        value_title(figure, values),
    )
    if figure.mark == "dot":
        return axes
    zero = f"M{coordinate(values(0.0))} {TOP}V{coordinate(bottom)}"
    return (*axes, make("path", {"class": "axis", "d": zero}))
