"""Buffers of a Toeplitz matrix: the error of the computed product, attacked, and states."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy.mechanisms.matrix_mechanism import LONGEST, PrefixFactor
from pairdp.privacy.mechanisms.toeplitz_buffers import ToeplitzBuffers, encoding_error

BITS = 400
"""Of exact buffers, in fixed point: what is cut off is below 2^-300 after 10⁸ steps."""


def fixed(number: float) -> int:
    return int(Fraction(float(number)) * (1 << BITS))


def exact_products(factor: PrefixFactor, values: np.ndarray) -> list[int]:
    """Return Cu of numbers in fixed point."""
    weights = [Fraction(w) for w in factor.weights.tolist()]
    decays = [Fraction(th) for th in factor.decays.tolist()]
    buffers, found = [0] * len(weights), []
    for value in map(fixed, values):
        found.append(value + sum(buffers))
        buffers = [
            b * th.numerator // th.denominator + value * w.numerator // w.denominator
            for b, th, w in zip(buffers, decays, weights, strict=True)
        ]
    return found


def computed_products(factor: PrefixFactor, values: np.ndarray) -> np.ndarray:
    buffers = ToeplitzBuffers(factor.weights, factor.decays, 1)
    found = np.empty(len(values))
    for t, value in enumerate(values):
        found[t] = value + buffers.pending[0]
        buffers.push(np.array([value]))
    return found


def plain_products(factor: PrefixFactor, values: np.ndarray) -> np.ndarray:
    """Return the same by buffers in double precision."""
    state, found = np.zeros(factor.weights.size), np.empty(len(values))
    for t, value in enumerate(values):
        found[t] = value + state.sum()
        state = factor.decays * state + factor.weights * value
    return found


def distance(found: np.ndarray, exact: list[int]) -> float:
    """Return the Euclidean distance, computed in integers."""
    square = sum((fixed(a) - b) ** 2 for a, b in zip(found, exact, strict=True))
    return float(Fraction(square, 1 << 2 * BITS)) ** 0.5


STREAMS: dict[str, Callable[[int], np.ndarray]] = {
    "ones": np.ones,
    "near one": lambda n: np.full(n, 1 - 2.0**-53),
    "thirds": lambda n: np.full(n, 1 / 3),
    "normal": lambda n: np.clip(np.random.default_rng(0).normal(size=n) / 3, -1, 1),
    "signs": lambda n: np.where(np.arange(n) % 2 == 0, 1.0, -1 + 2.0**-30),
    "late": lambda n: np.where(np.arange(n) > n - 3, 0.7, 1e-17),
    "first": lambda n: np.where(np.arange(n) == 0, 0.7, 0.0),
    "tiny": lambda n: np.where(np.arange(n) % 3 == 0, 1e-310, 0.1),
    "sweep": lambda n: np.sin(np.geomspace(1, 1e4, n)),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("n", [1, 2, 30, 3000])
def test_no_stream_is_further_from_the_exact_product(name: str, n: int) -> None:
    factor, values = PrefixFactor.of(n), STREAMS[name](n)
    apart = distance(computed_products(factor, values), exact_products(factor, values))
    # The bound is for two products.
    assert apart <= encoding_error(factor.weights.size, n, factor.column_sum()) / 2


@given(
    values=st.lists(st.floats(-1, 1), min_size=1, max_size=60),
    made_for=st.integers(1, LONGEST),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_short_stream_is_further_from_it_for_any_factor(
    values: list[float], made_for: int
) -> None:
    factor, given_values = PrefixFactor.of(made_for), np.array(values)
    apart = distance(computed_products(factor, given_values), exact_products(factor, given_values))
    limit = encoding_error(factor.weights.size, len(values), factor.column_sum(len(values)))
    assert apart <= limit / 2


@pytest.mark.slow
def test_long_streams_need_more_than_double_precision() -> None:
    n = 100_000
    factor, values = PrefixFactor.of(n), np.full(n, 0.1)
    exact = exact_products(factor, values)
    limit = encoding_error(factor.weights.size, n, factor.column_sum()) / 2
    assert distance(plain_products(factor, values), exact) > limit
    apart = distance(computed_products(factor, values), exact)
    assert limit / 1000 < apart <= limit * 0.1  # values are a tenth of the largest


def test_what_is_paid_is_small_beside_what_a_value_moves() -> None:
    for n, share in ((10**5, 2e-10), (10**6, 2e-9), (LONGEST, 2e-7)):
        factor = PrefixFactor.of(n)
        error = encoding_error(factor.weights.size, n, factor.column_sum())
        assert error / factor.column_norm() < share


def test_a_saved_state_goes_on_and_is_a_copy() -> None:
    factor = PrefixFactor.of(30)
    values = np.random.default_rng(0).normal(size=(30, 2))
    first, second = (ToeplitzBuffers(factor.weights, factor.decays, 2) for _ in range(2))
    for value in values[:12]:
        first.push(value)
    state = first.state
    kept = state.copy()
    second.restore(state)
    for value in values[12:]:
        np.testing.assert_array_equal(second.pending, first.pending)
        first.push(value)
        second.push(value)
    np.testing.assert_array_equal(state, kept)


def test_what_does_not_fit_is_refused() -> None:
    factor = PrefixFactor.of(10)
    buffers = ToeplitzBuffers(factor.weights, factor.decays, 2)
    with pytest.raises(ValueError, match=r"shape \(2,\) are needed"):
        buffers.push(np.zeros(3))
    with pytest.raises(ValueError, match="a finite state"):
        buffers.restore(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="a finite state"):
        buffers.restore(np.full_like(buffers.state, np.nan))
