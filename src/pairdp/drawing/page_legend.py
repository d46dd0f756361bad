"""The legend of a page: buttons that show and hide series in all plots of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pairdp.drawing.figure import LINES, Figure, Series
from pairdp.drawing.markers import classes
from pairdp.drawing.text import escape


def write_legend(name: str, figures: Sequence[Figure], keys: Mapping[tuple[str, str], int]) -> str:
    """Return the legend: a button for each kind, and for each series and kind.

    Bars need none: their names are next to them.
    """
    found = {s.key: s for figure in figures if figure.mark != "bar" for s in figure.series}
    if not found:
        return ""
    in_order = sorted(found.values(), key=lambda series: LINES.index(series.style.line))
    kinds = dict.fromkeys(series.kind for series in in_order if series.kind)
    every = "".join(_kind_button(kind) for kind in kinds)
    rows = f'<li class="kinds"><b>all series</b>{every}</li>' if every else ""
    for each in dict.fromkeys(name for name, _ in found):
        buttons = "".join(_button(s, keys[s.key]) for s in in_order if s.name == each)
        rows += f"<li><b>{escape(each)}</b>{buttons}</li>"
    label = escape(f"Series of {name}")
    return f'<div class="legend" role="group" aria-label="{label}"><ul>{rows}</ul></div>'


def _kind_button(kind: str) -> str:
    kind = escape(kind)
    return (
        f'<button type="button" aria-pressed="true" data-kind="{kind}" '
        f'aria-label="{kind}, all series">{kind}</button>'
    )


def _button(series: Series, key: int) -> str:
    kind = escape(series.kind)
    label = ", ".join(filter(None, (series.kind, series.name)))
    band = '<path class="a" d="M1 1H33V11H1z"/>' if series.style.band else ""
    return (
        f'<button type="button" aria-pressed="true" data-k="{key}" data-of="{kind}" '
        f'aria-label="{escape(label)}"><svg viewBox="0 0 34 12" aria-hidden="true">'
        f'<g class="{classes(series.style)}">{band}<path class="l" d="M1 6 17 6 33 6"/></g></svg>'
        f"{kind}</button>"
    )
