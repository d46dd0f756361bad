"""Algorithms over a pair design: what they refuse, and what they record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairdp import Budget
from pairdp.algorithms import (
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    WithPairDesign,
)
from pairdp.algorithms.stored_plans import plan_again
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import HingeMetric, LogisticMetric, LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Certificate, Unit
from pairdp.problem import Problem

METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1)
BUDGET = Budget(1.0, 1e-6)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: WithPairDesign(MomentRelease()), "must be GradientDescent"),  # type: ignore[arg-type]
        (lambda: WithPairDesign(NoisyGradientDescent(batch_size=4)), "leave out batch_size"),
        (lambda: WithPairDesign(NoisyGradientDescent(pairing="disjoint")), "leave out batch_size"),
        (lambda: WithPairDesign(GradientDescent(), 3).plan(METRIC, 100, 2), "even"),
        (lambda: WithPairDesign(GradientDescent(), 100).plan(METRIC, 100, 2), "at most 99"),
        (
            lambda: WithPairDesign(GradientDescent()).plan(
                PointwiseProblem(LogisticPointwise(), L2Ball(1.0), 0.1), 100, 2
            ),
            "GradientDescent alone",
        ),
        (
            lambda: WithPairDesign(MinimizerRelease()).plan(
                Problem(HingeMetric(), PSDFrobeniusBall(1.0), 0.1), 100, 2
            ),
            "smooth",
        ),
        (
            # Over all pairs a longer step contracts; over a design it might not.
            lambda: WithPairDesign(GradientDescent(steps=3, step_size=0.9)).plan(METRIC, 100, 2),
            "2/",
        ),
    ],
    ids=["algorithm", "batches", "pairing", "odd", "many", "records", "smooth", "step"],
)
def test_what_has_no_design_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


@pytest.mark.parametrize(
    "algorithm",
    [NoisyGradientDescent(steps=5, step_size=0.1), MinimizerRelease()],
    ids=["gradients", "minimiser"],
)
def test_noise_is_that_of_all_pairs(algorithm: Any) -> None:
    some = WithPairDesign(algorithm, 4).plan(METRIC, 1000, 3, BUDGET)
    every = algorithm.plan(METRIC, 1000, 3, BUDGET)
    found, expected = (plan.certificate.releases[0].mechanism for plan in (some, every))
    assert found.scale == pytest.approx(expected.scale, rel=1e-6)  # type: ignore[attr-defined]


def test_the_certificate_records_the_design() -> None:
    plan = WithPairDesign(NoisyGradientDescent(steps=5, step_size=0.1), 4, seed=7).plan(
        METRIC, 1000, 3, BUDGET
    )
    stored = Certificate.from_json(plan.certificate.to_json())
    again = plan_again(stored)
    assert again.certificate == plan.certificate
    assert again.problem == plan.problem
    assert (again.problem.partners, again.problem.seed) == (4, 7)  # type: ignore[attr-defined]
    assert "4 pairs of each record" in str(plan)


def test_units_cost_as_many_records() -> None:
    algorithm = WithPairDesign(NoisyGradientDescent(steps=5, step_size=0.1), 4)
    one, three = (
        algorithm.plan(METRIC, 1000, 3, BUDGET, unit=unit).certificate.releases[0].sensitivity
        for unit in (None, Unit("person", 3))
    )
    assert one is not None
    assert three is not None
    assert three.value == pytest.approx(3 * one.value)


def test_a_metric_of_some_pairs_is_near_that_of_all() -> None:
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 3, 1500))  # sorted, as the records of a file may be
    x = rng.normal(size=(y.size, 3)) / 4 + np.outer(y, [0.5, 0.0, 0.0])
    records = METRIC.records(x, y)
    algorithm = GradientDescent("average", steps=30, step_size=0.3)
    every, some, more = (
        one.plan(METRIC, y.size, 3).run(records).parameters
        for one in (algorithm, WithPairDesign(algorithm, 4), WithPairDesign(algorithm, 64))
    )
    size = np.linalg.norm(every)
    assert np.linalg.norm(some - every) < 0.05 * size
    assert np.linalg.norm(more - every) < 0.02 * size
