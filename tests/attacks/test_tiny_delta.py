"""Budgets with a tiny δ, for which every neglected bit of mass is too much.

What was tried: events whose exact δ is known in extended precision were spent from budgets with δ
down to the smallest positive number. The adaptive ledger took the moment of the *computed* part of
the law of repeated draws and forgot the mass that the computation cannot vouch for (about 3e-14),
so that a budget of δ = 1e-60 admitted an event of 5e-41. Composed losses forgot masses below
5e-324: δ = 4e-322 was taken for far less, or for zero.

What must hold: no δ that is claimed, and none for which a ledger pays, is below the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import fft

from pairdp.privacy import (
    Budget,
    BudgetExceededError,
    BudgetLedger,
    Event,
    FixedSizeSampling,
    GaussianEvent,
    ParallelEvent,
    PoissonSampling,
    PrivacyCurve,
    PureEvent,
    RepeatedDraws,
    SampledEvent,
    SequentialEvent,
)
from pairdp.privacy.accounting import appearances
from pairdp.privacy.accounting.appearances import appearance_weights, sums_with_replacement
from pairdp.privacy.accounting.dominating_pairs import GaussianPair
from pairdp.privacy.accounting.pair_composition import PairComposition
from pairdp.privacy.accounting.renyi_filter import RenyiFilter
from pairdp.privacy.accounting.second_routes.moment_inversion import inverted_delta

DELTAS = [1e-2, 1e-6, 1e-10, 1e-12, 1e-14, 1e-16, 1e-20, 1e-30, 1e-60, 1e-100, 1e-200, 1e-300]
ROUNDING = 1e-11


def tail(x: mpf) -> mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


def gaussian_delta(epsilon: float | mpf, mu: float | mpf) -> mpf:
    e, m = mpf(epsilon), mpf(mu)
    return tail(e / m - m / 2) - mp.exp(e) * tail(e / m + m / 2)


def fixed_size_delta(epsilon: float, mu: float, rate: mpf) -> mpf:
    return rate * gaussian_delta(mp.log1p(mp.expm1(mpf(epsilon)) / rate), mu)


def poisson_delta(epsilon: float, mu: float, rate: float) -> mpf:
    e, c, q = mpf(epsilon), mpf(mu) / 2, mpf(rate)
    x = (e / 2 + mp.asinh((1 - q) / q * mp.exp(c * c / 2) * mp.sinh(e / 2))) / c
    above = (1 - q) * tail(x) + q * tail(x - c)
    return above - mp.exp(e) * ((1 - q) * tail(x) + q * tail(x + c))


def at_least_by_draws(epsilon: float, mu: float, population: int, draws: int) -> mpf:
    """Return less than the δ of an average: that of a few of its outcomes, the draw being told.

    The draws at which the record appears are told to the attacker of the accounted pair, and the
    record sits at the k heaviest places and nowhere else.
    """
    weights = np.sort(appearance_weights(draws))[::-1]
    once = mpf(1) / population
    return max(
        once**k * (1 - once) ** (draws - k) * gaussian_delta(epsilon, mu * weights[:k].sum())
        for k in range(1, draws + 1)
    )


def largest_admitted(admits: Callable[[float], bool]) -> float:
    low, high = math.log(1e-7), math.log(30.0)
    if not admits(math.exp(low)):
        return 0.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if admits(math.exp(middle)) else (low, middle)
    return math.exp(low)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [1.0, 20.0, 60.0])
@pytest.mark.parametrize(("population", "draws"), [(10, 10), (100, 20)])
def test_no_adaptive_budget_pays_for_repeated_draws_that_exceed_it(
    delta: float, epsilon: float, population: int, draws: int
) -> None:
    ledger = BudgetLedger(Budget(epsilon, delta), adaptive=True)
    sampling = RepeatedDraws(population, draws)
    mu = largest_admitted(lambda mu: ledger._balance().fits(SampledEvent(mu, sampling, 1)))
    with mp.workdps(40):
        assert mu == 0 or at_least_by_draws(epsilon, mu, population, draws) <= delta


def test_the_event_that_was_found_is_refused() -> None:
    budget, found = Budget(1.0, 1e-60), SampledEvent(0.005, RepeatedDraws(100, 20), 1)
    with mp.workdps(40):
        assert at_least_by_draws(1.0, 0.005, 100, 20) > 100 * budget.delta
    for adaptive in (True, False):
        ledger = BudgetLedger(budget, adaptive=adaptive)
        with pytest.raises(BudgetExceededError):
            ledger.check(found)
        for hidden in (SequentialEvent((found,)), ParallelEvent((GaussianEvent(1e-9), found))):
            with pytest.raises(BudgetExceededError):
                ledger.check(hidden)


def test_what_is_not_known_adds_up() -> None:
    event = SampledEvent(1e-4, RepeatedDraws(100, 20), 1)
    rule = RenyiFilter.of(Budget(1.0, 1e-9))
    room = math.floor(rule.reserve / rule.unknown(event))
    assert room > 1
    assert rule.admits(SequentialEvent((event,) * room))
    assert not rule.admits(SequentialEvent((event,) * (room + 1)))
    assert rule.admits(SampledEvent(event.mu, event.sampling, room))
    assert not rule.admits(SampledEvent(event.mu, event.sampling, room + 1))


def test_an_ordinary_budget_still_pays_for_repeated_draws() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-6), adaptive=True)
    for _ in range(3):
        ledger.spend(SampledEvent(0.005, RepeatedDraws(1000, 1000), 1), "average")
    assert 0 < ledger.spent() < 1.0


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="extended precision is not to be had here"
)
@pytest.mark.parametrize(
    ("population", "draws"), [(3, 7), (50, 20), (536, 52), (100, 100), (5925, 175), (100, 10_000)]
)
def test_the_unknown_mass_covers_the_rounding_of_the_distribution(
    population: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[np.ndarray] = []
    few = appearances._coarsen

    def kept(masses: np.ndarray, width: float, slack: float) -> appearances.SumDistribution:
        found.extend([masses, np.array([width, slack])])
        return few(masses, width, slack)

    monkeypatch.setattr(appearances, "_coarsen", kept)
    sums_with_replacement.__wrapped__(population, draws)
    masses, (width, slack) = found[0], found[1]
    size, real = masses.size, np.longdouble
    places = appearances._round_up(appearance_weights(draws), width)
    transform = fft.fft(np.bincount(places, minlength=size).astype(real))
    chance = real(1) / real(population)
    odds, frequencies, power = chance / (1 - chance), np.arange(size // 2 + 1), 1
    log_phi = np.full(frequencies.size, draws * np.log1p(-chance) + 0j, dtype=transform.dtype)
    while draws * float(odds) ** power / power > 1e-24:
        log_phi -= (-odds) ** power / power * transform[frequencies * power % size]
        power += 1
    exact = fft.irfft(np.exp(log_phi), size)
    missing = float(np.maximum(exact - np.maximum(masses, 0), 0).sum())
    assert missing <= slack / 3


def test_inversion_does_not_forget_it_either() -> None:
    event = SampledEvent(0.01, RepeatedDraws(100, 20), 2)
    found = inverted_delta([event], 2.0, most_points=512)
    assert found.delta + found.error >= 2 * event.sampling.distribution.slack * (1 - 1e-9)


LOGS = [-5.0, -40.0, -140.0, -400.0, -690.0, -705.0, -740.0]


def epsilon_at(curve: Callable[[float], mpf], log_delta: float) -> float:
    low, high = 0.0, 1.0
    while curve(high) > mp.exp(log_delta):
        high *= 2
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > mp.exp(log_delta) else (low, middle)
    return high


def assert_not_below(found: float, exact: mpf) -> None:
    assert found >= float(mp.log(exact)) - ROUNDING


@pytest.mark.parametrize("log_delta", LOGS)
@pytest.mark.parametrize("mu", [0.01, 1.0, 20.0])
def test_composed_gaussians_are_never_below_their_exact_curve(mu: float, log_delta: float) -> None:
    with mp.workdps(40):
        epsilon = epsilon_at(lambda e: gaussian_delta(e, mu), log_delta)
        exact = gaussian_delta(epsilon, mu)
        assert_not_below(PrivacyCurve(GaussianEvent(mu)).log_delta(epsilon), exact)
        for steps in (1, 100):
            pair = GaussianPair(mu / math.sqrt(steps))
            assert_not_below(PairComposition([(pair, steps)]).log_delta(epsilon), exact)


@pytest.mark.parametrize("log_delta", LOGS)
@pytest.mark.parametrize("mu", [0.3, 4.0])
@pytest.mark.parametrize("own", [0.05, 1.0])
def test_a_gaussian_beside_a_pure_release(mu: float, own: float, log_delta: float) -> None:
    def curve(epsilon: float) -> mpf:
        high = 1 / (1 + mp.exp(-mpf(own)))
        lower, upper = (gaussian_delta(mpf(epsilon) + sign * mpf(own), mu) for sign in (-1, 1))
        return high * lower + (1 - high) * upper

    with mp.workdps(40):
        epsilon = epsilon_at(curve, log_delta)
        event = PrivacyCurve(GaussianEvent(mu), PureEvent(own))
        assert_not_below(event.log_delta(epsilon), curve(epsilon))


@pytest.mark.parametrize("log_delta", LOGS)
@pytest.mark.parametrize("mu", [0.5, 10.0])
@pytest.mark.parametrize("size", [5_000, 100])
def test_one_sampled_step(mu: float, size: int, log_delta: float) -> None:
    rate = size / 10_000
    cases: list[tuple[Event, Callable[[float], mpf]]] = [
        (
            SampledEvent(mu, FixedSizeSampling(size, 10_000), 1),
            lambda e: fixed_size_delta(e, mu, mpf(size) / 10_000),
        ),
        (SampledEvent(mu, PoissonSampling(rate), 1), lambda e: poisson_delta(e, mu, rate)),
    ]
    with mp.workdps(40):
        for event, curve in cases:
            epsilon = epsilon_at(curve, log_delta)
            assert_not_below(PrivacyCurve(event).log_delta(epsilon), curve(epsilon))


@given(own=st.floats(0.01, 30), log_delta=st.floats(-740, -1))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_epsilon_of_one_pure_release_is_rounded_up(own: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    epsilon = PrivacyCurve(PureEvent(own)).epsilon(delta)
    with mp.workdps(400):
        share = -mp.expm1(min(mpf(0), mpf(epsilon) - mpf(own))) / (1 + mp.exp(-mpf(own)))
        assert share <= mpf(delta) * (1 + mpf(10) ** -14)


def test_hardly_any_noise_on_drawn_records_counts_upwards() -> None:
    passes = SampledEvent(1e3, RepeatedDraws(10, 20, "permutation"), 1)
    assert not PrivacyCurve(passes).is_private
    drawn = SampledEvent(1e3, FixedSizeSampling(1, 3), 1)
    with mp.workdps(30):
        assert mpf(PrivacyCurve(drawn).delta(0.0)) >= mpf(1) / 3 * (1 - mpf(10) ** -15)
