"""One dot with its interval for each series, as SVG, where x has a single value."""

from __future__ import annotations

from pairdp.report.figures import KIND_NAMES, Line, Plot
from pairdp.report.line_plot import RIGHT, WIDTH, frame, marks, value_scale, value_title
from pairdp.report.looks import Looks
from pairdp.report.scales import Scale
from pairdp.report.text import coordinate, escape, number

_ROW = 23.0
_TOP = 28.0
_LETTER = 6.7
_LONGEST = 40


def draw_dots(plot: Plot, looks: Looks) -> str:
    """Return the SVG of a plot with one value of x."""
    names = [_name(line) for line in plot.lines]
    left = 14 + _LETTER * max(len(name) for name in names)
    bottom = _TOP + _ROW * len(names)
    values = value_scale(plot, left, WIDTH - RIGHT)
    rows = [
        _row(line, i, name, looks, values, left)
        for i, (line, name) in enumerate(zip(plot.lines, names, strict=True))
    ]
    what = "one dot with its 95 % interval for each series"
    content = _grid(plot, values, left, bottom) + "".join(rows)
    return frame(plot, bottom + 26, content, what)


def _name(line: Line) -> str:
    kind = "" if line.kind == "baseline" else f", {KIND_NAMES[line.kind]}"
    room = _LONGEST - len(kind)
    return (line.series if len(line.series) <= room else line.series[: room - 1] + "…") + kind


def _row(line: Line, row: int, name: str, looks: Looks, values: Scale, left: float) -> str:
    cell = line.cells[0]
    height = _TOP + _ROW * (row + 0.5)
    ends = coordinate(values(cell.low)), coordinate(values(cell.high))
    bar = f"M{ends[0]} {coordinate(height)}H{ends[1]}" if cell.high > cell.low else ""
    label = f'<text class="row" x="{coordinate(left - 10)}" y="{coordinate(height)}">'
    group = marks(line, row, looks, [(values(cell.mean), height)], bar)
    return f"{group}{label}{escape(name)}</text></g>"


def _grid(plot: Plot, values: Scale, left: float, bottom: float) -> str:
    places = [(value, coordinate(values(value))) for value in values.ticks(4)]
    lines = "".join(f"M{at} {coordinate(_TOP)}V{coordinate(bottom)}" for _, at in places)
    texts = "".join(
        f'<text x="{at}" y="{coordinate(bottom + 18)}">{number(value)}</text>'
        for value, at in places
    )
    return f'<path class="grid" d="{lines}"/><g class="columns">{texts}</g>' + value_title(
        plot, values
    )
