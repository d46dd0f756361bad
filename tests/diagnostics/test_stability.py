"""Elastic stability and the Polyak–Łojasiewicz estimate, against exact values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairdp.constraints import FrobeniusBall, L2Ball
from pairdp.diagnostics import elastic_stability, estimate_pl_constant, non_private_minimizer
from pairdp.losses import LeastSquaresRanking, LogisticMetric, LogisticPointwise, LogisticRanking
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem
from tests.diagnostics.data import Array, data, refits

PROBLEM = Problem(LogisticRanking(), L2Ball(5.0), regularization=0.5)
N = 40


@pytest.fixture(scope="module")
def without() -> Array:
    """Return the minimisers without each record."""
    return refits(PROBLEM, *data(N), range(N))


def test_the_loss_changes_as_on_refits(without: Array) -> None:
    records = PROBLEM.records(*data(N))
    found = elastic_stability(PROBLEM, records)
    assert found.all_pairs
    assert found.pairs == N * (N - 1)
    w = non_private_minimizer(PROBLEM, records)
    first, second = np.nonzero(~np.eye(N, dtype=bool))
    sides = (records.x[first], records.y[first], records.x[second], records.y[second])
    at = PROBLEM.loss.value(w, *sides)
    beta = np.array([np.abs(PROBLEM.loss.value(one, *sides) - at) for one in without])
    np.testing.assert_allclose(found.means, beta.mean(axis=1), atol=0.1 * beta.mean(axis=1).max())
    np.testing.assert_allclose(found.largest, beta.max(axis=1), atol=0.1 * beta.max())
    assert found.expected_beta == pytest.approx(N * beta.mean(axis=1).max(), rel=0.1)


def test_the_uniform_bound_holds_and_is_far(without: Array) -> None:
    records = PROBLEM.records(*data(N))
    found = elastic_stability(PROBLEM, records)
    diameter = PROBLEM.loss.record_diameter(PROBLEM.domain())
    assert found.uniform_bound == pytest.approx(diameter / (0.5 * N))
    moved = np.linalg.norm(without - non_private_minimizer(PROBLEM, records), axis=1)
    assert moved.max() <= found.uniform_bound
    assert found.ratio == pytest.approx(moved.max() / found.uniform_bound, rel=0.15)
    assert 0 < found.loss_ratio <= found.ratio < 1


def test_random_pairs_estimate_the_same() -> None:
    records = PROBLEM.records(*data(60))
    whole = elastic_stability(PROBLEM, records, pairs=10_000)
    some = elastic_stability(PROBLEM, records, pairs=1500)
    assert whole.all_pairs
    assert not some.all_pairs
    assert some.pairs == 1500
    assert np.all(some.largest <= whole.largest + 1e-12)
    np.testing.assert_allclose(some.means, whole.means, rtol=0.15)
    np.testing.assert_array_equal(some.means, elastic_stability(PROBLEM, records, pairs=1500).means)


def test_other_problems() -> None:
    x, y = data(30)
    pointwise = PointwiseProblem(LogisticPointwise(), L2Ball(5.0), regularization=0.5)
    assert elastic_stability(pointwise, pointwise.records(x, y)).pairs == 30
    metric = Problem(LogisticMetric(), FrobeniusBall(3.0), regularization=0.5)
    assert 0 < elastic_stability(metric, metric.records(x, y)).ratio < 1
    free = Problem(LogisticRanking(), L2Ball(1.0))
    found = elastic_stability(free, free.records(x, y), damping=0.01)
    assert math.isinf(found.uniform_bound)
    assert found.ratio == 0
    assert "no uniform bound" in str(found)


def test_the_constant_of_a_quadratic() -> None:
    problem = Problem(LeastSquaresRanking(), L2Ball(50.0), regularization=0.1)
    records = problem.records(*data(50))
    both = (records.x[records.y > 0][:, None] - records.x[records.y < 0]).reshape(-1, 3)
    hessian = 4 * problem.loss.scale**2 / (50 * 49) * both.T @ both + 0.1 * np.eye(3)
    values, vectors = np.linalg.eigh(hessian)
    w = non_private_minimizer(problem, records)
    # Along an eigenvector, every ratio is its eigenvalue.
    for value, vector in zip(values, vectors.T, strict=True):
        found = estimate_pl_constant(problem, records, [w + t * vector for t in (0.5, 1.0, 2.0)])
        np.testing.assert_allclose(found.ratios, value, rtol=1e-6)
    whole = estimate_pl_constant(problem, records)
    assert values[0] * (1 - 1e-6) <= whole.estimate < values[-1]
    assert whole.estimate > whole.strong_convexity == 0.1


def test_points_without_a_gap_are_left_out() -> None:
    records = PROBLEM.records(*data(30))
    w = non_private_minimizer(PROBLEM, records)
    found = estimate_pl_constant(PROBLEM, records, [w, w + 0.1])
    assert math.isnan(found.ratios[0])
    assert found.estimate == found.ratios[1] >= 0.5
    assert math.isnan(estimate_pl_constant(PROBLEM, records, [w]).estimate)
    with pytest.raises(ValueError, match="at least one point"):
        estimate_pl_constant(PROBLEM, records, [])
