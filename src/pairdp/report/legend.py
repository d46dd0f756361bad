"""The legend of an exhibit: buttons that show and hide series in all of its plots."""

from __future__ import annotations

from collections.abc import Sequence

from pairdp.report.figures import KIND_NAMES, Exhibit, Line
from pairdp.report.looks import Looks
from pairdp.report.text import escape


def write_legend(exhibit: Exhibit, looks: Looks) -> str:
    """Return the legend: a button for each kind, and for each series in each of its kinds."""
    lines = {looks.key(line): line for plot in exhibit.plots for line in plot.lines}
    together: dict[str, list[Line]] = {}
    for line in lines.values():
        together.setdefault(line.series, []).append(line)
    kinds = [kind for kind in KIND_NAMES if any(line.kind == kind for line in lines.values())]
    every = "".join(_kind_button(kind) for kind in kinds)
    names = "".join(_series(series, group, looks) for series, group in together.items())
    return (
        f'<div class="legend" role="group" aria-label="Series of {escape(exhibit.name)}">'
        f'<ul><li class="kinds"><b>all series</b>{every}</li>{names}</ul></div>'
    )


def _kind_button(kind: str) -> str:
    name = KIND_NAMES[kind]
    return (
        f'<button type="button" aria-pressed="true" data-kind="{kind}" '
        f'aria-label="{name}, all series">{name}</button>'
    )


def _series(series: str, lines: Sequence[Line], looks: Looks) -> str:
    in_order = sorted(lines, key=lambda line: list(KIND_NAMES).index(line.kind))
    buttons = "".join(_button(line, looks) for line in in_order)
    return f"<li><b>{escape(series)}</b>{buttons}</li>"


def _button(line: Line, looks: Looks) -> str:
    name = KIND_NAMES[line.kind]
    return (
        f'<button type="button" aria-pressed="true" data-k="{looks.key(line)}" '
        f'data-of="{line.kind}" aria-label="{name}, {escape(line.series)}">'
        f'<svg viewBox="0 0 34 12" aria-hidden="true"><g class="{looks.classes(line)}">'
        f'<path class="l" d="M1 6 17 6 33 6"/></g></svg>{name}</button>'
    )
