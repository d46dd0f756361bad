"""Bounds from counts: exact where they can be, and right as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from pairdp.audit import Counts
from pairdp.audit.counting import at_least, at_most, best_normal_threshold, best_threshold
from pairdp.privacy.accounting import gaussian

ERRORS = st.sampled_from([0.05, 1e-3, 1e-8])


@settings(max_examples=60, derandomize=True)
@given(st.data(), st.integers(1, 3000), ERRORS)
def test_clopper_and_pearson_solve_the_binomial_tail(data, runs: int, error: float) -> None:
    hits = data.draw(st.integers(0, runs))
    low, high = float(at_least(hits, runs, error)), float(at_most(hits, runs, error))
    assert 0 <= low <= hits / runs <= high <= 1
    if hits > 0:
        assert binom.sf(hits - 1, runs, low) == pytest.approx(error, rel=1e-6)
    if hits < runs:
        assert binom.cdf(hits, runs, high) == pytest.approx(error, rel=1e-6)


def test_clopper_and_pearson_at_the_sizes_of_audits() -> None:
    for hits, runs in ((0, 10**6), (3, 4 * 10**8), (31_000, 4 * 10**8), (10**7, 2 * 10**7)):
        low, high = float(at_least(hits, runs, 5e-10)), float(at_most(hits, runs, 5e-10))
        assert low < hits / runs < high or hits == 0
        if hits:
            assert binom.sf(hits - 1, runs, low) == pytest.approx(5e-10, rel=1e-4)
        assert binom.cdf(hits, runs, high) == pytest.approx(5e-10, rel=1e-4)


@pytest.mark.parametrize("error", [0.2, 0.02])
@pytest.mark.parametrize("share", [0.003, 0.3, 0.97])
def test_bounds_are_missed_no_more_often_than_stated(share: float, error: float) -> None:
    # Summed over all outcomes, so that nothing is left to chance.
    runs = 200
    hits = np.arange(runs + 1)
    chances = binom.pmf(hits, runs, share)
    assert chances[at_least(hits, runs, error) > share].sum() <= error
    assert chances[at_most(hits, runs, error) < share].sum() <= error


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_epsilon_is_right_as_often_as_stated(epsilon: float) -> None:
    # Randomised response, the most telling of all ε-private releases; all outcomes summed.
    runs, error = 60, 0.1
    p = 1 / (1 + math.exp(-epsilon))
    caught, wrongly = (
        binom.pmf(np.arange(runs + 1), runs, p),
        binom.pmf(np.arange(runs + 1), runs, 1 - p),
    )
    missed = sum(
        caught[k] * wrongly[j]
        for k in range(runs + 1)
        for j in range(runs + 1)
        if Counts(k, runs, j, runs).epsilon(0.0, error) > epsilon
    )
    assert 0 < missed <= error


@settings(max_examples=60, derandomize=True)
@given(st.floats(0.05, 5.0), st.floats(-3.0, 3.0), st.sampled_from([0.0, 1e-5, 1e-2]))
def test_exact_shares_never_exceed_the_truth(mu: float, threshold: float, delta: float) -> None:
    # A Gaussian release judged at any threshold, with as many runs as one likes.
    runs = 10**12
    hits, wrong = (int(runs * norm.sf(threshold - shift)) for shift in (mu, 0.0))
    counts = Counts(hits, runs, wrong, runs)
    assert counts.mu(1e-3) <= mu + 1e-9
    assert counts.mu(1e-3) >= mu - 0.05
    if delta > 0:
        assert counts.epsilon(delta, 1e-3) <= gaussian.epsilon(mu, delta) + 1e-9
        assert counts.gaussian_epsilon(delta, 1e-3) <= gaussian.epsilon(mu, delta) + 1e-9


def test_nothing_is_proved_without_a_difference() -> None:
    for hits in (0, 7, 100):
        counts = Counts(hits, 100, hits, 100)
        assert counts.epsilon(1e-5, 1e-3) == 0
        assert counts.mu(1e-3) == 0


def test_both_tails_count() -> None:
    # Rare on the one side, or nearly always on the other: the same by symmetry.
    rare, often = Counts(600, 1000, 0, 1000), Counts(1000, 1000, 400, 1000)
    assert rare.epsilon(1e-5, 1e-4) == pytest.approx(often.epsilon(1e-5, 1e-4))
    assert rare.epsilon(1e-5, 1e-4) > 3


def test_counts_add_up_and_are_checked() -> None:
    assert Counts(1, 2, 0, 3) + Counts(1, 1, 1, 1) == Counts(2, 3, 1, 4)
    with pytest.raises(ValueError, match="hits must be at most 2"):
        Counts(3, 2, 0, 3)
    with pytest.raises(ValueError, match="error must be between"):
        Counts(1, 2, 0, 3).epsilon(0.0, 1.0)
    with pytest.raises(ValueError, match="delta must be"):
        Counts(1, 2, 0, 3).epsilon(1.0, 0.1)


@pytest.mark.parametrize("of_gaussian", [False, True])
def test_thresholds_are_chosen_well(of_gaussian: bool) -> None:
    rng, mu, runs = np.random.default_rng(0), 1.0, 10**5
    one, other = rng.normal(size=(2, 10**5))
    normal = best_normal_threshold(mu, runs, 1e-5, 1e-4, gaussian=of_gaussian)
    # Likelihood ratios are μx - μ²/2.
    found, promised = best_threshold(
        mu * one - mu**2 / 2, mu * (other + mu) - mu**2 / 2, runs, 1e-5, 1e-4, gaussian=of_gaussian
    )

    def promise(threshold: float) -> float:
        where = (threshold + mu**2 / 2) / mu
        caught, wrong = (int(runs * norm.sf(where - shift)) for shift in (mu, 0.0))
        counts = Counts(caught, runs, wrong, runs)
        return counts.mu(1e-4) if of_gaussian else counts.epsilon(1e-5, 1e-4)

    best = max(promise(t) for t in np.linspace(-6, 6, 400))
    assert promise(normal) == pytest.approx(best, rel=0.01)
    assert promise(found) >= 0.9 * best
    assert promised == pytest.approx(best, rel=0.15)


def test_a_threshold_without_promise_is_where_the_scores_differ() -> None:
    rng = np.random.default_rng(0)
    threshold, promised = best_threshold(rng.normal(size=20), rng.normal(size=20) + 1, 20, 0, 1e-9)
    assert promised == 0
    assert -0.5 < threshold < 1.5
