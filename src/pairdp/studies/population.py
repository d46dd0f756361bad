"""Excess risk on synthetic records: the risk of a model less the least risk on the population.

Two classes in d dimensions, normal around ±0.8 in three coordinates, in the unit ball. The
population is one large sample; its risk is the average over all pairs of that sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from pairdp.algorithms import Algorithm, Plan
from pairdp.algorithms.task import Calibration, Schedule
from pairdp.constraints import L2Ball
from pairdp.losses import HingeRanking, LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.jobs import FitJob, Split
from pairdp.studies.learning import AUTO, ZERO, auto_ranker, zero_weights

Array = NDArray[np.float64]
Loss = Literal["hinge", "logistic"]
FEATURES = 10
POPULATION = 4000
_SEED = 10**6  # different from the seeds of runs
_STEPS = 3000


def draw(n: int, seed: int) -> tuple[Array, Array]:
    """Return n records: rows of norm at most 1, and labels -1 and +1."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    x = rng.normal(size=(n, FEATURES))
    x[:, :3] += 0.8 * y[:, None]
    x /= 2 * FEATURES**0.5
    return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True)), y


@lru_cache(maxsize=1)
def population() -> tuple[Array, Array]:
    """Return the records of the population."""
    return draw(POPULATION, _SEED)


def problem_of(loss: Loss, regularization: float) -> Problem:
    """Return what is minimised: a ranking loss on the unit ball."""
    kind = HingeRanking() if loss == "hinge" else LogisticRanking()
    return Problem(kind, L2Ball(1.0), regularization)


@lru_cache(maxsize=8)
def least(loss: Loss, regularization: float) -> float:
    """Return about the least risk on the population, by subgradient steps of decreasing size."""
    problem = problem_of(loss, regularization)
    everyone = problem.records(*population())
    risk = problem.risk(everyone)
    point = problem.constraint.initial(FEATURES)
    lipschitz = problem.constants(POPULATION).lipschitz
    best = problem.value(point, everyone)
    for step in range(1, _STEPS + 1):
        slope = risk.gradient(point) + problem.regularizer_gradient(point)
        point = problem.constraint.project(point - 2 / (lipschitz * step**0.5) * slope)
        if step % 10 == 0 or step > _STEPS - 50:
            best = min(best, problem.value(point, everyone))
    return best


@dataclass(frozen=True)
class ExcessRisk(FitJob):
    """The excess risk of an algorithm over draws of n records, and the AUC on the population.

    Parameters
    ----------
    algorithm : Algorithm, "zero model", "auto" or None
        "auto" is `PrivateRanker` with its defaults; None is what it chooses for the loss and λ of
        the problem, also by a predicted AUC, and not for a small risk.
    loss, regularization : str, float
        The problem.
    n : int
        Number of records.
    epsilon, delta : float
        The budget; no noise if ε is None.
    calibration : {"certified", "printed"}
        Whether noise is certified, or follows the formula that the paper prints.
    schedule : {"tuned", "theorem"}
        Whether steps, step sizes and the like are chosen, or are those of the paper's theorem.
    """

    algorithm: Algorithm | str | None
    loss: Loss
    regularization: float
    n: int
    epsilon: float | None = None
    delta: float = 0.0
    calibration: Calibration = "certified"
    schedule: Schedule = "tuned"

    @property
    def baseline(self) -> Callable[[Split], Array] | None:
        """Weights of zero, if they are asked for."""
        return zero_weights if self.algorithm == ZERO else None

    def split(self, run: int, data: Path | None) -> Split:
        """Return new training records, and the population to test on."""
        return Split(*draw(self.n, run), *population())

    def plan(self, features: int) -> Plan:
        """Return the plan of the algorithm."""
        problem = problem_of(self.loss, self.regularization)
        if isinstance(self.algorithm, Algorithm):
            budget = None if self.epsilon is None else Budget(self.epsilon, self.delta)
            return self.algorithm.plan(
                problem,
                self.n,
                features,
                budget,
                calibration=self.calibration,
                schedule=self.schedule,
            )
        if self.algorithm == AUTO:
            return auto_ranker(self.epsilon, self.delta).plan(self.n, features)
        added = self.regularization or None
        ranker = auto_ranker(self.epsilon, self.delta, loss=problem.loss, regularization=added)
        return ranker.plan(self.n, features)

    def score(self, parameters: Array, split: Split) -> dict[str, float]:
        """Return the excess risk and the AUC."""
        problem = problem_of(self.loss, self.regularization)
        value = problem.value(parameters, problem.records(split.x_test, split.y_test))
        area = float(roc_auc_score(split.y_test > 0, split.x_test @ parameters))
        return {"excess risk": value - least(self.loss, self.regularization), "AUC": area}
