"""Parts of a budget never exceed the whole, by either composition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import Budget, BudgetExceededError, BudgetLedger, GaussianEvent
from pairdp.privacy.accounting import gaussian

EPSILONS = st.floats(1e-6, 1e3)
DELTAS = st.one_of(st.just(0.0), st.floats(1e-12, 0.1))
WEIGHTS = st.lists(st.floats(0.1, 10), min_size=1, max_size=20)
PARTS = st.one_of(st.integers(1, 60), st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(EPSILONS, DELTAS, PARTS)
def test_parts_add_up_to_at_most_the_whole(
    epsilon: float, delta: float, parts: int | list[float]
) -> None:
    found = Budget(epsilon, delta).split(parts)
    assert len(found) == (parts if isinstance(parts, int) else len(parts))
    for side, whole in (("epsilon", epsilon), ("delta", delta)):
        total = sum(Fraction(getattr(part, side)) for part in found)
        assert total <= Fraction(whole)
        assert float(total) == pytest.approx(whole, rel=1e-14)


def test_a_nearest_float_would_exceed_the_whole() -> None:
    # Parts that are rounded to the nearest float are too large for about half of all numbers.
    exceeded = [n for n in range(1, 60) if Fraction(1.0 / n) * n > 1]
    assert exceeded
    for n in exceeded:
        assert sum(Fraction(part.epsilon) for part in Budget(1.0).split(n)) <= 1


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)], ids=str)
@pytest.mark.parametrize("parts", [3, 7, [5, 2, 2], [0.1, 0.7, 0.3]], ids=str)
def test_a_ledger_pays_for_all_parts(budget: Budget, parts: int | list[float]) -> None:
    ledger = BudgetLedger(budget)
    for part in budget.split(parts):
        ledger.spend(part, "a part")
    with pytest.raises(BudgetExceededError):
        ledger.spend(Budget(budget.epsilon / 1000, budget.delta / 1000), "one more")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(1e-2, 50), st.floats(1e-12, 1e-6), st.integers(1, 60) | WEIGHTS)
def test_gaussian_parts_compose_to_at_most_the_whole(
    epsilon: float, delta: float, parts: int | list[float]
) -> None:
    budget = Budget(epsilon, delta)
    found = budget.split(parts, composition="gaussian")
    assert {part.delta for part in found} == {delta}
    scales = [gaussian.gdp_mu(part.epsilon, delta) for part in found]
    whole = gaussian.gdp_mu(epsilon, delta)
    assert math.hypot(*scales) <= whole
    assert math.hypot(*scales) == pytest.approx(whole, rel=1e-6)
    # Parts that are slightly larger exceed the whole.
    assert math.hypot(*scales) * (1 + 1e-6) > whole


def test_a_ledger_pays_for_gaussian_parts_that_are_larger_than_basic_ones() -> None:
    budget = Budget(1.0, 1e-6)
    basic, better = budget.split(4), budget.split(4, composition="gaussian")
    assert better[0].epsilon > 1.8 * basic[0].epsilon
    ledger = BudgetLedger(budget)
    for part in better:
        ledger.spend(GaussianEvent(gaussian.gdp_mu(part.epsilon, part.delta)), "Gaussian")
    assert ledger.spent() == pytest.approx(1.0, rel=1e-6)
    # They are no parts for other releases.
    other = BudgetLedger(budget)
    other.spend(better[0], "any")
    with pytest.raises(BudgetExceededError):
        other.spend(better[1], "any")


def test_wrong_parts_are_refused() -> None:
    budget = Budget(1.0, 1e-6)
    assert budget.split(np.array([1.0, 3.0]))[1].epsilon == 0.75
    for parts in (0, -1, [], [1, 0], [1, -1], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match=r"parts|weight"):
            budget.split(parts)
    for wrong in (1.5, "two", True, None, ["a"]):
        with pytest.raises(TypeError):
            budget.split(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="composition must be"):
        budget.split(2, composition="advanced")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no Gaussian releases"):
        Budget(1.0).split(2, composition="gaussian")
    with pytest.raises(ValueError, match=r"δ = 0.01 is so large"):
        Budget(0.03, 0.01).split(7, composition="gaussian")
