"""Words next to every boundary: what a test decides holds for all bits that are still to come."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp.privacy import GaussianMechanism
from pairdp.privacy.mechanisms import rounded_normal
from pairdp.privacy.mechanisms.compiled_normal import first_test as compiled_first_test
from pairdp.privacy.mechanisms.exact_decisions import LazyUniform, accepts, exp_bounds
from pairdp.privacy.mechanisms.rounded_normal import (
    LARGEST_NOISE,
    MARGIN,
    UNSURE,
    rounded_normals,
)
from pairdp.privacy.mechanisms.strips import STRIPS, WIDTH, strips

HALF = Fraction(1, 2)
RATIOS = [2.0**-64, 0.11, 0.97, 1.0, math.pi, 1e3, 1.3 * 2.0**26, 2.0**32, 1.7 * 2.0**40, 2.0**52]


def index_of(strip: int) -> int:
    """Return an index of the table for a strip."""
    return int(np.flatnonzero(strips().strip == strip)[0])


def words_near_halves(ratio: float, count: int, seed: int) -> list[int]:
    """Return words whose s·|Z| is within a few last places of a half-integer, where one is."""
    rng = np.random.default_rng(seed)
    step = Fraction(ratio) / 16 / 2**36
    words = []
    for _ in range(count):
        strip = int(rng.integers(STRIPS))
        edges = [math.floor(Fraction(ratio) * (strip + end) * WIDTH) for end in (0, 1)]
        integer = int(rng.integers(edges[0], edges[1] + 1))
        place = math.floor((integer + HALF) / step) + int(rng.integers(-3, 4))
        position = min(max(place - (strip << 36), 0), 2**36 - 1)
        words.append(index_of(strip) | int(rng.integers(2)) << 27 | position << 28)
    return words


def place_of(word: int) -> int:
    """Return X, the strip and the known bits of the position."""
    return (int(strips().strip[word & 0xFFFF]) << 36) + (word >> 28)


def integers_between(low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return the nearest integers of the numbers from low to high, which is not included."""
    return math.floor(low + HALF), math.ceil(high + HALF) - 1


@pytest.mark.parametrize("ratio", RATIOS)
def test_roundings_of_the_first_test_hold_for_all_bits_to_come(ratio: float) -> None:
    words, table = words_near_halves(ratio, 600, 1), strips()
    array, step = np.array(words, dtype=np.uint64), ratio / 16 / 2**36
    found = np.empty(array.size, dtype=np.int64)
    status = rounded_normal._first_test(array, table.strip, table.sure, step, found)
    again = np.empty_like(found)
    compiled = compiled_first_test(array, table.strip, table.sure, step, again)
    assert np.array_equal(status, compiled)
    assert np.array_equal(found, again)
    crossed = 0
    for word, open_, integer in zip(words, status, found, strict=True):
        exact = Fraction(step) * place_of(word)
        low, high = integers_between(exact, exact + Fraction(step))
        crossed += low != high
        if not open_ & UNSURE:
            assert low == high == abs(integer)
            assert integer == 0 or (integer < 0) == bool(word >> 27 & 1)
    # Half-integers are ends of intervals if the ratio is a power of two.
    assert crossed > 0 or ratio < 0.2 or math.frexp(ratio)[0] == 0.5, "no boundary was met"


@pytest.mark.parametrize("ratio", RATIOS)
def test_roundings_with_more_bits_hold_for_all_bits_to_come(ratio: float) -> None:
    rng = np.random.default_rng(2)
    words, more, step = words_near_halves(ratio, 600, 3), [], ratio / 16 / 2**36
    for word in words:
        # The bits that bring s·|Z| to the next half-integer, and a few last places of 2^-64 off.
        missing = Fraction(step) * place_of(word) + HALF
        missing = math.floor(missing) + 1 - missing
        bits = math.floor(missing / Fraction(step) * 2**64)
        far = int(rng.choice([-(2**18), -(2**12), -(2**11), -1, 0, 1, 2**11, 2**12, 2**18]))
        more.append(min(max(bits + far, 0), 2**64 - 1))
    found, sure = rounded_normal._finer(
        np.array(words, dtype=np.uint64), strips().strip, np.array(more, dtype=np.uint64), step
    )
    for word, bits, integer, is_sure in zip(words, more, found, sure, strict=True):
        exact = Fraction(step) * (place_of(word) + Fraction(bits, 2**64))
        low, high = integers_between(exact, exact + Fraction(step) / 2**64)
        if is_sure:
            assert low == high == integer
    if ratio > 1:
        assert not np.all(sure), "no boundary was met"


