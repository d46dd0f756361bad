"""Repeat-and-select: its cost by two routes, and against exact distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from pairdp.privacy import Budget, NoiseSource, RepeatAndSelect
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.accounting.repeat_and_select import (
    PURE_FACTOR,
    accountant_log_delta,
    geometric_log_delta,
    geometric_mu,
)
from pairdp.privacy.mechanisms.repeat_and_select import Runs

BUDGETS = [Budget(1.0, 1e-6), Budget(0.1, 1e-8), Budget(5.0, 1e-5)]


def best_of_runs(chances: np.ndarray, mean: int) -> np.ndarray:
    """Return the exact distribution of the largest output of a geometric number of runs."""
    below = np.cumsum(chances)
    stop = 1 / mean
    up_to = stop * below / (1 - (1 - stop) * below)  # E[F^K]
    return np.diff(up_to, prepend=0.0)


@pytest.mark.parametrize("mean", [1, 6, 24, 100])
@pytest.mark.parametrize("budget", BUDGETS)
def test_both_routes_agree_and_the_budget_is_used_up(budget: Budget, mean: int) -> None:
    mu = geometric_mu(budget, mean)
    own = geometric_log_delta(mu, mean, budget.epsilon)
    assert own == pytest.approx(accountant_log_delta(mu, mean, budget.epsilon), abs=1e-9)
    assert math.log(budget.delta) - 1e-3 < own <= math.log(budget.delta)
    assert geometric_log_delta(1.01 * mu, mean, budget.epsilon) > math.log(budget.delta)
    assert gdp_mu(budget.epsilon, budget.delta) / mu < 3.2


@pytest.mark.parametrize("mean", [3, 24, 200])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_three_times_a_pure_epsilon_holds_and_is_almost_attained(epsilon: float, mean: int) -> None:
    """Three outputs, ordered: the exact worst ratio is at most 3ε₀, and above 2ε₀ for some."""
    worst = 0.0
    for low in np.geomspace(1e-4, 0.5, 30):
        for top in np.geomspace(1e-4, 0.5, 30):
            here = np.array([low, 1 - low - top, top])
            for signs in np.array(np.meshgrid(*[[-1, 1]] * 3)).T.reshape(-1, 3):
                there = here * np.exp(signs * epsilon / 2)
                there /= there.sum()
                if here.min() <= 0 or np.abs(np.log(there / here)).max() > epsilon:
                    continue
                ratios = np.log(best_of_runs(there, mean) / best_of_runs(here, mean))
                worst = max(worst, float(np.abs(ratios).max()))
    assert worst <= PURE_FACTOR * epsilon
    if mean == 200:
        assert worst > 1.3 * epsilon  # more than one run costs


def test_the_bound_holds_for_gaussian_runs() -> None:
    """The best of runs with one Gaussian number, on a fine grid, against the exact δ."""
    mean, budget = 24, Budget(1.0, 1e-4)
    mu = geometric_mu(budget, mean)
    edges = np.linspace(-9, 9, 4001)
    here, there = (np.diff(norm.cdf(edges, loc=shift)) for shift in (0.0, mu))
    for one, other in ((here, there), (there, here)):
        p, q = best_of_runs(one / one.sum(), mean), best_of_runs(other / other.sum(), mean)
        delta = float(np.maximum(p - math.exp(budget.epsilon) * q, 0).sum())
        assert delta <= budget.delta
    alone = float(np.maximum(there - math.exp(budget.epsilon) * here, 0).sum())
    p, q = best_of_runs(there, mean), best_of_runs(here, mean)
    assert float(np.maximum(p - math.exp(budget.epsilon) * q, 0).sum()) > alone


def test_draws_are_geometric_and_uniform() -> None:
    """Frequencies are within six standard deviations: 1e-8 of false alarms each."""
    mechanism = RepeatAndSelect.for_budget(Budget(1.0, 1e-6), 1.0, 4, 6)
    stream = NoiseSource(0).stream("runs")
    counts = np.array([mechanism.number_of_runs(stream) for _ in range(5000)])
    for k in (1, 2, 5):
        expected = (5 / 6) ** (k - 1) / 6
        allowed = 6 * math.sqrt(expected * (1 - expected) / counts.size)
        assert abs(float(np.mean(counts == k)) - expected) < allowed
    places = np.array([mechanism.draw(stream) for _ in range(5000)])
    assert np.abs(np.bincount(places, minlength=4) / 5000 - 0.25).max() < 6 * math.sqrt(
        0.1875 / 5000
    )
    never = np.mean([all(mechanism.draw(stream) for _ in range(k)) for k in counts])
    assert abs(float(never) - mechanism.missed()) < 6 * math.sqrt(0.25 / 5000)


def test_claims_that_do_not_hold_are_refused() -> None:
    found = RepeatAndSelect.for_budget(Budget(1.0, 1e-6), 1.0, 4, 12)
    mu = found.runs.mu
    for runs, scale in (
        (Runs(12, 1.01 * mu, 1.0, 1e-6), found.scale),
        (Runs(13, mu, 1.0, 1e-6), found.scale),
        (Runs(12, mu, 0.99, 1e-6), found.scale),
        (Runs(12, mu, 1.0, 0.9e-6), found.scale),
        (found.runs, 0.99 * found.scale),
    ):
        with pytest.raises(ValueError, match="too small for what is claimed"):
            RepeatAndSelect(1.0, scale, 4, 0.0, runs)
    with pytest.raises(ValueError, match="δ > 0"):
        geometric_mu(Budget(1.0), 5)
    with pytest.raises(ValueError, match="used once"):
        found.event(2)
