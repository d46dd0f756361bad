"""The summary: ``auto`` with a proved (ε, δ), compared with the papers' numbers and algorithms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pairdp.studies.certified_comparison import Duel, count, duels
from pairdp.studies.learning import AUTO, EUCLID
from pairdp.studies.papers.xue2021.remarks import best_private
from pairdp.studies.readings import LARGEST_NORM
from pairdp.studies.results import Cell, Results

MARGIN = 0.05
"""The target is an AUC better by this, or an accuracy that is no worse within its interval."""

_PROTOCOL = {
    "paper": "raw rows over their norms",
    "honest": "public ranges only",
    "standardised": "standardised on all data",
}
_BUDGET = {
    "paper": "at a proved budget",
    "honest": "at a proved budget",
    "standardised": (
        "at a budget that is proved for the prepared records, but not for their preparation,"
    ),
}


@dataclass(frozen=True)
class Comparison:
    """The best private number of a paper's cell, and ``auto`` at the same budget.

    Attributes
    ----------
    best : Cell
        The best number that the paper reports for a private algorithm.
    auto : Cell
        Our measurement of ``auto``.
    proved : bool
        Whether the budget of ``auto`` is proved by its certificate.
    printed : Cell or None
        The best of the paper's algorithms, run with the printed noise.
    duel : Duel or None
        ``auto`` and the best of the paper's algorithms at the same certified budget.
    euclid : Cell or None
        Nearest neighbours in the Euclidean metric, for metrics.
    """

    best: Cell
    auto: Cell
    proved: bool
    printed: Cell | None
    euclid: Cell | None = None
    duel: Duel | None = None

    @property
    def gain(self) -> float:
        """How much better ``auto`` is than the paper's number."""
        return self.auto.mean - self.best.mean

    @property
    def wins(self) -> bool:
        """Whether the mean of ``auto`` is above the paper's number."""
        return self.proved and self.gain > 0

    @property
    def on_target(self) -> bool:
        """Whether it is better by the margin (AUC), or tied within its interval (accuracy)."""
        enough = self.gain >= MARGIN if _is_area(self.best) else self.auto.high >= self.best.mean
        return self.proved and enough

    @property
    def is_euclid(self) -> bool:
        """Whether ``auto`` has exactly the accuracy of the Euclidean metric."""
        euclid = self.euclid
        return euclid is not None and (euclid.mean, euclid.low) == (self.auto.mean, self.auto.low)

    @property
    def is_repeated(self) -> bool:
        """Whether the paper prints the number of another data set here."""
        return bool(self.best.note)


@dataclass(frozen=True)
class Summary:
    """Sentences, and the rows of a table."""

    headline: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]


def _is_area(cell: Cell) -> bool:
    return cell.measure == "AUC"


def compare(results: Results) -> tuple[Comparison, ...]:
    """Return a comparison for every cell that a paper reports, under each protocol."""
    at: dict[tuple[object, ...], list[Cell]] = {}
    for cell in results.cells:
        place = (cell.study, cell.exhibit, cell.panel, cell.measure, cell.x)
        at.setdefault(place, []).append(cell)
    found = []
    against = {duel.auto: duel for duel in duels(results)}
    for cells in at.values():
        best = best_private(cells)
        if best is None:
            continue
        for auto in cells:
            if auto.series != AUTO or auto.kind != "certified":
                continue
            certificate = results.certificates.get(auto.certificate, {})
            beside = [c for c in cells if c.protocol == auto.protocol]
            rerun = [c for c in beside if c.kind == "printed"]
            found.append(
                Comparison(
                    best,
                    auto,
                    bool(certificate.get("claim_is_proved")),
                    max(rerun, key=lambda cell: cell.mean, default=None),
                    next((c for c in beside if c.series == EUCLID), None),
                    against.get(auto),
                )
            )
    return tuple(found)


def summary(results: Results) -> Summary:
    """Return in how many cells ``auto`` beats the papers' best private numbers and algorithms."""
    comparisons = compare(results)
    headline = []
    order = list(_PROTOCOL)
    by_protocol = sorted(comparisons, key=lambda c: order.index(c.auto.protocol))
    for kind in dict.fromkeys(map(_preparation, by_protocol)):
        those = [c for c in comparisons if _preparation(c) == kind]
        for area in (True, False):
            headline += _sentence([c for c in those if _is_area(c.best) == area], kind, area)
        headline += _against_reruns(those, kind)
    headline += _against_certified(duels(results))
    return Summary(tuple(headline), tuple(_rows(comparisons)))


