"""All products of two columns as features, against rows that are written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from pairdp._sums import BLOCK
from pairdp.algorithms.scorecard.descent import (
    CLIP,
    Gradients,
    LabelledBins,
    Whitening,
    descend,
)
from pairdp.algorithms.scorecard.expansion import Expansion
from pairdp.algorithms.scorecard.squares import SquareFeatures, damping_of
from pairdp.privacy import Sensitivity

SIZES = (4, 7, 3)


def _features(rng: np.random.Generator) -> SquareFeatures:
    factors = [rng.normal(size=size) for size in SIZES]
    correlations = np.array([[1.0, 0.6, -0.2], [0.6, 1.0, 0.3], [-0.2, 0.3, 1.0]])
    return SquareFeatures.of(factors, np.array([0.8, 1.0, 0.5]), correlations, 0.8)


def _bins(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.array([rng.integers(0, size, n) for size in SIZES], dtype=np.int16)


def _written_out(squares: SquareFeatures, bins: np.ndarray) -> np.ndarray:
    """Return z of each record in extended precision."""
    a = np.array([f[codes] for f, codes in zip(squares.factors, bins, strict=True)]).T
    h = a.astype(np.longdouble) @ squares.matrix.astype(np.longdouble)
    columns = len(squares.factors)
    features = []
    for i in range(columns):
        for j in range(i, columns):
            one = h[:, i] * h[:, j]
            features.append((one - squares.expected[i]) / np.sqrt(2) if i == j else one)
    return np.array(features).T


def test_scores_sums_and_norms_are_those_of_rows() -> None:
    rng = np.random.default_rng(0)
    squares, bins = _features(rng), _bins(rng, BLOCK + 300)
    z, rows = _written_out(squares, bins), squares.rows(bins)
    weights, coefficients = rng.normal(size=squares.size), rng.uniform(-1, 1, len(z))
    assert z.shape[1] == squares.size
    np.testing.assert_allclose(squares.scores(rows, weights), (z @ weights).astype(float))
    np.testing.assert_allclose(
        squares.sums(rows, coefficients), (coefficients @ z).astype(float), rtol=1e-9, atol=1e-9
    )
    norms = squares.squared_norms(rows)
    true = (z**2).sum(axis=1)
    assert np.all(norms >= true)
    np.testing.assert_allclose(norms, true.astype(float), rtol=1e-9, atol=1e-9)


def test_norms_are_never_below_the_true_ones_where_terms_cancel() -> None:
    """One column whose squares are as expected, so that z is almost zero."""
    matrix, expected = np.array([[1.0]]), np.array([2.0])
    near = np.sqrt(2.0) * (1 + np.linspace(-1e-8, 1e-8, 2001))
    squares = SquareFeatures((near,), matrix, expected)
    rows = squares.rows(np.arange(2001, dtype=np.int16)[None])
    true = (rows[:, 0].astype(np.longdouble) ** 2 - 2) ** 2 / 2
    assert np.all(squares.squared_norms(rows) >= true)


def test_interactions_give_the_same_scores() -> None:
    rng = np.random.default_rng(1)
    squares, bins = _features(rng), _bins(rng, 50)
    weights = rng.normal(size=squares.size)
    matrix, constant = squares.interactions(weights)
    np.testing.assert_array_equal(matrix, np.triu(matrix))
    a = np.array([f[codes] for f, codes in zip(squares.factors, bins, strict=True)]).T
    found = np.einsum("ni,ij,nj->n", a, matrix, a) + constant
    np.testing.assert_allclose(found, squares.scores(squares.rows(bins), weights))


def test_deviations_of_interactions_are_those_of_random_weights() -> None:
    rng = np.random.default_rng(2)
    squares = _features(rng)
    drawn = [squares.interactions(0.3 * rng.normal(size=squares.size))[0] for _ in range(4000)]
    np.testing.assert_allclose(np.std(drawn, axis=0), squares.deviations(0.3), rtol=0.08)


def test_features_of_normal_columns_are_isotropic_and_of_the_expected_norm() -> None:
    rng = np.random.default_rng(3)
    correlations = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.4], [0.0, 0.4, 1.0]])
    a = rng.normal(size=(40_000, 3)) @ np.linalg.cholesky(correlations).T
    factors = [a[:, j] for j in range(3)]
    squares = SquareFeatures.of(factors, np.ones(3), correlations, 1.0)
    bins = np.repeat(np.arange(30_000, dtype=np.int16)[None], 3, axis=0)
    z = _written_out(squares, bins).astype(float)
    np.testing.assert_allclose(np.cov(z.T), np.eye(6), atol=0.12)
    assert (z**2).sum(axis=1).mean() == pytest.approx(squares.squared_radius, rel=0.05)


def test_gradients_are_those_of_rows_that_are_clipped_together() -> None:
    rng = np.random.default_rng(4)
    n = 700
    squares, bins = _features(rng), _bins(rng, n)
    expansion = Expansion(tuple(rng.normal(size=(size, 2)) for size in SIZES))
    records = LabelledBins(
        bins, (rng.random(n) < 0.4).astype(float), (rng.random(n) < 0.9).astype(float)
    )
    whitening = Whitening.of(np.eye(7) / 7, 1e-2, squares.squared_radius)
    weights, more = rng.normal(size=7), rng.normal(size=squares.size)
    found, products = Gradients.of(expansion, records, whitening, squares).total(weights, more)
    x = expansion.rows(bins)
    x /= np.maximum(np.linalg.norm(x, axis=1), expansion.radius)[:, None]
    z = _written_out(squares, bins).astype(float)
    lengths = np.sqrt(((x @ whitening.matrix) ** 2).sum(axis=1) + (z**2).sum(axis=1))
    clip = whitening.width / np.maximum(lengths, whitening.width) * records.counted
    slopes = expit(clip * (x @ weights + z @ more)) - records.positive
    slopes *= clip * CLIP / np.maximum(np.abs(slopes) * clip * lengths / whitening.width, CLIP)
    np.testing.assert_allclose(found, slopes @ x, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(products, slopes @ z, rtol=1e-7, atol=1e-7)


def test_gradients_of_products_move_as_far_as_certified() -> None:
    """Two records whose products are opposite and beyond the width, each with the worst slope."""
    n = 60
    big = np.array([40.0, -40.0])
    squares = SquareFeatures((big, np.array([40.0])), np.eye(2), np.zeros(2))
    expansion = Expansion((np.array([[0.1], [0.1]]), np.array([[0.1]])))
    whitening = Whitening.of(np.eye(3), 1e-2, 1.0)
    first = np.zeros((2, n), dtype=np.int16)
    other = first.copy()
    other[0, 0] = 1
    seen: list[np.ndarray] = []
    for bins, label in ((first, 0.0), (other, 0.0), (first, 1.0)):
        positive = np.zeros(n)
        positive[0] = label
        descend(
            expansion,
            LabelledBins(bins, positive, np.ones(n)).in_one_part(),
            whitening,
            np.zeros(3),
            0.5,
            0.0,
            1,
            lambda total, _: seen.append(total / n) or np.zeros_like(total),  # type: ignore[func-returns-value]
            squares,
        )
    bound = Sensitivity.of(
        "mean of clipped gradients", clip=CLIP, n=n, width=6, amplification=0.5 / 0.1 + 3
    ).value
    changes = [float(np.linalg.norm(seen[0] - one)) for one in seen[1:]]
    assert max(changes) <= bound
    assert max(changes) > 0.95 * bound


def test_rounding_of_products_is_paid_for() -> None:
    rng = np.random.default_rng(5)
    n = 20_000
    squares, bins = _features(rng), _bins(rng, n)
    z, rows = _written_out(squares, bins), squares.rows(bins)
    width = 2 * max(np.sqrt(squares.squared_radius), 1.0)
    clip = width / np.maximum(np.sqrt(squares.squared_norms(rows)), width)
    slopes = rng.uniform(-1, 1, n) * clip
    exact = slopes.astype(np.longdouble) @ z
    error = float(np.linalg.norm((squares.sums(rows, slopes) - exact).astype(float))) / width / n
    paid = Sensitivity.of(
        "mean of clipped gradients", clip=CLIP, n=n, width=6, amplification=3.0
    ).value
    assert 2 * error <= paid - 2 * CLIP / n


def test_products_weigh_the_less_the_more_noise_there_is() -> None:
    found = [damping_of(8, 36, ridge) for ridge in (0.0, 0.01, 0.1, 1.0)]
    assert found[0] == 1.0
    assert np.all(np.diff(found) < 0)
    assert damping_of(8, 3, 0.1) > damping_of(8, 36, 0.1) > 0
