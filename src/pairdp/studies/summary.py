"""The summary that matters: what ``auto`` at a true (ε, δ) does against the papers' figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pairdp.studies.learning import AUTO, EUCLID
from pairdp.studies.results import Cell, Results
from pairdp.studies.xue2021_figures import GENERAL, LARGEST_NORM, STRONG

MARGIN = 0.05
"""By how much AUC is to be better; accuracy is to be no worse within its interval."""

_NOT_PRIVATE = frozenset({STRONG, GENERAL})
_PROTOCOL = {"honest": "public ranges only", "paper": "standardised on all data"}
_BUDGET = {
    "honest": "at a proved budget",
    "paper": "at a budget that is proved for prepared records, not for preparing them,",
}


@dataclass(frozen=True)
class Comparison:
    """A cell of a paper's table: its best private figure, and ``auto`` at the same budget.

    Attributes
    ----------
    best : Cell
        The paper's best private figure.
    auto : Cell
        What was measured.
    proved : bool
        Whether the budget of ``auto`` is proved by its certificate.
    printed : Cell or None
        The best of the paper's algorithms, rerun with the paper's noise.
    euclid: Cell or None
        Nearest neighbours in the Euclidean metric, for metrics.
    """

    best: Cell
    auto: Cell
    proved: bool
    printed: Cell | None
    euclid: Cell | None = None

    @property
    def gain(self) -> float:
        """How much better ``auto`` is than the paper's figure."""
        return self.auto.mean - self.best.mean

    @property
    def wins(self) -> bool:
        """Whether its mean is above the paper's figure."""
        return self.proved and self.gain > 0

    @property
    def on_target(self) -> bool:
        """Whether it is better by the margin (AUC), or tied within its interval (accuracy)."""
        enough = self.gain >= MARGIN if _is_area(self.best) else self.auto.high >= self.best.mean
        return self.proved and enough

    @property
    def is_euclid(self) -> bool:
        """Whether ``auto`` has the very accuracy of the metric that needs no data."""
        euclid = self.euclid
        return euclid is not None and (euclid.mean, euclid.low) == (self.auto.mean, self.auto.low)

    @property
    def is_repeated(self) -> bool:
        """Whether the paper prints another data set's number here."""
        return bool(self.best.note)


@dataclass(frozen=True)
class Summary:
    """Sentences, and the rows of a table."""

    headline: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]


def _is_area(cell: Cell) -> bool:
    return cell.measure == "AUC"


def compare(results: Results) -> tuple[Comparison, ...]:
    """Return ``auto`` against every cell that a paper prints, for each protocol."""
    at: dict[tuple[object, ...], list[Cell]] = {}
    for cell in results.cells:
        place = (cell.study, cell.exhibit, cell.panel, cell.measure, cell.x)
        at.setdefault(place, []).append(cell)
    found = []
    for cells in at.values():
        figures = [c for c in cells if c.kind == "paper" and c.series not in _NOT_PRIVATE]
        if not figures:
            continue
        best = max(figures, key=lambda cell: cell.mean)
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
                )
            )
    return tuple(found)


def summary(results: Results) -> Summary:
    """Return in how many cells ``auto`` beats the papers' best private figures."""
    comparisons = compare(results)
    headline = []
    for kind in dict.fromkeys(sorted(map(_reading, comparisons))):
        those = [c for c in comparisons if _reading(c) == kind]
        for area in (True, False):
            headline += _sentence([c for c in those if _is_area(c.best) == area], kind, area)
        headline += _against_reruns(those, kind)
    return Summary(tuple(headline), tuple(_rows(comparisons)))


def _reading(c: Comparison) -> str:
    """Return how the records of a comparison were prepared, in words."""
    words = _PROTOCOL[c.auto.protocol]
    return f"{words}, {LARGEST_NORM}" if c.best.exhibit.endswith(LARGEST_NORM) else words


def _sentence(those: list[Comparison], reading: str, area: bool) -> list[str]:
    if not those:
        return []
    exhibits = " and ".join(sorted({c.best.exhibit.split(",")[0] for c in those}))
    goal = f"by at least {MARGIN:g}" if area else "at least tied within the confidence interval"
    text = (
        f"{exhibits}, {those[0].best.measure}, {reading}: auto {_BUDGET[those[0].auto.protocol]} "
        f"is above the paper's best private figure in {sum(c.wins for c in those)} of {len(those)} "
        f"cells, {goal} in {sum(c.on_target for c in those)}"
    )
    own = [c for c in those if not c.is_repeated]
    if len(own) < len(those):
        text += (
            f" (without the {len(those) - len(own)} cells where the paper prints another data "
            f"set's numbers: {sum(c.on_target for c in own)} of {len(own)})"
        )
    same = sum(c.is_euclid for c in those)
    if same:
        text += (
            f"; in {same} of the {len(those)} its accuracy is exactly the Euclidean metric's, "
            "which needs no data"
        )
    return [text + "."]


def _against_reruns(those: Iterable[Comparison], reading: str) -> list[str]:
    pairs = [(c.auto, c.printed, c.proved) for c in those if c.printed is not None]
    if not pairs:
        return []
    wins = sum(proved and auto.mean > printed.mean for auto, printed, proved in pairs)
    clear = sum(proved and auto.low > printed.high for auto, printed, proved in pairs)
    text = (
        "Against the best of the paper's own algorithms rerun with its printed noise, "
        f"{reading}: auto has the higher mean in {wins} of {len(pairs)} "
        f"cells, with intervals apart in {clear}."
    )
    return [text]


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
                + (" (another data set's)" if c.is_repeated else ""),
            },
        )
        row[f"auto, {_PROTOCOL[auto.protocol]}"] = (
            f"{auto.mean:.4f} ({auto.low:.4f} to {auto.high:.4f}), {c.gain:+.4f}"
            + (", on target" if c.on_target else "")
            + (", as Euclidean" if c.is_euclid else "")
        )
    return rows.values()
