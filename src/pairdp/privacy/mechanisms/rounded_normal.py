r"""Normal noise rounded to integers, drawn exactly: N = round(s·Z) for an ideal normal Z.

Points come from the strips of `pairdp.privacy.mechanisms.strips`. One random word has the strip,
the sign, the first 11 bits of V and the first 36 bits of the position U in the strip. Whether
V < c·exp(-x²/2) is decided by three tests, each only where the one before is not conclusive:

1. The first bits of V lie below a bound that holds for the whole strip: accepted.
2. With 52 bits of V and 36 of U, both sides are compared in double precision. Their difference is
   off by less than `MARGIN` (see `_bound`); if it is larger than that, its sign is right.
3. The rest, and the tail, is decided with as many bits as it takes, in integers
   (`pairdp.privacy.mechanisms.exact_decisions`).

A test is conclusive only if its answer holds for all values of the bits that are not drawn yet, so
these are still uniform and independent of the answer. The same holds for the rounding: s·x + 1/2
is computed in double precision from 36 bits of U. Where an integer is so close that rounding errors
or the bits to come could cross it, as is common on fine grids, 64 more bits are drawn and the
product is computed more exactly (`_finer`); where that is not conclusive, as many bits are drawn as
it takes and the product is formed in integers. So N has exactly the law of the rounded normal,
limited to ±2^62, which no release depends on (`pairdp.privacy.mechanisms.lattice`): no error
probability is left to add to δ.
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
    Strips,
    strips,
)

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
FirstTest = Callable[[Words, Bytes, NDArray[np.uint16], float, Integers], Bytes]

SMALLEST_RATIO, LARGEST_RATIO = 2.0**-64, 2.0**52
LARGEST_NOISE = 2**62
"""What integers of noise are limited to, so that sums fit into 64 bits."""
MARGIN = 2.0**-36
UNSURE, UNDECIDED = 1, 2
"""What the first test may leave open: the rounding, and whether the point is accepted."""

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


def random_words(generator: np.random.Generator, count: int) -> Words:
    """Return uniform 64-bit words."""
    return generator.integers(0, 2**64, count, dtype=np.uint64)


@dataclass(frozen=True)
class Point:
    """|Z| = (strip + U) / strips_per_unit, with as many bits of U as needed."""

    position: LazyUniform
    strip: int
    strips_per_unit: int

    def floor(self, bits: int) -> int:
        """Return ⌊2^bits·|Z|⌋."""
        self.position.refine(bits)
        known = self.position.bits
        # strips_per_unit is 1 or 16, so the division is a shift.
        shift = known + self.strips_per_unit.bit_length() - 1 - bits
        return (self.strip << known) + self.position.value >> shift

    def nearest(self, ratio: float) -> int:
        """Return s·|Z| rounded to the nearest integer."""
        numerator, denominator = ratio.as_integer_ratio()
        bits = 64
        while True:
            unit, floor = denominator << bits, self.floor(bits)
            low, high = (2 * numerator * side + unit for side in (floor, floor + 1))
            # 2^bits·|Z| is less than floor + 1.
            if low // (2 * unit) == (high - 1) // (2 * unit):
                return low // (2 * unit)
            bits += 64


@dataclass(frozen=True, eq=False)
class Points:
    """Exact normal numbers, of which as many bits are known as were needed so far.

    Attributes
    ----------
    words : array of uint64
        The word of each.
    known : dict of int to Point
        Those of which more bits are known, by their place. All of the tail are there.
    generator : numpy.random.Generator
        Where more bits come from.
    """

    words: Words
    known: dict[int, Point]
    generator: np.random.Generator

    @property
    def negative(self) -> Flags:
        """Whether each number is negative."""
        return _signs(self.words)

    def point(self, place: int) -> Point:
        """Return one number, with all that is known of it."""
        if place not in self.known:
            self.known[place] = _point(self.generator, int(self.words[place]))
        return self.known[place]

    def floors(self, bits: int) -> list[int]:
        """Return ⌊2^bits·|Z|⌋ for each number."""
        missing = [place for place in range(self.words.size) if place not in self.known]
        more = random_words(self.generator, len(missing)).tolist()
        for place, word in zip(missing, more, strict=True):
            self.point(place).position.append(word)
        return [self.known[place].floor(bits) for place in range(self.words.size)]


def normal_points(generator: np.random.Generator, size: int) -> Points:
    """Draw exact normal numbers."""
    known: dict[int, Point] = {}
    table, kept, filled = strips(), [], 0
    while filled < size:
        words = random_words(generator, min(_CHUNK, size - filled))
        strip = table.strip[words & _INDEX_MASK]
        accepted = (words >> _INDEX_SHIFT) & _THRESHOLD_MASK < table.sure[strip]
        points = _decide(generator, words, accepted)
        places = filled - 1 + np.cumsum(accepted)
        known |= {int(places[row]): point for row, point in points.items()}
        kept.append(words[accepted])
        filled += kept[-1].size
    return Points(np.concatenate(kept), known, generator)


def rounded_normals(
    generator: np.random.Generator, ratio: float, size: int, *, compiled: bool = False
) -> Integers:
    """Return independent copies of round(s·Z), Z a standard normal, limited to ±2^62.

    Parameters
    ----------
    generator : numpy.random.Generator
        Its 64-bit words are taken as uniform.
    ratio : float
        s, the standard deviation in units of the grid; the exact value of the double.
    size : int
        How many.
    compiled : bool
        Whether to use numba, which must be installed. The numbers are the same.
    """
    if not SMALLEST_RATIO <= ratio <= LARGEST_RATIO:
        raise ValueError(f"the ratio must be from 2^-64 to 2^52, got {ratio!r}")
    first_test: FirstTest = _first_test
    if compiled:
        from pairdp.privacy.mechanisms.compiled_normal import first_test
    table, found, filled = strips(), np.empty(size, dtype=np.int64), 0
    step = float(ratio) / STRIPS_PER_UNIT / 2**_POSITION_BITS
    while filled < size:
        words = random_words(generator, min(_CHUNK, size - filled))
        integers = np.empty(words.size, dtype=np.int64)
        status = first_test(words, table.strip, table.sure, step, integers)
        accepted = status < UNDECIDED
        points = Points(words, _decide(generator, words, accepted), generator)
        unsure = (status & UNSURE > 0) & accepted
        unsure[list(points.known)] = False
        rows = np.flatnonzero(unsure)
        more = random_words(generator, rows.size)
        nearest, sure = _finer(words[rows], table.strip, more, step)
        integers[rows] = np.where(_signs(words[rows]), -nearest, nearest)
        for place in np.flatnonzero(~sure):
            points.point(int(rows[place])).position.append(int(more[place]))
        for row in sorted(points.known):
            exact = min(points.known[row].nearest(float(ratio)), LARGEST_NOISE)
            integers[row] = -exact if _signs(words[row]) else exact
        drawn = integers[accepted]
        found[filled : filled + drawn.size] = drawn
        filled += drawn.size
    return found


def _first_test(
    words: Words,
    strip_of: Bytes,
    sure: NDArray[np.uint16],
    step: float,
    integers: Integers,
) -> Bytes:
    r"""Put round(s·Z) into ``integers``, and return what is left open for each.

    s·x is X·S with the integer X = 2^36·k + u < 2^43 and the double S = s·w/2^36, both exact, so
    y + 1/2 is computed with an error of at most (2y + 1/2)·2^-53. The bits to come add less than S.
    """
    strip, places = _places(words, strip_of)
    value = places * step
    error = value * 2.0**-51 + 2.0**-51
    value += 0.5
    floor = np.floor(value)
    value -= floor
    integers[:] = floor
    np.negative(integers, out=integers, where=_signs(words))
    unsure = (value < error) | (1 - value <= error + step)
    undecided = (words >> _INDEX_SHIFT) & _THRESHOLD_MASK >= sure[strip]
    return np.asarray(unsure * np.uint8(UNSURE) + undecided * np.uint8(UNDECIDED))


def _signs(words: Words) -> Flags:
    """Return whether the numbers of words are negative."""
    return np.asarray((words >> _SIGN_SHIFT) & np.uint64(1) == 1)


def _places(words: Words, strip_of: Bytes) -> tuple[Bytes, Integers]:
    """Return the strips, and X."""
    strip = strip_of[words & _INDEX_MASK]
    first = (words >> _POSITION_SHIFT).astype(np.int64)
    return strip, (strip.astype(np.int64) << _POSITION_BITS) + first


def _finer(words: Words, strip_of: Bytes, more: Words, step: float) -> tuple[Integers, Flags]:
    r"""Return |round(s·Z)| with 64 more bits of U, and whether it is sure.

    X and S are split into halves, of 21 and 22, and of 27 and 26 bits, so that the four products
    are exact, and so are their integer and fractional parts. S times the first 53 of the new bits
    is off by at most S·2^-53, and the bits to come add less than S·2^-53. Adding five fractional
    parts and 1/2 is off by less than 5·2^-51.
    """
    _, places = _places(words, strip_of)
    low = places & ((1 << 22) - 1)
    high = places - low
    mantissa, exponent = math.frexp(step)
    upper = math.ldexp(math.floor(mantissa * 2**27), exponent - 27)
    parts = np.stack(
        [
            *(half * piece for half in (high, low) for piece in (upper, step - upper)),
            (more >> np.uint64(11)) * 2.0**-53 * step,
        ]
    )
    floors = np.floor(parts)
    rest = (parts - floors).sum(axis=0) + 0.5
    carried = np.floor(rest)
    rest -= carried
    error = 2.0**-48 + step * 2.0**-52
    nearest = floors.astype(np.int64).sum(axis=0) + carried.astype(np.int64)
    return nearest, np.asarray((rest >= error) & (1 - rest > error))


def _decide(generator: np.random.Generator, words: Words, accepted: Flags) -> dict[int, Point]:
    """Complete ``accepted``, where the first test left it open, by the other two.

    Returns the accepted points that the third test has drawn more bits of.
    """
    table, known = strips(), {}
    undecided = np.flatnonzero(~accepted)
    more = random_words(generator, undecided.size)
    verdict = _second_test(table, words[undecided], more)
    accepted[undecided] = verdict > 0
    for place in np.flatnonzero(verdict == 0):
        row = int(undecided[place])
        point = _third_test(generator, table, int(words[row]), int(more[place]))
        if point is not None:
            accepted[row] = True
            known[row] = point
    return known


def _second_test(table: Strips, words: Words, more: Words) -> NDArray[np.int8]:
    """Return 1 where V is surely below its bound, -1 where it is surely above, else 0."""
    strip = table.strip[words & _INDEX_MASK]
    first = (words >> _INDEX_SHIFT) & _THRESHOLD_MASK
    fine = (first << np.uint64(_FINE_BITS - THRESHOLD_BITS)) | (more >> _FINE_SHIFT)
    position = (words >> _POSITION_SHIFT).astype(np.float64) * 2.0**-_POSITION_BITS
    apart = _bound(table, strip, position) - fine * 2.0**-_FINE_BITS
    verdict = (apart > MARGIN).astype(np.int8) - (apart < -MARGIN).astype(np.int8)
    verdict[strip == TAIL] = 0
    return verdict


def _bound(table: Strips, strip: Bytes, position: Array) -> Array:
    r"""Return (M/n_k)·exp(-x²/2) at x = w(k + f), f the first 36 bits of U as a fraction.

    It is the peak of the strip times exp(-t), t = w²f(2k + f)/2 ≤ 161/512, by Taylor's polynomial
    of degree 11. Errors: the bits of U to come change it by at most (k + 1)w²·2^-36 < 2^-37.6; the
    remainder of the series is t^12/12! < 2^-48; rounding of coefficients, of t and of Horner's
    scheme is less than 8·2^-53; the bits of V that are not drawn are less than 2^-52. Together they
    are less than 2^-37, half of `MARGIN`.
    """
    exponent = position * (2.0 * strip + position) / (2 * STRIPS_PER_UNIT**2)
    series = np.full(exponent.shape, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        series *= exponent
        series += coefficient
    return np.asarray(table.peaks[strip] * series)


def _third_test(
    generator: np.random.Generator, table: Strips, word: int, more: int
) -> Point | None:
    """Return the point if it is accepted, with as many bits as it takes to decide."""
    first = word >> INDEX_BITS & int(_THRESHOLD_MASK)
    point = _point(generator, word)
    draw = point.position.words
    if point.strips_per_unit == 1:
        step = _zeros_before_a_one(draw)
        point = Point(point.position, TAIL_START + step, 1)
        factor = table.tail_factor(step)
    else:
        factor = table.factor(point.strip)
    threshold = LazyUniform(draw, first << 64 | more, THRESHOLD_BITS + 64)
    width = Fraction(1, point.strips_per_unit)
    accepted = accepts(threshold, point.position, point.strip * width, width, factor)
    return point if accepted else None


def _point(generator: np.random.Generator, word: int) -> Point:
    """Return the point of a word; of the tail, in its first strip."""
    strip = int(strips().strip[word & int(_INDEX_MASK)])
    position = LazyUniform(
        lambda: int(random_words(generator, 1)[0]), word >> int(_POSITION_SHIFT), _POSITION_BITS
    )
    is_tail = strip == TAIL
    return Point(position, TAIL_START if is_tail else strip, 1 if is_tail else STRIPS_PER_UNIT)


def _zeros_before_a_one(draw: Callable[[], int]) -> int:
    """Return a geometric number: j with probability 2^{-(j+1)}."""
    zeros = 0
    while (word := draw()) == 0:
        zeros += 64
    return zeros + (word & -word).bit_length() - 1
