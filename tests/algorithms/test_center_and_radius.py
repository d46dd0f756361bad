"""Centre and radius of records: what they are without noise, and the counts behind them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms.center_and_radius import (
    COUNTS_OF_NORMS,
    NORMS,
    count_share,
    located,
    location_statistics,
)
from pairdp.algorithms.centering import NoisyStatistics
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.algorithms.task import Task
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric
from pairdp.problem import Problem
from pairdp.records import Records

METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))


def statistics(n: int, d: int, budget: Budget | None, seed: int = 0) -> NoisyStatistics:
    task = Task(METRIC, n, d, budget)
    releases = tuple(each.release(task) for each in location_statistics(task))
    return NoisyStatistics(releases, NoiseSource(seed), "test")


def records(x: np.ndarray) -> Records:
    return METRIC.records(x, np.arange(len(x)) % 2)


@pytest.mark.parametrize("budget", [None, Budget(2.0, 1e-6), Budget(8.0)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_the_centre_is_the_mean_and_the_radius_a_quantile(
    budget: Budget | None, scale: float
) -> None:
    rng, n = np.random.default_rng(0), 20_000
    sizes = np.array([0.01, 0.1, 0.1, 0.05])
    x = scale * (sizes * rng.normal(size=(n, 4)) + np.array([0.1, 0.0, -0.2, 0.1]))
    center, radius = located(records(x), statistics(n, 4, budget))
    np.testing.assert_allclose(center, x.mean(axis=0), atol=0.5 * scale * 0.05)
    inside = np.mean(np.linalg.norm(x - center, axis=1) <= radius)
    assert 0.2 < inside < 0.45  # 0.3, as if distances were even between powers of two


def test_every_record_is_in_one_count() -> None:
    powers = 2.0 ** -np.arange(30)
    x = np.concatenate([powers, -np.nextafter(powers, 0), [0.0]])[:, None] * np.array([[1.0, 0.0]])
    rows = ScaledRecords(records(x), np.zeros(2))
    counts = rows.norm_counts(4)
    # Norms above 1, in (1/2, 1], in (1/4, 1/2], and all others.
    np.testing.assert_array_equal(counts, [0, 2, 2, len(x) - 4])
    moved = ScaledRecords(records(x), np.array([-1.0, 0.0])).norm_counts(4)
    assert moved.sum() == len(x)
    assert moved[0] == 30  # those on the other side of zero


def test_a_record_is_counted_alike_wherever_it_lies_in_memory() -> None:
    # Norms that are powers of two up to rounding: the order of additions would move them.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 17))  # fewer than 8 numbers would be added in one order by all means
    x *= (2.0 ** -rng.integers(0, 5, size=500) / np.linalg.norm(x, axis=1))[:, None]
    rows = METRIC.records(np.vstack([x, x]), np.zeros(1000))

    def counts(some: Records) -> np.ndarray:
        return ScaledRecords(some, np.zeros(17)).norm_counts(COUNTS_OF_NORMS)

    one_by_one = sum(counts(rows.part(slice(i, i + 1))) for i in range(1000))
    np.testing.assert_array_equal(counts(rows), one_by_one)
    for null in (0, 1, 300):
        cells = rows.x.copy()
        cells[null] = np.nan
        fewer = METRIC.records(cells, np.zeros(1000), invalid="null")
        assert np.abs(counts(rows) - counts(fewer)).sum() == 1


@pytest.mark.parametrize("d", [3, 8, 20, 129])
def test_a_huge_record_leaves_the_counts_of_others(d: int) -> None:
    """Rows beyond the norm are clipped to an edge of the counts: each must round as if alone."""
    rng = np.random.default_rng(d)
    x = 10 * rng.normal(size=(300, d))
    huge = x.copy()
    huge[5], huge[5, 0] = 0, 1e250
    first, second = (
        ScaledRecords(METRIC.records(rows, np.zeros(300)), np.zeros(d)).norm_counts(21)
        for rows in (x, huge)
    )
    assert np.abs(first - second).sum() <= 2
    np.testing.assert_array_equal(
        METRIC.records(x, np.zeros(300)).x[6:], METRIC.records(huge, np.zeros(300)).x[6:]
    )


def test_counts_have_more_of_the_budget_where_records_are_few() -> None:
    def shares(n: int, budget: Budget | None) -> tuple[float, float]:
        task = Task(METRIC, n, 10, budget)
        first = location_statistics(task)[0]
        assert first.name == NORMS
        release = first.release(task)
        return first.share, deviation(release) / n

    for budget in (Budget(1.0, 1e-6), Budget(1.0)):
        found = [shares(n, budget) for n in (100, 500, 10**6)]
        assert found[0][0] == 0.04
        assert found[2][0] == 0.01
        assert found[0][0] >= found[1][0] >= found[2][0]
    assert shares(100, None) == (0.01, 0.0)
    # Between the limits, noise is as large as wanted.
    for n, budget in ((200, Budget(1.0, 1e-6)), (2000, Budget(1.0))):
        task = Task(METRIC, n, 10, budget)
        norms = location_statistics(task)[0]
        share = count_share(task, norms.sensitivity, 5, 8.0, 0.0, 1.0)
        assert 0 < share < 1
        kept = norms._replace(dimension=5, share=share).release(task)
        assert deviation(kept) == pytest.approx(n / 8, rel=1e-6)


def test_a_centre_that_is_all_noise_or_nothing_is_finite() -> None:
    for x in (np.zeros((20, 3)), np.ones((20, 3)), np.eye(3)[np.arange(20) % 3]):
        for budget in (None, Budget(0.01, 1e-6), Budget(0.01)):
            for seed in range(3):
                center, radius = located(records(x), statistics(20, 3, budget, seed))
                assert 0 < radius < math.inf
                assert np.linalg.norm(center) <= 1 + 1e-12
