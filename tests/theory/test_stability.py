"""No bound on the distance of two runs, or on a generalization gap, is below what is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp.audit import TightLoss
from pairdp.constraints import L2Ball
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.theory import Facts, xue2021
from pairdp.theory.wang2024 import lemma_19
from pairdp.theory.yang2021 import theorem_1
from tests.theory.populations import (
    HINGE,
    RANKING,
    REGULARIZED,
    different,
    mean_gradient,
    mean_value,
    population,
)

Array = NDArray[np.float64]
BUDGET = Budget(1.0, 1e-6)
TIGHT = Problem(TightLoss(), L2Ball(10.0), regularization=0.5)
TIGHT_CONVEX = Problem(TightLoss(), L2Ball(10.0))


def neighbours(n: int) -> tuple[Array, Array, Array]:
    """Return rows, labels that are all equal, and labels with one flipped."""
    labels = np.ones(n)
    flipped = labels.copy()
    flipped[0] = -1.0
    return np.tile([1.0, 0.0], (n, 1)), labels, flipped


def descent(problem: Problem, rows: Array, labels: Array, steps: int, eta: float) -> list[Array]:
    """Return w_1 … w_T of projected gradient descent."""
    points = [problem.constraint.initial(rows.shape[1])]
    for _ in range(steps):
        slope = mean_gradient(problem, rows, labels, points[-1], *different(len(rows)))
        points.append(problem.projected_step(points[-1], eta, slope))
    return points[1:]


def test_lemmas_1_and_7_of_xue_are_attained_by_a_linear_loss() -> None:
    n, steps = 20, 60
    rows, labels, flipped = neighbours(n)
    facts = Facts.of(TIGHT, n, 2, BUDGET)
    eta = 2 / (facts.smoothness + facts.strong_convexity)
    first, second = (descent(TIGHT, rows, y, steps, eta)[-1] for y in (labels, flipped))
    bound = xue2021.lemma_1(facts)
    assert bound.proved is not None
    assert bound.value is not None
    assert float(np.linalg.norm(first - second)) == pytest.approx(bound.proved.value, rel=1e-6)
    assert 2 * bound.proved.value <= bound.value

    facts, eta = Facts.of(TIGHT_CONVEX, n, 2, BUDGET), 0.05
    averages = [
        np.mean(descent(TIGHT_CONVEX, rows, y, steps, eta), axis=0) for y in (labels, flipped)
    ]
    bound = xue2021.lemma_7(facts, steps, eta)
    assert bound.proved is not None
    assert bound.value is not None
    assert float(np.linalg.norm(averages[0] - averages[1])) == pytest.approx(bound.proved.value)
    assert bound.proved.value <= bound.value


@pytest.mark.parametrize("problem", [REGULARIZED, RANKING])
def test_lemmas_of_xue_bound_the_generalization_gap(problem: Problem) -> None:
    n, steps, eta = 20, 40, 2.0
    where, gaps = population(problem), []
    for seed in range(40):
        rows, labels = where.draw(n, seed)
        points = descent(problem, rows, labels, steps, eta)
        point = points[-1] if problem is REGULARIZED else np.mean(points, axis=0)
        gaps.append(where.risk(point) - mean_value(problem, rows, labels, point, *different(n)))
    facts = Facts.of(problem, n, 3, BUDGET)
    bound = (
        xue2021.lemma_5_strongly_convex(facts)
        if problem is REGULARIZED
        else xue2021.lemma_5_convex(facts, steps, eta)
    )
    assert bound.value is not None
    assert bound.proved is not None
    assert 0 < float(np.mean(gaps)) <= bound.proved.value <= bound.value


def pairwise_sgd(
    problem: Problem, rows: Array, labels: Array, draws: NDArray[np.int64], eta: float
) -> Array:
    """Return the last iterate of Yang 2021's Algorithm 1 for given draws."""
    point = problem.constraint.initial(rows.shape[1])
    for t in range(1, len(draws)):
        now, before = np.full(t, draws[t]), draws[:t]
        slopes = problem.loss.gradient(point, rows[now], labels[now], rows[before], labels[before])
        point = problem.projected_step(point, eta, slopes.mean(axis=0))
    return point


