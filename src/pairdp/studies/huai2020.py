"""Huai 2020, "Pairwise learning with differential privacy guarantees": Figures 1 to 6."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from pairdp.algorithms.registry import algorithms
from pairdp.studies.huai2020_remarks import remarks
from pairdp.studies.learning import (
    AUTO,
    EUCLID,
    LOGISTIC,
    MEANS,
    WITHOUT_BURN_IN,
    Goal,
    Learning,
)
from pairdp.studies.plan import Place, Scale, Spot, Study
from pairdp.studies.protocols import PROTOCOLS

NAME: Final = "huai2020"
EPSILONS: Final = (0.5, 1.5, 2.5)
_FEW = (40, 50, 60, 70, 80, 90)
_MORE = (50, 100, 150, 200, 250, 300, 350)
_SMALL = ("hepatitis", "cancer_wdbc")
_LARGE = ("diabetes", "retinopathy")


_READING = (
    "The figures' values are not in the text. Cancer is the diagnostic Wisconsin set. The "
    "objective is the empirical risk with its regulariser on the n records learnt from, of the "
    "last model for online algorithms. Where the printed burn-in is longer than the stream, the "
    "printed noise is run without it. The series auto is not online: it sees all records at once, "
    "and minimises the same loss where the objective is measured."
)


class _Figure(NamedTuple):
    exhibit: str
    goal: Goal
    method: str
    measure: str
    datasets: tuple[str, ...]
    sizes: tuple[int, ...]
    regularization: float = 0.0


_FIGURES: Final = (
    _Figure("Figure 1", "ranking", "OnPairStrC", "objective", _SMALL, _FEW, 1e-3),
    _Figure("Figure 2", "ranking", "OnPairC", "objective", _LARGE, _MORE),
    _Figure("Figure 3", "ranking", "OffPairStrC", "objective", _SMALL, _FEW, 1e-3),
    _Figure("Figure 4", "ranking", "OffPairC", "AUC", _LARGE, _MORE),
    _Figure("Figure 5", "metric", "OnPairC", "objective", _LARGE, _MORE),
    _Figure("Figure 6", "metric", "OffPairC", "accuracy", _LARGE, _MORE),
)


def study(scale: Scale) -> Study:
    """Return what is run of the paper."""
    return Study(
        NAME,
        "Huai, Wang, Miao, Xu and Zhang 2020: Pairwise learning with differential privacy",
        tuple(place for figure in _FIGURES for place in _places(figure, scale)),
        (),
        remarks,
        _READING,
    )


def _places(figure: _Figure, scale: Scale) -> Iterator[Place]:
    for protocol in PROTOCOLS:
        for dataset in figure.datasets:
            for epsilon in scale.points(EPSILONS):
                for n in scale.points(figure.sizes):
                    panel = f"{dataset}, ε = {epsilon:g}"
                    spot = Spot(figure.exhibit, panel, figure.measure, protocol, "n", n)
                    job = Learning(
                        figure.goal, dataset, protocol, n, figure.method,
                        regularization=figure.regularization,
                        objective=figure.measure == "objective",
                        runs=scale.runs,
                    )  # fmt: skip
                    yield from _series(spot, job, replace(job, epsilon=epsilon, delta=1 / n))


def _series(spot: Spot, bare: Learning, spent: Learning) -> Iterator[Place]:
    """Yield all series at a point, from jobs without noise and with it."""
    method = bare.method
    printed = replace(spent, calibration="printed")
    yield spot.place(method, "printed", printed)
    if method in algorithms("stream", published=True):
        without = method + WITHOUT_BURN_IN
        yield spot.place(without, "printed", replace(printed, method=without))
    yield spot.place(method, "certified", spent)
    yield spot.place(f"{method} without noise", "baseline", bare)
    yield spot.place(AUTO, "certified", replace(spent, method=AUTO))
    if not bare.objective:
        for baseline in (EUCLID,) if bare.goal == "metric" else (LOGISTIC, MEANS):
            yield spot.place(baseline, "baseline", replace(bare, method=baseline))
