"""K-norm and Laplace noise have their laws, and integers decide every rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pairdp.privacy import NoiseSource
from pairdp.privacy.mechanisms import rounded_k_norm as module
from pairdp.privacy.mechanisms.rounded_k_norm import rounded_k_norm, rounded_laplace

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


def test_laplace_on_a_coarse_grid_has_the_exact_probabilities() -> None:
    ratio, size = 1.7, 60_000
    drawn = rounded_laplace(NoiseSource(22).stream("noise"), ratio, size)
    edges = np.arange(-9, 10) - 0.5

    def pvalue(scale: float) -> float:
        tails = np.concatenate([[0.0], stats.laplace(scale=scale).cdf(edges), [1.0]])
        counts = np.histogram(drawn, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
        return float(stats.chisquare(counts, np.diff(tails) * size).pvalue)

    assert pvalue(ratio) > FALSE_ALARM
    assert pvalue(1.05 * ratio) < FALSE_ALARM


@pytest.mark.parametrize("first_bits", [1, 20, 200])
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
    floors = [3, 0, 7]
    low, high = module._root_bounds(floors)
    least = Fraction(sum(a * a for a in floors))
    most = Fraction(sum((a + 1) ** 2 for a in floors))
    assert low * low <= least
    assert high * high >= most
