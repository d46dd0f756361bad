"""Composition against closed forms, brute force and two other accountants."""

from __future__ import annotations

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import (
    ApproximateEvent,
    Event,
    FixedSizeSampling,
    GaussianEvent,
    NonPrivateEvent,
    ParallelEvent,
    PoissonSampling,
    PrivacyCurve,
    PureEvent,
    SampledEvent,
    SequentialEvent,
    composed_mu,
)
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.composition import elementary_alternatives
from pairdp.privacy.accounting.second_routes.dp_accounting import accountant_delta
from pairdp.privacy.accounting.second_routes.enumeration import enumerated_delta
from pairdp.privacy.accounting.second_routes.moment_inversion import inverted_delta

REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE


def sampled(multiplier: float, size: int, n: int, steps: int) -> SampledEvent:
    return SampledEvent(1 / multiplier, FixedSizeSampling(size, n), steps)


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0.1, 9)), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_gaussian_ratio_is_the_root_sum_of_squares(pairs: list[tuple[float, float]]) -> None:
    deltas, sigmas = zip(*pairs, strict=True)
    expected = math.sqrt(sum((d / s) ** 2 for d, s in pairs))
    assert composed_mu(deltas, sigmas) == pytest.approx(expected, rel=1e-12)


def test_gaussian_ratio_takes_the_worst_record_of_a_stream() -> None:
    rng = np.random.default_rng(0)
    table, scales = np.triu(rng.random((6, 6))).T, rng.uniform(0.5, 2, 6)
    worst = max(math.sqrt(sum((table[t, k] / scales[t]) ** 2 for t in range(6))) for k in range(6))
    assert composed_mu(table, scales) == pytest.approx(worst, rel=1e-12)


def test_a_stream_with_noisy_gradients_costs_about_one_query() -> None:
    n = 2000
    table = np.zeros((n, n))
    for k in range(1, n):
        table[k, k] = 1.0
        table[k + 1 :, k] = 1 / np.arange(k + 1, n)
    expected = math.sqrt(1 + sum(1 / j**2 for j in range(2, n)))
    assert composed_mu(table, 1.0) == pytest.approx(expected, rel=1e-9)
    assert expected <= 1.2826


