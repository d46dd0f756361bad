"""Gradients of records and Hessians, against sums over all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from pairdp._provenance import is_own
from pairdp.algorithms.plan import Progress
from pairdp.constraints import FrobeniusBall, L2Ball
from pairdp.diagnostics.curvature import GradientDifferences, RankingCurvature, curvature_at, packed
from pairdp.losses import (
    HingeMetric,
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    MetricLoss,
    PairwiseLoss,
    RankingLoss,
    SigmoidRanking,
    SquaredHingeRanking,
)
from pairdp.losses.registry import find_loss, loss_names
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.score_sums import AllPairs
from tests.diagnostics.data import Array, data, records_without

HIDDEN = Progress(False)
W = np.array([1.5, -0.4, 0.8])


@dataclass(frozen=True)
class SlowLogistic(LogisticRanking):
    def structure(self) -> AllPairs:  # type: ignore[override]
        return AllPairs()


LOSSES = [
    LogisticRanking(),
    LogisticRanking("one-sided", temperature=0.2),
    SlowLogistic(),
    SigmoidRanking(),
    LeastSquaresRanking(),
    SquaredHingeRanking("one-sided"),
    HingeRanking(width=0.5),
]


def gradients_of_pairs(loss: PairwiseLoss, w: Array, records: Records) -> Array:
    """Return the gradient of every record's terms, pair by pair."""
    n, x, y = records.n, records.x, records.evaluable
    present = ~records.null
    i, j = np.nonzero(np.outer(present, present) & ~np.eye(n, dtype=bool))
    both = loss.gradient(w, x[i], y[i], x[j], y[j]) + loss.gradient(w, x[j], y[j], x[i], y[i])
    found = np.zeros((n, *w.shape))
    np.add.at(found, i, both / (n * (n - 1)))
    return found if w.ndim == 1 else np.array([packed(one) for one in found])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradients_of_records(loss: RankingLoss) -> None:
    # More records of one class than nodes, so that sums are interpolated, and one null record.
    problem = Problem(loss, L2Ball(5.0))
    records = records_without(problem, *data(90), 4)
    found = curvature_at(problem, records, W).record_gradients(HIDDEN)
    expected = gradients_of_pairs(loss, W, records)
    np.testing.assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max() * 90)
    assert not found[4].any()
    np.testing.assert_allclose(found.sum(axis=0) / 2, problem.risk(records).gradient(W), atol=1e-13)


@pytest.mark.parametrize("form", ["two-sided", "one-sided"])
def test_the_hessian_of_the_logistic_loss(form: str) -> None:
    problem = Problem(LogisticRanking(form, temperature=0.5), L2Ball(5.0))
    records = problem.records(*data(150))
    up, down = records.x[records.y > 0], records.x[records.y < 0]
    apart = (up[:, None] - down).reshape(-1, 3)
    k, orders = problem.loss.scale, problem.loss.orders
    margins = k * apart @ W
    weights = orders * k**2 * expit(margins) * expit(-margins) / (150 * 149)
    expected = (apart * weights[:, None]).T @ apart
    curvature = curvature_at(problem, records, W)
    assert isinstance(curvature, RankingCurvature)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(curvature.hessian(3, HIDDEN), expected, atol=1e-10 * scale)
    np.testing.assert_allclose(curvature.product(W), expected @ W, atol=1e-10 * scale)
    slow = GradientDifferences(problem, problem.risk(records), records, W)
    np.testing.assert_allclose(slow.hessian(3, HIDDEN), expected, atol=1e-10 * scale)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_hessians_are_derivatives_of_gradients(loss: RankingLoss) -> None:
    problem = Problem(loss, L2Ball(5.0))
    records = problem.records(*data(200))
    fast = curvature_at(problem, records, W)
    slow = GradientDifferences(problem, problem.risk(records), records, W)
    # The second derivative of a hinge jumps, and differences see pairs on both sides.
    error = 1e-2 if "Hinge" in type(loss).__name__ else 1e-9
    expected = slow.hessian(3, HIDDEN)
    np.testing.assert_allclose(
        fast.hessian(3, HIDDEN), expected, atol=error * np.abs(expected).max()
    )
    for unit in np.eye(3):
        np.testing.assert_allclose(fast.product(unit), fast.hessian(3, HIDDEN) @ unit, atol=1e-13)


