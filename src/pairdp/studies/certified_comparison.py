"""``auto`` beside the paper's own algorithms at the same certified budget, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from pairdp.studies.assembly import interval
from pairdp.studies.learning import AUTO
from pairdp.studies.results import HIGHER_IS_BETTER, Cell, Remark, Results

Outcome = Literal["wins", "ties", "loses"]


class Duel(NamedTuple):
    """``auto`` and the best of the paper's algorithms, both with certified noise, in one cell."""

    auto: Cell
    best: Cell

    @property
    def outcome(self) -> Outcome:
        """Whether ``auto`` has the better mean, ties within 95 % intervals, or loses.

        Both series have the same permutations. The interval is that of the mean difference over
        them; if the numbers of the runs are not known, the intervals of both means must overlap.
        """
        auto, best, sign = self.auto, self.best, _sign(self.auto)
        if sign * auto.mean >= sign * best.mean:
            return "wins"
        if len(auto.values) == len(best.values) >= 2:
            differences = np.subtract(auto.values, best.values)
            return "ties" if interval(sign * differences).high >= 0 else "loses"
        overlap = auto.low <= best.high and best.low <= auto.high
        return "ties" if overlap else "loses"

    def __str__(self) -> str:
        auto, best = self.auto, self.best
        at = f"{auto.panel}, {auto.x_name} = {auto.x:g}"
        protocol = f", {auto.protocol} protocol" if auto.protocol else ""
        return (
            f"{at}{protocol}: auto {auto.mean:.4f} ({auto.low:.4f} to {auto.high:.4f}) "
            f"{self.outcome}, {best.series} {best.mean:.4f} ({best.low:.4f} to {best.high:.4f})"
        )


def _sign(cell: Cell) -> int:
    return 1 if cell.measure in HIGHER_IS_BETTER else -1


def duels(results: Results, study: str | None = None) -> tuple[Duel, ...]:
    """Return a duel for each cell that has ``auto`` and an algorithm of the paper, certified."""
    places: dict[tuple[object, ...], list[Cell]] = {}
    for cell in results.cells:
        if cell.kind == "certified" and study in (None, cell.study):
            at = (cell.study, cell.exhibit, cell.panel, cell.measure, cell.protocol, cell.x)
            places.setdefault(at, []).append(cell)
    found = []
    for cells in places.values():
        own = [cell for cell in cells if not cell.series.startswith(AUTO)]
        auto = [cell for cell in cells if cell.series == AUTO]
        if own and auto:
            found.append(Duel(auto[0], max(own, key=lambda cell: _sign(cell) * cell.mean)))
    return tuple(found)


def count(those: Sequence[Duel]) -> str:
    """Return in how many cells ``auto`` wins, ties and loses."""
    of = {kind: sum(duel.outcome == kind for duel in those) for kind in ("wins", "ties", "loses")}
    return f"wins {of['wins']}, ties {of['ties']} and loses {of['loses']} of {len(those)} cells"


def remarks(results: Results, study: str) -> Iterator[Remark]:
    """Yield for each exhibit of a study how ``auto`` compares, cell by cell; losses come first."""
    found = duels(results, study)
    for exhibit in dict.fromkeys(duel.auto.exhibit for duel in found):
        those = [duel for duel in found if duel.auto.exhibit == exhibit]
        measures = dict.fromkeys(duel.auto.measure for duel in those)
        lines = []
        for measure in measures:
            here = [duel for duel in those if duel.auto.measure == measure]
            lines.append(f"{measure}: auto {count(here)}.")
            lines += [f"  {duel}" for duel in _losses_first(here)]
        yield Remark(
            study,
            exhibit,
            f"auto against the paper's algorithms at the same certified budget: {count(those)}",
            "The best of the paper's algorithms is picked in each cell with the results known, "
            "which favours it. auto wins where its mean is not worse, and ties where it is worse "
            "but the 95 % interval of the mean difference over the same permutations includes "
            "zero.\n" + "\n".join(lines),
        )


def _losses_first(those: Iterable[Duel]) -> list[Duel]:
    return sorted(those, key=lambda duel: ("loses", "ties", "wins").index(duel.outcome))
