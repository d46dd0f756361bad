"""Xue 2021, "Differentially private pairwise learning revisited": Tables 2 to 4, Figures 1 to 4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from pairdp.studies.learning import AUTO, EUCLID, LOGISTIC, MEANS, Goal, Learning, algorithm
from pairdp.studies.papers.xue2021.preparations import preparation_cells, reported_levels
from pairdp.studies.papers.xue2021.remarks import remarks
from pairdp.studies.papers.xue2021.tables import (
    APPROXIMATE,
    EPSILONS_3,
    EPSILONS_4,
    GENERAL,
    PURE,
    REGULARIZATION,
    SIZES,
    STRONG,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    Block,
)
from pairdp.studies.protocols import METRIC_PROTOCOLS, PROTOCOLS
from pairdp.studies.readings import LARGEST_NORM
from pairdp.studies.results import Cell
from pairdp.studies.study import PlannedCell, Position, Scale, Study

NAME: Final = "xue2021"
MEASURE: Final[dict[Goal, str]] = {"ranking": "AUC", "metric": "accuracy"}
_STRONGLY_CONVEX = ("OffPairStrC", "DPGDSC")
_CONVEX = ("OffPairC", "DPGDC2", "DPEGD")
_ALL = (*_STRONGLY_CONVEX, *_CONVEX)
_FIGURE_SIZES = (64, 128, 256, 512)
_FIGURES = {
    "Figure 1": ("diabetes", _STRONGLY_CONVEX),
    "Figure 2": ("diabetes", _CONVEX),
    "Figure 3": ("retinopathy", _STRONGLY_CONVEX),
    "Figure 4": ("retinopathy", _CONVEX),
}


class _Table(NamedTuple):
    """A table: what x is, and n and ε at each point."""

    exhibit: str
    goal: Goal
    x_name: str
    points: tuple[tuple[float, int, float], ...]  # x, n, ε
    blocks: tuple[Block, ...] = ()


_TABLES = (
    _Table("Table 2", "metric", "n", tuple((n, n, 1.0) for n in SIZES), TABLE_2),
    _Table("Table 3", "metric", "ε", tuple((eps, 128, eps) for eps in EPSILONS_3), TABLE_3),
    _Table("Table 4", "ranking", "ε", tuple((eps, 256, eps) for eps in EPSILONS_4), TABLE_4),
)
_BY_LARGEST_NORM = tuple(
    table._replace(exhibit=f"{table.exhibit}, {LARGEST_NORM}") for table in _TABLES
)


def study(scale: Scale) -> Study:
    """Return what is run of the paper."""
    return Study(
        NAME,
        "Xue et al. 2021: Differentially private pairwise learning revisited",
        (*_cells(scale), *_cells_by_largest_norm(scale), *preparation_cells(scale)),
        remarks,
        "Table 3 has n = 128, as its caption says. The text does not give the sizes of Figures 1 "
        "to 4; here they are 64 to 512. λ is 1e-3 for AUC and 1e-2 for metrics as printed, and "
        "δ = 1/n. Steps and step sizes are those of pairdp, also with printed noise, except in "
        'series named "the theorem\'s schedule". Non-private numbers are OffPairStrC and OffPairC '
        "without noise, as in the paper.",
        (*_reported(scale), *reported_levels()),
    )


def panel(dataset: str, budget: str) -> str:
    """Return the name of a panel."""
    return f"{dataset}, {budget}"


def _cells(scale: Scale) -> Iterator[PlannedCell]:
    for table in _TABLES:
        # Earlier versions compared Table 4 on standardised rows; they are kept beside the others.
        for protocol in METRIC_PROTOCOLS:
            for dataset in ("diabetes", "retinopathy"):
                for budget in (APPROXIMATE, PURE):
                    yield from _panel(table, dataset, budget, protocol, _ALL, scale)
    for exhibit, (dataset, methods) in _FIGURES.items():
        points = tuple((n, n, 0.8) for n in _FIGURE_SIZES)
        figure = _Table(exhibit, "ranking", "n", points)
        for protocol in PROTOCOLS:
            for budget in (APPROXIMATE, PURE):
                yield from _panel(figure, dataset, budget, protocol, methods, scale)


def _cells_by_largest_norm(scale: Scale) -> Iterator[PlannedCell]:
    """Yield the tables with standardised rows divided by the largest norm."""
    for table in _BY_LARGEST_NORM:
        for dataset in ("diabetes", "retinopathy"):
            for budget in (APPROXIMATE, PURE):
                for cell in _panel(table, dataset, budget, LARGEST_NORM, (), scale):
                    yield replace(cell, protocol="standardised")


def _panel(
    table: _Table,
    dataset: str,
    budget: str,
    protocol: str,
    methods: tuple[str, ...],
    scale: Scale,
) -> Iterator[PlannedCell]:
    goal = table.goal
    added = REGULARIZATION[goal]
    for x, n, epsilon in scale.points(table.points):
        where = (table.exhibit, panel(dataset, budget), MEASURE[goal])
        at = Position(*where, protocol, table.x_name, x)
        without = Learning(goal, dataset, protocol, n, AUTO, runs=scale.runs)
        delta = 1 / n if budget == APPROXIMATE else 0.0
        private = replace(without, epsilon=epsilon, delta=delta)
        for method in methods:
            if method == "DPGDC2" and budget == PURE:  # which has no pure form
                continue
            strong = added if method in _STRONGLY_CONVEX else 0.0
            job = replace(private, method=method, regularization=strong)
            yield from at.printed(method, job, has_theorem=algorithm(method).has_theorem)
            yield at.cell(method, "certified", job)
        if "OffPairStrC" in methods:
            strongly = replace(without, method="OffPairStrC", regularization=added)
            yield at.cell(STRONG, "baseline", strongly)
        if "OffPairC" in methods:
            yield at.cell(GENERAL, "baseline", replace(without, method="OffPairC"))
        yield at.cell(AUTO, "certified", private)
        for baseline in (EUCLID,) if goal == "metric" else (LOGISTIC, MEANS):
            yield at.cell(baseline, "baseline", replace(without, method=baseline))


def _reported(scale: Scale) -> Iterator[Cell]:
    """Yield the numbers of the tables at the points that are run."""
    for table in (*_TABLES, *_BY_LARGEST_NORM):
        kept = scale.points(table.points)
        for block in table.blocks:
            for series, values in block.rows.items():
                for point, percent in zip(table.points, values, strict=True):
                    if point not in kept:
                        continue
                    x, value = float(point[0]), round(percent / 100, 6)
                    yield Cell(
                        NAME, table.exhibit, panel(block.dataset, block.budget),
                        MEASURE[table.goal], series, "paper", "", table.x_name, x,
                        value, value, value, 0, "", _note(table, block, series, x),
                    )  # fmt: skip


def _note(table: _Table, block: Block, series: str, x: float) -> str:
    """Return a note if the number is that of another data set."""
    repeated = repeats(table.blocks, block, series)
    index = [point[0] for point in table.points].index(x)
    return f"the paper prints {repeated[index]} here" if index in repeated else ""


def repeats(blocks: tuple[Block, ...], block: Block, series: str) -> dict[int, str]:
    """Return the indices in a row whose numbers are those of another data set's earlier row.

    One equal number may be chance; two or more in a row of one algorithm are not.
    """
    row = block.rows[series]
    for other in blocks[: blocks.index(block)]:
        if other.budget != block.budget or other.dataset == block.dataset:
            continue
        pairs = zip(row, other.rows[series], strict=True)
        same = [i for i, (one, another) in enumerate(pairs) if one == another]
        if len(same) > 1:
            return dict.fromkeys(same, f"the number of {other.dataset}")
    return {}