def test_widely_spread_scores_and_one_class() -> None:
    problem = Problem(LogisticRanking(temperature=1e-3), L2Ball(5.0))
    records = problem.records(*data(120))
    found = curvature_at(problem, records, W).record_gradients(HIDDEN)
    expected = gradients_of_pairs(problem.loss, W, records)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())
    alone = problem.records(data(20)[0], np.ones(20))
    assert not curvature_at(problem, alone, W).record_gradients(HIDDEN).any()


@pytest.mark.parametrize("loss", [LogisticMetric(), HingeMetric(width=0.5)], ids=repr)
def test_metrics(loss: PairwiseLoss) -> None:
    problem = Problem(loss, FrobeniusBall(3.0))
    x, _ = data(25)
    records = records_without(problem, x, np.arange(25) % 3, 7)
    matrix = np.diag([1.0, 0.5, 0.2]) + 0.1
    curvature = curvature_at(problem, records, matrix)
    found = curvature.record_gradients(HIDDEN)
    expected = gradients_of_pairs(loss, matrix, records)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    # The gradient of the risk is half of the sum, as every pair is counted for both records.
    np.testing.assert_allclose(
        found.sum(axis=0) / 2, packed(problem.risk(records).gradient(matrix)), atol=1e-13
    )
    if isinstance(loss, LogisticMetric):
        hessian = np.zeros((6, 6))
        for i in np.flatnonzero(~records.null):
            for j in np.flatnonzero(~records.null):
                a = records.x[i] - records.x[j]
                s = expit(a @ matrix @ a - 1)
                row = packed(np.outer(a, a))
                hessian += s * (1 - s) * np.outer(row, row) / (25 * 24)
        np.testing.assert_allclose(curvature.hessian(6, HIDDEN), hessian, atol=1e-10)


def test_losses_of_single_records() -> None:
    problem = PointwiseProblem(LogisticPointwise(), L2Ball(5.0))
    records = records_without(problem, *data(40), 3)
    curvature = curvature_at(problem, records, W)
    found = curvature.record_gradients(HIDDEN)
    np.testing.assert_allclose(found.sum(axis=0), problem.risk(records).gradient(W), atol=1e-14)
    assert not found[3].any()
    s = expit(records.x @ W)
    expected = (records.x * (s * (1 - s))[:, None]).T @ records.x / 40
    np.testing.assert_allclose(curvature.hessian(3, HIDDEN), expected, atol=1e-11)


@pytest.mark.parametrize(
    "kind", [RankingLoss, MetricLoss, PairwiseLoss], ids=lambda kind: kind.__name__
)
def test_every_named_loss(kind: type[PairwiseLoss]) -> None:
    """The gradients of records add up to twice that of the risk, for losses to come too."""
    x, y = data(12)
    for name in loss_names(kind):
        loss = find_loss(name, kind)
        if not is_own(type(loss)):  # another test's, in the same process
            continue
        problem = Problem(loss, FrobeniusBall(2.0) if loss.matrix else L2Ball(2.0))
        if not problem.is_smooth:
            continue
        records, w = problem.records(x, y), 0.2 * np.eye(3)
        w = w if loss.matrix else w[0]
        found = curvature_at(problem, records, w).record_gradients(HIDDEN)
        expected = packed(problem.risk(records).gradient(w))
        np.testing.assert_allclose(found.sum(axis=0) / 2, expected, atol=1e-12, err_msg=name)


def test_a_loss_without_a_hessian_is_refused() -> None:
    problem = Problem(HingeRanking(), L2Ball(5.0))
    with pytest.raises(ValueError, match="has no Hessian everywhere: use a smooth loss"):
        curvature_at(problem, problem.records(*data(10)), W)
