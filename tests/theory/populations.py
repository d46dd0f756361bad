"""A distribution with finitely many values, whose population risk is known exactly."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.problem import Problem

Array = NDArray[np.float64]
Positions = NDArray[np.intp]
FEATURES, VALUES = 3, 30
# Short rows make bounds useful for few records.
REGULARIZED = Problem(LogisticRanking(), L2Ball(1.0), regularization=0.1, data_norm=0.25)
RANKING = Problem(LogisticRanking(), L2Ball(1.0), data_norm=0.25)
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(0.5), regularization=0.2, data_norm=0.4)
HINGE = Problem(HingeRanking(), L2Ball(0.5), data_norm=0.5)


def mean_value(
    problem: Problem, x: Array, y: Array, w: Array, first: Array, second: Array
) -> float:
    """Return the regularised average loss of the pairs at these positions."""
    losses = problem.loss.value(w, x[first], y[first], x[second], y[second])
    return float(np.mean(losses)) + problem.regularization / 2 * float(np.vdot(w, w))


def mean_gradient(
    problem: Problem, x: Array, y: Array, w: Array, first: Array, second: Array
) -> Array:
    """Return the average gradient of the pairs at these positions, without the regulariser."""
    return np.asarray(problem.loss.gradient(w, x[first], y[first], x[second], y[second]).mean(0))


def different(n: int) -> tuple[Positions, Positions]:
    """Return the positions of all ordered pairs of different records."""
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    return first, second


class Population:
    """Records are drawn independently from values with equal probabilities."""

    def __init__(self, problem: Problem) -> None:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(VALUES, FEATURES))
        rows *= problem.data_norm / np.linalg.norm(rows, axis=1)[:, None]
        noisy = rows[:, 0] / problem.data_norm + 0.5 * rng.normal(size=VALUES)
        self.problem = problem
        self.rows, self.labels = rows, np.where(noisy > 0, 1.0, -1.0)
        # All pairs: two independent records may be equal.
        first, second = np.indices((VALUES, VALUES)).reshape(2, -1)
        self.pairs = first, second

    def draw(self, n: int, seed: int) -> tuple[Array, Array]:
        """Return n independent records."""
        chosen = np.random.default_rng(seed).integers(VALUES, size=n)
        return self.rows[chosen], self.labels[chosen]

    def risk(self, w: Array) -> float:
        """Return the population risk."""
        return mean_value(self.problem, self.rows, self.labels, w, *self.pairs)

    @cached_property
    def least(self) -> float:
        """The smallest population risk, by projected descent; never below the true one."""
        point, best = self.problem.constraint.initial(FEATURES), np.inf
        smoothness = self.problem.constants(VALUES).pair_smoothness
        for step in range(1, 401):
            best = min(best, self.risk(point))
            eta = 1 / smoothness if np.isfinite(smoothness) else 0.5 / np.sqrt(step)
            slope = mean_gradient(self.problem, self.rows, self.labels, point, *self.pairs)
            point = self.problem.projected_step(point, eta, slope)
        return best

    def excess(self, w: Array) -> float:
        """Return the excess population risk."""
        return self.risk(w) - self.least


@lru_cache
def population(problem: Problem) -> Population:
    """Return the population of a problem."""
    return Population(problem)
