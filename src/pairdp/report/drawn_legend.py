"""The legend that is drawn below a plot in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from xml.etree.ElementTree import Element

from pairdp.report.figures import KIND_NAMES, Line
from pairdp.report.text import coordinate

LETTER = 6.7  # width of a letter of 12 units, on the safe side
SAMPLE = 34  # width of a line's sample
_ROW = 19.0
_WRAPPED = 14.0
_GAP = 16.0
Sample = Callable[[Line], Sequence[Element]]


def draw_legend(lines: Sequence[Line], sample: Sample, width: float) -> tuple[Element, float]:
    """Return the legend and its height: a row for each series, a column for each kind.

    Parameters
    ----------
    lines : sequence of Line
        What is drawn; a series and kind that comes twice has one entry.
    sample : callable
        Draws a line's style and marker in a box of `SAMPLE` by 12, the line in its middle.
    width : float
        The room from left to right.
    """
    entries = {(line.series, line.kind): line for line in reversed(lines)}
    names = list(dict.fromkeys(line.series for line in lines))
    kinds = {name: [k for k in KIND_NAMES if (name, k) in entries] for name in names}
    columns, used = _columns(list(kinds.values()))
    # A series that is only a baseline stands in the last column: its name is often long.
    starts = {name: columns[kinds[name][0]] for name in names}
    needed = max(LETTER * len(name) - starts[name] for name in names)
    left = max(min(needed, width - used - _GAP), 8 * LETTER) + _GAP
    legend = Element("g")
    top = 0.0
    for name in names:
        rows = wrap(name, int((left - _GAP + starts[name]) / LETTER + 1e-9)) or [name]
        legend.extend(write(text, 0, top + 12 + i * _WRAPPED, "ink") for i, text in enumerate(rows))
        for kind in kinds[name]:
            at = left + columns[kind]
            place = f"translate({coordinate(at)} {coordinate(top + 2)})"
            entry = Element("g", {"transform": place})
            entry.extend(sample(entries[name, kind]))
            entry.append(write(KIND_NAMES[kind], SAMPLE + 6, 10, "soft"))
            legend.append(entry)
        top += _ROW + _WRAPPED * (len(rows) - 1)
    return legend, top


def write(text: str, x: float, y: float, style: str) -> Element:
    """Return a line of text with its foot at (x, y)."""
    element = Element("text", {"class": style, "x": coordinate(x), "y": coordinate(y)})
    element.text = text
    return element


def _columns(rows: Sequence[Sequence[str]]) -> tuple[dict[str, float], float]:
    """Return where the column of each kind begins, and the width of all.

    Baselines share the last column with another kind unless a series has both.
    """
    places: dict[str, float] = {}
    at = width = 0.0
    for kind in KIND_NAMES:
        sharing = [row for row in rows if kind in row and len(row) > 1]
        if kind == "baseline" and places and not sharing:
            at = max(places.values())
        if any(kind in row for row in rows):
            places[kind] = at
            width = max(width, at + _width(kind))
            at = width + _GAP
    return places, width


def _width(kind: str) -> float:
    return SAMPLE + 6 + LETTER * len(KIND_NAMES[kind])
