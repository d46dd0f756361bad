"""An exhibit of measured regret beside the bound on it, for the study of Huai 2020."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from pairdp.algorithms import Plan, find_algorithm
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LogisticMetric, LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.jobs import Job, RunResult, to_entry
from pairdp.studies.learning import ZERO
from pairdp.studies.protocols import permuted_split, prepared
from pairdp.studies.regret.regret_bound import regret_bound
from pairdp.studies.regret.stream_regret import regret
from pairdp.studies.results import Remark, Results
from pairdp.studies.study import PlannedCell, Position, Scale

EXHIBIT: Final = "Regret"
MEASURE: Final = "average regret"
BOUND: Final = ", proved bound"
_TOLERANCE = 2e-3
_EPSILONS = (0.5, 2.5)
_SIZES = (50, 150, 350)
_DATA = ("diabetes", "retinopathy")
_METHODS = {"OnPairStrC": 1e-3, "OnPairC": 0.0, "OnPairGradient": 0.0}
"""The algorithms, and λ of the problem whose regret is measured."""


@dataclass(frozen=True)
class StreamRegret(Job):
    """The average regret of a stream in hindsight (equation 4), or the bound on it.

    Parameters
    ----------
    goal : {"ranking", "metric"}
        What is learned.
    dataset, protocol : str
        Which records, and how they are prepared.
    n : int
        Number of records in the stream.
    method : str
        The name of an algorithm for streams, or "zero model" for models that never learn.
    epsilon, delta : float
        The budget; no noise if ε is None.
    regularization : float
        λ of the problem.
    bound : bool
        Whether the bound is computed instead of the regret.
    """

    goal: Literal["ranking", "metric"]
    dataset: str
    protocol: str
    n: int
    method: str
    epsilon: float | None = None
    delta: float = 0.0
    regularization: float = 0.0
    bound: bool = False

    @property
    def problem(self) -> Problem:
        """What the regret is measured in."""
        if self.goal == "metric":
            return Problem(LogisticMetric(), PSDFrobeniusBall(1.0), self.regularization)
        return Problem(LogisticRanking(), L2Ball(1.0), self.regularization)

    def plan(self, features: int) -> Plan:
        """Return the plan, with certified noise."""
        budget = None if self.epsilon is None else Budget(self.epsilon, self.delta)
        return find_algorithm(self.method).plan(self.problem, self.n, features, budget)

    def run(self, data: Path | None) -> RunResult:
        """Run the streams."""
        records, problem = prepared(self.dataset, self.protocol, data), self.problem
        features = records.x.shape[1]
        plan = None if self.method == ZERO else self.plan(features)
        if self.bound and plan is not None:
            return RunResult({MEASURE: (regret_bound(plan, problem).average,) * self.runs})
        models = np.array([problem.constraint.initial(features)] * self.n)
        found, entry = [], None
        for run in range(self.runs):
            split = permuted_split(records, self.n, run)
            learnt = problem.records(split.x, split.y)
            if plan is not None:
                fit = plan.run(learnt, self.noise(run), progress=False)
                models, entry = fit.statistics["models"], to_entry(fit.certificate)
            found.append(regret(problem, learnt, models, tolerance=_TOLERANCE).average)
        return RunResult({MEASURE: tuple(found)}, entry)


def cells(scale: Scale, protocols: tuple[str, ...] = ("paper",)) -> Iterator[PlannedCell]:
    """Yield the cells of the exhibit."""
    for protocol in protocols:
        for dataset in _DATA:
            for epsilon in scale.points(_EPSILONS):
                for n in scale.points(_SIZES):
                    panel = f"{dataset}, ε = {epsilon:g}"
                    at = Position(EXHIBIT, panel, MEASURE, protocol, "n", n)
                    zero = StreamRegret("ranking", dataset, protocol, n, ZERO, runs=scale.runs)
                    yield at.cell(ZERO, "baseline", zero)
                    for method, added in _METHODS.items():
                        job = StreamRegret(
                            "ranking", dataset, protocol, n, method, epsilon, 1 / n, added,
                            runs=scale.runs,
                        )  # fmt: skip
                        yield at.cell(method, "certified", job)
                        yield at.cell(method + BOUND, "baseline", replace(job, bound=True))


def remarks(results: Results, study: str) -> Iterator[Remark]:
    """Yield which bounds are vacuous, and by how much the others exceed the measured regret."""
    bounds = {
        (cell.panel, cell.protocol, cell.x, cell.series.removesuffix(BOUND)): cell.mean
        for cell in results.cells
        if cell.study == study and cell.series.endswith(BOUND)
    }
    lines = []
    for cell in results.cells:
        key = cell.panel, cell.protocol, cell.x, cell.series
        if cell.study == study and cell.exhibit == EXHIBIT and key in bounds:
            at_most = _trivial(_METHODS[cell.series])
            vacuous = "vacuous" if bounds[key] >= at_most else "not vacuous"
            lines.append(
                f"  {cell.panel}, {cell.x_name} = {cell.x:g}, {cell.series}: measured "
                f"{cell.mean:.3g}, bound {bounds[key]:.3g}, {vacuous}"
            )
    if lines:
        yield Remark(
            study,
            EXHIBIT,
            "Measured regret and the bounds on it",
            "Theorems 2 and 3 state orders without constants. The bounds here have the same parts "
            "(burn-in, descent, noise) and all constants, for exactly what is run: with "
            "probability 0.95 for noise on models, in expectation for noise in gradients. One is "
            f"vacuous if it is at least GD, such as {_trivial(0.0):.3g}: any models of the set "
            "satisfy it.\n" + "\n".join(lines),
        )


def _trivial(regularization: float) -> float:
    """Return GD of the exhibit's problem."""
    problem = Problem(LogisticRanking(), L2Ball(1.0), regularization)
    return 2 * (problem.loss.lipschitz(problem.domain()) + regularization)
