"""Features of columns, and the coordinates in which a scorecard descends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp.algorithms.scorecard.cells import FINE
from pairdp.algorithms.scorecard.column_features import column_features
from pairdp.algorithms.scorecard.descent import largest_whitening, whitening_of
from pairdp.algorithms.scorecard.evidence import Column, column_of
from pairdp.algorithms.scorecard.expansion import Expansion, block_sizes, expand
from pairdp.algorithms.scorecard.partition import Edges
from pairdp.algorithms.scorecard.run import _shared_weight

BLOCKS = ("scales", "products", "second scales", "hats", "categories")
CHOICES = st.sets(st.sampled_from(BLOCKS)).map(tuple)


def _column(rng: np.random.Generator) -> tuple[Column, Edges | None]:
    """Return a column of random counts, evidence and bins, with empty ones among them."""
    size, is_number = int(rng.integers(1, 30)), bool(rng.random() < 0.6)
    missing = int(is_number and rng.random() < 0.3)
    counts = rng.uniform(0, 100, size + missing) * (rng.random(size + missing) < 0.9)
    counts[0] += 1
    column = column_of(
        rng.normal(size=size + missing) * rng.choice([0.0, 1.0, 30.0]),
        counts,
        np.full(size + missing, 9.0),
        float(rng.uniform(0.02, 0.98)),
        2.0,
        is_number=is_number,
        missing=missing,
    )
    inner = np.sort(rng.choice(np.arange(1, FINE), size - 1, replace=False))
    return column, np.concatenate([[0], inner, [FINE]]) if is_number else None


def _expansion(seed: int, blocks: tuple[str, ...]) -> tuple[Expansion, list[Column]]:
    rng = np.random.default_rng(seed)
    found = [_column(rng) for _ in range(int(rng.integers(1, 6)))]
    columns, edges = [one for one, _ in found], [ends for _, ends in found]
    pairs = ((0, len(found) - 1),) if len(found) > 1 else ()
    return expand(columns, edges, blocks, pairs), columns


@given(st.integers(0, 10**6), CHOICES)
def test_features_of_a_column_are_uncorrelated_and_contain_its_shape(
    seed: int, blocks: tuple[str, ...]
) -> None:
    column, ends = _column(np.random.default_rng(seed))
    table, weights, parts = column_features(column, ends, blocks, max(column.variance, 1e-12))
    moments = (table.T * column.shares) @ table
    np.testing.assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-6)
    np.testing.assert_allclose(column.shares @ table, 0, atol=1e-6)
    assert np.diag(moments).max() <= 1 + 1e-9
    # What is left of the shape where it is nearly explained by the scale is not a feature.
    left = table @ weights - column.shape
    assert column.shares @ left**2 <= 0.004 * column.variance + 2e-9
    if parts.any():
        place = int(np.flatnonzero(parts)[0])
        others = (
            table[:, :place]
            @ np.linalg.lstsq(
                table[:, :place], parts[place] * column.shape - table[:, place], rcond=None
            )[0]
        )
        np.testing.assert_allclose(
            column.shares * (parts[place] * column.shape - table[:, place] - others), 0, atol=1e-6
        )


@given(st.integers(0, 10**6), CHOICES, st.floats(1e-6, 3))
def test_coordinates_are_invertible_and_within_their_bound(
    seed: int, blocks: tuple[str, ...], ridge: float
) -> None:
    expansion, columns = _expansion(seed, blocks)
    count = len(columns)
    noisy = np.random.default_rng(seed).normal(size=(count, count))
    whitening = whitening_of(expansion, (noisy + noisy.T) / 2, ridge, 0.7)
    assert whitening.width >= 2
    norm = float(np.linalg.norm(whitening.matrix, 2))
    product = whitening.matrix @ whitening.inverse
    np.testing.assert_allclose(product, np.eye(expansion.size), atol=1e-9)
    numbers = sum(column.is_number for column in columns)
    cells = sum(len(column.counts) for column in columns if not column.is_number)
    sizes = block_sizes(numbers, cells, expansion.products)
    features = count + 1 + sum(sizes[name] for name in blocks)
    assert expansion.size <= features
    assert norm <= largest_whitening(count, features, expansion.products, ridge)


def _correlated(rho: float, n: int = 40_000) -> tuple[Expansion, np.ndarray, list[Column]]:
    """Return an expansion of two normal columns and the bins of records of these."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)) @ np.linalg.cholesky([[1, rho], [rho, 1]]).T
    edges = (FINE // 2 + np.linspace(-4, 4, 61) * FINE // 10).astype(np.int64)
    edges[0], edges[-1] = 0, FINE
    cells = (FINE // 2 + x.T * FINE / 10).astype(np.int64)
    bins = (np.searchsorted(edges, cells, side="right") - 1).astype(np.int16)
    chances = 1 / (1 + np.exp(-x.sum(axis=1)))
    columns = []
    for codes in bins:
        counts = np.bincount(codes, minlength=60).astype(float)
        excess = np.bincount(codes, chances - 0.5, minlength=60)
        columns.append(column_of(excess, counts, np.ones(60), 0.5, 1.0, is_number=True, missing=0))
    return expand(columns, [edges, edges], ("scales", "hats")), bins, columns


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_rows_are_isotropic_for_exact_second_moments(rho: float) -> None:
    expansion, bins, _ = _correlated(rho)
    rows = expansion.rows(bins)
    scales = np.cov(rows[:, expansion.scale_places].T) * 2
    whitening = whitening_of(expansion, scales, 1e-6, 1.0)
    z = rows / expansion.radius @ whitening.matrix
    found = np.cov(z.T)[:-1, :-1]
    places = expansion.scale_places
    np.testing.assert_allclose(found[np.ix_(places, places)], np.eye(2), atol=0.05)
    assert (z**2).sum(axis=1).mean() == pytest.approx((whitening.width / 2) ** 2, rel=0.05)


def test_columns_that_repeat_each_other_share_their_weight() -> None:
    for rho, expected in ((0.0, 1.0), (0.999, 0.5)):
        expansion, _, columns = _correlated(rho)
        scales = np.array([[1.0, rho], [rho, 1.0]])
        assert _shared_weight(expansion, columns, scales) == pytest.approx(expected, abs=0.02)
