"""One run with many canaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from pairdp import Budget
from pairdp.audit import audit_one_run, one_run_epsilon
from pairdp.audit.one_run import chance_of_guesses
from pairdp.privacy.accounting.gaussian import gdp_mu

M = 1000


def slow_chance(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """The bound by adding up the law, term by term."""
    share = math.exp(epsilon) / (1 + math.exp(epsilon))

    def at_least(v: int) -> float:
        return float(sum(binom.pmf(k, guesses, share) for k in range(max(v, 0), guesses + 1)))

    f = at_least(right)
    worst = max(((at_least(right - i) - f) / i for i in range(1, canaries + 1)), default=0.0)
    return min(1.0, f + 2 * canaries * delta * worst)


@pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize(
    ("right", "guesses", "canaries"), [(18, 20, 40), (20, 20, 20), (11, 20, 30)]
)
def test_the_chance_is_that_of_the_theorem(
    right: int, guesses: int, canaries: int, delta: float
) -> None:
    for epsilon in (0.0, 0.7, 3.0):
        expected = slow_chance(right, guesses, canaries, epsilon, delta)
        found = chance_of_guesses(right, guesses, canaries, epsilon, delta)
        assert found == pytest.approx(expected, rel=1e-9)


def test_the_bound_inverts_the_chance() -> None:
    for right, delta in ((80, 0.0), (90, 1e-6), (100, 1e-4)):
        epsilon = one_run_epsilon(right, 100, 200, delta, 0.999)
        assert epsilon > 0
        assert chance_of_guesses(right, 100, 200, epsilon, delta) <= 1e-3
        assert chance_of_guesses(right, 100, 200, epsilon + 1e-3, delta) > 1e-3
    assert one_run_epsilon(50, 100, 200, 0.0, 0.999) == 0


def test_randomised_response_is_not_accused() -> None:
    # Every coin is told truly with odds e^ε: the worst ε-private release. Summed over outcomes.
    epsilon, m, error = 1.0, 40, 0.05
    share = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = sum(
        binom.pmf(k, m, share)
        for k in range(m + 1)
        if one_run_epsilon(k, m, m, 0.0, 1 - error) > epsilon
    )
    assert 0 < wrong <= error


class NoisyCoins:
    """Each canary is a number ±1 that is released with Gaussian noise of its own."""

    def __init__(self, budget: Budget, factor: float = 1.0) -> None:
        self.scale = factor * 2 / gdp_mu(budget.epsilon, budget.delta)

    def __call__(self, coins, seed: int):
        noise = np.random.default_rng(seed).normal(0.0, self.scale, len(coins))
        return np.where(coins, 1.0, -1.0) + noise


def test_one_run_audits() -> None:
    budget = Budget(4.0, 1e-6)
    sound = audit_one_run(NoisyCoins(budget), M, budget, score=lambda out: out)
    assert sound.verdict == "consistent"
    assert sound.lower_bound > 0.4
    budget = Budget(1.0, 1e-6)
    quiet = audit_one_run(NoisyCoins(budget, 0.1), M, budget, score=lambda out: out)
    assert quiet.verdict == "violated"
    assert "guesses right, 1000 canaries" in str(quiet)
    assert quiet.to_dict()["verdict"] == "violated"


def test_scores_are_checked() -> None:
    budget = Budget(1.0, 1e-6)
    with pytest.raises(ValueError, match="each of the 10 canaries"):
        audit_one_run(NoisyCoins(budget), 10, budget, score=lambda out: out[:3])
    with pytest.raises(ValueError, match="confidence must be between"):
        one_run_epsilon(1, 2, 3, 0.0, 1.0)
    with pytest.raises(TypeError, match="must be a Budget"):
        audit_one_run(NoisyCoins(budget), 10, 1.0, score=lambda out: out)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="right must be at most 2"):
        chance_of_guesses(3, 2, 3, 1.0, 0.0)
