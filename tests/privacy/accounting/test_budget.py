"""The budget: what it accepts, refuses and says of itself."""

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import Budget

NOT_REAL = ["1", None, True, np.True_, 1j, [1.0], np.array([1.0]), Decimal(1)]


@pytest.mark.parametrize("epsilon", [0, 0.0, -1, -1e-300, math.nan, math.inf, -math.inf, 10**400])
def test_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        Budget(epsilon, 1e-6)


@pytest.mark.parametrize("epsilon", NOT_REAL)
def test_epsilon_that_is_not_a_real_number_is_refused(epsilon: object) -> None:
    with pytest.raises(TypeError, match="epsilon must be a real number"):
        Budget(epsilon, 1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [1, 1.0, 2.0, math.inf, -1e-300, -1, -math.inf, math.nan])
def test_delta_out_of_range_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        Budget(1.0, delta)


@pytest.mark.parametrize("delta", ["x", *NOT_REAL])
def test_delta_that_is_not_a_real_number_is_refused(delta: object) -> None:
    with pytest.raises(TypeError, match="delta must be a real number"):
        Budget(1.0, delta)  # type: ignore[arg-type]


def test_error_tells_the_value_that_was_given() -> None:
    with pytest.raises(ValueError, match=r"-2\.5"):
        Budget(-2.5)
    with pytest.raises(TypeError, match="'1' of type str"):
        Budget("1")  # type: ignore[arg-type]


def test_an_epsilon_that_underflows_to_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        Budget(Fraction(1, 10**400))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int64, int, Fraction])
def test_every_real_number_becomes_a_float(kind: type) -> None:
    budget = Budget(kind(2), kind(0))
    assert type(budget.epsilon) is float
    assert type(budget.delta) is float
    assert budget == Budget(2.0, 0.0)
    assert hash(budget) == hash(Budget(2.0, 0.0))


def test_numpy_delta_keeps_its_value() -> None:
    assert Budget(np.float64(0.1), np.float64(1e-300)) == Budget(0.1, 1e-300)


@pytest.mark.parametrize("field", ["epsilon", "delta"])
def test_fields_cannot_be_changed(field: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(Budget(1.0, 1e-6), field, 2.0)


def test_replacing_a_field_is_checked_again() -> None:
    with pytest.raises(ValueError, match="delta"):
        dataclasses.replace(Budget(1.0, 1e-6), delta=1.0)


def test_only_delta_zero_is_pure() -> None:
    assert Budget(1.0).is_pure
    assert Budget(1.0, 0).is_pure
    assert Budget(1.0, -0.0).is_pure
    assert not Budget(1.0, 5e-324).is_pure


def test_relation_is_replace_one_for_every_budget() -> None:
    assert Budget(1.0).relation == Budget(9.0, 0.1).relation == "replace-one-or-null"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    epsilon=st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    delta=st.floats(min_value=0, max_value=1, exclude_max=True),
)
def test_every_number_in_range_is_kept_exactly(epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    assert (budget.epsilon, budget.delta) == (epsilon, delta)
    assert budget.is_pure == (delta == 0)