@given(st.integers(0, STRIPS - 1), st.integers(0, 2**36 - 1), st.floats(-1.5, 1.5))
def test_acceptances_of_the_second_test_hold_for_all_bits_to_come(
    strip: int, position: int, margins: float
) -> None:
    """V is within 1.5 margins of its bound; inside half of one, nothing is decided."""
    table = strips()
    factor = table.factor(strip)
    low, high = (
        factor * exp_bounds(((strip + Fraction(position + end, 2**36)) * WIDTH) ** 2 / 2, 100)[side]
        for end, side in ((1, 0), (0, 1))
    )
    target = low + Fraction(margins) * Fraction(MARGIN)
    threshold = min(max(math.floor(target * 2**75), 0), 2**75 - 1)
    word = index_of(strip) | threshold >> 64 << 16 | position << 28
    more = np.array([threshold & 2**64 - 1], dtype=np.uint64)
    verdict = rounded_normal._second_test(table, np.array([word], dtype=np.uint64), more)[0]
    if verdict > 0:
        assert Fraction((threshold >> 23) + 1, 2**52) <= low
    if verdict < 0:
        assert Fraction(threshold >> 23, 2**52) >= high
    if abs(Fraction(threshold, 2**75) - low) < Fraction(MARGIN) / 2:
        assert verdict == 0


@pytest.mark.parametrize("ones", [False, True])
def test_a_point_is_accepted_only_where_all_of_its_interval_is(ones: bool) -> None:
    """V lies between the bounds of the two ends of the known interval of U: later bits decide."""
    start, width, position = Fraction(7, 16), Fraction(1, 16), 2**35
    near, far = (
        exp_bounds((start + width * Fraction(position + end, 2**36)) ** 2 / 2, 200)[0]
        for end in (0, 1)
    )
    value = math.floor((near + far) / 2 * 2**80)
    threshold = LazyUniform(lambda: 0, value, 80)
    uniform = LazyUniform(lambda: 2**64 - 1 if ones else 0, position, 36)
    assert accepts(threshold, uniform, start, width, Fraction(1)) == (not ones)


class Script:
    """Stands for a generator whose words are known."""

    def __init__(self, words: list[int]) -> None:
        self.words = words

    def integers(self, low: int, high: int, size: int, dtype: type) -> np.ndarray:
        taken, self.words = self.words[:size], self.words[size:]
        return np.array(taken, dtype=dtype)


@pytest.mark.parametrize("above", [0, 1])
def test_bits_that_were_drawn_are_used(above: int) -> None:
    """s·|Z| is next to a half-integer in the first two words: both of them decide."""
    ratio = 3.0
    edge = HALF / Fraction(ratio) / WIDTH
    strip = math.floor(edge)
    bits = math.floor((edge - strip) * 2**100) + above
    word = index_of(strip) | bits >> 64 << 28
    script = Script([word, bits & 2**64 - 1, *[0] * 10])
    found = rounded_normals(script, ratio, 1)  # type: ignore[arg-type]
    assert found[0] == above
    assert len(script.words) < 10, "two words are not enough"


@pytest.mark.parametrize("sign", [0, 1])
def test_noise_far_beyond_the_range_is_limited(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """|Z| is 1093, which has a probability of about e^-600000: sums still fit into 64 bits."""
    monkeypatch.setattr(rounded_normal, "accepts", lambda *_: True)
    script = Script([0xFFFF | sign << 27, 0, *[0] * 17, 1, *[0] * 10])
    found = rounded_normals(script, 2.0**52, 1)  # type: ignore[arg-type]
    limit = -LARGEST_NOISE if sign else LARGEST_NOISE
    assert found[0] == limit
    mechanism = GaussianMechanism(1.0, 2.0**52, 1, grid=1.0)
    for value in (-(2.0**61), 0.0, 2.0**61):
        assert mechanism.add_to(np.array([value]), found) == limit / 2
