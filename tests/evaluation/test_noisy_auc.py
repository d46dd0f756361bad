"""Sums over pairs, tails of noise, and the AUC with its interval from noisy numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import binom, poisson

from pairdp.evaluation.noisy_auc import NoisyAUC
from pairdp.evaluation.pair_sum import pair_sum
from pairdp.evaluation.ratios import CountNoise
from pairdp.evaluation.tails import two_sided_tail
from pairdp.privacy.bounds.centred_auc import CentredAUC

Array = NDArray[np.float64]
RNG = np.random.default_rng(3)


def test_the_pair_sum_is_that_over_all_pairs() -> None:
    for _ in range(30):
        scores = RNG.integers(0, 6, 40).astype(float)
        scores[RNG.random(40) < 0.1] = np.nan
        signs = RNG.choice([-1.0, 0.0, 1.0], 40)
        known = ~np.isnan(scores)
        up, down = scores[known & (signs > 0)], scores[known & (signs < 0)]
        doubled = int(np.sign(up[:, None] - down[None]).sum())
        assert pair_sum(scores, signs) == (up.size, down.size, doubled)


def test_extreme_scores_and_single_classes() -> None:
    scores = np.array([np.inf, -np.inf, 1e308, -0.0, 0.0])
    assert pair_sum(scores, np.array([1.0, -1, -1, 1, -1])) == (2, 3, 4 - 1)
    assert pair_sum(scores, np.ones(5)) == (5, 0, 0)
    assert pair_sum(scores, np.zeros(5)) == (0, 0, 0)


def exact_tail(t: float, deviation: float, scales: tuple[float, ...]) -> float:
    """Return the tail by inverting the characteristic function."""

    def integrand(u: float) -> float:
        found = np.exp(-((deviation * u) ** 2) / 2) / np.prod([1 + (b * u) ** 2 for b in scales])
        return float(found * t * np.sinc(u * t / np.pi))

    return 1 - 2 / np.pi * float(quad(integrand, 0, 60 / deviation, limit=2000)[0])


@pytest.mark.parametrize("deviation", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("scales", [(1.0,), (1.0, 0.4), (1.0, 1.0), (1.0, 0.99, 2.0), (1.0, 1e-3)])
def test_tails_are_exact_or_slightly_too_large(deviation: float, scales: tuple[float, ...]) -> None:
    for t in (0.5, 2.0, 6.0):
        exact = exact_tail(t, deviation, scales)
        arrays = [np.array([scale]) for scale in scales]
        found = float(two_sided_tail(np.array([t]), np.array([deviation]), *arrays)[0])
        assert exact * (1 - 1e-4) <= found <= exact * 1.15


def test_tails_without_a_normal_part_and_without_laplace_parts() -> None:
    t = np.array([0.0, 1.0, 3.0])
    one = np.ones(3)
    np.testing.assert_allclose(two_sided_tail(t, 0 * one, one), np.exp(-t), rtol=1e-5)
    np.testing.assert_allclose(two_sided_tail(t, one), [1.0, 0.317310508, 0.002699796], rtol=1e-6)


def noisy(auc: float, share: float, n: int, scale: float, null: float | None = None) -> NoisyAUC:
    """Return noisy numbers whose noise is zero."""
    functions = CentredAUC(n, 1)
    m = np.array([share * n])
    z = 0.0 if null is None else null
    t = functions.weights(m) * (m - z / 2) * (n - m - z / 2) * (auc - 0.5)
    gamma = float(functions.null_weight)
    height = float(functions.heights(m)[0])
    return NoisyAUC(functions, float(t[0]), height, None if null is None else gamma * z, scale)


@pytest.mark.parametrize("auc", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("share", [0.5, 0.03, 0.9])
@pytest.mark.parametrize("null", [None, 100.0])
def test_without_noise_the_estimate_is_the_auc(auc: float, share: float, null: float) -> None:
    found = noisy(auc, share, 2000, 0.01, null)
    assert found.estimate == pytest.approx(auc, abs=1e-9)
    assert found.positives == pytest.approx(share * 2000 - (null or 0.0) / 2)
    lower, upper = found.interval()
    assert lower <= auc + 1e-9
    assert auc - 1e-9 <= upper


def test_intervals_shrink_with_records_and_budget_and_end_where_tests_do() -> None:
    widths = [noisy(0.8, 0.2, n, scale).interval().width for n, scale in
              [(300, 10.0), (300, 1.0), (3000, 1.0), (30000, 1.0)]]  # fmt: skip
    assert widths == sorted(widths, reverse=True)
    assert noisy(0.8, 0.01, 300, 10.0).interval() == (0.0, 1.0)
    found = noisy(0.8, 0.2, 3000, 1.0)
    tails = found.tail(np.array(found.interval()))
    np.testing.assert_allclose(tails, 0.04, rtol=1e-5)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("null", [None, -50.0, 1e9])
def test_any_released_numbers_give_an_interval(gaussian: bool, null: float | None) -> None:
    functions = CentredAUC(50, 2 if gaussian else 1)
    for t in (-1e12, -3.0, 0.0, 3.0, 1e12):
        for height in (-1e12, 0.0, 5.0, 1e12):
            found = NoisyAUC(functions, t, height, null, 2.0, gaussian)
            lower, upper = found.interval()
            assert 0 <= lower <= upper <= 1
            assert 0 <= found.estimate <= 1
            assert 1 <= found.positives <= 49
            assert 0 <= found.null_records <= 50


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_few_records_are_in_the_interval_without_noise(gaussian: bool) -> None:
    """Poisson numbers with any mean, tested as normal plus what intervals assume of the noise."""
    k = np.arange(200.0)
    least = CountNoise(1e-9, gaussian).assumed(1).scale

    def missed(mean: float, scale: float) -> float:
        normal, noise = np.full(k.shape, np.sqrt(mean)), np.full(k.shape, scale)
        if gaussian:
            tail = two_sided_tail(np.abs(k - mean), np.hypot(normal, noise))
        else:
            tail = two_sided_tail(np.abs(k - mean), normal, noise)
        return float(poisson.pmf(k, mean)[tail < 0.04].sum())

    means = np.geomspace(1e-3, 100, 500).tolist()
    assert max(missed(mean, least) for mean in means) <= 0.05
    assert max(missed(mean, least / 2) for mean in means) > 0.08


def test_intervals_cover_at_a_large_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten positives, each above or below all others, with hardly any noise: exact chances."""
    n, p = 1000, 10
    functions = CentredAUC(n)

    def coverage(auc: float) -> float:
        held = 0.0
        for up in range(p + 1):
            t, height, _ = functions.vector(p, n - p, (2 * up - p) * (n - p))
            noisy = NoisyAUC(functions, t, height, None, 1e-3)
            held += float(binom.pmf(up, p, auc)) * bool(noisy.tail(np.array([auc]))[0] >= 0.04)
        return held

    assert min(map(coverage, (0.97, 0.985, 0.995))) >= 0.95
    monkeypatch.setattr("pairdp.evaluation.ratios._LEAST", 0.0)
    assert coverage(0.985) == pytest.approx(0.86, abs=0.001)
