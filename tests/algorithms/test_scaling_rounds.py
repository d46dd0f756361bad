"""Rounds of class sums and sizes: their noise, their averages, and what they standardise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms.centering import NoisyStatistics
from pairdp.algorithms.class_separation import ClassCode
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.algorithms.scaling_rounds import (
    StandardizedSums,
    is_round,
    round_noise,
    round_statistics,
    standardized_sums,
)
from pairdp.algorithms.task import Task
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric
from pairdp.problem import Problem
from pairdp.records import Records

METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
BUCKETS = 4


def standardized(
    x: np.ndarray, y: np.ndarray, budget: Budget | None, seed: int = 0
) -> StandardizedSums:
    n, d = x.shape
    task, records = Task(METRIC, n, d, budget), METRIC.records(x, y)
    releases = tuple(each.release(task) for each in round_statistics(task, BUCKETS, 1.0))
    noisy = NoisyStatistics(releases, NoiseSource(seed), "test")
    counts = np.bincount(y, minlength=BUCKETS).astype(float)
    code = ClassCode.of(counts, 0.0)
    names = [release.name for release in releases]
    radius = float(np.quantile(np.linalg.norm(x, axis=1), 0.3))
    return standardized_sums(records, noisy, names, np.zeros(d), radius, code, BUCKETS)


@pytest.mark.parametrize("budget", [None, Budget(4.0, 1e-6), Budget(40.0)], ids=str)
def test_features_of_all_scales_are_standardised(budget: Budget | None) -> None:
    rng, n, d = np.random.default_rng(0), 20_000, 6
    y, sizes = rng.integers(3, size=n), np.array([0.1, 0.1, 0.05, 0.02, 0.01, 0.002])
    means = rng.normal(size=(3, d)) * np.array([1.0, 0.0, 0.5, 0.0, 1.0, 1.0])
    means -= means.mean(axis=0)
    found = standardized(sizes * (rng.normal(size=(n, d)) + means[y]), y, budget)
    spread = sizes * np.sqrt(1 + np.mean(means**2, axis=0))
    ratio = found.unit / spread
    np.testing.assert_allclose(ratio / ratio[0], 1.0, rtol=0.25)
    # The sums are those of standardised values, less what clipping takes.
    code = ClassCode.of(np.bincount(y, minlength=BUCKETS).astype(float), 0.0)
    shares = np.bincount(y) / n
    expected = code.vectors @ (sizes * means / found.unit * shares[:, None]) * math.sqrt(d)
    assert np.corrcoef(found.sums[:3].ravel(), expected.ravel())[0, 1] > 0.98
    slope = np.sum(found.sums[:3] * expected) / np.sum(expected**2)
    assert 0.6 < slope <= 1.05


def test_the_stated_noise_is_that_of_the_sums() -> None:
    """Statistical: 100 runs of 48 numbers; the ratio has a standard deviation of 0.013."""
    rng, n, d = np.random.default_rng(0), 2000, 12
    y = rng.integers(3, size=n)
    x = 0.05 * rng.normal(size=(n, d)) * np.linspace(0.5, 2, d)
    runs = [standardized(x, y, Budget(2.0, 1e-6), seed) for seed in range(100)]
    errors = np.array([run.sums for run in runs])
    observed = math.sqrt(float(np.mean(errors.var(axis=0, ddof=1))))
    stated = math.sqrt(float(np.mean([run.noise**2 for run in runs])))
    assert 0.9 < observed / stated < 1.1
    assert not 0.9 < 1.25 * observed / stated < 1.1


def test_rounds_together_have_less_noise_than_the_last_alone() -> None:
    task = Task(METRIC, 1000, 5, Budget(1.0, 1e-6))
    releases = [each.release(task) for each in round_statistics(task, BUCKETS, 0.6)]
    assert len(releases) == 3
    assert all(is_round(release) for release in releases)
    single = deviation(releases[-1])
    assert round_noise(releases) == pytest.approx(single / math.sqrt(3))
    # Three rounds cost what one of the same share would.
    whole = Task(METRIC, 1000, 5, Budget(1.0, 1e-6))
    (one, *_) = (each.release(whole) for each in round_statistics(whole, BUCKETS, 1.8))
    assert round_noise(releases) == pytest.approx(deviation(one))
    pure = Task(METRIC, 1000, 5, Budget(1.0))
    assert len(round_statistics(pure, BUCKETS, 1.0)) == 2
    free = Task(METRIC, 1000, 5, None)
    assert round_noise([each.release(free) for each in round_statistics(free, 4, 1.0)]) == 0.0


def test_a_feature_that_is_always_zero_keeps_a_divisor() -> None:
    rng = np.random.default_rng(0)
    y, x = rng.integers(2, size=500), 0.1 * rng.normal(size=(500, 3))
    x[:, 1] = 0.0
    for budget in (None, Budget(1.0, 1e-6)):
        found = standardized(x, y, budget)
        assert np.all(found.unit > 0)
        assert np.all(np.isfinite(found.sums))


def test_null_records_add_zero() -> None:
    rng = np.random.default_rng(0)
    y, x = rng.integers(2, size=300).astype(float), rng.normal(size=(300, 3))
    gaps = x.copy()
    gaps[:100] = np.nan
    records: Records = METRIC.records(gaps, y, invalid="null")
    found = ScaledRecords(records, np.full(3, 0.2), 0.7).bucket_sums_and_sizes(2)
    rest = ScaledRecords(METRIC.records(x[100:], y[100:]), np.full(3, 0.2), 0.7)
    np.testing.assert_allclose(300 * found, 200 * rest.bucket_sums_and_sizes(2), atol=1e-12)
