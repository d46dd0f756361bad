"""Influence, against minimisers of the data without one record."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.constraints import FrobeniusBall, L2Ball, PSDFrobeniusBall
from pairdp.diagnostics import influence, influence_on, non_private_minimizer
from pairdp.losses import LeastSquaresRanking, LogisticMetric, LogisticPointwise, LogisticRanking
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem
from tests.diagnostics.data import data, records_without, refits


def errors(problem: Problem, n: int, d: int = 3) -> tuple[float, float]:
    """Return the largest error of influence among some records, and the largest change."""
    x, y = data(n, d)
    removed = range(0, n, n // 10)
    w = non_private_minimizer(problem, problem.records(x, y))
    estimated = influence(problem, problem.records(x, y), w).changes[list(removed)]
    true = refits(problem, x, y, removed) - w
    axes = tuple(range(1, true.ndim))
    return (
        float(np.sqrt(np.sum((estimated - true) ** 2, axis=axes)).max()),
        float(np.sqrt(np.sum(true**2, axis=axes)).max()),
    )


PROBLEMS = {
    "interior": Problem(LogisticRanking(), L2Ball(10.0), regularization=0.1),
    "boundary": Problem(LogisticRanking(), L2Ball(0.4), regularization=0.1),
    "one-sided": Problem(LogisticRanking("one-sided", 0.5), L2Ball(10.0), regularization=0.1),
    "pointwise": PointwiseProblem(LogisticPointwise(), L2Ball(10.0), regularization=0.1),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_error_is_of_the_order_of_one_over_n_squared(name: str) -> None:
    small, small_change = errors(PROBLEMS[name], 50)
    large, large_change = errors(PROBLEMS[name], 200)
    # With four times as many records, changes are about 4 and errors about 16 times smaller.
    assert large < 0.1 * large_change
    assert small_change / large_change < 8
    assert small / large > 9


@pytest.mark.parametrize("constraint", [FrobeniusBall(3.0), PSDFrobeniusBall(0.6)], ids=repr)
def test_metrics(constraint: FrobeniusBall | PSDFrobeniusBall) -> None:
    problem = Problem(LogisticMetric(), constraint, regularization=0.1)
    small, _ = errors(problem, 30, 2)
    large, change = errors(problem, 90, 2)
    assert large < 0.1 * change
    assert small / large > 4


def test_a_singular_matrix_at_the_boundary_of_the_cone() -> None:
    # Records of one class are far apart in the second feature, and close to the other class.
    problem = Problem(LogisticMetric(), PSDFrobeniusBall(5.0), regularization=0.1)
    labels = np.arange(60) >= 5
    x = data(60, 2)[0]
    x[:, 0] += labels - 0.5
    x[:, 1] = np.where(labels, np.where(np.arange(60) % 2, 0.5, -0.5), 0.0)
    records = problem.records(x, labels)
    w = non_private_minimizer(problem, records)
    assert np.linalg.eigvalsh(w)[0] < 1e-9 < np.linalg.eigvalsh(w)[1]
    true = refits(problem, x, labels, range(0, 60, 6)) - w
    found = influence(problem, records, w).changes[::6]
    assert np.abs(found - true).max() < 0.15 * np.abs(true).max()


def test_least_squares_are_exact_up_to_the_removed_curvature() -> None:
    # For a quadratic F, the error is that of the Hessian alone: (H - H_i)⁻¹ g_i is exact.
    problem = Problem(LeastSquaresRanking(), L2Ball(10.0), regularization=0.1)
    x, y = data(40)
    records = problem.records(x, y)
    w = non_private_minimizer(problem, records)
    i = 3
    apart = (records.x[i] - records.x)[records.y != records.y[i]]
    factor = 4 * problem.loss.scale**2 / (40 * 39)

    def hessian(own: np.ndarray) -> np.ndarray:
        return np.asarray(factor * own.T @ own)

    both = (records.x[records.y > 0][:, None] - records.x[records.y < 0]).reshape(-1, 3)
    whole = hessian(both) + 0.1 * np.eye(3)
    estimated = influence(problem, records, w).changes[i]
    exact = np.linalg.solve(whole - hessian(apart), whole @ estimated)
    true = non_private_minimizer(problem, records_without(problem, x, y, i)) - w
    np.testing.assert_allclose(exact, true, atol=1e-8)


@pytest.mark.parametrize("name", ["interior", "pointwise"])
def test_conjugate_gradients_agree_with_the_whole_hessian(name: str) -> None:
    problem = PROBLEMS[name]
    records = problem.records(*data(300))
    target = np.array([0.3, -1.0, 0.2])
    w = non_private_minimizer(problem, records)
    whole, found = influence(problem, records, w), influence_on(problem, records, target, w)
    expected = whole.on(target)
    np.testing.assert_allclose(found.values, expected, atol=1e-8 * np.abs(expected).max())
    assert found.most(1)[0] == np.abs(expected).argmax()
    assert whole.residual < 1e-8


def test_conjugate_gradients_for_a_matrix() -> None:
    problem = Problem(LogisticMetric(), FrobeniusBall(20.0), regularization=0.1)
    x, y = data(40, 2)
    records, target = problem.records(x, y), np.array([[1.0, 0.5], [0.5, -2.0]])
    w = non_private_minimizer(problem, records)
    expected = np.einsum("ijk,jk->i", influence(problem, records, w).changes, target)
    found = influence_on(problem, records, target, w).values
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_a_null_record_has_no_influence() -> None:
    problem = PROBLEMS["interior"]
    found = influence(problem, records_without(problem, *data(30), 5))
    assert found.sizes[5] == 0.0 < np.delete(found.sizes, 5).min()
    assert 5 not in found.most(29)


def test_without_strong_convexity() -> None:
    x, y = data(30)
    x[:, 2] = x[:, 1]  # nothing determines the difference of two weights
    problem = Problem(LogisticRanking(), L2Ball(20.0))
    records = problem.records(x, y)
    with pytest.raises(
        ValueError, match=r"not positive definite.*use a regularization, or damping"
    ):
        influence(problem, records, np.zeros(3))
    damped = influence(problem, records, np.zeros(3), damping=0.5)
    stronger = influence(problem, records, np.zeros(3), damping=5.0)
    assert 0 < stronger.sizes.max() < damped.sizes.max()


def test_what_is_refused() -> None:
    problem = PROBLEMS["boundary"]
    records = problem.records(*data(30))
    with pytest.raises(ValueError, match="at the boundary of the constraint set"):
        influence_on(problem, records, np.ones(3))
    with pytest.raises(ValueError, match=r"target must be finite and have shape \(3,\)"):
        influence(problem, records).on(np.ones(2))
    with pytest.raises(ValueError, match="w must be finite"):
        influence(problem, records, [np.nan, 0, 0])
    with pytest.raises(ValueError, match="damping"):
        influence(problem, records, damping=-1.0)
    with pytest.raises(ValueError, match="clipped to norm 2"):
        influence(problem, Problem(LogisticRanking(), L2Ball(1.0), data_norm=2.0).records(*data(9)))
