"""Embeddings: Jacobians against finite differences, sums over pairs against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.algorithms.neural.embedding_network import EmbeddingNetwork
from pairdp.algorithms.neural.embedding_records import EmbeddingRecords, clipped
from pairdp.algorithms.neural.reference_points import reference_points, slopes

RADIUS = 2.0
NETWORK = EmbeddingNetwork(5, (4, 3), 2)


def parameters(network: EmbeddingNetwork = NETWORK, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return network.initial(seed) + 0.8 * rng.normal(size=network.size)


def embedded(network: EmbeddingNetwork, at: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return clipped(network.forward(at, rows).outputs, RADIUS)[0]


def jacobians(network: EmbeddingNetwork, at: np.ndarray, rows: np.ndarray, inside: bool = False):
    """Return the Jacobian of each row, of shape (n, k, size), one parameter at a time."""

    def outputs(p: np.ndarray) -> np.ndarray:
        return embedded(network, p, rows) if inside else network.forward(p, rows).outputs

    steps = 1e-6 * np.eye(network.size)
    return np.stack([outputs(at + s) - outputs(at - s) for s in steps], axis=2) / 2e-6


def drawn(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 1.5 * rng.normal(size=(n, 5)), rng.integers(-1, 3, n)


def test_products_are_those_of_finite_differences() -> None:
    at, (rows, _) = parameters(), drawn(7)
    vectors, weights = np.random.default_rng(2).normal(size=(7, 2)), np.arange(7.0)
    found = NETWORK.forward(at, rows)
    products = NETWORK.products(at, found, vectors)
    slow = np.einsum("ik,ikp->ip", vectors, jacobians(NETWORK, at, rows))
    np.testing.assert_allclose(products.squares, (slow**2).sum(axis=1), rtol=1e-6)
    summed = NETWORK.summed(found, products.deltas, vectors, weights)
    np.testing.assert_allclose(summed, weights @ slow, atol=1e-6)
    squares = (jacobians(NETWORK, at, rows) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(NETWORK.jacobian_squares(at, found), squares, rtol=1e-6)


def test_sums_over_pairs_are_those_over_all_pairs() -> None:
    at, (rows, classes) = parameters(), drawn(40)
    records = EmbeddingRecords(NETWORK, rows, classes, RADIUS)
    e = embedded(NETWORK, at, rows)
    assert 0 < (np.linalg.norm(e, axis=1) > RADIUS - 1e-6).mean() < 1  # some are clipped
    unclipped = jacobians(NETWORK, at, rows)
    clip = 7.0
    factors = clip / np.maximum(np.sqrt((unclipped**2).sum(axis=(1, 2))), clip)
    assert 0 < (factors < 1).mean() < 1
    j = jacobians(NETWORK, at, rows, inside=True) * factors[:, None, None]
    total = np.zeros(NETWORK.size)
    for a in range(40):
        for b in range(a):
            if min(classes[a], classes[b]) < 0:
                continue
            apart = e[a] - e[b]
            slope = 1.0 if classes[a] == classes[b] else apart @ apart / (4 * RADIUS**2) - 1
            total += 2 * slope * (j[a] - j[b]).T @ apart
    found = records.mean_over_pairs(at, 3, clip)
    np.testing.assert_allclose(found, total / (40 * 39), atol=1e-7)


def test_the_gradient_of_reference_points_is_that_of_their_loss() -> None:
    at, (rows, classes) = parameters(), drawn(30)
    points = reference_points(3, 4)
    records = EmbeddingRecords(NETWORK, rows, classes, RADIUS)

    def loss(p: np.ndarray) -> float:
        squared = ((embedded(NETWORK, p, rows)[:, None] - points) ** 2).sum(axis=2)
        each = squared[np.arange(30), np.maximum(classes, 0)] + np.log(np.exp(-squared).sum(axis=1))
        return float(each[classes >= 0].sum()) / 30

    steps = 1e-6 * np.eye(NETWORK.size)
    slow = [(loss(at + s) - loss(at - s)) / 2e-6 for s in steps]
    found = records.mean_of_clipped(at, lambda e, c: slopes(e, c, points), 1e9)
    np.testing.assert_allclose(found, slow, atol=1e-7)


@pytest.mark.parametrize(("classes", "components"), [(2, 4), (5, 4), (9, 3), (64, 2), (7, 1)])
def test_reference_points_are_apart(classes: int, components: int) -> None:
    points = reference_points(classes, components)
    assert points.shape == (classes, min(components, classes - 1))
    apart = np.linalg.norm(points[:, None] - points, axis=2) + 9 * np.eye(classes)
    if classes - 1 <= components:
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)
        np.testing.assert_allclose(apart.min(axis=1), apart.min())
    assert apart.min() > 0.5 / classes


def test_a_row_has_no_influence_on_another_to_the_last_bit() -> None:
    at, (rows, _) = parameters(), drawn(50)
    other = rows.copy()
    other[17] = [1e300, -1e300, np.nan, np.inf, 0.0]
    kept = np.arange(50) != 17
    vectors = np.ones((50, 2))
    with np.errstate(all="ignore"):
        found = [NETWORK.forward(at, one) for one in (rows, other)]
        squares = [NETWORK.products(at, one, vectors).squares for one in found]
    assert np.array_equal(found[0].outputs[kept], found[1].outputs[kept])
    assert np.array_equal(squares[0][kept], squares[1][kept])
