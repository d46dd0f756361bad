"""Audits of plans with units: all records of one unit are replaced."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import Budget, PrivateRanker, Unit
from pairdp.algorithms import GradientDescent, MomentRelease
from pairdp.audit import (
    Neighbours,
    audit_algorithm,
    audit_estimator,
    audit_plan,
    widened,
    worst_neighbours,
)
from pairdp.constraints import L2Ball
from pairdp.losses import HingeRanking, LeastSquaresRanking
from pairdp.problem import Problem

BUDGET = Budget(1.0, 1e-5)
HINGE = Problem(HingeRanking("one-sided", width=0.5), L2Ball(3.0), 30.0)
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0), 0.3)
UNIT = Unit("patient", 3)
QUICK = {"runs": 100_000, "climbs": 2}


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [
        pytest.param(GradientDescent(steps=3), HINGE, marks=pytest.mark.slow),
        (MomentRelease(), SQUARES),
    ],
)
def test_an_audit_finds_noise_that_ignores_k_and_no_other(
    algorithm: object, problem: Problem
) -> None:
    # A violation is found by chance with probability 1e-4, and the seed is fixed.
    found = audit_algorithm(algorithm, problem, 20, 2, BUDGET, unit=UNIT, **QUICK)
    assert not found.is_violated
    assert 0.5 < found.lower_bound <= 1
    plan = algorithm.plan(problem, 20, 2, BUDGET, unit=UNIT)
    pair = worst_neighbours(plan, climbs=2)
    assert len(pair.rows) == 3
    of_one_record = algorithm.plan(problem, 20, 2, BUDGET)
    assert audit_plan(of_one_record, pair, runs=100_000).is_violated
    assert not audit_plan(of_one_record, **QUICK).is_violated


def test_an_audit_on_data_replaces_the_records_of_a_unit() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2)) / 3, np.tile([-1.0, 1.0], 10)
    plan = MomentRelease().plan(SQUARES, 20, 2, BUDGET, unit=UNIT)
    found = audit_plan(plan, data=(x, y), canary="extreme", runs=20_000)
    assert not found.is_violated
    assert any("at record 0, 1, 2" in note for note in found.notes)


@pytest.mark.slow
def test_an_estimator_is_audited_with_the_rows_of_one_unit() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)) / 3, np.tile([0, 1], 15)
    ranker = PrivateRanker(1.0, 1e-5, data_norm=1.0, threshold=0.0, max_records=3)
    report = audit_estimator(ranker, x, y, runs=60, progress=False)
    assert not report.is_violated
    assert report.certificate_epsilon == pytest.approx(1.0, rel=1e-6)


def test_neighbours_of_several_rows() -> None:
    pair = Neighbours(np.zeros((5, 2)), list("ababa"), 4, np.ones(2), "cc")
    wide = widened(pair, 2)
    assert wide.rows == [3, 4]
    assert wide.groups.tolist() == [0, 1, 2, 3, 3]
    (x, y), (other_x, other_y) = wide.both()
    assert y.tolist() == ["a", "b", "a", "a", "a"]
    assert other_y.tolist() == ["a", "b", "a", "cc", "cc"]
    np.testing.assert_array_equal(other_x[3:], np.ones((2, 2)))
    np.testing.assert_array_equal(x, np.zeros((5, 2)))
    assert widened(pair, 9).rows == [0, 1, 2, 3, 4]
    for places, rows, labels in (
        ((1, 1), np.ones((2, 2)), "ab"),
        ((0, 9), np.ones((2, 2)), "ab"),
        ((), np.ones((0, 2)), ""),
        ((0, 1), np.ones(2), "ab"),
        ((0, 1), np.ones((2, 2)), "a"),
    ):
        with pytest.raises(ValueError, match=r"place|features|label|different"):
            Neighbours(np.zeros((5, 2)), list("ababa"), places, rows, list(labels))
