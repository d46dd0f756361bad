"""Excess risk on synthetic records: how far a model is from the best one on the population.

Two classes in d dimensions, normal around ±shift along a few directions, in the unit ball. The
population is a large sample, the same for all; its risk is over all pairs of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms import Algorithm, Plan
from pairdp.algorithms.task import Calibration
from pairdp.constraints import L2Ball
from pairdp.estimators import PrivateRanker
from pairdp.losses import HingeRanking, LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.jobs import Job, RunResult, summed_up

Array = NDArray[np.float64]
Loss = Literal["hinge", "logistic"]
FEATURES = 10
POPULATION = 4000
_SEED = 10**6  # apart from those of runs
_STEPS = 3000


def draw(n: int, seed: int) -> tuple[Array, Array]:
    """Return n records of the law: labels -1 and +1, rows of norm at most 1."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    x = rng.normal(size=(n, FEATURES))
    x[:, :3] += 0.8 * y[:, None]
    x /= 2 * FEATURES**0.5
    return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True)), y


def problem_of(loss: Loss, regularization: float) -> Problem:
    """Return what is minimised: a ranking loss on the unit ball."""
    kind = HingeRanking() if loss == "hinge" else LogisticRanking()
    return Problem(kind, L2Ball(1.0), regularization)


@lru_cache(maxsize=8)
def least(loss: Loss, regularization: float) -> float:
    """Return about the least risk of the population, by many steps of falling size."""
    problem = problem_of(loss, regularization)
    everyone = problem.records(*draw(POPULATION, _SEED))
    risk = problem.risk(everyone)
    point = problem.constraint.initial(FEATURES)
    size = problem.constants(POPULATION).lipschitz
    best = problem.value(point, everyone)
    for step in range(1, _STEPS + 1):
        slope = risk.gradient(point) + problem.pull(point)
        point = problem.constraint.project(point - 2 / (size * step**0.5) * slope)
        if step % 10 == 0 or step > _STEPS - 50:
            best = min(best, problem.value(point, everyone))
    return best


@dataclass(frozen=True)
class ExcessRisk(Job):
    """The excess risk of what an algorithm releases, over draws of n records.

    Parameters
    ----------
    algorithm : Algorithm or None
        Which; None is what `PrivateRanker` chooses.
    loss, regularization : str, float
        The problem.
    n : int
        Number of records.
    epsilon, delta : float
        The budget; ε None is without noise.
    calibration : {"certified", "printed"}
        Whose noise.
    """

    algorithm: Algorithm | None
    loss: Loss
    regularization: float
    n: int
    epsilon: float | None = None
    delta: float = 0.0
    calibration: Calibration = "certified"

    def run(self, data: Path | None) -> RunResult:
        """Draw, fit and judge."""
        problem = problem_of(self.loss, self.regularization)
        budget = None if self.epsilon is None else Budget(self.epsilon, self.delta)
        try:
            if self.algorithm is None:
                plan = self._auto(problem)
            else:
                plan = self.algorithm.plan(
                    problem, self.n, FEATURES, budget, calibration=self.calibration
                )
        except ValueError as error:
            return RunResult({}, refused=str(error))
        everyone = problem.records(*draw(POPULATION, _SEED))
        floor = least(self.loss, self.regularization)
        found, certificate = [], plan.certificate
        for i in range(self.runs):
            fit = plan.run(problem.records(*draw(self.n, i)), self.noise(i), progress=False)
            certificate = fit.certificate
            found.append(problem.value(fit.parameters, everyone) - floor)
        return RunResult({"excess risk": tuple(found)}, summed_up(certificate))

    def _auto(self, problem: Problem) -> Plan:
        """Return what is chosen from public facts, for the loss that is judged."""
        loss: Any = problem.loss
        added = self.regularization or None
        ranker = PrivateRanker(
            self.epsilon, self.delta, loss=loss, regularization=added, threshold=0.0, data_norm=1.0
        )
        return ranker.plan(self.n, FEATURES)
