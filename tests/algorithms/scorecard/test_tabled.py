"""Sums and norms from tables by bin, against those of rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from pairdp.algorithms.scorecard.descent import (
    CLIP,
    Gradients,
    LabelledBins,
    Whitening,
    second_moments,
    whitening_of,
)
from pairdp.algorithms.scorecard.expansion import CONSTANT, Expansion
from pairdp.algorithms.scorecard.shares import sampled_records
from pairdp.algorithms.scorecard.tabled import (
    BLOCK,
    GroupedBins,
    squared_norms,
    truncated,
    worthwhile,
)

SIZES = (4, 2, 5, 70, 80)


def _tables(rng: np.random.Generator, products: bool = False) -> Expansion:
    tables = tuple(rng.normal(size=(size, place + 1)) for place, size in enumerate(SIZES))
    factors = tuple(rng.normal(size=size) for size in SIZES) if products else ()
    return Expansion(tables, factors, ((0, 1), (1, 4), (2, 3)) if products else ())


def _records(rng: np.random.Generator, n: int) -> LabelledBins:
    bins = np.array([rng.integers(0, size, n) for size in SIZES], dtype=np.int16)
    return LabelledBins(
        bins, (rng.random(n) < 0.4).astype(float), (rng.random(n) < 0.9).astype(float)
    )


def test_columns_are_grouped_while_their_joint_bins_are_few() -> None:
    bins = _records(np.random.default_rng(0), 50).bins
    grouped = GroupedBins.of(bins, SIZES)
    assert grouped.groups == ((0, 1), (2, 3), (4,))
    assert GroupedBins.of(bins[:2], (4096, 4096)).groups == ((0,), (1,))


@pytest.mark.parametrize("n", [100, BLOCK + 700])
def test_moments_and_norms_are_those_of_rows(n: int) -> None:
    """Few records are summed up as rows, many by pairs of bins."""
    rng = np.random.default_rng(1)
    expansion, records = _tables(rng), _records(rng, n)
    assert worthwhile(SIZES, n) == (n > 1000)
    rows = expansion.rows(records.bins)
    norms = np.linalg.norm(rows, axis=1)
    unit = rows / np.maximum(norms, expansion.radius)[:, None]
    counted = unit * records.counted[:, None]
    found = second_moments(expansion, records)
    np.testing.assert_allclose(found, counted.T @ counted, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found, found.T)
    whitening = Whitening.of(found / n, 1e-4)
    gradients = Gradients.of(expansion, records, whitening)
    expected = np.linalg.norm(unit @ whitening.matrix, axis=1)
    clip = whitening.width / np.maximum(expected, whitening.width)
    np.testing.assert_allclose(gradients.norms, expected * clip / whitening.width, rtol=1e-7)
    factors = clip / np.maximum(norms, expansion.radius) * records.counted
    np.testing.assert_allclose(gradients.scales, factors, rtol=1e-7)


def test_moments_of_one_column() -> None:
    rng = np.random.default_rng(2)
    expansion = Expansion((rng.normal(size=(4, 3)),))
    bins = rng.integers(0, 4, (1, 200)).astype(np.int16)
    records = LabelledBins(bins, np.ones(200), np.ones(200))
    rows = expansion.rows(bins)
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1), expansion.radius)[:, None]
    np.testing.assert_allclose(second_moments(expansion, records), unit.T @ unit, rtol=1e-10)


def test_norms_by_bins_are_never_below_the_true_ones() -> None:
    """Columns that nearly cancel, in coordinates that amplify what rounding leaves of them."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(8, 3)) * 50
    expansion = Expansion((table, -table, table), (), ())
    bins = np.repeat(rng.integers(0, 8, (1, 500)), 3, axis=0).astype(np.int16)
    records = LabelledBins(bins, np.ones(500), np.ones(500))
    whitening = Whitening.of(np.zeros((10, 10)) + 1e-3, 1e-9)
    assert worthwhile(expansion.bins, 500)
    lengths = Gradients.of(expansion, records, whitening).norms * whitening.width
    rows = expansion.rows(bins).astype(np.longdouble)
    unit = rows / np.maximum(np.sqrt((rows**2).sum(axis=1)), expansion.radius)[:, None]
    true = np.sqrt(((unit @ whitening.matrix.astype(np.longdouble)) ** 2).sum(axis=1))
    assert np.all(lengths >= np.minimum(true, whitening.width) * (1 - 1e-12))
    assert np.all(lengths <= np.minimum(true, whitening.width) * (1 + 1e-4) + 1e-3)


