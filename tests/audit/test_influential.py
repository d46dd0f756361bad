"""Canaries that replace the most influential records of a data set."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import Budget, PrivateRanker
from pairdp.algorithms import Plan, find_algorithm
from pairdp.audit import (
    Neighbours,
    TightLoss,
    audit_estimator,
    audit_plan,
    influential_canaries,
    worst_canary,
)
from pairdp.audit.transcripts import distance
from pairdp.constraints import L2Ball
from pairdp.diagnostics import influence
from pairdp.losses import HingeRanking, LogisticRanking
from pairdp.problem import Problem

PROBLEM = Problem(LogisticRanking(), L2Ball(1.0), regularization=0.3)
N = 40


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return records of which number 7 is far from its class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2)) / 5
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    x[7] = [-0.9 * y[7], 0.3]
    return x, y


def plan_of(name: str) -> Plan:
    return find_algorithm(name).plan(PROBLEM, N, 2, Budget(1.0, 1e-5))


def test_the_most_influential_records_are_replaced() -> None:
    x, y = data()
    pairs = list(influential_canaries(PROBLEM, x, y, count=2))
    found = influence(PROBLEM, PROBLEM.records(x, y))
    first, second = found.most(2).tolist()
    assert [pair.place for pair in pairs[:5]] == [first, first, second, second, first]
    assert first == 7
    copied = pairs[0].other_x
    places = np.flatnonzero((x == copied).all(axis=1))
    apart = np.linalg.norm(found.changes - found.changes[7], axis=1)
    assert places.tolist() == [apart.argmax()]
    assert sum(bool(np.isnan(pair.other_x).all()) for pair in pairs) == 2
    without = influential_canaries(PROBLEM, x, y, count=2, null=False)
    assert not any(np.isnan(pair.other_x).any() for pair in without)


def test_names_of_classes() -> None:
    x, y = data()
    named = list(influential_canaries(PROBLEM, x, np.where(y > 0, "yes", "no"), count=1))
    assert {str(pair.other_y) for pair in named} == {"yes", "no"}
    with pytest.raises(ValueError, match="two classes, but 3 labels occur"):
        list(influential_canaries(PROBLEM, x, np.arange(N) % 3))


def test_influence_is_the_distance_that_removing_a_record_has() -> None:
    x, y = data()
    plan = plan_of("minimizer")
    sizes = influence(PROBLEM, PROBLEM.records(x, y)).sizes
    order = np.argsort(-sizes)
    removed = [
        distance(plan, Neighbours(x, y, int(i), np.full(2, np.nan), y[i])) for i in order[::6]
    ]
    np.testing.assert_allclose(
        np.array(removed) / removed[0], sizes[order[::6]] / sizes[order[0]], atol=0.05
    )
    assert removed[0] == max(removed) > 2 * removed[3]


def test_an_audit_on_a_data_set_says_so() -> None:
    plan = plan_of("DPGDSC")
    report = audit_plan(plan, data=data(), runs=20_000)
    assert not report.is_violated
    assert "an influential canary, at record " in report.notes[-1]
    assert "NOT private" in report.notes[-1]
    assert 0 < report.lower_bound < 1
    assert audit_plan(plan, worst_canary(plan, *data()), runs=20_000).lower_bound == (
        report.lower_bound
    )


def test_a_false_claim_is_refuted_on_a_data_set() -> None:
    # Of the loss y·y'·wᵀe, every flipped label attains the bound.
    problem = Problem(TightLoss(), L2Ball(10.0), regularization=0.5)
    plan = find_algorithm("DPGDSC").plan(problem, 10, 2, Budget(4.0, 1e-5))
    x, y = np.full((10, 2), 0.1), np.ones(10)
    y[3] = -1.0
    report = audit_plan(plan, data=(x, y), claimed=Budget(1.0, 1e-5), runs=20_000)
    assert report.is_violated


def test_estimators() -> None:
    x, y = data()
    ranker = PrivateRanker(1.0, 1e-5, algorithm="DPGDSC", data_norm=1.0, threshold=0.0)
    report = audit_estimator(ranker, x, y, canary="influential", runs=40)
    assert report.name == "PrivateRanker"
    with pytest.raises(ValueError, match='canary must be "extreme" or "influential"'):
        audit_estimator(ranker, x, y, canary="none", runs=40)  # type: ignore[arg-type]


def test_what_is_refused() -> None:
    x, y = data()
    plan = plan_of("DPGDSC")
    with pytest.raises(ValueError, match=r"the plan is for data of shape \(40, 2\), got \(39, 2\)"):
        worst_canary(plan, x[1:], y[1:])
    with pytest.raises(ValueError, match='canary must be "influential" or "extreme"'):
        audit_plan(plan, data=(x, y), canary="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give either pair or data"):
        audit_plan(plan, worst_canary(plan, x, y), data=(x, y))
    hinge = Problem(HingeRanking(), L2Ball(1.0))
    with pytest.raises(ValueError, match='use canary="extreme"'):
        list(influential_canaries(hinge, x, y))
