r"""Normal noise rounded to integers, drawn exactly: N = round(s·Z) for an ideal normal Z.

Points come from the strips of `pairdp.privacy.mechanisms.strips`: strip, sign, the first bits of
V and 36 bits of the position U in the strip are the bits of one random word. Three looks decide
whether V < c·exp(-x²/2), each only where the one before could not:

1. The first 11 bits of V lie below a bound that holds for the whole strip: accepted.
2. With 52 bits of V and 36 of U, both sides are compared in double precision. They may differ from
   their exact values by at most `MARGIN` in all (see `_ratio`); what is further apart is decided.
3. The rest, and the tail, is decided with as many bits as it takes, in integers
   (`pairdp.privacy.mechanisms.exact_decisions`).

A look is conclusive only if its answer holds for all values of the bits that are not drawn yet, so
these are still uniform and independent of the answer. The same holds for the rounding: s·x + 1/2 is
computed in double precision from 36 bits of U, and where an integer is so near that rounding or the
bits to come could cross it, more bits are drawn and the product is formed in integers. So N has
exactly the law of the rounded normal; nothing is approximated, and nothing is left to add to δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.mechanisms.exact_decisions import LazyUniform, accepts
from pairdp.privacy.mechanisms.strips import (
    INDEX_BITS,
    STRIPS_PER_UNIT,
    TAIL,
    TAIL_START,
    THRESHOLD_BITS,
    WIDTH,
    Strips,
    strips,
)

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

LARGEST_RATIO = 2.0**44
"""The largest s: beyond it the rounded normal could leave the integers that doubles hold."""
SMALLEST_RATIO = 2.0**-64
MARGIN = 2.0**-36
"""How near V may be to what it is compared with before integers decide; see `_ratio`."""

_POSITION_BITS = 64 - INDEX_BITS - THRESHOLD_BITS - 1
_POSITION_SHIFT = np.uint64(64 - _POSITION_BITS)
_INDEX_MASK = np.uint64((1 << INDEX_BITS) - 1)
_THRESHOLD_MASK = np.uint64((1 << THRESHOLD_BITS) - 1)
_INDEX_SHIFT = np.uint64(INDEX_BITS)
_SIGN_SHIFT = np.uint64(INDEX_BITS + THRESHOLD_BITS)
_FINE_BITS = 52
_FINE_SHIFT = np.uint64(64 - (_FINE_BITS - THRESHOLD_BITS))
_CHUNK = 1 << 15
_COEFFICIENTS = [(-1.0) ** order / math.factorial(order) for order in range(11, -1, -1)]


@dataclass(frozen=True)
class Point:
    """|Z| = (strip + U) / strips_per_unit, with as many bits of U as anybody asks for."""

    position: LazyUniform
    strip: int
    strips_per_unit: int

    def bounds(self, bits: int) -> tuple[int, int]:
        """Return integers between which 2^bits·|Z| lies; they differ by 1."""
        position = self.position
        position.refine(bits)
        # strips_per_unit is 1 or 16, so the division is a shift.
        shift = position.bits + self.strips_per_unit.bit_length() - 1 - bits
        low = (self.strip << position.bits) + position.value >> shift
        return low, low + 1

    def nearest(self, ratio: float) -> int:
        """Return s·|Z| rounded to the nearest integer."""
        numerator, denominator = ratio.as_integer_ratio()
        bits = 64
        while True:
            whole = denominator << bits
            low, high = (2 * numerator * side + whole for side in self.bounds(bits))
            # |Z| is less than its upper bound.
            if low // (2 * whole) == (high - 1) // (2 * whole):
                return low // (2 * whole)
            bits += 64


def _point(generator: np.random.Generator, word: int, strip: int, step: int = 0) -> Point:
    """Return the point of a word, in a strip or in strip ``step`` of the tail."""
    position = LazyUniform(
        lambda: int(random_words(generator, 1)[0]), word >> 64 - _POSITION_BITS, _POSITION_BITS
    )
    if strip == TAIL:
        return Point(position, TAIL_START + step, 1)
    return Point(position, strip, STRIPS_PER_UNIT)


@dataclass(frozen=True, eq=False)
class Points:
    """Exact normal numbers, as many bits of which are known as were needed so far.

    Attributes
    ----------
    words : array of uint64
        Their words, of which the last bits are the first ones of U.
    strip : array of uint8
        Their strips; `TAIL` for those of the tail.
    known : dict of int to Point
        Those of which more is known, by their place. All of the tail are there.
    generator : numpy.random.Generator
        Where more bits come from.
    """

    words: Words
    strip: NDArray[np.uint8]
    known: dict[int, Point]
    generator: np.random.Generator

    @property
    def negative(self) -> Flags:
        """Whether each number is negative."""
        return np.asarray((self.words >> _SIGN_SHIFT) & np.uint64(1) == 1)

    def point(self, place: int) -> Point:
        """Return one number, with all that is known of it."""
        if place not in self.known:
            word, strip = int(self.words[place]), int(self.strip[place])
            self.known[place] = _point(self.generator, word, strip)
        return self.known[place]

    def floors(self, bits: int) -> list[int]:
        """Return ⌊2^bits·|Z|⌋ for each number."""
        missing = [place for place in range(self.words.size) if place not in self.known]
        more = random_words(self.generator, len(missing)).tolist()
        for place, word in zip(missing, more, strict=True):
            position = self.point(place).position
            position.value = position.value << 64 | word
            position.bits += 64
        return [self.known[place].bounds(bits)[0] for place in range(self.words.size)]


def normal_points(generator: np.random.Generator, size: int) -> Points:
    """Draw exact normal numbers."""
    rounds = []
    missing = size
    while missing:
        rounds.append(_round_of_draws(generator, min(_CHUNK, missing)))
        missing -= rounds[-1].words.size
    known, before = {}, 0
    for drawn in rounds:
        known |= {before + place: point for place, point in drawn.known.items()}
        before += drawn.words.size
    words, strip = (
        np.concatenate([getattr(drawn, name) for drawn in rounds]) for name in ("words", "strip")
    )
    return Points(words, strip, known, generator)


def rounded_normals(generator: np.random.Generator, ratio: float, size: int) -> Integers:
    """Return independent copies of round(s·Z), Z a standard normal.

    Parameters
    ----------
    generator : numpy.random.Generator
        Its 64-bit words are taken as uniform.
    ratio : float
        s, the standard deviation in units of the grid; the exact value of the double.
    size : int
        How many.
    """
    if not SMALLEST_RATIO <= ratio <= LARGEST_RATIO:
        raise ValueError(f"the ratio must be from 2^-64 to 2^44, got {ratio!r}")
    found = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        points = _round_of_draws(generator, min(_CHUNK, size - filled))
        count = points.words.size
        found[filled : filled + count] = _rounded(points, float(ratio))
        filled += count
    return found


def _rounded(points: Points, ratio: float) -> Integers:
    """Return s·Z rounded to the nearest integers."""
    integers, unsure = _nearest(ratio, points.words, points.strip)
    for place in {*np.flatnonzero(unsure).tolist(), *points.known}:
        integers[place] = points.point(place).nearest(ratio)
    np.negative(integers, out=integers, where=points.negative)
    return integers


def _round_of_draws(generator: np.random.Generator, count: int) -> Points:
    """Return those of ``count`` proposals that are accepted, in order."""
    table = strips()
    words = random_words(generator, count)
    strip = table.strip[words & _INDEX_MASK]
    accepted = (words >> _INDEX_SHIFT) & _THRESHOLD_MASK < table.sure[strip]
    undecided = np.flatnonzero(~accepted)
    more = random_words(generator, undecided.size)
    verdict = _second_look(table, words[undecided], strip[undecided], more)
    accepted[undecided] = verdict > 0
    known = {}
    for place in np.flatnonzero(verdict == 0):
        row = undecided[place]
        point = _third_look(generator, table, int(words[row]), int(strip[row]), int(more[place]))
        accepted[row] = point is not None
        if point is not None:
            known[int(row)] = point
    places = np.cumsum(accepted) - 1
    moved = {int(places[row]): point for row, point in known.items()}
    return Points(words[accepted], strip[accepted], moved, generator)


def random_words(generator: np.random.Generator, count: int) -> Words:
    """Return uniform 64-bit words."""
    return generator.integers(0, 2**64, count, dtype=np.uint64)


def _nearest(ratio: float, words: Words, strip: NDArray[np.uint8]) -> tuple[Integers, Flags]:
    r"""Return round(s·x) from 36 bits of U, and where other bits or rounding may change it.

    s·x is X·S with the integer X = 2^36·k + u < 2^43 and the double S = s·w/2^36, both exact, so
    y + 1/2 is computed with an error of at most (2y + 1/2)·2^-53. The bits to come add less than S.
    """
    step = ratio / STRIPS_PER_UNIT / 2**_POSITION_BITS
    places = (strip.astype(np.int64) << _POSITION_BITS) + (words >> _POSITION_SHIFT).astype(np.int64)
    value = places * step
    error = value * 2.0**-51 + 2.0**-51
    value += 0.5
    whole = np.floor(value)
    value -= whole
    unsure = (value < error) | (1 - value <= error + step)
    return whole.astype(np.int64), unsure


def _second_look(
    table: Strips, words: Words, strip: NDArray[np.uint8], more: Words
) -> NDArray[np.int8]:
    """Return 1 where V is surely below its bound, -1 where it is surely above, else 0."""
    first = (words >> _INDEX_SHIFT) & _THRESHOLD_MASK
    fine = (first << np.uint64(_FINE_BITS - THRESHOLD_BITS)) | (more >> _FINE_SHIFT)
    position = (words >> _POSITION_SHIFT) * 2.0**-_POSITION_BITS
    apart = _bound(table, strip, position) - fine * 2.0**-_FINE_BITS
    verdict = (apart > MARGIN).astype(np.int8) - (apart < -MARGIN).astype(np.int8)
    verdict[strip == TAIL] = 0
    return verdict


def _bound(table: Strips, strip: NDArray[np.uint8], position: Array) -> Array:
    r"""Return (M/n_k)·exp(-x²/2) at x = w(k + f), f the first 36 bits of U as a fraction.

    It is the peak of the strip times exp(-t), t = w²f(2k + f)/2 ≤ 161/512, by Taylor's polynomial of
    degree 11. Errors: what bits to come change, at most (k + 1)w²·2^-36 < 2^-37.6; the rest of the
    series, t^12/12! < 2^-48; rounding of coefficients, of t and of Horner's scheme, 2^-53 times
    less than 8; the bits of V that are not drawn, 2^-52. Together they are less than 2^-37, half
    of `MARGIN`.
    """
    exponent = position * (2.0 * strip + position) / (2 * STRIPS_PER_UNIT**2)
    series = np.full(exponent.shape, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        series *= exponent
        series += coefficient
    return table.peaks[strip] * series


def _third_look(
    generator: np.random.Generator, table: Strips, word: int, strip: int, more: int
) -> Point | None:
    """Return the point if it is accepted, whatever it takes to decide."""

    def draw() -> int:
        return int(random_words(generator, 1)[0])

    first = word >> INDEX_BITS & (1 << THRESHOLD_BITS) - 1
    threshold = LazyUniform(draw, first << 64 | more, THRESHOLD_BITS + 64)
    if strip == TAIL:
        step = _zeros_before_a_one(draw)
        point = _point(generator, word, strip, step)
        factor = table.tail_factor(step)
    else:
        point, factor = _point(generator, word, strip), table.factor(strip)
    width = Fraction(1, point.strips_per_unit)
    accepted = accepts(threshold, point.position, point.strip * width, width, factor)
    return point if accepted else None


def _zeros_before_a_one(draw: Callable[[], int]) -> int:
    """Return a geometric number: j with probability 2^{-(j+1)}."""
    zeros = 0
    while (word := draw()) == 0:
        zeros += 64
    return zeros + (word & -word).bit_length() - 1
