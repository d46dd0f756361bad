"""Yang 2021, "SGD for pairwise learning with non-smooth loss": experiments on its questions.

The paper has no experiments. Here are the hinge loss for AUC, the excess risk as n grows, and the
question of its conclusion: whether a nuclear norm depends less on the dimension than Frobenius'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms import PairwiseSGD, Plan
from pairdp.algorithms.pairwise_sgd import YANG
from pairdp.algorithms.phased_sgd import YANG_SIMPLE
from pairdp.constraints import PSDFrobeniusBall, PSDNuclearBall
from pairdp.estimators import PrivateMetric
from pairdp.losses import HingeMetric
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies import certified_comparison, zero_model
from pairdp.studies.jobs import FitJob, Split
from pairdp.studies.learning import (
    AUTO,
    EUCLID,
    LOGISTIC,
    MEANS,
    ZERO,
    Learning,
    accuracy,
    euclidean,
)
from pairdp.studies.population import ExcessRisk
from pairdp.studies.protocols import PROTOCOLS
from pairdp.studies.results import Remark, Results
from pairdp.studies.study import PlannedCell, Position, Scale, Study

Array = NDArray[np.float64]
Norm = Literal["Frobenius", "nuclear"]
NAME: Final = "yang2021"
_SIZES = (64, 128, 256, 512)
_MANY = (250, 500, 1000, 2000, 4000)
_MOST_SQUARED = 1000  # above, the n² steps of the theorem take minutes a run
_DIMENSIONS = (5, 10, 20, 40)
_EPSILONS = (8.0, 2.0)
_TRAIN, _TEST = 600, 600
_DELTA = 1e-5
_HINGE, _RISK, _NUCLEAR = "Hinge loss", "Excess risk", "Nuclear norm"


@dataclass(frozen=True)
class NuclearNorm(FitJob):
    """A metric of bounded norm, on records whose classes differ in three of d directions."""

    norm: Norm | None  # None is the Euclidean metric, or with a budget what `PrivateMetric` chooses
    d: int
    epsilon: float | None = None

    @property
    def baseline(self) -> Callable[[Split], Array] | None:
        """The Euclidean metric, where nothing is fitted."""
        return euclidean if self.norm is None and self.epsilon is None else None

    def split(self, run: int, data: Path | None) -> Split:
        """Return records of norm below 1 whose first three coordinates separate the classes."""
        rng = np.random.default_rng(run)
        y = rng.choice([-1.0, 1.0], _TRAIN + _TEST)
        x = rng.normal(size=(len(y), self.d))
        x[:, :3] = 0.5 * x[:, :3] + 0.8 * y[:, None]
        x /= 1.2 * np.linalg.norm(x, axis=1).max()
        return Split(x[:_TRAIN], y[:_TRAIN], x[_TRAIN:], y[_TRAIN:])

    def plan(self, features: int) -> Plan:
        """Return the plan of pairwise SGD, or of what is chosen."""
        if self.norm is None:
            return PrivateMetric(self.epsilon, _DELTA, data_norm=1.0).plan(_TRAIN, features)
        ball = PSDFrobeniusBall(1.0) if self.norm == "Frobenius" else PSDNuclearBall(1.0)
        problem = Problem(HingeMetric(width=0.5, temperature=0.1), ball)
        budget = None if self.epsilon is None else Budget(self.epsilon, _DELTA)
        return PairwiseSGD().plan(problem, _TRAIN, features, budget, schedule="tuned")

    def score(self, parameters: Array, split: Split) -> dict[str, float]:
        """Return the accuracy of a metric."""
        return {"accuracy": accuracy(parameters, split)}


def study(scale: Scale) -> Study:
    """Return what is run on the paper's questions."""
    return Study(
        NAME,
        "Yang et al. 2021: Private pairwise learning with non-smooth losses",
        (*_hinge(scale), *_risk(scale), *_nuclear(scale)),
        _remarks,
        "The paper has no experiments. Hinge loss: pairwise SGD for AUC at ε = 1, δ = 1e-5. Excess "
        "risk: hinge loss on synthetic records of 10 features, with respect to a population of "
        f"4000, ε = 1; with the n² steps of Theorem 5 up to n = {_MOST_SQUARED}. Nuclear norm: the "
        f"classes differ in three of d directions, n = {_TRAIN}; "
        "metrics of Frobenius or nuclear norm at most 1 are fitted by pairwise SGD on a rounded "
        "hinge loss, and scored by 3-NN. auto chooses by a predicted AUC, and not for a small "
        "risk; the excess risk of weights of zero, which need no data, is given beside it.",
    )


