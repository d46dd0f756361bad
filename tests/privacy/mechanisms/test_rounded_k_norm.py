"""K-norm and Laplace noise have their laws, and integers decide every rounding."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pairdp.privacy import KNormMechanism, NoiseSource
from pairdp.privacy.mechanisms import rounded_k_norm as module
from pairdp.privacy.mechanisms.lattice import LARGEST_INTEGER
from pairdp.privacy.mechanisms.rounded_k_norm import rounded_k_norm, rounded_laplace
from pairdp.privacy.mechanisms.rounded_normal import LARGEST_NOISE

FALSE_ALARM = 1e-7
FINE = 2.0**26


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_radius_is_gamma_and_direction_uniform(dimension: int) -> None:
    generator = NoiseSource(21).stream("noise")
    drawn = np.array([rounded_k_norm(generator, FINE, dimension) for _ in range(4000)]) / FINE
    radius = np.linalg.norm(drawn, axis=1)
    gamma = stats.gamma(dimension)
    assert stats.kstest(radius, gamma.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(1.15 * radius, gamma.cdf).pvalue < FALSE_ALARM
    if dimension == 1:
        assert stats.binomtest(int((drawn > 0).sum()), len(drawn)).pvalue > FALSE_ALARM
        return
    # The square of a coordinate of a uniform direction is Beta(1/2, (d-1)/2).
    law = stats.beta(0.5, (dimension - 1) / 2)
    for k in range(dimension):
        assert stats.kstest((drawn[:, k] / radius) ** 2, law.cdf).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_laplace_on_a_coarse_grid_has_the_exact_probabilities() -> None:
    ratio, size = 1.7, 40_000
    drawn = rounded_laplace(NoiseSource(22).stream("noise"), ratio, size)
    edges = np.arange(-9, 10) - 0.5

    def pvalue(scale: float) -> float:
        tails = np.concatenate([[0.0], stats.laplace(scale=scale).cdf(edges), [1.0]])
        counts = np.histogram(drawn, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
        return float(stats.chisquare(counts, np.diff(tails) * size).pvalue)

    assert pvalue(ratio) > FALSE_ALARM
    assert pvalue(1.05 * ratio) < FALSE_ALARM


def pvalue_of_mean(values: np.ndarray, mean: float, deviation: float) -> float:
    """Return the p-value of a mean, which is nearly normal: the sharpest test of a scale."""
    return float(2 * stats.norm.sf(abs(np.mean(values) - mean) / deviation * len(values) ** 0.5))


@pytest.mark.slow
def test_a_laplace_scale_that_is_wrong_by_one_per_cent_is_noticed() -> None:
    """One per cent is about 8 standard deviations of the mean of absolute values."""
    ratio, generator, k = 1.7, NoiseSource(24).stream("noise"), np.arange(1, 200)
    drawn = np.abs([rounded_laplace(generator, ratio, 50_000) for _ in range(14)]).ravel()

    def pvalue(scale: float) -> float:
        masses = 2 * np.diff(stats.laplace(scale=scale).cdf(np.arange(1, 201) - 0.5))
        mean = float(k @ masses)
        return pvalue_of_mean(drawn, mean, float(k**2 @ masses - mean**2) ** 0.5)

    assert pvalue(ratio) > FALSE_ALARM
    for wrong in (0.99, 1.01):
        assert pvalue(wrong * ratio) < FALSE_ALARM


@pytest.mark.slow
def test_a_k_norm_radius_that_is_wrong_by_one_per_cent_is_noticed() -> None:
    """One per cent is about 8 standard deviations of the mean radius, which is Gamma."""
    dimension, generator = 21, NoiseSource(25).stream("noise")
    radius = np.array(
        [np.linalg.norm(rounded_k_norm(generator, FINE, dimension) / FINE) for _ in range(32_000)]
    )
    assert pvalue_of_mean(radius, dimension, dimension**0.5) > FALSE_ALARM
    for wrong in (0.99, 1.01):
        scaled = wrong * dimension, wrong * dimension**0.5
        assert pvalue_of_mean(radius, *scaled) < FALSE_ALARM


@pytest.mark.parametrize("ratio", [0.3, 2.7, 1e6])
def test_coarse_grids_round_what_fine_grids_have(ratio: float) -> None:
    """From the same words, so that the law on a coarse grid is that of the rounded fine noise."""
    finer, half = 2.0**24, 0.5 + 2.0**-25

    def drawn(ratio: float) -> np.ndarray:
        source = NoiseSource(26)
        vectors = [rounded_k_norm(source.stream("a", i), ratio, 3) for i in range(300)]
        return np.concatenate([*vectors, rounded_laplace(source.stream("b"), ratio, 300)])

    assert np.all(np.abs(drawn(ratio) - drawn(finer * ratio) / finer) <= half)


@pytest.mark.parametrize("first_bits", [1, 20, 60])
def test_the_precision_to_start_with_does_not_matter(
    first_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too few bits are noticed and more are drawn: the integers are the same."""

    def drawn() -> tuple[list[int], list[int]]:
        source = NoiseSource(23)
        vector = rounded_k_norm(source.stream("a"), 1e9, 5)
        return vector.tolist(), rounded_laplace(source.stream("b"), 1e9, 5).tolist()

    expected = drawn()
    monkeypatch.setattr(module, "_FIRST_BITS", first_bits)
    assert drawn() == expected


