"""Permute-and-flip: its exact distribution, its guarantee, and what the code draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import NoiseSource, NonPrivateEvent, PermuteAndFlip, PureEvent
from pairdp.privacy.mechanisms.exact_decisions import LazyUniform, below_exponential
from tests.privacy.mechanisms.test_exact_decisions import bits_of, exact


def in_a_random_order(scores: Sequence[float], scale: float) -> list[float]:
    """Return the probability of each place, in the published form: over all orders of places."""
    best = max(scores)
    accepted = [math.exp((score - best) / scale) for score in scores]
    chances = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0 / len(orders)
        for place in order:
            chances[place] += left * accepted[place]
            left *= 1 - accepted[place]
    return chances


def by_noise(scores: Sequence[float], scale: float) -> list[float]:
    """Return the probability that score plus exponential noise is largest, by integration."""
    t = (np.arange(200_000) + 0.5) * (60 * scale / 200_000)
    density = np.exp(-t / scale) / scale * (60 * scale / 200_000)
    found = []
    for place, score in enumerate(scores):
        others = [other for i, other in enumerate(scores) if i != place]
        below = [np.clip(-np.expm1(-(score - other + t) / scale), 0, 1) for other in others]
        found.append(float(density @ np.prod(below, axis=0)))
    return found


SCORES = [0.0, 1.0, 1.0, -2.5, 3.0]


def test_the_published_form_is_report_noisy_max_with_exponential_noise() -> None:
    np.testing.assert_allclose(
        in_a_random_order(SCORES, 2.0), by_noise(SCORES, 2.0), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("runs", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_draws_have_the_exact_distribution(runs: int) -> None:
    """Each of five frequencies is within six standard deviations: 1e-8 of false alarms.

    With enough runs, a scale that is 10 % wrong, and a choice of the first accepted place, are
    rejected.
    """
    scale = 2.0
    mechanism = PermuteAndFlip(1.0, scale, len(SCORES), 2.0**-20)
    stream = NoiseSource(5).stream("choice")
    found = np.zeros(len(SCORES))
    for _ in range(runs):
        found[int(mechanism.release(SCORES, stream)[0])] += 1
    expected = np.array(in_a_random_order(SCORES, scale))
    allowed = 6 * np.sqrt(expected * (1 - expected) / runs)
    assert np.all(np.abs(found / runs - expected) < allowed)
    wrong_scale, wrong_order = in_a_random_order(SCORES, 1.1 * scale), by_order(SCORES, scale)
    assert np.any(np.abs(found / runs - wrong_order) > allowed)
    if runs > 10_000:
        assert np.any(np.abs(found / runs - wrong_scale) > allowed)


def by_order(scores: Sequence[float], scale: float) -> list[float]:
    """Return the distribution of a wrong form, which takes the first accepted place."""
    left, found = 1.0, []
    for score in scores:
        accepted = math.exp((score - max(scores)) / scale)
        found.append(left * accepted)
        left *= 1 - accepted
    return found


scores = st.lists(st.floats(-5, 5), min_size=2, max_size=4)


@settings(max_examples=60)
@given(scores, st.data(), st.floats(0.1, 3.0))
def test_no_neighbour_is_more_than_epsilon_away(
    given: list[float], data: st.DataObject, epsilon: float
) -> None:
    moved = [score + data.draw(st.floats(-1, 1)) for score in given]
    scale = 2.0 / epsilon
    here, there = in_a_random_order(given, scale), in_a_random_order(moved, scale)
    ratios = [abs(math.log(p / q)) for p, q in zip(here, there, strict=True) if min(p, q) > 1e-12]
    assert max(ratios) <= epsilon * (1 + 1e-9)


def test_the_guarantee_is_attained() -> None:
    """One of two places far below the other: its probability changes by almost e^ε."""
    for epsilon in (0.1, 1.0, 3.0):
        gap = 60.0 / epsilon
        here = in_a_random_order([0.0, gap], 2.0 / epsilon)
        there = in_a_random_order([1.0, gap - 1.0], 2.0 / epsilon)
        assert 0.999 * epsilon < math.log(there[0] / here[0]) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_the_event_pays_for_the_rounding_and_stays_within_epsilon(epsilon: float) -> None:
    mechanism = PermuteAndFlip.for_epsilon(epsilon, 1.0, 7)
    event = mechanism.event()
    assert isinstance(event, PureEvent)
    assert 2 * (1 + mechanism.grid) / mechanism.scale <= event.epsilon <= epsilon
    assert event.epsilon > epsilon * (1 - 1e-6)
    assert isinstance(PermuteAndFlip(1.0, 1e-320, 2, 2.0**-20).event(), NonPrivateEvent)


def test_what_it_loses_on_average_is_bounded() -> None:
    for others in (1, 3, 6):
        mechanism = PermuteAndFlip(1.0, 2.0, others + 1, 2.0**-20)
        worst = max(
            np.dot(in_a_random_order([gap] + [0.0] * others, 2.0), [0.0] + [gap] * others)
            for gap in np.linspace(0.5, 10, 20)
        )
        assert 0.3 * mechanism.expected_loss() < worst <= mechanism.expected_loss()
        assert mechanism.expected_loss() < 2.0 * math.log(others + 1)


@given(st.fractions(0, 40, max_denominator=2**40), st.integers(-2, 2))
def test_decisions_are_right_where_only_far_bits_decide(exponent: Fraction, offset: int) -> None:
    with mpmath.workprec(800):
        bound = mpmath.exp(-exact(exponent))
        if bound == 1:
            return
        words = bits_of(bound, offset)
        drawn: list[int] = []

        def next_word() -> int:
            drawn.append(next(words))
            return drawn[-1]

        decided = below_exponential(LazyUniform(next_word), exponent)
        value = mpmath.mpf(0)
        for place, word in enumerate([*drawn, *itertools.islice(words, 8)]):
            value += mpmath.mpf(word) / mpmath.mpf(2) ** (64 * (place + 1))
        assert decided == (value < bound)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="3 scores are needed, got 2"):
        PermuteAndFlip(1.0, 2.0, 3).release([0.0, 1.0], np.random.default_rng(0))
    with pytest.raises(ValueError, match="power of two"):
        PermuteAndFlip(1.0, 2.0, 3, 0.3)
    with pytest.raises(ValueError, match="finite"):
        PermuteAndFlip(1.0, 2.0, 2).release([0.0, math.nan], np.random.default_rng(0))
