"""The rounded normal has its exact law, on coarse grids and on fine ones."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtr

from pairdp.privacy import NoiseSource
from pairdp.privacy.mechanisms import rounded_normal
from pairdp.privacy.mechanisms.exact_decisions import LazyUniform
from pairdp.privacy.mechanisms.rounded_normal import (
    UNDECIDED,
    UNSURE,
    Point,
    Points,
    random_words,
    rounded_normals,
)
from pairdp.privacy.mechanisms.strips import STRIPS, TAIL_START, WIDTH, strips

FALSE_ALARM = 1e-7
SIZE = 1_000_000


def chi_square(integers: np.ndarray, ratio: float) -> float:
    """Return the p-value of counts against the exact law of round(s·Z)."""
    last = max(1, int(4 * ratio))
    edges = (np.arange(-last, last + 2) - 0.5) / ratio
    tails = np.concatenate([[0.0], ndtr(edges), [1.0]])
    probabilities = np.diff(tails)
    counts = np.histogram(integers, np.concatenate([[-np.inf], edges * ratio, [np.inf]]))[0]
    return float(stats.chisquare(counts, probabilities * integers.size).pvalue)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.7, 9.1])
def test_coarse_grids_have_the_exact_probabilities(ratio: float) -> None:
    drawn = rounded_normals(NoiseSource(11).stream("noise"), ratio, SIZE)
    assert chi_square(drawn, ratio) > FALSE_ALARM
    assert chi_square(drawn, 1.01 * ratio) < FALSE_ALARM, "a scale wrong by 1 % goes unnoticed"


@pytest.mark.parametrize("ratio", [2.0**20, 1.3 * 2.0**26, 2.0**44])
def test_fine_grids_have_the_normal_distribution(ratio: float) -> None:
    size = 3 * SIZE if ratio < 2.0**40 else SIZE // 50
    drawn = rounded_normals(NoiseSource(12).stream("noise"), ratio, size) / ratio
    assert stats.kstest(drawn, "norm", method="asymp").pvalue > FALSE_ALARM
    if size > SIZE:
        assert stats.kstest(drawn / 1.01, "norm", method="asymp").pvalue < FALSE_ALARM
    # The low digits are as good as uniform.
    low = rounded_normals(NoiseSource(13).stream("noise"), ratio, size) & 15
    assert stats.chisquare(np.bincount(low, minlength=16)).pvalue > FALSE_ALARM


def test_the_tail_has_its_law() -> None:
    """All words have the index of the tail, so accepted points have the law of |Z| beyond 5."""
    generator = NoiseSource(14).stream("noise")
    words = random_words(generator, 12_000) | np.uint64(0xFFFF)
    accepted = np.zeros(words.size, dtype=bool)
    points = rounded_normal._decide(generator, words, accepted)
    drawn = np.array([point.nearest(2.0**30) for point in points.values()]) / 2.0**30
    assert drawn.size == accepted.sum() > 300
    law = stats.truncnorm(TAIL_START, np.inf)
    assert stats.kstest(drawn, law.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(TAIL_START + 1.5 * (drawn - TAIL_START), law.cdf).pvalue < FALSE_ALARM


def test_the_proposal_covers_the_density() -> None:
    table = strips()
    assert table.counts.sum() + 1 == 2**16 == table.strip.size
    assert np.array_equal(np.bincount(table.strip), [*table.counts, 1])
    with mpmath.workprec(200):
        for k in range(STRIPS):
            peak = table.scale * mpmath.exp(-mpmath.mpf(k * k) / 512) / int(table.counts[k])
            least = table.scale * mpmath.exp(-mpmath.mpf((k + 1) ** 2) / 512)
            assert peak <= 1
            assert abs(table.peaks[k] - peak) <= peak * 2.0**-52
            assert int(table.sure[k]) * int(table.counts[k]) <= 2**11 * least
        for j in range(50):
            factor = mpmath.mpf(table.tail_factor(j).numerator)
            assert factor * mpmath.exp(-(mpmath.mpf(TAIL_START + j) ** 2) / 2) <= 1


@given(st.integers(0, STRIPS - 1), st.integers(0, 2**36 - 1))
def test_the_second_test_is_within_half_its_margin(strip: int, position: int) -> None:
    """For every continuation of the position's bits."""
    table = strips()
    found = rounded_normal._bound(
        table, np.array([strip], dtype=np.uint8), np.array([position * 2.0**-36])
    )[0]
    with mpmath.workprec(200):
        for bits in (position, position + 1):
            x = (strip + mpmath.mpf(bits) / 2**36) / 16
            exact = table.scale * mpmath.exp(-x * x / 2) / int(table.counts[strip])
            assert abs(exact - mpmath.mpf(found)) + 2.0**-52 < rounded_normal.MARGIN / 2