def _hinge(scale: Scale) -> Iterator[PlannedCell]:
    for protocol in PROTOCOLS:
        for dataset in ("diabetes", "retinopathy"):
            for n in scale.points(_SIZES):
                at = Position(_HINGE, dataset, "AUC", protocol, "n", n)
                without = Learning(
                    "ranking", dataset, protocol, n, "Yang2021", loss="hinge", runs=scale.runs
                )
                private = replace(without, epsilon=1.0, delta=_DELTA)
                yield from at.printed("Yang2021", private, has_theorem=YANG.has_theorem)
                yield at.cell("Yang2021", "certified", private)
                for method in ("Yang2021Simple", AUTO):
                    yield at.cell(method, "certified", replace(private, method=method))
                yield at.cell("Yang2021 without noise", "baseline", without)
                for baseline in (LOGISTIC, MEANS):
                    yield at.cell(baseline, "baseline", replace(without, method=baseline))


def _risk(scale: Scale) -> Iterator[PlannedCell]:
    for n in scale.points(_MANY):
        at = Position(_RISK, "synthetic, hinge loss", "excess risk", "", "n", n)
        for series, algorithm in (("Yang2021", YANG), ("Yang2021Simple", YANG_SIMPLE)):
            without = ExcessRisk(algorithm, "hinge", 0.0, n, runs=scale.runs)
            private = replace(without, epsilon=1.0, delta=_DELTA)
            if series == "Yang2021":
                yield from at.printed(series, private, has_theorem=n <= _MOST_SQUARED)
            yield at.cell(series, "certified", private)
            yield at.cell(f"{series} without noise", "baseline", without)
        chosen = ExcessRisk(None, "hinge", 0.0, n, 1.0, _DELTA, runs=scale.runs)
        yield at.cell(AUTO, "certified", chosen)
        yield at.cell(ZERO, "baseline", ExcessRisk(ZERO, "hinge", 0.0, n, runs=scale.runs))


def _nuclear(scale: Scale) -> Iterator[PlannedCell]:
    norms: tuple[Norm | None, ...] = (None, "Frobenius", "nuclear")
    for d in scale.points(_DIMENSIONS):
        at = Position(_NUCLEAR, "synthetic", "accuracy", "", "d", d)
        for norm in norms:
            without = NuclearNorm(norm, d, runs=scale.runs)
            name = AUTO if norm is None else f"{norm} norm"
            yield at.cell(f"{name} without noise" if norm else EUCLID, "baseline", without)
            for epsilon in _EPSILONS:
                private = replace(without, epsilon=epsilon)
                yield at.cell(f"{name}, ε = {epsilon:g}", "certified", private)


def _remarks(results: Results) -> Iterator[Remark]:
    """Yield how the two norms compare at each point."""
    found = {
        (cell.series, cell.x): cell
        for cell in results.cells
        if cell.study == NAME and cell.exhibit == _NUCLEAR
    }
    lines = []
    for (series, d), cell in found.items():
        other = found.get((series.replace("Frobenius", "nuclear"), d))
        if series.startswith("Frobenius") and other is not None:
            what = series.removeprefix("Frobenius norm").removeprefix(",").strip()
            apart = other.low > cell.high or cell.low > other.high
            lines.append(
                f"  d = {d:g}, {what}: nuclear {other.mean:.3f}, Frobenius {cell.mean:.3f}"
                + (" (intervals do not overlap)" if apart else "")
            )
    if lines:
        yield Remark(NAME, _NUCLEAR, "Nuclear against Frobenius norm", "\n".join(lines))
    yield from zero_model.remarks(results, NAME)
    yield from certified_comparison.remarks(results, NAME)
