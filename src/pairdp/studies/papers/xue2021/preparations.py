"""Which preparation of the records gives the level of the tables without noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from pairdp.studies.learning import EUCLID, Goal, Learning
from pairdp.studies.papers.xue2021.tables import (
    APPROXIMATE,
    EPSILONS_4,
    GENERAL,
    REGULARIZATION,
    SIZES,
    STRONG,
    TABLE_2,
    TABLE_4,
    Block,
)
from pairdp.studies.readings import READINGS
from pairdp.studies.results import Cell, Remark
from pairdp.studies.study import PlannedCell, Position, Scale

NAME: Final = "xue2021"
EXHIBIT: Final = "Preparations"
N: Final = 256
_DATASETS = ("diabetes", "retinopathy")


class _Check(NamedTuple):
    """What is measured for every preparation."""

    measure: str
    words: str
    method: str

    def panel(self, dataset: str) -> str:
        return f"{dataset}, {self.words}"


_CHECKS: Final = (
    _Check("AUC", STRONG, "OffPairStrC"),
    _Check("accuracy", f"metric of {STRONG}", "OffPairStrC"),
    _Check("accuracy", EUCLID, EUCLID),
)


class _Level(NamedTuple):
    """A number of a table that a run without noise should reach."""

    dataset: str
    series: str
    value: float


def _levels(measure: str) -> Iterator[_Level]:
    """Yield what is reported with the least noise for AUC, and without noise for accuracy."""
    if measure == "AUC":
        for block in _approximate(TABLE_4):
            for series in ("OffPairStrC", "DPGDSC", "DPEGD"):
                value = block.rows[series][EPSILONS_4.index(2.0)]
                yield _Level(block.dataset, f"{series}, Table 4 at ε = 2", value)
        return
    for block in _approximate(TABLE_2):
        for series in (STRONG, GENERAL):
            value = block.rows[series][SIZES.index(N)]
            yield _Level(block.dataset, f"{series}, Table 2", value)


def _approximate(blocks: Iterable[Block]) -> list[Block]:
    return [block for block in blocks if block.budget == APPROXIMATE]


def preparation_cells(scale: Scale) -> Iterator[PlannedCell]:
    """Yield each preparation, without noise at n = 256."""
    for check in _CHECKS:
        goal: Goal = "ranking" if check.measure == "AUC" else "metric"
        added = 0.0 if check.method == EUCLID else REGULARIZATION[goal]
        for dataset in _DATASETS:
            at = Position(EXHIBIT, check.panel(dataset), check.measure, "", "n", N)
            for name in READINGS:
                job = Learning(
                    goal, dataset, name, N, check.method, regularization=added, runs=scale.runs
                )
                yield at.cell(name, "baseline", job)


def reported_levels() -> Iterator[Cell]:
    """Yield the numbers of the tables that the preparations are compared with."""
    for check in _CHECKS:
        for dataset, series, percent in _levels(check.measure):
            value = round(percent / 100, 6)
            yield Cell(
                NAME, EXHIBIT, check.panel(dataset), check.measure, series, "paper", "", "n",
                float(N), value, value, value, 0, "",
            )  # fmt: skip


def preparation_remarks(cells: Iterable[Cell]) -> Iterator[Remark]:
    """Yield which preparations fit, for each check."""
    yield Remark(
        NAME,
        "Table 2",
        "No single preparation explains Table 2",
        "Without noise, over 20 permutations at n = 256: diabetes has the paper's accuracy only on "
        "rows whose features are scaled one by one, retinopathy only on rows whose features are "
        f'not. The exhibit "{EXHIBIT}" measures {len(READINGS)} preparations.',
    )
    runs = [cell for cell in cells if cell.exhibit == EXHIBIT and cell.kind == "baseline"]
    for check in _CHECKS:
        fitting: dict[str, list[str]] = {}
        lines = []
        for dataset in _DATASETS:
            values = [each.value / 100 for each in _levels(check.measure) if each[0] == dataset]
            lines.append(f"{dataset}: the paper has {min(values):.4f} to {max(values):.4f}")
            for cell in runs:
                if cell.panel != check.panel(dataset):
                    continue
                fits = cell.low <= max(values) and cell.high >= min(values)
                fitting.setdefault(cell.series, []).extend([dataset] if fits else [])
                lines.append(
                    f"  {cell.series}: {cell.mean:.4f} ({cell.low:.4f} to {cell.high:.4f})"
                    + (", fits" if fits else "")
                )
        if not fitting:
            continue
        both = [name for name, where in fitting.items() if len(where) == len(_DATASETS)]
        yield Remark(
            NAME,
            EXHIBIT,
            f"Preparations with the {check.measure} of the paper on both data sets, {check.words}: "
            f"{'; '.join(both) or 'none'}",
            f"n = {N}, {len(fitting)} preparations; one fits if its interval meets the range of "
            "the paper's numbers:\n" + "\n".join(lines),
        )