def test_all_tests_agree() -> None:
    """What the first two decide, integers decide likewise from the same bits."""
    table, generator, ratio = strips(), NoiseSource(15).stream("noise"), 37.3 * 2.0**27
    words, more = random_words(generator, 4000), random_words(generator, 4000)
    integers = np.empty(words.size, dtype=np.int64)
    step = ratio / 16 / 2**36
    status = rounded_normal._first_test(words, table.strip, table.sure, step, integers)
    second = rounded_normal._second_test(table, words, more)
    assert set(second) == {-1, 1}
    assert not np.any((status < UNDECIDED) & (second < 0))
    for row, (word, other) in enumerate(zip(words.tolist(), more.tolist(), strict=True)):
        third = rounded_normal._third_test(generator, table, word, other)
        assert (third is not None) == (second[row] > 0)
    points = Points(words, {}, generator)
    exactly = np.array([points.point(row).nearest(ratio) for row in range(words.size)])
    signed = np.where(points.negative, -exactly, exactly)
    sure = status & UNSURE == 0
    assert 0 < sure.sum() < words.size
    assert np.array_equal(integers[sure], signed[sure])


@pytest.mark.parametrize("ratio", [0.4, 37.3 * 2.0**20, 2.0**40])
def test_compiled_and_plain_draws_are_equal(ratio: float) -> None:
    plain, compiled = (
        rounded_normals(NoiseSource(16).stream("noise"), ratio, 50_000, compiled=compiled)
        for compiled in (False, True)
    )
    assert np.array_equal(plain, compiled)


@given(
    st.integers(0, STRIPS - 1),
    st.integers(1, 2**40),
    st.floats(0.01, 2.0**44, exclude_min=True),
    st.booleans(),
)
def test_roundings_that_only_far_bits_decide(
    strip: int, integer: int, ratio: float, above: bool
) -> None:
    """|Z| is put next to a half-integer: it agrees with it in 256 bits, and then differs."""
    edge = (Fraction(2 * integer + 1, 2) / Fraction(ratio) / WIDTH) - strip
    if not 0 < edge < 1:
        edge = edge % 1
        if edge == 0:
            return
    target = Fraction(ratio) * WIDTH * (strip + edge) + Fraction(1, 2)
    bits = 256
    value = int(edge * (1 << bits)) + (1 if above else -1)
    words = [value >> 64 * i & (1 << 64) - 1 for i in (3, 2, 1, 0)]
    more = iter([*words, *[0] * 50])
    found = Point(LazyUniform(lambda: next(more)), strip, 16).nearest(ratio)
    exact = Fraction(ratio) * WIDTH * (strip + Fraction(value, 1 << bits)) + Fraction(1, 2)
    assert found == exact.__floor__()
    assert abs(exact - target) < Fraction(ratio) * Fraction(2, 1 << bits)


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan"), 2.0**53, 2.0**-65])
def test_ratios_out_of_range_are_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match="ratio"):
        rounded_normals(NoiseSource(1).stream("noise"), ratio, 3)
