"""Yang 2021, "SGD for pairwise learning with non-smooth loss": its questions, made experiments.

The paper has no experiments. Here are the hinge loss for AUC, the excess risk against n, and
what its conclusion asks: whether a nuclear norm suffers less from the dimension than Frobenius'.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from pairdp.studies.jobs import Job, RunResult, summed_up
from pairdp.studies.learning import AUTO, EUCLID, LOGISTIC, MEANS, Learning, accuracy
from pairdp.studies.plan import Place, Scale, Spot, Study
from pairdp.studies.population import ExcessRisk
from pairdp.studies.protocols import PROTOCOLS, Split
from pairdp.studies.results import Remark, Results

Array = NDArray[np.float64]
Norm = Literal["Frobenius", "nuclear"]
NAME: Final = "yang2021"
_SIZES = (64, 128, 256, 512)
_MANY = (250, 500, 1000, 2000, 4000)
_DIMENSIONS = (5, 10, 20, 40)
_EPSILONS = (8.0, 2.0)
_LEARN, _JUDGE = 600, 600
_DELTA = 1e-5
_HINGE, _RISK, _NUCLEAR = "Hinge loss", "Excess risk", "Nuclear norm"
_READING = (
    "The paper prints no experiments. Hinge loss: pairwise SGD for AUC at ε = 1, δ = 1e-5. Excess "
    "risk: hinge loss on synthetic records of 10 features, against a population of 4000, ε = 1. "
    f"Nuclear norm: three directions out of d tell two classes apart, n = {_LEARN}, 3-NN judges "
    "metrics of Frobenius or nuclear norm at most 1, by pairwise SGD on a rounded hinge loss."
)


@dataclass(frozen=True)
class NuclearNorm(Job):
    """A metric of bounded norm on records of which three directions out of d matter."""

    norm: Norm | None  # None is the Euclidean metric, or with a budget what `PrivateMetric` chooses
    d: int
    epsilon: float | None = None

    def run(self, data: Path | None) -> RunResult:
        """Draw, fit and judge."""
        parts = [_records(self.d, i) for i in range(self.runs)]
        if self.norm is None and self.epsilon is None:
            return RunResult({"accuracy": tuple(accuracy(np.eye(self.d), part) for part in parts)})
        plan = self._plan()
        fits = [
            plan.run(plan.problem.records(part.x, part.y), self.noise(i), progress=False)
            for i, part in enumerate(parts)
        ]
        found = [accuracy(fit.parameters, part) for fit, part in zip(fits, parts, strict=True)]
        return RunResult({"accuracy": tuple(found)}, summed_up(fits[-1].certificate))

    def _plan(self) -> Plan:
        if self.norm is None:
            return PrivateMetric(self.epsilon, _DELTA, data_norm=1.0).plan(_LEARN, self.d)
        ball = PSDFrobeniusBall(1.0) if self.norm == "Frobenius" else PSDNuclearBall(1.0)
        problem = Problem(HingeMetric(width=0.5, temperature=0.1), ball)
        budget = None if self.epsilon is None else Budget(self.epsilon, _DELTA)
        return PairwiseSGD().plan(problem, _LEARN, self.d, budget)


def _records(d: int, seed: int) -> Split:
    """Return records of norm below 1 whose first three coordinates tell classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], _LEARN + _JUDGE)
    x = rng.normal(size=(len(y), d))
    x[:, :3] = 0.5 * x[:, :3] + 0.8 * y[:, None]
    x /= 1.2 * np.linalg.norm(x, axis=1).max()
    return Split(x[:_LEARN], y[:_LEARN], x[_LEARN:], y[_LEARN:])


def study(scale: Scale) -> Study:
    """Return what is run on the paper's questions."""
    places = (*_hinge(scale), *_risk(scale), *_nuclear(scale))
    return Study(
        NAME,
        "Yang, Lei, Lyu and Ying 2021: SGD for pairwise learning with non-smooth loss",
        places,
        (),
        _remarks,
        _READING,
    )


def _hinge(scale: Scale) -> Iterator[Place]:
    for protocol in PROTOCOLS:
        for dataset in ("diabetes", "retinopathy"):
            for n in scale.points(_SIZES):
                spot = Spot(_HINGE, dataset, "AUC", protocol, "n", n)
                bare = Learning(
                    "ranking", dataset, protocol, n, "Yang2021", loss="hinge", runs=scale.runs
                )
                spent = replace(bare, epsilon=1.0, delta=_DELTA)
                yield spot.place("Yang2021", "printed", replace(spent, calibration="printed"))
                yield spot.place("Yang2021", "certified", spent)
                yield spot.place(
                    "Yang2021Simple", "certified", replace(spent, method="Yang2021Simple")
                )
                yield spot.place("Yang2021 without noise", "baseline", bare)
                yield spot.place(AUTO, "certified", replace(spent, method=AUTO))
                for baseline in (LOGISTIC, MEANS):
                    yield spot.place(baseline, "baseline", replace(bare, method=baseline))


def _risk(scale: Scale) -> Iterator[Place]:
    for n in scale.points(_MANY):
        spot = Spot(_RISK, "synthetic, hinge loss", "excess risk", "", "n", n)
        for series, algorithm in (("Yang2021", YANG), ("Yang2021Simple", YANG_SIMPLE)):
            bare = ExcessRisk(algorithm, "hinge", 0.0, n, runs=scale.runs)
            spent = replace(bare, epsilon=1.0, delta=_DELTA)
            if series == "Yang2021":
                yield spot.place(series, "printed", replace(spent, calibration="printed"))
            yield spot.place(series, "certified", spent)
            yield spot.place(f"{series} without noise", "baseline", bare)
        chosen = ExcessRisk(None, "hinge", 0.0, n, 1.0, _DELTA, runs=scale.runs)
        yield spot.place(AUTO, "certified", chosen)


def _nuclear(scale: Scale) -> Iterator[Place]:
    norms: tuple[Norm, ...] = ("Frobenius", "nuclear")
    for d in scale.points(_DIMENSIONS):
        spot = Spot(_NUCLEAR, "synthetic", "accuracy", "", "d", d)
        plain = NuclearNorm(None, d, runs=scale.runs)
        yield spot.place(EUCLID, "baseline", plain)
        for epsilon in _EPSILONS:
            yield spot.place(
                f"{AUTO}, ε = {epsilon:g}", "certified", replace(plain, epsilon=epsilon)
            )
        for norm in norms:
            bare = NuclearNorm(norm, d, runs=scale.runs)
            yield spot.place(f"{norm} norm without noise", "baseline", bare)
            for epsilon in _EPSILONS:
                spent = replace(bare, epsilon=epsilon)
                yield spot.place(f"{norm} norm, ε = {epsilon:g}", "certified", spent)


def _remarks(results: Results) -> Iterator[Remark]:
    """Yield how the two norms compare, point by point."""
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
                + (" (intervals apart)" if apart else "")
            )
    if lines:
        yield Remark(NAME, _NUCLEAR, "Nuclear against Frobenius norm", "\n".join(lines))