def _preparation(c: Comparison) -> str:
    """Return in words how the records of a comparison were prepared."""
    return LARGEST_NORM if c.best.exhibit.endswith(LARGEST_NORM) else _PROTOCOL[c.auto.protocol]


def _sentence(those: list[Comparison], preparation: str, area: bool) -> list[str]:
    if not those:
        return []
    exhibits = " and ".join(sorted({c.best.exhibit.split(",")[0] for c in those}))
    goal = f"by at least {MARGIN:g}" if area else "and at least ties within its interval"
    text = (
        f"{exhibits}, {those[0].best.measure}, {preparation}: auto "
        f"{_BUDGET[those[0].auto.protocol]} is above the paper's best private number in "
        f"{sum(c.wins for c in those)} of {len(those)} "
        f"cells, {goal} in {sum(c.on_target for c in those)}"
    )
    own = [c for c in those if not c.is_repeated]
    if len(own) < len(those):
        text += (
            f" (without the {len(those) - len(own)} cells where the paper prints the numbers of "
            f"another data set: {sum(c.on_target for c in own)} of {len(own)})"
        )
    same = sum(c.is_euclid for c in those)
    if same:
        text += (
            f"; in {same} of the {len(those)} its accuracy is exactly that of the Euclidean "
            "metric, which needs no data"
        )
    return [text + "."]


def _against_reruns(those: Iterable[Comparison], preparation: str) -> list[str]:
    pairs = [(c.auto, c.printed, c.proved) for c in those if c.printed is not None]
    if not pairs:
        return []
    wins = sum(proved and auto.mean > printed.mean for auto, printed, proved in pairs)
    clear = sum(proved and auto.low > printed.high for auto, printed, proved in pairs)
    text = (
        "Compared with the best of the paper's own algorithms run with its printed noise, "
        f"{preparation}: auto has the higher mean in {wins} of {len(pairs)} "
        f"cells; the intervals do not overlap in {clear}."
    )
    return [text]


def _against_certified(found: Sequence[Duel]) -> list[str]:
    """Return a sentence for each study, with the places where ``auto`` loses."""
    sentences = []
    for study in dict.fromkeys(duel.auto.study for duel in found):
        those = [duel for duel in found if duel.auto.study == study]
        lost = Counter(_where(duel.auto) for duel in those if duel.outcome == "loses")
        places = "; ".join(f"{number} of {where}" for where, number in lost.items())
        sentences.append(
            f"{study}: against the best of the paper's algorithms at the same certified budget, "
            f"auto {count(those)}" + (f" ({places})." if lost else ".")
        )
    return sentences


def _where(cell: Cell) -> str:
    """Return exhibit, measure and preparation of a cell in words."""
    records = f", {_PROTOCOL[cell.protocol]}" if cell.protocol else ""
    return f"{cell.exhibit}, {cell.measure}{records}"


def _rows(comparisons: Iterable[Comparison]) -> Iterable[Mapping[str, str]]:
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for c in comparisons:
        best, auto = c.best, c.auto
        cell = f"{best.panel}, {best.x_name} = {best.x:g}"
        row = rows.setdefault(
            (best.study, best.exhibit, cell),
            {
                "exhibit": best.exhibit,
                "cell": cell,
                "measure": best.measure,
                "paper's best private": f"{best.mean:.4f} {best.series}"
                + (" (of another data set)" if c.is_repeated else ""),
            },
        )
        row[f"auto, {_PROTOCOL[auto.protocol]}"] = (
            f"{auto.mean:.4f} ({auto.low:.4f} to {auto.high:.4f}), {c.gain:+.4f}"
            + (", on target" if c.on_target else "")
            + (", as Euclidean" if c.is_euclid else "")
        )
        if c.duel is not None:
            own = c.duel.best
            row[f"paper's best with certified noise, {_PROTOCOL[auto.protocol]}"] = (
                f"{own.mean:.4f} ({own.low:.4f} to {own.high:.4f}) {own.series}, "
                f"auto {c.duel.outcome}"
            )
    return rows.values()