@pytest.mark.parametrize("problem", [HINGE, RANKING])
def test_theorem_1_of_yang(problem: Problem) -> None:
    n, steps, eta, failure = 20, 60, 0.02, 0.2
    bound = theorem_1(Facts.of(problem, n, 2, BUDGET, failure=failure), steps, eta)
    assert bound.value is not None
    assert bound.proved is not None
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])[np.arange(n) % 2]
    labels = np.where(np.arange(n) % 2, -1.0, 1.0)
    flipped = labels.copy()
    flipped[0] = -1.0
    rng, far = np.random.default_rng(0), 0
    for _ in range(40):
        draws = rng.integers(n, size=steps + 1)
        ends = [pairwise_sgd(problem, rows, y, draws, eta) for y in (labels, flipped)]
        far += float(np.linalg.norm(ends[0] - ends[1])) > bound.proved.value
    assert far <= 40 * failure


def single_pairs(
    problem: Problem, rows: Array, labels: Array, draws: NDArray[np.int64], eta: float
) -> Array:
    """Return the last iterate of Wang 2024's Algorithm 2 without noise, for given pairs."""
    point = problem.constraint.initial(rows.shape[1])
    for i, j in draws:
        slope = problem.loss.gradient(point, rows[[i]], labels[[i]], rows[[j]], labels[[j]])[0]
        point = problem.projected_step(point, eta, slope)
    return point


@pytest.mark.parametrize("problem", [RANKING, HINGE])
def test_lemma_19_of_wang(problem: Problem) -> None:
    n, steps, eta, where = 20, 40, 0.05, population(problem)
    bound = lemma_19(Facts.of(problem, n, 3, BUDGET), steps, eta)
    rng, squares = np.random.default_rng(0), []
    for seed in range(40):
        rows, labels = where.draw(n, seed)
        new_row, new_label = where.draw(1, 1000 + seed)
        draws = np.array([rng.choice(n, 2, replace=False) for _ in range(steps)])
        replaced = int(rng.integers(n))
        other_rows, other_labels = rows.copy(), labels.copy()
        other_rows[replaced], other_labels[replaced] = new_row[0], new_label[0]
        ends = [
            single_pairs(problem, x, y, draws, eta)
            for x, y in ((rows, labels), (other_rows, other_labels))
        ]
        squares.append(float(np.sum((ends[0] - ends[1]) ** 2)))
    assert bound.value is not None
    assert 0 < np.mean(squares) <= bound.value
    if bound.proved is not None:
        assert np.mean(squares) <= bound.proved.value <= bound.value


def test_the_squared_distance_of_single_pairs_is_attained() -> None:
    """A linear loss and flipped label: every pair with the record moves the runs by ηD_o."""
    n, steps, eta = 10, 30, 0.01
    facts = Facts.of(TIGHT_CONVEX, n, 2, BUDGET)
    expected = (eta * facts.pair_diameter) ** 2
    share = 2 / n
    exact = expected * (steps * share * (1 - share) + (steps * share) ** 2)
    rows, labels, flipped = neighbours(n)
    rng, squares = np.random.default_rng(0), []
    for _ in range(300):
        draws = np.array([rng.choice(n, 2, replace=False) for _ in range(steps)])
        ends = [single_pairs(TIGHT_CONVEX, rows, y, draws, eta) for y in (labels, flipped)]
        squares.append(float(np.sum((ends[0] - ends[1]) ** 2)))
    assert np.mean(squares) == pytest.approx(exact, rel=4 / math.sqrt(300))
    assert exact <= expected * (2 * steps / n + 4 * steps**2 / n**2)
