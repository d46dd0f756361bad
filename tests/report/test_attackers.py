"""Bounds on attackers, attacked by the best tests against known distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from pairdp.privacy import (
    Budget,
    Certificate,
    GaussianMechanism,
    KNormMechanism,
    Release,
    Sensitivity,
)
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.certificates.curve_figure import curve_figure
from pairdp.report.attackers import Attackers

RATES = (1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99)


def gaussian(epsilon: float, delta: float) -> tuple[Attackers, float]:
    """Attackers of one Gaussian release, and its µ."""
    bound = Sensitivity.stated(1.0)
    mechanism = GaussianMechanism.for_mu(gdp_mu(epsilon, delta) * (1 - 1e-9), bound.value, 1)
    release = Release("a number", mechanism, bound, 1)
    certificate = Certificate("test", Budget(epsilon, delta), 1000, (release,))
    return Attackers(certificate), gdp_mu(epsilon, delta)


def pure(epsilon: float) -> Attackers:
    bound = Sensitivity.stated(1.0)
    mechanism = KNormMechanism.for_epsilon(epsilon * (1 - 1e-9), bound.value, 1)
    release = Release("a number", mechanism, bound, 1)
    return Attackers(Certificate("test", Budget(epsilon), 1000, (release,)))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6])
def test_no_test_of_gaussian_noise_exceeds_the_bound_and_the_best_one_reaches_it(
    epsilon: float, delta: float
) -> None:
    attackers, mu = gaussian(epsilon, delta)
    for rate in RATES:
        best = float(ndtr(ndtri(rate) + mu))  # of the likelihood ratio
        bound = attackers.true_positive_rate(rate)
        assert best * (1 - 1e-6) <= bound
        assert best >= 0.95 * bound
    assert attackers.guess == pytest.approx(float(ndtr(mu / 2)), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6])
def test_the_privacy_loss_of_gaussian_noise_exceeds_its_bound_as_rarely_as_stated(
    epsilon: float, delta: float
) -> None:
    """L is N(µ²/2, µ²), so that it exceeds ℓ with probability Φ(µ/2 - ℓ/µ)."""
    attackers, mu = gaussian(epsilon, delta)
    loss = attackers.privacy_loss
    assert float(ndtr(mu / 2 - loss / mu)) <= delta
    exact = mu * (mu / 2 - float(ndtri(delta)))
    assert loss >= exact
    assert exact >= 0.85 * loss  # the bound holds for all distributions with this curve


def test_a_distribution_with_the_same_curve_reaches_the_bound_on_the_loss() -> None:
    """With a point of probability t on which L = ℓ, δ(ε) = t(1 - e^{ε-ℓ}) at all ε < ℓ."""
    t, loss = 1e-3, 2.0
    epsilons = np.linspace(0.0, 3.0, 31)
    deltas = np.maximum(t * (1 - np.exp(epsilons - loss)), 0.0)
    known = deltas < t
    found = float(np.min(epsilons[known] - np.log1p(-deltas[known] / t)))
    assert found == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response_reaches_the_bounds_of_pure_noise(epsilon: float) -> None:
    """Its test has TPR e^ε/(1 + e^ε) at FPR 1/(1 + e^ε), and its odds change by e^ε."""
    attackers = pure(epsilon)
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert truth <= attackers.true_positive_rate(1 - truth) * (1 + 1e-6)
    assert attackers.true_positive_rate(1 - truth) == pytest.approx(truth, rel=1e-5)
    assert attackers.guess == pytest.approx(truth, rel=1e-5)
    assert attackers.except_with == 0
    for prior in (0.01, 0.1, 0.5):
        after = prior * truth / (prior * truth + (1 - prior) * (1 - truth))
        assert attackers.posterior(prior) == pytest.approx(after, rel=1e-6)
        assert attackers.posterior(prior) >= after * (1 - 1e-8)


def test_bounds_are_rates_and_do_not_fall() -> None:
    for attackers in (gaussian(1.0, 1e-6)[0], pure(2.0), gaussian(600.0, 1e-6)[0]):
        found = [attackers.true_positive_rate(rate) for rate in np.linspace(0, 1, 101)]
        assert all(0 <= rate <= 1 for rate in found)
        assert np.all(np.diff(found) >= -1e-12)
        assert found[-1] == 1.0
        figure = attackers.figure()
        assert [point.y for point in figure.series[0].points] == sorted(
            point.y for point in figure.series[0].points
        )


def test_the_curve_contains_the_claim() -> None:
    attackers, _ = gaussian(1.0, 1e-6)
    figure = curve_figure(attackers.certificate)
    curve, claim = figure.series
    (at_claim,) = [p.y for p in curve.points if p.x == claim.points[0].x]
    assert at_claim == pytest.approx(1e-6, rel=1e-4)
    assert at_claim <= 1e-6
    with pytest.raises(ValueError, match="without a claim"):
        curve_figure(
            Certificate("none", None, 10, attackers.certificate.releases, calibration="none")
        )
