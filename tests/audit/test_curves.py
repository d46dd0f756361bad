"""Tests of a certificate's whole trade-off."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from pairdp import Budget
from pairdp.algorithms import NoisyGradientDescent
from pairdp.audit import Counts, audit_plan
from pairdp.audit.curves import best_point, delta_of, points_of
from pairdp.privacy.accounting import gaussian
from tests.audit.broken import QuietNoise
from tests.audit.cases import SURE, TIGHT


def test_counted_deltas_are_right_as_often_as_stated() -> None:
    # A Gaussian release of μ = 1 at one threshold; all outcomes summed.
    mu, threshold, runs, error = 1.0, 0.7, 40, 0.1
    caught, wrongly = (
        binom.pmf(np.arange(runs + 1), runs, norm.sf(threshold - shift)) for shift in (mu, 0.0)
    )
    for epsilon in (0.0, 0.5):
        truth = gaussian.delta(epsilon, mu)
        missed = sum(
            caught[k] * wrongly[j]
            for k in range(runs + 1)
            for j in range(runs + 1)
            if delta_of(Counts(k, runs, j, runs), epsilon, error) > truth
        )
        assert missed <= error


def test_exact_shares_attain_the_curve() -> None:
    # At the threshold where the likelihood ratio is e^ε the test is the best there is.
    mu, runs = 1.5, 10**12
    for epsilon in (0.0, 0.4, 2.0):
        threshold = epsilon / mu + mu / 2
        hits, wrong = (int(runs * norm.sf(threshold - shift)) for shift in (mu, 0.0))
        found = delta_of(Counts(hits, runs, wrong, runs), epsilon, 1e-3)
        assert found == pytest.approx(gaussian.delta(epsilon, mu), rel=1e-3)
        assert found <= gaussian.delta(epsilon, mu)


def test_the_point_in_danger_is_found() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 5000))
    points = points_of(lambda epsilon: gaussian.delta(epsilon, 1.0), 4.0)
    assert points[0] == (0.0, gaussian.delta(0.0, 1.0))
    assert all(first[1] > second[1] for first, second in itertools.pairwise(points))
    held = best_point(points, one, other + 1.0, 5000, 1e-3)
    assert held.promised < 0
    broken = best_point(points, one, other + 2.0, 5000, 1e-3)
    assert broken.promised > 0.1
    assert math.isfinite(broken.threshold)


@pytest.mark.slow
def test_quiet_noise_with_secret_draws_is_found() -> None:
    # At δ = 1e-5 and ε = 4 so few runs show nothing by counting, and the curve tells.
    sound = NoisyGradientDescent(steps=2, step_size=0.2, batch_size=3)
    budget = Budget(4.0, 1e-5)
    for algorithm, verdict in ((sound, "consistent"), (QuietNoise(sound, 0.25), "violated")):
        plan = algorithm.plan(TIGHT, 4, 2, budget)
        assert plan.certificate.releases[0].sampling is not None
        report = audit_plan(plan, climbs=0, runs=600, confidence=SURE)
        assert report.verdict == verdict, str(report)
        assert report.lower_bound < budget.epsilon
        assert report.evidence[-1].method == "curve"
