"""Xue 2021, "Differentially private pairwise learning revisited": Tables 2 to 4, Figures 1 to 4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from pairdp.studies.learning import AUTO, EUCLID, LOGISTIC, MEANS, Goal, Learning
from pairdp.studies.plan import Place, Scale, Spot, Study, figure
from pairdp.studies.protocols import PROTOCOLS, Protocol
from pairdp.studies.results import Cell
from pairdp.studies.xue2021_figures import (
    APPROXIMATE,
    EPSILONS_3,
    EPSILONS_4,
    GENERAL,
    LARGEST_NORM,
    PURE,
    SIZES,
    STRONG,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    Block,
)
from pairdp.studies.xue2021_remarks import remarks

NAME: Final = "xue2021"
REGULARIZATION: Final[dict[Goal, float]] = {"ranking": 1e-3, "metric": 1e-2}
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


_READING = (
    "Table 3 has n = 128 as its caption says. The sizes of Figures 1 to 4 are not in the text, and "
    "are 64 to 512 here. λ is 1e-3 for AUC and 1e-2 for metrics as printed, δ = 1/n. Steps that "
    "the paper gives only an order for are those of pairdp. Non-private figures are OffPair* "
    "without noise, as in the paper."
)


class _Table(NamedTuple):
    """An exhibit's points: what varies, and at which n and ε each is."""

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


_OTHER_READINGS = tuple(
    table._replace(exhibit=f"{table.exhibit}, {LARGEST_NORM}") for table in _TABLES
)


def study(scale: Scale) -> Study:
    """Return what is run of the paper."""
    return Study(
        NAME,
        "Xue, Yang, Huai and Wang 2021: Differentially private pairwise learning revisited",
        (*_places(scale), *_other_readings(scale)),
        tuple(_figures(scale)),
        remarks,
        _READING,
    )


def panel(dataset: str, budget: str) -> str:
    """Return the name of a panel."""
    return f"{dataset}, {budget}"


def _places(scale: Scale) -> Iterator[Place]:
    for protocol in PROTOCOLS:
        for table in _TABLES:
            for dataset in ("diabetes", "retinopathy"):
                for budget in (APPROXIMATE, PURE):
                    yield from _panel(table, dataset, budget, protocol, _ALL, scale)
        for exhibit, (dataset, methods) in _FIGURES.items():
            points = tuple((n, n, 0.8) for n in _FIGURE_SIZES)
            drawn = _Table(exhibit, "ranking", "n", points)
            for budget in (APPROXIMATE, PURE):
                yield from _panel(drawn, dataset, budget, protocol, methods, scale)


def _other_readings(scale: Scale) -> Iterator[Place]:
    """Yield the tables with rows over the largest norm: the choice of a reading is not hidden."""
    for table in _OTHER_READINGS:
        for dataset in ("diabetes", "retinopathy"):
            for budget in (APPROXIMATE, PURE):
                for place in _panel(table, dataset, budget, "largest norm", (), scale):
                    yield replace(place, protocol="paper")


def _panel(
    table: _Table,
    dataset: str,
    budget: str,
    protocol: Protocol,
    methods: tuple[str, ...],
    scale: Scale,
) -> Iterator[Place]:
    goal = table.goal
    added = REGULARIZATION[goal]
    for x, n, epsilon in scale.points(table.points):
        where = (table.exhibit, panel(dataset, budget), MEASURE[goal])
        spot = Spot(*where, protocol, table.x_name, x)
        bare = Learning(goal, dataset, protocol, n, AUTO, runs=scale.runs)
        spent = replace(bare, epsilon=epsilon, delta=1 / n if budget == APPROXIMATE else 0.0)
        for method in methods:
            if method == "DPGDC2" and budget == PURE:  # which has no pure form
                continue
            strong = added if method in _STRONGLY_CONVEX else 0.0
            job = replace(spent, method=method, regularization=strong)
            yield spot.place(method, "printed", replace(job, calibration="printed"))
            yield spot.place(method, "certified", job)
        if "OffPairStrC" in methods:
            strongly = replace(bare, method="OffPairStrC", regularization=added)
            yield spot.place(STRONG, "baseline", strongly)
        if "OffPairC" in methods:
            yield spot.place(GENERAL, "baseline", replace(bare, method="OffPairC"))
        yield spot.place(AUTO, "certified", spent)
        for baseline in (EUCLID,) if goal == "metric" else (LOGISTIC, MEANS):
            yield spot.place(baseline, "baseline", replace(bare, method=baseline))


def _figures(scale: Scale) -> Iterator[Cell]:
    for table in (*_TABLES, *_OTHER_READINGS):
        kept = scale.points(table.points)
        for block in table.blocks:
            for series, values in block.rows.items():
                for (x, n, epsilon), value in zip(table.points, values, strict=True):
                    if (x, n, epsilon) in kept:
                        yield figure(
                            NAME,
                            table.exhibit,
                            panel(block.dataset, block.budget),
                            MEASURE[table.goal],
                            series=series,
                            x_name=table.x_name,
                            x=float(x),
                            value=round(value / 100, 6),
                            note=_note(table, block, series, x),
                        )


def _note(table: _Table, block: Block, series: str, x: float) -> str:
    """Return that a number of one data set repeats another's, if its row does."""
    repeated = repeats(table.blocks, block, series)
    place = [point[0] for point in table.points].index(x)
    return f"the paper prints {repeated[place]} here" if place in repeated else ""


def repeats(blocks: tuple[Block, ...], block: Block, series: str) -> dict[int, str]:
    """Return the places of a row whose numbers are those of an earlier data set's row.

    One equal number may be chance; two or more in a row of one algorithm are not.
    """
    row = block.rows[series]
    for other in blocks[: blocks.index(block)]:
        if other.budget != block.budget or other.dataset == block.dataset:
            continue
        same = [
            i
            for i, pair in enumerate(zip(row, other.rows[series], strict=True))
            if len({*pair}) == 1
        ]
        if len(same) > 1:
            return dict.fromkeys(same, f"the number of {other.dataset}")
    return {}
