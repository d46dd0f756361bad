"""Losses of given pairs: sums, constants, and what a search finds of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import (
    Domain,
    HingeMetric,
    LogisticMetric,
    LogisticRanking,
    PairMetricLoss,
    PointwiseLoss,
    find_loss,
    loss_names,
)
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.testing import check_pointwise_loss

LOSSES = [PairMetricLoss(), PairMetricLoss(HingeMetric()), PairMetricLoss(LogisticMetric(0.3))]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_search_finds_no_more_than_what_is_declared_and_not_less(
    loss: PairMetricLoss,
) -> None:
    domains = [Domain(1.0, 1.0, True), Domain(1.0, 10.0, True)]
    report = check_pointwise_loss(loss, domains=domains, features=(2,))
    for name in ("lipschitz", "record_diameter", "null_diameter"):
        found = [check.found / check.declared for check in report.checks if check.name == name]
        assert len(found) == 2
        assert all(0.98 <= ratio <= 1 + 1e-6 for ratio in found), (name, found)


def test_a_diameter_that_is_slightly_too_small_is_found() -> None:
    class Proud(PairMetricLoss):
        def record_diameter(self, domain: Domain) -> float:
            return 0.98 * super().record_diameter(domain)

    report = check_pointwise_loss(
        Proud(), domains=[Domain(1.0, 1.0, True)], features=(2,), raise_on_failure=False
    )
    assert report.failures == ("record_diameter",)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]), st.sampled_from([0.2, 1.0, 5.0]))
def test_no_two_pairs_differ_by_more_than_the_diameter(
    seed: int, radius: float, temperature: float
) -> None:
    rng = np.random.default_rng(seed)
    loss, domain = PairMetricLoss(LogisticMetric(temperature)), Domain(1.5, radius, True)
    w = rng.normal(size=(3, rng.integers(1, 4)))
    w = w @ w.T
    w *= radius * rng.choice([0.0, 1.0, rng.random()]) / np.linalg.norm(w)
    a = rng.normal(size=(40, 3))
    a *= 1.5 / np.linalg.norm(a, axis=1, keepdims=True)
    y = rng.choice([-1.0, 1.0], 40)
    gradients = loss.gradient(w, a, y).reshape(40, -1)
    apart = np.linalg.norm(gradients[:, None] - gradients[None], axis=2).max()
    assert apart <= loss.record_diameter(domain)
    assert np.linalg.norm(gradients, axis=1).max() <= loss.lipschitz(domain) * (1 + 1e-12)


def test_the_diameter_is_below_that_of_any_two_gradients() -> None:
    loss = PairMetricLoss()
    for radius in (0.0, 0.5, 1.0, 4.0, math.inf):
        for semidefinite in (True, False):
            domain = Domain(1.0, radius, semidefinite)
            assert loss.lipschitz(domain) <= loss.record_diameter(domain)
            assert loss.record_diameter(domain) <= 2 * loss.lipschitz(domain) * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_sums_are_those_of_the_gradients(loss: PairMetricLoss) -> None:
    rng = np.random.default_rng(0)
    problem = PointwiseProblem(loss, PSDFrobeniusBall(2.0), data_norm=1.5)
    x, y = rng.normal(size=(5000, 3)), rng.choice([-1.0, 1.0], 5000)
    x[[3, 4000]] = np.nan
    records = problem.records(x, y, invalid="null")
    w = np.diag([1.0, 0.5, 0.2])
    one_by_one = loss.gradient(w, records.x, records.evaluable)[~records.null]
    found = problem.risk(records).gradient(w)
    np.testing.assert_allclose(found, one_by_one.sum(axis=0) / 5000, rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    values = loss.value(w, records.x, records.evaluable)[~records.null]
    assert problem.risk(records).value(w) == pytest.approx(values.sum() / 5000)
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        problem.risk(records).gradient(np.zeros(3))


def test_names_and_errors() -> None:
    assert loss_names(PairMetricLoss) == ["hinge", "logistic"]
    assert find_loss("hinge", PairMetricLoss) == PairMetricLoss(HingeMetric())
    assert not isinstance(find_loss("logistic", PointwiseLoss), PairMetricLoss)
    with pytest.raises(TypeError, match="MetricLoss"):
        PairMetricLoss(LogisticRanking())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="PSDFrobeniusBall"):
        PointwiseProblem(PairMetricLoss(), L2Ball(1.0))