def test_bounds_hold_whatever_the_bits_to_come() -> None:
    for floors in ([3, 0, 7], [1, 0], [1, 1, 4]):  # sums of squares with and without a root
        low, high = module._root_bounds(floors)
        assert low * low <= sum(a * a for a in floors)
        assert high * high >= sum((a + 1) ** 2 for a in floors)


@given(st.integers(0, 2**32), st.integers(1, 40), st.floats(2.0**-20, 2.0**20))
def test_every_continuation_of_the_bits_is_within_the_bounds(
    seed: int, bits: int, ratio: float
) -> None:
    """Also those that move one coordinate alone, and with it hardly the norm."""
    rng = np.random.default_rng(seed)
    x, y = ([int(v) for v in rng.integers(1, 2**bits * 4, size)] for size in (3, 6))
    low, high = module._k_norm_bounds(ratio, x, y, bits)
    almost = 1 - Fraction(1, 2**70)
    for ends in itertools.product((0, almost), repeat=4):
        moved = [a + end for a, end in zip(x, ends, strict=False)]
        total = sum((a + ends[3]) ** 2 for a in y)
        square = sum(a * a for a in moved)
        for k, a in enumerate(moved):
            # The square of |z| in units of the grid, which is rational.
            z2 = (Fraction(ratio) * total * a / 2 ** (2 * bits + 1)) ** 2 / square
            assert max(low[k] - Fraction(1, 2), 0) ** 2 <= z2 <= (high[k] + Fraction(1, 2)) ** 2


def test_one_unknown_coordinate_is_refined() -> None:
    """The sum is known to 2^-60, but a coordinate may be 0 or 1: its integer is not known."""
    low, high = module._k_norm_bounds(1.0, [0, 2**60], [2**60] * 4, 60)
    assert low[0] == high[0] == 0
    low, high = module._k_norm_bounds(2.0**60, [0, 2**60], [2**60] * 4, 60)
    assert low[0] == 0 < high[0]


def test_huge_noise_is_limited_beyond_the_range_of_sums() -> None:
    assert module._nearest(2**80, 3) == LARGEST_NOISE == 2 * LARGEST_INTEGER
    assert module._nearest(-(2**80), 3) == -LARGEST_NOISE
    assert module._nearest(2**61 + 1, 1) == 2**61 + 1


@given(
    st.integers(-LARGEST_INTEGER, LARGEST_INTEGER),
    st.one_of(
        st.integers(-(2**70), 2**70),
        st.sampled_from([LARGEST_NOISE, -LARGEST_NOISE, LARGEST_INTEGER]),
    ),
)
def test_limiting_noise_before_the_sum_changes_no_release(value: int, noise: int) -> None:
    """So a release is a function of v + z, which tells nothing more than v + z does."""
    value = int(float(value))  # as a double has it
    value = max(-LARGEST_INTEGER, min(value, LARGEST_INTEGER))
    mechanism = KNormMechanism(1.0, 1.0, 1, grid=1.0)
    drawn = np.array([max(-LARGEST_NOISE, min(noise, LARGEST_NOISE))])
    found = mechanism.add_to(np.array([float(value)]), drawn)
    assert found == float(max(-LARGEST_INTEGER, min(value + noise, LARGEST_INTEGER)))
