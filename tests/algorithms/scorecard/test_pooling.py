"""The prior that the shapes of columns share, against a direct maximum."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logit, logsumexp, softmax

from pairdp.algorithms.scorecard.evidence import Smoothing, columns_of
from pairdp.algorithms.scorecard.pooling import pooled


def test_probabilities_have_the_largest_posterior_density() -> None:
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.ones(6))
    logs = rng.normal(size=(8, 6)) * 2

    def loss(free: np.ndarray) -> float:
        own = free - logsumexp(free)
        return -float(logsumexp(logs + own, axis=1).sum() + 3 * prior @ own)

    best = softmax(minimize(loss, np.log(prior), tol=1e-12).x)
    found = pooled(list(logs.reshape(8, 2, 3)), prior.reshape(2, 3))
    np.testing.assert_allclose(found.ravel(), best, atol=0.01)
    np.testing.assert_allclose(found.sum(), 1)


def test_counts_that_say_nothing_leave_the_prior() -> None:
    prior = np.array([[0.25, 0.75]])
    np.testing.assert_allclose(pooled([np.full((1, 2), -1e4)] * 5, prior), prior)


def _smoothing(rng: np.random.Generator, slope: float) -> Smoothing:
    """A number of ten bins whose shape is a line, with noise."""
    counts = np.full(10, 100.0)
    shape = slope * (np.arange(10) - 4.5) / 4.5
    excess = 25 * shape + 12 * rng.normal(size=10)
    return Smoothing.of(excess, counts, np.ones(10), 0.5, 11.0, is_number=True, missing=0)


def test_columns_learn_from_each_other_that_shapes_are_lines() -> None:
    rng = np.random.default_rng(1)
    line = (np.arange(10) - 4.5) / 4.5
    alone, together = [], []
    for _ in range(20):
        slopes = rng.uniform(-1, 1, 12)
        found = [_smoothing(rng, slope) for slope in slopes]
        for errors, columns in (
            (alone, [one.column() for one in found]),
            (together, columns_of(found)),
        ):
            errors += [
                np.mean((column.shape - logit(0.5 + 0.25 * slope * line)) ** 2)
                for column, slope in zip(columns, slopes, strict=True)
            ]
    assert np.mean(together) < 0.9 * np.mean(alone)


def test_categories_keep_their_own_prior() -> None:
    rng = np.random.default_rng(2)
    numbers = [_smoothing(rng, 1.0) for _ in range(3)]
    excess, counts = np.array([9.0, -9.0]), np.full(2, 50.0)
    category = Smoothing.of(excess, counts, np.ones(2), 0.5, 5.0, is_number=False, missing=0)
    *_, first, second = columns_of([*numbers, category, category])
    np.testing.assert_array_equal(first.shape, category.column().shape)
    np.testing.assert_array_equal(second.shape, first.shape)
