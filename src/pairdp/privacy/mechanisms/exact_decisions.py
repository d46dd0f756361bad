r"""Comparisons of uniform random numbers with exponentials, decided without any error.

A uniform random number has infinitely many bits. `LazyUniform` draws them as they are needed, and
`accepts` asks for more until the comparison V < c·exp(-x²/2) holds, or fails, for every
continuation of both; `below_exponential` does so for V < exp(-t). All arithmetic is on integers, so
no rounding is left to argue about, and the loops end with probability one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

Words = Callable[[], int]
"""Returns the next 64 random bits, as an integer."""

_WORD = 64


@dataclass
class LazyUniform:
    """A uniform number of [0, 1) whose first bits are known: [value, value + 1) / 2^bits.

    Parameters
    ----------
    words : callable
        Where more bits come from.
    value : int
        The bits that are known.
    bits : int
        How many.
    """

    words: Words
    value: int = 0
    bits: int = 0

    def refine(self, bits: int) -> None:
        """Draw bits until at least so many are known."""
        while self.bits < bits:
            self.append(self.words())

    def append(self, word: int) -> None:
        """Make 64 more bits known."""
        self.value = self.value << _WORD | word
        self.bits += _WORD

    @property
    def low(self) -> Fraction:
        """The least number that it can be."""
        return Fraction(self.value, 1 << self.bits)

    @property
    def high(self) -> Fraction:
        """What it is less than."""
        return Fraction(self.value + 1, 1 << self.bits)


def exp_bounds(exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    r"""Return bounds on :math:`e^{-t}` for t ≥ 0 that are about 2^-bits apart.

    With r such that s = t/2^r ≤ 1/2, the alternating series of e^{-s} lies between any two
    consecutive partial sums. Terms are rounded down for the lower bound and up for the upper one
    (the next term decides which sign), and so is each of the r squarings that lead back to t.
    """
    if exponent < 0:
        raise ValueError("the exponent must not be negative")
    halvings = max(0, (2 * exponent.numerator // exponent.denominator).bit_length())
    scale = bits + halvings + 16
    one = 1 << scale
    small = exponent / (1 << halvings)
    low_argument = (small.numerator << scale) // small.denominator
    high_argument = low_argument + 1
    # e^{-s} falls in s: the lower bound takes the larger argument.
    low = _series(high_argument, scale)[0]
    high = _series(low_argument, scale)[1]
    for _ in range(halvings):
        low = low * low >> scale
        high = _raised(high * high, scale)
    return Fraction(max(low, 0), one), Fraction(min(high, one), one)


def _series(argument: int, scale: int) -> tuple[int, int]:
    """Return integers below and above 2^scale · exp(-argument / 2^scale)."""
    total = 1 << scale
    low_term = high_term = total
    low = high = total
    order = 0
    while high_term > 1:
        order += 1
        low_term = (low_term * argument >> scale) // order
        high_term = -(-_raised(high_term * argument, scale) // order)
        if order % 2:
            low, high = low - high_term, high - low_term
        else:
            low, high = low + low_term, high + high_term
    # What is left out is an alternating tail, less than its first term.
    return low - high_term - 1, high + high_term + 1


def _raised(value: int, scale: int) -> int:
    """Return value / 2^scale, rounded up."""
    return -(-value >> scale)


def accepts(
    threshold: LazyUniform,
    position: LazyUniform,
    start: Fraction,
    width: Fraction,
    factor: Fraction,
) -> bool:
    """Return whether V < c·exp(-x²/2), where x = start + width·U.

    Parameters
    ----------
    threshold, position : LazyUniform
        V and U. More of their bits are drawn if the answer depends on them.
    start, width : Fraction
        What U is mapped to; not negative.
    factor : Fraction
        c.
    """
    bits = _WORD
    while True:
        near = start + width * position.low
        far = start + width * position.high
        least = factor * exp_bounds(far * far / 2, bits)[0]
        if threshold.high <= least:
            return True
        most = factor * exp_bounds(near * near / 2, bits)[1]
        if threshold.low >= most:
            return False
        bits += _WORD
        threshold.refine(bits)
        position.refine(bits)


def below_exponential(threshold: LazyUniform, exponent: Fraction) -> bool:
    """Return whether V < exp(-t): true with probability exp(-t), exactly.

    Parameters
    ----------
    threshold : LazyUniform
        V. More of its bits are drawn if the answer depends on them.
    exponent : Fraction
        t; not negative.
    """
    if exponent == 0:
        return True
    bits = _WORD
    while True:
        threshold.refine(bits)
        least, most = exp_bounds(exponent, bits)
        if threshold.high <= least:
            return True
        if threshold.low >= most:
            return False
        bits += _WORD
