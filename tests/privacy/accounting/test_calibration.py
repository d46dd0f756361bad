"""The least noise for sampled steps: within the budget, sharp, and known in advance."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import (
    Budget,
    FixedSizeSampling,
    GaussianEvent,
    PoissonSampling,
    PrivacyCurve,
    SampledEvent,
    Sampling,
    noise_multiplier,
)
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.calibration import _sampled_multiplier
from pairdp.privacy.accounting.events import Event
from pairdp.privacy.accounting.second_routes.moment_inversion import inverted_delta


def true_delta(
    multiplier: float, budget: Budget, steps: int, sampling: Sampling, *others: Event
) -> float:
    event = SampledEvent(1 / multiplier, sampling, steps)
    found = inverted_delta([*others, event], budget.epsilon)
    assert found.error < 1e-3 * found.delta
    return found.delta


@pytest.mark.parametrize("steps", [1, 10, 12_345])
def test_without_sampling_it_is_the_exact_gaussian(steps: int) -> None:
    budget = Budget(0.7, 1e-7)
    exact = math.sqrt(steps) / gaussian.gdp_mu(0.7, 1e-7)
    assert noise_multiplier(budget, steps) == exact
    assert noise_multiplier(budget, steps, FixedSizeSampling(50, 50)) == exact
    assert noise_multiplier(budget, steps, PoissonSampling(1.0)) == exact


# Multipliers for pairs (two records) and single records, accounted independently.
KNOWN = [
    (2, 1000, 1000, 0.5, 0.962),
    (2, 1000, 1000, 1.0, 0.793),
    (2, 1000, 1000, 4.0, 0.561),
    (2, 5000, 1000, 1.0, 0.677),
    (2, 10_000, 10_000, 2.0, 0.608),
    (1, 5000, 5000, 0.5, 0.717),
    (1, 10_000, 10_000, 4.0, 0.487),
]


@pytest.mark.parametrize(("size", "n", "steps", "epsilon", "known"), KNOWN)
def test_known_multipliers(size: int, n: int, steps: int, epsilon: float, known: float) -> None:
    found = noise_multiplier(Budget(epsilon, 1 / n**2), steps, FixedSizeSampling(size, n))
    assert found == pytest.approx(known, abs=1.5e-3)


CASES: list[tuple[Budget, int, Sampling]] = [
    (Budget(1.0, 1e-6), 1000, FixedSizeSampling(2, 1000)),
    (Budget(0.5, 1e-6), 10_000, FixedSizeSampling(100, 10_000)),
    (Budget(4.0, 1e-9), 100_000, FixedSizeSampling(50, 5000)),
    (Budget(1.0, 1e-7), 10**6, FixedSizeSampling(100, 10**5)),
    (Budget(1.0, 1e-5), 2000, PoissonSampling(0.002)),
]


@pytest.mark.parametrize(("budget", "steps", "sampling"), CASES)
def test_within_the_budget_and_not_much_below(
    budget: Budget, steps: int, sampling: Sampling
) -> None:
    found = noise_multiplier(budget, steps, sampling)
    assert true_delta(found, budget, steps, sampling) <= budget.delta
    assert true_delta(found / 1.005, budget, steps, sampling) > budget.delta


@given(
    epsilon=st.floats(0.1, 6.0),
    log_delta=st.floats(-10, -2),
    size=st.integers(1, 500),
    steps=st.integers(1, 20_000),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_its_own_curve_stays_within_the_budget(
    epsilon: float, log_delta: float, size: int, steps: int
) -> None:
    budget, sampling = Budget(epsilon, 10**log_delta), FixedSizeSampling(size, 1000)
    found = noise_multiplier(budget, steps, sampling)
    assert PrivacyCurve(SampledEvent(1 / found, sampling, steps)).delta(epsilon) <= budget.delta
    assert found <= noise_multiplier(budget, steps) * 1.001


@pytest.mark.parametrize("share", [0.01, 0.35, 0.9])
def test_beside_other_releases_it_is_within_the_budget_and_not_much_below(share: float) -> None:
    budget, steps, sampling = Budget(1.0, 1e-6), 120, FixedSizeSampling(256, 10_000)
    other = math.sqrt(share) * gaussian.gdp_mu(1.0, 1e-6)
    found = noise_multiplier(budget, steps, sampling, other)
    assert true_delta(found, budget, steps, sampling, GaussianEvent(other)) <= budget.delta
    assert true_delta(found / 1.01, budget, steps, sampling, GaussianEvent(other)) > budget.delta
    whole = noise_multiplier(budget, steps, beside=other)
    assert whole == pytest.approx(noise_multiplier(budget, steps) / math.sqrt(1 - share))
    with pytest.raises(ValueError, match="leave nothing"):
        noise_multiplier(budget, steps, sampling, 5.0)


def test_more_budget_needs_less_noise_and_more_steps_need_more() -> None:
    sampling = FixedSizeSampling(10, 1000)
    by_epsilon = [noise_multiplier(Budget(e, 1e-6), 100, sampling) for e in (0.2, 1.0, 5.0)]
    by_steps = [noise_multiplier(Budget(1.0, 1e-6), t, sampling) for t in (10, 100, 1000)]
    assert by_epsilon == sorted(by_epsilon, reverse=True)
    assert by_steps == sorted(by_steps)


def test_a_record_that_is_hardly_ever_drawn_still_gets_noise() -> None:
    assert noise_multiplier(Budget(1.0, 1e-3), 1, FixedSizeSampling(1, 10**6)) == pytest.approx(0.1)


def test_it_is_cached() -> None:
    arguments = (Budget(1.25, 1e-6), 777, FixedSizeSampling(3, 1000))
    before = _sampled_multiplier.cache_info().hits
    assert noise_multiplier(*arguments) == noise_multiplier(*arguments)
    assert _sampled_multiplier.cache_info().hits == before + 1


def test_refusals() -> None:
    with pytest.raises(ValueError, match="KNormMechanism"):
        noise_multiplier(Budget(1.0), 10)
    with pytest.raises(ValueError, match="steps"):
        noise_multiplier(Budget(1.0, 1e-5), 0)
    with pytest.raises(ValueError, match="at most population"):
        FixedSizeSampling(11, 10)
    with pytest.raises(TypeError, match="integer"):
        FixedSizeSampling(1.5, 10)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 1"):
        PoissonSampling(1.5)
    with pytest.raises(ValueError, match="positive"):
        PoissonSampling(0.0)
