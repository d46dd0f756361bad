"""How series look: one colour and marker over the whole report, a line style for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pairdp.report.figures import Line, Study

COLOURS = 7  # of style.css, told apart by colour-blind readers
GREY = COLOURS
SHAPES = (
    '<circle r="4"/>',
    '<path d="M-3.6-3.6h7.2v7.2h-7.2z"/>',
    '<path d="M0-5 5 0 0 5-5 0z"/>',
    '<path d="M0-4.8 4.6 3.4h-9.2z"/>',
    '<path d="M0 4.8 4.6-3.4h-9.2z"/>',
)
FAVOURITE = "auto"


@dataclass(frozen=True)
class Look:
    """The colour and marker of a series."""

    colour: int
    shape: int

    @property
    def marker(self) -> str:
        """The name of the marker, to which its kind is added."""
        return f"m{self.colour}{self.shape}"


class Looks:
    """The look of every series, and a number for every series and kind."""

    def __init__(self, studies: Sequence[Study]) -> None:
        groups = [
            [(line.series, line.kind) for line in lines] for lines in _lines_together(studies)
        ]
        entries = [entry for group in groups for entry in group]
        self._keys = {entry: i for i, entry in enumerate(dict.fromkeys(entries))}
        grey = {series for series, kind in entries if kind == "baseline"}
        self._looks = _choose([[series for series, _ in group] for group in groups], grey)

    def look(self, series: str) -> Look:
        """Return the look of a series."""
        return self._looks[series]

    def key(self, line: Line) -> int:
        """Return the number of a line's series and kind, which legends refer to."""
        return self._keys[line.series, line.kind]

    def classes(self, line: Line) -> str:
        """Return the classes that style a line."""
        look = self.look(line.series)
        favourite = " auto" if line.series == FAVOURITE else ""
        return f"c{look.colour} {line.kind} {look.marker}{line.kind[0:2]}{favourite}"

    def markers(self) -> str:
        """Return the definitions of all markers, and the style rules that use them."""
        used = sorted({(self._looks[s], k) for s, k in self._keys}, key=repr)
        names = [f"{look.marker}{kind[0:2]}" for look, kind in used]
        definitions = "".join(
            f'<marker id="{name}" class="c{look.colour} {kind}" markerWidth="12" '
            'markerHeight="12" viewBox="-6 -6 12 12" markerUnits="userSpaceOnUse">'
            f"{SHAPES[look.shape]}</marker>"
            for name, (look, kind) in zip(names, used, strict=True)
        )
        rules = "".join(f".{name} .l{{marker:url(#{name})}}" for name in names)
        return (
            f"<style>{rules}</style>"
            f'<svg class="definitions" width="0" height="0" aria-hidden="true">{definitions}</svg>'
        )


def _lines_together(studies: Sequence[Study]) -> Iterable[tuple[Line, ...]]:
    for study in studies:
        for exhibit in study.exhibits:
            yield tuple(line for plot in exhibit.plots for line in plot.lines)


def _choose(groups: Sequence[Sequence[str]], grey: set[str]) -> dict[str, Look]:
    """Return looks such that series of one exhibit differ in colour as long as colours last."""
    order = list(dict.fromkeys(series for group in groups for series in group))
    order.sort(key=lambda series: series != FAVOURITE)
    together: dict[str, set[str]] = {series: set() for series in order}
    for group in groups:
        for series in group:
            together[series] |= set(group)
    looks: dict[str, Look] = {}
    for rank, series in enumerate(order):
        near = [looks[other] for other in together[series] if other in looks]
        if series in grey:
            colour = GREY
        elif series == FAVOURITE:
            colour = 0
        else:  # colour 0 is the favourite's own
            counts = [sum(look.colour == c for look in near) for c in range(1, COLOURS)]
            colour = 1 + counts.index(min(counts))
        same = [look.shape for look in near if look.colour == colour]
        shape = min(range(len(SHAPES)), key=lambda s: (same.count(s), (s - rank) % len(SHAPES)))
        looks[series] = Look(colour, shape)
    return looks
