"""Colours and markers of series, the same wherever a series appears."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pairdp.drawing.colors import GREY, SERIES
from pairdp.drawing.figure import Style
from pairdp.drawing.markers import SHAPES


def assign_styles(
    groups: Sequence[Sequence[str]], *, grey: Collection[str] = (), main: str | None = None
) -> dict[str, Style]:
    """Return a style for each name; names in a group have different styles.

    Parameters
    ----------
    groups : sequence of sequences of str
        Names of series that are shown together. They differ in colour if there are enough
        colours, and else in marker.
    grey : collection of str
        Names of references, which are drawn in grey.
    main : str, optional
        The name that has the first colour alone.
    """
    order = list(dict.fromkeys(name for group in groups for name in group))
    order.sort(key=lambda name: name != main)
    together: dict[str, set[str]] = {name: set() for name in order}
    for group in groups:
        for name in group:
            together[name] |= set(group)
    styles: dict[str, Style] = {}
    for rank, name in enumerate(order):
        near = [styles[other] for other in together[name] if other in styles]
        if name in grey:
            color = GREY
        elif name == main:
            color = 0
        else:
            counts = [sum(style.color == c for style in near) for c in range(1, SERIES)]
            color = 1 + counts.index(min(counts))
        same = [style.marker for style in near if style.color == color]
        marker = min(range(len(SHAPES)), key=lambda m: (same.count(m), (m - rank) % len(SHAPES)))
        styles[name] = Style(color, marker)
    return styles