def _mixed(expansion: Expansion, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return a W that mixes so many features, and amplifies a difference of them."""
    matrix = np.diag(rng.normal(size=expansion.size))
    places = rng.permutation(expansion.size)[:count]
    matrix[np.ix_(places, places)] = 1e6 * rng.normal(size=(count, count))
    return matrix


@pytest.mark.parametrize("count", [0, 2, 7, 16])
def test_norms_are_near_the_true_ones_whatever_is_mixed(count: int) -> None:
    rng = np.random.default_rng(count)
    expansion, records = _tables(rng), _records(rng, BLOCK + 700)
    grouped = GroupedBins.of(records.bins, SIZES)
    matrix = _mixed(expansion, rng, count)
    found = squared_norms(grouped, records.bins, expansion.tables, CONSTANT, matrix)
    some = rng.permutation(records.bins.shape[1])[:500]
    rows = expansion.rows(records.bins[:, some]).astype(np.longdouble)
    true = ((rows @ matrix.astype(np.longdouble)) ** 2).sum(axis=1)
    sizes = np.linalg.norm(matrix, 2) ** 2 * (rows**2).sum(axis=1)
    bound = (4 * expansion.size**1.5 + 2 * (len(SIZES) + 1) ** 2) * 2.0**-53
    assert np.all(np.abs(found[some] - true) <= bound * sizes)


def test_the_matrix_of_a_descent_mixes_scales_alone() -> None:
    expansion = _tables(np.random.default_rng(5))
    scales = np.cov(np.random.default_rng(6).normal(size=(len(SIZES), 9)))
    matrix = whitening_of(expansion, scales, 0.1, 0.7).matrix
    others = matrix - np.diag(np.diag(matrix))
    assert others[np.ix_(expansion.scale_places, expansion.scale_places)].any()
    others[np.ix_(expansion.scale_places, expansion.scale_places)] = 0
    assert not others.any()


@pytest.mark.parametrize("products", [False, True])
def test_gradients_are_those_of_rows(products: bool) -> None:
    rng = np.random.default_rng(4)
    n = BLOCK + 500
    expansion, records = _tables(rng, products), _records(rng, n)
    grouped = GroupedBins.of(records.bins, SIZES)
    weights, scales = rng.normal(size=expansion.size), rng.uniform(0.1, 0.5, n)
    norms = rng.uniform(0.1, 1.0, n)
    rows = expansion.rows(records.bins)
    slopes = expit(rows @ weights * scales) - records.positive
    slopes *= CLIP / np.maximum(np.abs(slopes) * norms, CLIP) * scales
    gradients = Gradients(
        expansion, None, records, grouped, np.zeros((n, 0)), np.ones(n), scales, norms
    )
    found, _ = gradients.total(weights, np.zeros(0))
    np.testing.assert_allclose(found, rows.T @ slopes, rtol=1e-8, atol=1e-8)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(30, 10**10))
def test_sums_of_truncated_numbers_are_exact(values: list[float], n: int) -> None:
    found = truncated(np.array(values), n)
    assert np.all(np.abs(found) <= np.abs(values))
    assert np.all(np.abs(found - values) <= 2.0**-18)
    assert sum(map(Fraction, found.tolist())) == Fraction(float(found.sum()))
    assert np.all(found * 2.0 ** (53 - np.ceil(np.log2(n))) % 1 == 0)


def test_moments_are_of_fewer_records_where_noise_is_small() -> None:
    assert sampled_records(10_000, 1e-6) == 10_000
    assert sampled_records(10**6, 1e-6) == 100_000
    assert sampled_records(10**6, 0.09) == 300_000
    assert sampled_records(10**6, 5.0) == 10**6
