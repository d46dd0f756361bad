"""Comparisons with exponentials are never wrong, also where only far bits decide."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from pairdp.privacy.mechanisms.exact_decisions import LazyUniform, accepts, exp_bounds

exponents = st.fractions(0, 60, max_denominator=2**80)


def exact(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@given(exponents, st.sampled_from([8, 64, 192]))
def test_bounds_hold_the_exponential_and_are_as_close_as_promised(
    exponent: Fraction, bits: int
) -> None:
    low, high = exp_bounds(exponent, bits)
    with mpmath.workprec(600):
        assert exact(low) <= mpmath.exp(-exact(exponent)) <= exact(high)
    assert high - low <= Fraction(1, 1 << (bits - 1))


def bits_of(number: mpmath.mpf, offset: int = 0) -> Iterator[int]:
    """Yield the words of a number of [0, 1), the last one of which is moved by an offset."""
    words = 5
    value = int(mpmath.floor(number * mpmath.mpf(2) ** (64 * words))) + offset
    for i in reversed(range(words)):
        yield value >> 64 * i & (1 << 64) - 1
    while True:
        yield 1 << 63


@given(
    st.integers(0, 79),
    st.integers(0, 2**100 - 1),
    st.integers(-3, 3),
)
def test_ties_in_hundreds_of_bits_are_decided_as_with_many_digits(
    strip: int, position: int, offset: int
) -> None:
    start, width = Fraction(strip, 16), Fraction(1, 16)
    with mpmath.workprec(1000):
        x = exact(start) + exact(width) * mpmath.mpf(position) / mpmath.mpf(2) ** 100
        # V agrees with the bound in its first 318 bits, and differs by at most 4 in the 320th.
        bound = mpmath.exp(-x * x / 2)
        words = bits_of(min(bound, 1 - mpmath.mpf(2) ** -300), offset)
        drawn: list[int] = []

        def threshold_words() -> int:
            drawn.append(next(words))
            return drawn[-1]

        threshold = LazyUniform(threshold_words)
        # The position has this many bits and zeros from there on.
        uniform = LazyUniform(lambda: 0, position, 100)
        answer = accepts(threshold, uniform, start, width, Fraction(1))
        assert threshold.bits >= 320 or bound == 1
        v = mpmath.mpf(threshold.value) / mpmath.mpf(2) ** threshold.bits
        assert answer == (v < bound)


def test_more_bits_continue_the_known_ones() -> None:
    words = iter([7, 9])
    uniform = LazyUniform(lambda: next(words), 5, 3)
    uniform.refine(3)
    assert (uniform.value, uniform.bits) == (5, 3)
    uniform.refine(100)
    assert uniform.value == ((5 << 64) + 7 << 64) + 9
    assert uniform.low < uniform.high
