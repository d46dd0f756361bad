"""Choosing costs as one goes: what the filter allows stays within the budget."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from pairdp.privacy import (
    ApproximateEvent,
    Budget,
    BudgetExceededError,
    BudgetLedger,
    Event,
    FixedSizeSampling,
    GaussianEvent,
    LedgerError,
    NonPrivateEvent,
    ParallelEvent,
    PoissonSampling,
    PrivacyCurve,
    PureEvent,
    SampledEvent,
)
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.renyi_filter import RenyiFilter

BUDGET = Budget(2.0, 0.05)


def response_outcomes(event: PureEvent) -> list[tuple[float, float]]:
    """Return losses and chances of repeated randomised response."""
    high = 1 / (1 + math.exp(-event.epsilon))
    return [
        (
            (2 * k - event.count) * event.epsilon,
            math.comb(event.count, k) * high**k * (1 - high) ** (event.count - k),
        )
        for k in range(event.count + 1)
    ]


def adaptive_delta(first: PureEvent, after: dict[bool, PureEvent], epsilon: float) -> float:
    """Return δ(ε) when the second cost depends on whether the first loss was positive."""
    total = 0.0
    for loss, mass in response_outcomes(first):
        for more, share in response_outcomes(after[loss > 0]):
            total += mass * share * max(0.0, -math.expm1(epsilon - loss - more))
    return total


FIRST = PureEvent(0.1)
AFTER = {True: PureEvent(1.04, count=2), False: PureEvent(0.53, count=5)}


def test_fixed_histories_may_fit_that_together_do_not() -> None:
    for second in AFTER.values():
        assert PrivacyCurve(FIRST, second).within(BUDGET)
    assert adaptive_delta(FIRST, AFTER, BUDGET.epsilon) > BUDGET.delta * 1.3


def test_an_adaptive_ledger_refuses_the_example() -> None:
    for second in AFTER.values():
        ledger = BudgetLedger(BUDGET, adaptive=True)
        ledger.spend(FIRST, "first")
        with pytest.raises(BudgetExceededError, match="there is room for"):
            ledger.spend(second, "second")


@given(
    first=st.floats(0.05, 1.5),
    counts=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    share=st.floats(0.1, 1.0),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_whatever_is_chosen_stays_within_the_budget(
    first: float, counts: tuple[int, int], share: float
) -> None:
    rule = RenyiFilter.of(BUDGET)
    opening = PureEvent(first)
    left = (rule.allowance - rule.cost(opening)) * share
    if left <= 0:
        return
    after = {}
    for positive, count in zip((True, False), counts, strict=True):
        low, high = 0.0, 5.0
        for _ in range(40):
            middle = (low + high) / 2
            fits = rule.cost(PureEvent(middle, count)) <= left
            low, high = (middle, high) if fits else (low, middle)
        after[positive] = PureEvent(low, count)
    assert adaptive_delta(opening, after, BUDGET.epsilon) <= BUDGET.delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-8), (1.0, 1e-5), (8.0, 1e-6), (1.0, 0.1)])
def test_it_lets_through_most_of_what_is_exact_for_gaussians(epsilon: float, delta: float) -> None:
    rule = RenyiFilter.of(Budget(epsilon, delta))
    allowed = math.sqrt(2 * rule.allowance / rule.order)
    exact = gaussian.gdp_mu(epsilon, delta)
    assert 0.6 * exact < allowed <= exact


EVENTS: list[Event] = [
    GaussianEvent(0.3),
    PureEvent(0.5),
    PureEvent(0.1, count=10),
    SampledEvent(1 / 0.9, FixedSizeSampling(2, 1000), 1000),
    SampledEvent(1 / 2.0, PoissonSampling(0.01), 100),
    SampledEvent(0.1, FixedSizeSampling(10, 10), 4),
]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_cost_converts_to_a_true_epsilon(event: Event) -> None:
    rule = RenyiFilter.of(Budget(1.0, 1e-6))
    assert rule.epsilon(rule.cost(event)) >= PrivacyCurve(event).epsilon(1e-6) * (1 - 1e-4)


def test_costs_add_up_and_parts_count_by_the_worst() -> None:
    rule = RenyiFilter.of(Budget(1.0, 1e-6))
    parts = ParallelEvent((GaussianEvent(0.1), GaussianEvent(0.2)))
    assert rule.cost(parts) == rule.cost(GaussianEvent(0.2))
    assert rule.cost(NonPrivateEvent()) == math.inf
    assert rule.cost(ApproximateEvent(0.1, 1e-9)) == math.inf
    assert rule.cost(SampledEvent(1e6, FixedSizeSampling(1, 10), 1)) == math.inf


def test_an_adaptive_ledger_tells_what_is_left_and_spent() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-5), adaptive=True)
    assert ledger.spent() == 0.0
    ledger.spend(GaussianEvent(0.1), "first")
    ledger.spend(PureEvent(0.1), "second")
    left = ledger.remaining()
    for event in (GaussianEvent(left.gaussian_mu * 1.01), PureEvent(left.pure_epsilon * 1.01)):
        with pytest.raises(BudgetExceededError):
            ledger.spend(event, "too much")
    ledger.spend(GaussianEvent(left.gaussian_mu), "all of it")
    assert 0.9 < ledger.spent() <= 1.0


def test_a_file_keeps_whether_it_is_adaptive(tmp_path: object) -> None:
    path = f"{tmp_path}/ledger.json"
    BudgetLedger(Budget(1.0, 1e-5), path, adaptive=True)
    assert BudgetLedger.load(path).adaptive
    with pytest.raises(LedgerError, match="adaptive=True"):
        BudgetLedger(Budget(1.0, 1e-5), path)


def test_a_pure_budget_adds_up_either_way() -> None:
    ledger = BudgetLedger(Budget(1.0), adaptive=True)
    ledger.spend(PureEvent(0.75), "first")
    assert ledger.remaining().pure_epsilon == 0.25


@given(epsilon=st.floats(1e-12, 40.0), order=st.floats(1.001, 1e4))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_cost_of_a_pure_release_keeps_its_digits(epsilon: float, order: float) -> None:
    with mp.workdps(60):
        a, e = mp.mpf(order) - 1, mp.mpf(epsilon)
        p = 1 / (1 + mp.exp(-e))
        exact = mp.log(p * mp.exp(a * e) + (1 - p) * mp.exp(-a * e)) / a
        found = RenyiFilter(Budget(1.0, 1e-6), order, 1.0).cost(PureEvent(epsilon))
        assert abs(found / exact - 1) < 1e-11


def test_a_great_many_tiny_releases_are_not_free() -> None:
    ledger = BudgetLedger(Budget(1.0, 0.9), adaptive=True)
    with pytest.raises(BudgetExceededError):
        ledger.spend(PureEvent(1e-6, count=10**14), "very often")
