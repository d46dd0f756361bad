"""Markers: defined once per page, or drawn at each point of a file."""

from __future__ import annotations

from collections.abc import Iterable

from pairdp.drawing.figure import Style

SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-5 5 0 0 5-5 0z",
    "M0-4.8 4.6 3.4h-9.2z",
    "M0 4.8 4.6-3.4h-9.2z",
)


def classes(style: Style) -> str:
    """Return the classes that style a series in a page."""
    words = [f"c{style.color}", style.line, "bold" if style.bold else "", _name(style)]
    return " ".join(filter(None, words))


def _name(style: Style) -> str:
    return "" if style.marker is None else f"m{style.color}{style.marker}{style.line[:2]}"


def define(styles: Iterable[Style]) -> str:
    """Return the definitions of the markers of a page, and the style rules that use them."""
    used = {_name(style): style for style in styles if style.marker is not None}
    definitions = "".join(
        f'<marker id="{name}" class="c{style.color} {style.line}" markerWidth="12" '
        'markerHeight="12" viewBox="-6 -6 12 12" markerUnits="userSpaceOnUse">'
        f'<path d="{SHAPES[style.marker or 0]}"/></marker>'
        for name, style in sorted(used.items())
    )
    rules = "".join(f".{name} .l{{marker:url(#{name})}}" for name in sorted(used))
    return (
        f"<style>{rules}</style>"
        f'<svg class="definitions" width="0" height="0" aria-hidden="true">{definitions}</svg>'
    )
