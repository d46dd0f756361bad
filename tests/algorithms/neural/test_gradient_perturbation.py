"""Gradient perturbation of networks as in Kang 2021: certified by composition, and as printed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import Plan
from pairdp.algorithms.neural import NeuralDescent
from pairdp.algorithms.neural.clipped_sums import NetworkRecords
from pairdp.constraints import Unconstrained
from pairdp.losses import LogisticRanking, SigmoidRanking
from pairdp.privacy.accounting import gaussian
from pairdp.problem import Problem
from pairdp.records import Records

N, T, BUDGET = 500, 7, Budget(1.0, 1e-6)
PERTURBED = NeuralDescent((4, 3), steps=T, gradient="pairwise", learning_rate=0.5)


def planned(budget: Budget | None = BUDGET, **given: object) -> Plan:
    problem = Problem(SigmoidRanking(), Unconstrained(), data_norm=2.0)
    return PERTURBED.plan(problem, N, 3, budget, schedule="theorem", **given)  # type: ignore[arg-type]


def test_certified_noise_is_that_of_composition() -> None:
    plan = planned()
    (release,) = plan.certificate.releases
    mu = gaussian.gdp_mu(BUDGET.epsilon, BUDGET.delta)
    clip = plan.settings.clip
    assert release.mechanism.scale == pytest.approx(2 * clip * math.sqrt(T) / (N * mu), rel=1e-5)
    assert plan.certificate.epsilon(1e-6) == pytest.approx(1.0, rel=1e-6)
    assert verify(plan.certificate).holds


def test_printed_noise_tells_the_epsilon_that_composition_gives() -> None:
    plan = planned(calibration="printed")
    (release,) = plan.certificate.releases
    lipschitz = 2 * plan.settings.clip  # of the gradient of one pair
    sigma = 8 * lipschitz * math.sqrt(T * math.log(1e6)) / (N * 1.0)
    assert release.mechanism.scale == pytest.approx(sigma)
    mu = math.sqrt(T) * release.mechanism.sensitivity / sigma
    true = plan.certificate.epsilon(1e-6)
    assert gaussian.log_delta(true, mu) == pytest.approx(math.log(1e-6), rel=1e-4)
    assert true < 0.2  # of a printed ε of 1: the formula is loose
    assert verify(plan.certificate).holds


def test_it_takes_plain_steps_from_the_initial_weights_and_releases_the_last_iterate() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(N, 3)), rng.choice([-1.0, 1.0], N)
    plan = planned(budget=None)
    records = Records(x, y, data_norm=2.0)
    fit = plan.run(records, NoiseSource(0))
    network = PERTURBED.network(3)
    at = network.initial(0)
    rows = NetworkRecords(network, records.x / 2.0, records.y)
    for _ in range(T):
        at = at - 0.5 * rows.mean_over_pairs(at, SigmoidRanking(), plan.settings.clip)
    np.testing.assert_allclose(fit.parameters, at, atol=1e-12)


def test_what_is_no_gradient_perturbation_has_no_printed_noise() -> None:
    problem = Problem(LogisticRanking(), Unconstrained())
    for other in (NeuralDescent(), NeuralDescent(gradient="pairwise", batch_size=9)):
        with pytest.raises(ValueError, match="no paper prints"):
            other.plan(problem, N, 3, BUDGET, calibration="printed")
    with pytest.raises(ValueError, match="for the steps of the paper"):
        PERTURBED.plan(problem, N, 3, BUDGET, calibration="printed", schedule="tuned")
    with pytest.raises(ValueError, match="from 2 to n = 500"):
        NeuralDescent(batch_size=501).plan(problem, N, 3, BUDGET)


def test_steps_that_diverge_stay_finite_for_all_records() -> None:
    problem = Problem(SigmoidRanking(), Unconstrained())
    far = replace(PERTURBED, learning_rate=1e300).plan(problem, N, 3, BUDGET, schedule="theorem")
    x = np.random.default_rng(0).normal(size=(N, 3))
    x[0], x[1] = 1e-300, 0.0
    fit = far.run(Records(x, np.resize([-1.0, 1.0], N)), NoiseSource(0))
    assert np.abs(fit.parameters).max() == 1e6