@pytest.mark.parametrize(
    ("sensitivities", "scales", "word"),
    [
        ([], 1.0, "empty"),
        ([[[1.0]]], 1.0, "shape"),
        ([1.0, 2.0], [1.0], "scales"),
        ([-1.0], 1.0, "at least 0"),
        ([math.nan], 1.0, "finite"),
        ([1.0], 0.0, "positive"),
        ([1.0], math.inf, "finite"),
    ],
)
def test_gaussian_ratio_refuses(sensitivities: object, scales: object, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        composed_mu(sensitivities, scales)  # type: ignore[arg-type]


@given(mus=st.lists(st.floats(0.01, 2), min_size=1, max_size=6), epsilon=st.floats(0, 8))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_gaussian_events_compose_exactly(mus: list[float], epsilon: float) -> None:
    curve = PrivacyCurve(*map(GaussianEvent, mus))
    assert curve.log_delta(epsilon) == gaussian.log_delta(epsilon, math.hypot(*mus))


def test_pure_events_add_up_without_delta() -> None:
    curve = PrivacyCurve(PureEvent(0.25), PureEvent(0.5), PureEvent(0.1, count=5))
    assert curve.epsilon(0.0) == 1.25
    assert curve.delta(1.25) == 0.0


@given(epsilons=st.lists(st.floats(0.05, 1.5), min_size=1, max_size=7), at=st.floats(0, 4))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_pure_events_against_all_outcomes(epsilons: list[float], at: float) -> None:
    exact = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        loss = sum(s * e for s, e in zip(signs, epsilons, strict=True))
        mass = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        exact += mass * max(0.0, -math.expm1(at - loss))
    events = [PureEvent(e) for e in epsilons]
    assert enumerated_delta(events, at).delta == pytest.approx(exact, rel=1e-9, abs=1e-14)
    found = PrivacyCurve(*events).delta(at)
    assert exact * (1 - 1e-9) - 1e-15 <= found <= exact * 1.15 + 1e-9


def test_many_pure_events_cost_less_than_their_sum_at_a_delta() -> None:
    assert PrivacyCurve(PureEvent(0.1, count=50)).epsilon(1e-5) < 2.9


def test_a_single_pure_event_has_the_curve_of_randomised_response() -> None:
    curve = PrivacyCurve(PureEvent(1.0))
    assert curve.delta(0.5) == pytest.approx((math.e - math.exp(0.5)) / (1 + math.e), rel=1e-12)
    assert curve.epsilon(0.0) == 1.0


def test_approximate_events() -> None:
    curve = PrivacyCurve(ApproximateEvent(0.5, 1e-6), ApproximateEvent(0.5, 1e-6))
    assert curve.epsilon(1e-6) == math.inf
    assert curve.epsilon(2e-6) == pytest.approx(1.0, rel=1e-6)
    assert curve.epsilon(1e-5) < 1.0


def test_a_mixture_costs_less_than_the_sum_of_its_parts() -> None:
    mixture = PrivacyCurve(PureEvent(0.5), GaussianEvent(0.5)).epsilon(1e-6)
    assert mixture < 0.5 + gaussian.epsilon(0.5, 1e-6)
    assert mixture > gaussian.epsilon(0.5, 1e-6)


def test_parallel_parts_count_by_their_worst() -> None:
    parts = ParallelEvent((GaussianEvent(0.3), GaussianEvent(0.7), PureEvent(0.01)))
    curve = PrivacyCurve(parts, GaussianEvent(0.4))
    assert curve.epsilon(1e-5) == gaussian.epsilon(math.hypot(0.7, 0.4), 1e-5)


def test_different_kinds_in_parallel_take_the_pointwise_worst() -> None:
    pure, noise = PureEvent(1.0), GaussianEvent(0.4)
    curve = PrivacyCurve(ParallelEvent((pure, noise)))
    for epsilon in (0.1, 0.9, 1.5):
        worst = max(PrivacyCurve(pure).delta(epsilon), PrivacyCurve(noise).delta(epsilon))
        assert curve.delta(epsilon) == worst


def test_nothing_released_and_nothing_protected() -> None:
    assert PrivacyCurve().epsilon(0.0) == 0.0
    assert PrivacyCurve().delta(0.0) == 0.0
    bare = PrivacyCurve(GaussianEvent(0.1), NonPrivateEvent())
    assert bare.epsilon(0.5) == math.inf
    assert bare.delta(100.0) == 1.0
    assert not bare.is_private


def test_too_many_alternatives_are_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        PrivacyCurve(
            *(ParallelEvent((PureEvent(0.1 / k), GaussianEvent(0.1 / k))) for k in range(1, 20))
        )


def test_equal_parallel_events_have_few_alternatives() -> None:
    """Which of them a record is in the first part of does not matter, but how many."""
    parts = ParallelEvent((PureEvent(0.1), GaussianEvent(0.1)))
    assert len(elementary_alternatives(SequentialEvent((parts,) * 20))) == 21
    whole = PrivacyCurve(PureEvent(0.05), *(parts,) * 5)
    each = [
        PrivacyCurve(PureEvent(0.05), *(PureEvent(0.1),) * k, *(GaussianEvent(0.1),) * (5 - k))
        for k in range(6)
    ]
    for epsilon in (0.2, 0.5, 1.0):
        expected = max(curve.delta(epsilon) for curve in each)
        assert whole.delta(epsilon) == pytest.approx(expected, rel=1e-9)


MIXTURES: list[tuple[tuple[Event, ...], float]] = [
    ((sampled(0.793, 2, 1000, 1000),), 1.0),
    ((sampled(4.6, 100, 10_000, 10_000),), 1.0),
    ((sampled(0.65, 1, 5000, 5000),), 2.0),
    ((sampled(1.5, 50, 100, 20),), 3.0),
    ((SampledEvent(1 / 0.35, PoissonSampling(0.001), 1000),), 1.0),
    ((SampledEvent(1 / 4.2, PoissonSampling(0.01), 10_000),), 1.0),
    ((GaussianEvent(0.3), PureEvent(0.5)), 1.2),
    ((GaussianEvent(0.3), PureEvent(0.1, count=7), sampled(0.9, 2, 1000, 500)), 2.0),
    ((GaussianEvent(0.3), ApproximateEvent(0.2, 1e-7)), 1.0),
]


@pytest.mark.parametrize(("events", "epsilon"), MIXTURES)
@pytest.mark.slow
def test_three_routes_agree(events: tuple[Event, ...], epsilon: float) -> None:
    ours = PrivacyCurve(*events).delta(epsilon)
    inverted = inverted_delta(events, epsilon)
    assert inverted.error < 1e-6 * inverted.delta
    assert inverted.delta * (1 - 1e-6) <= ours <= inverted.delta * 1.02
    assert accountant_delta(events, epsilon) == pytest.approx(inverted.delta, rel=0.02)


@given(
    multiplier=st.floats(0.5, 4.0),
    size=st.integers(1, 50),
    steps=st.integers(200, 4000),
    epsilon=st.floats(0.3, 3.0),
)
@settings(max_examples=12, deadline=None, derandomize=True)
@pytest.mark.slow
def test_sampling_is_pessimistic_and_sharp(
    multiplier: float, size: int, steps: int, epsilon: float
) -> None:
    event = sampled(multiplier, size, 500, steps)
    exact = inverted_delta([event], epsilon, most_points=3000)
    if math.isinf(exact.error):
        return
    ours = PrivacyCurve(event).delta(epsilon)
    assert ours >= (exact.delta - exact.error) * (1 - 1e-6)
    if exact.delta > 1e-13:
        assert ours <= (exact.delta + exact.error) * 1.05


@pytest.mark.parametrize("multiplier", [0.8, 1.5, 4.0])
@pytest.mark.parametrize(("size", "n", "steps"), [(2, 1000, 1000), (50, 5000, 500), (1, 300, 50)])
@pytest.mark.slow
def test_never_above_the_renyi_accountant(multiplier: float, size: int, n: int, steps: int) -> None:
    accountant = RdpAccountant(range(2, 80), REPLACE_ONE)
    drawn = dp_accounting.SampledWithoutReplacementDpEvent(
        n, size, dp_accounting.GaussianDpEvent(multiplier)
    )
    accountant.compose(dp_accounting.SelfComposedDpEvent(drawn, steps))
    for delta in (1e-4, 1e-6, 1e-9):
        ours = PrivacyCurve(sampled(multiplier, size, n, steps)).epsilon(delta)
        assert ours <= accountant.get_epsilon(delta) * 1.002


@pytest.mark.parametrize("multiplier", [0.8, 2.0])
@pytest.mark.parametrize(("size", "n", "steps"), [(2, 1000, 300), (100, 1000, 50)])
@pytest.mark.slow
def test_never_below_the_mixture_that_attains_one_step(
    multiplier: float, size: int, n: int, steps: int
) -> None:
    # All other records equal to the replacement: (1-γ)N(0) + γN(Δ) against N(0), T times.
    attained = pld.from_gaussian_mechanism(
        multiplier,
        sampling_prob=size / n,
        pessimistic_estimate=False,
        use_connect_dots=False,
        value_discretization_interval=1e-4,
    ).self_compose(steps)
    for epsilon in (0.2, 0.7, 1.5):
        ours = PrivacyCurve(sampled(multiplier, size, n, steps)).delta(epsilon)
        assert ours >= attained.get_delta_for_epsilon(epsilon) * (1 - 1e-6) - 1e-14


def test_the_two_accountants_of_dp_accounting_read_replace_one_differently() -> None:
    multiplier, delta = 2.0, 1e-5
    renyi, losses = RdpAccountant(neighboring_relation=REPLACE_ONE), PLDAccountant(REPLACE_ONE)
    for accountant in (renyi, losses):
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
    # One takes the multiplier as σ/Δ, the other as 2σ/Δ.
    assert gaussian.epsilon(1 / multiplier, delta) <= renyi.get_epsilon(delta)
    assert renyi.get_epsilon(delta) < 1.2 * gaussian.epsilon(1 / multiplier, delta)
    assert losses.get_epsilon(delta) == pytest.approx(
        gaussian.epsilon(2 / multiplier, delta), rel=1e-3
    )
    ours = PrivacyCurve(sampled(multiplier, 1000, 1000, 1))
    assert ours.epsilon(delta) == pytest.approx(gaussian.epsilon(1 / multiplier, delta), rel=1e-2)


def test_epsilon_and_delta_are_inverse_for_sampled_events() -> None:
    curve = PrivacyCurve(sampled(0.8, 2, 1000, 1000))
    for delta in (1e-4, 1e-6, 1e-8):
        epsilon = curve.epsilon(delta)
        assert curve.delta(epsilon) <= delta
        assert curve.delta(epsilon * 0.99) > delta


def test_many_fits_on_gaussian_parts_compose() -> None:
    fit = ParallelEvent(tuple(GaussianEvent(0.1 / k) for k in range(1, 9)))
    curve = PrivacyCurve(*[fit] * 40)
    assert curve.epsilon(1e-5) == pytest.approx(gaussian.epsilon(0.1 * math.sqrt(40), 1e-5))


def test_batches_of_all_records_compose_exactly() -> None:
    everything = SampledEvent(0.1, FixedSizeSampling(10, 10), 4)
    assert PrivacyCurve(everything).epsilon(1e-6) == gaussian.epsilon(0.2, 1e-6)


@pytest.mark.parametrize("steps", [1, 10**6])
def test_next_to_no_noise_leaves_the_chance_of_not_being_drawn(steps: int) -> None:
    bare = SampledEvent(1e6, FixedSizeSampling(1, 100), steps)
    curve = PrivacyCurve(bare, GaussianEvent(0.1), PureEvent(0.1))
    drawn = -math.expm1(steps * math.log1p(-0.01))
    assert drawn <= curve.delta(1.0) <= min(1.0, drawn + 1e-3)
