"""The legend below the plot of an SVG file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from xml.etree.ElementTree import Element

from pairdp.drawing.elements import make, write_text
from pairdp.drawing.figure import LINES, Series
from pairdp.drawing.text import coordinate

LETTER = 6.7  # upper bound on the width of a letter at font size 12
SAMPLE = 34  # width of a line's sample
_ROW = 19.0
_WRAPPED = 14.0
_GAP = 16.0
Sample = Callable[[Series], Sequence[Element]]


def draw_legend(series: Sequence[Series], sample: Sample, width: float) -> tuple[Element, float]:
    """Return the legend, with a row per name and a column per kind, and its height.

    Parameters
    ----------
    series : sequence of Series
        The series; equal names and kinds share an entry.
    sample : callable
        Draws the line and marker of a series in a box of `SAMPLE` by 12.
    width : float
        The available width.
    """
    entries = {each.key: each for each in series}
    in_order = sorted(entries.values(), key=lambda each: LINES.index(each.style.line))
    rows = {
        name: [each for each in in_order if each.name == name]
        for name in dict.fromkeys(each.name for each in series)
    }
    columns, used = _columns(in_order, list(rows.values()))
    # References are in the last column, as their names are often long.
    starts = {name: columns[row[0].kind] for name, row in rows.items()}
    needed = max(LETTER * len(name) - start for name, start in starts.items())
    left = max(min(needed, width - used - _GAP), 8 * LETTER) + _GAP
    legend = Element("g")
    top = 0.0
    for name, row in rows.items():
        lines = wrap(name, int((left - _GAP + starts[name]) / LETTER + 1e-9)) or [name]
        legend.extend(
            write_text(text, 0, top + 12 + i * _WRAPPED, "ink") for i, text in enumerate(lines)
        )
        for each in row:
            place = f"translate({coordinate(left + columns[each.kind])} {coordinate(top + 2)})"
            entry = make("g", {"transform": place}, sample(each))
            if each.kind:
                entry.append(write_text(each.kind, SAMPLE + 6, 10, "soft"))
            legend.append(entry)
        top += _ROW + _WRAPPED * (len(lines) - 1)
    return legend, top


def _columns(
    in_order: Sequence[Series], rows: Sequence[Sequence[Series]]
) -> tuple[dict[str, float], float]:
    """Return where the column of each kind starts, and the total width.

    References share the last column with another kind unless a series has both.
    """
    places: dict[str, float] = {}
    at = width = 0.0
    for each in in_order:
        if each.kind in places:
            continue
        alone = all(len(row) == 1 or all(e.kind != each.kind for e in row) for row in rows)
        if each.style.line == "thin" and places and alone:
            at = max(places.values())
        places[each.kind] = at
        width = max(width, at + SAMPLE + 6 + LETTER * len(each.kind))
        at = width + _GAP
    return places, width
