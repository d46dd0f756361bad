"""Sums over all pairs by matrix products agree with the plain loop, whatever the tiling."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.losses import Domain, HingeMetric, LogisticMetric, MetricLoss
from pairdp.pairs.metric import metric_gradient, metric_value, metric_value_and_gradient
from tests.oracles.all_pairs import average_gradient, average_value


@dataclass(frozen=True)
class IndexedMetric(MetricLoss):
    """A loss that needs its mask in full shape, as a user may write it."""

    convex = True

    def of_distance(self, squared: np.ndarray, similar: np.ndarray) -> np.ndarray:
        values = np.sqrt(1 + squared**2)
        values[similar] += squared[similar]
        values[~similar] -= squared[~similar]
        return values

    def slope(self, squared: np.ndarray, similar: np.ndarray) -> np.ndarray:
        slopes = squared / np.sqrt(1 + squared**2)
        slopes[similar] += 1
        slopes[~similar] -= 1
        return slopes

    def derivative_bound(self, nearest: float, farthest: float) -> tuple[float, float]:
        return 2.0, 2.0


@dataclass(frozen=True)
class SingularMetric(IndexedMetric):
    """A loss that is infinite at distance zero, so for a record with itself."""

    def of_distance(self, squared: np.ndarray, similar: np.ndarray) -> np.ndarray:
        near = squared < 1e-9
        return np.where(near, np.inf, super().of_distance(squared, similar))

    def slope(self, squared: np.ndarray, similar: np.ndarray) -> np.ndarray:
        near = squared < 1e-9
        return np.where(near, np.inf, super().slope(squared, similar))


LOSSES = [
    LogisticMetric(),
    LogisticMetric(temperature=1e6),
    LogisticMetric(temperature=1e-6),
    LogisticMetric(temperature=0.3),
    HingeMetric(),
    HingeMetric(temperature=1e6),
    HingeMetric(temperature=1e-6),
    HingeMetric(width=0.7, temperature=0.4),
    IndexedMetric(),
]


def a_matrix(d: int, rng: np.random.Generator, semidefinite: bool = False) -> np.ndarray:
    half = rng.standard_normal((d, d))
    return half @ half.T / d if semidefinite else (half + half.T) / 2


def some_records(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return records and labels of one kind, of about unit norm."""
    n = 2 if kind.startswith("two") else 23
    X = rng.standard_normal((n, 4)) / 2
    y = rng.integers(0, 3, n)
    if kind == "two similar":
        y[:] = 1
    elif kind == "two dissimilar":
        y[:] = [3, -2]
    elif kind == "one class":
        y[:] = 7
    elif kind == "all distinct":
        y = rng.permutation(n)
    elif kind == "duplicates":
        X = X[rng.integers(0, 3, n)]
    elif kind == "all equal":
        X[:] = X[0]
    elif kind == "signs":
        y = rng.choice([-1.0, 1.0], n)
    return X, y


KINDS = [
    "three classes",
    "two similar",
    "two dissimilar",
    "one class",
    "all distinct",
    "duplicates",
    "all equal",
    "signs",
]


def assert_agrees(
    loss: MetricLoss, W: np.ndarray, X: np.ndarray, y: np.ndarray, block: int
) -> None:
    # A squared distance off by rounding moves the loss by slope, and the slope by
    # curvature: both are a power of 1/temperature.
    tight = 1e-13 * (1 + 1 / loss.temperature) * (1 + np.abs(W).sum())
    value, gradient = metric_value_and_gradient(loss, W, X, y, block=block)
    assert value == pytest.approx(average_value(loss, W, X, y), rel=1e-12, abs=tight)
    expected = average_gradient(loss, W, X, y)
    bound = tight * (1 + 1 / loss.temperature)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=bound)
    np.testing.assert_array_equal(gradient, gradient.T)
    assert metric_value(loss, W, X, y, block=block) == value
    np.testing.assert_array_equal(metric_gradient(loss, W, X, y, block=block), gradient)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_plain_loop(loss: MetricLoss, kind: str) -> None:
    rng = np.random.default_rng(5)
    X, y = some_records(kind, rng)
    for semidefinite in (False, True):
        W = a_matrix(X.shape[1], rng, semidefinite)
        for block in (5, 256):
            assert_agrees(loss, W, X, y, block)
    assert_agrees(loss, np.zeros((4, 4)), X, y, 7)


@pytest.mark.parametrize("block", [1, 2, 7, 22, 23, 24, 1000])
@pytest.mark.parametrize("loss", [LogisticMetric(), HingeMetric(width=0.2), IndexedMetric()])
@pytest.mark.parametrize("kind", ["three classes", "one class", "all distinct", "signs"])
def test_any_block_size(loss: MetricLoss, kind: str, block: int) -> None:
    rng = np.random.default_rng(6)
    X, y = some_records(kind, rng)
    assert_agrees(loss, a_matrix(4, rng), X, y, block)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    d=st.integers(1, 6),
    classes=st.integers(1, 40),
    block=st.integers(1, 50),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_random_shapes(seed: int, n: int, d: int, classes: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    assert_agrees(LogisticMetric(), a_matrix(d, rng), X, rng.integers(0, classes, n), block)


def test_more_than_one_strip() -> None:
    # 16 tiles make a strip, and 35 tiles a row here.
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((70, 3)) / 2, rng.integers(0, 2, 70)
    assert_agrees(LogisticMetric(), a_matrix(3, rng), X, y, 2)


def test_records_with_themselves_do_not_count() -> None:
    rng = np.random.default_rng(8)
    X, y = np.arange(12.0).reshape(12, 1) / 12, rng.integers(0, 2, 12)
    for block in (1, 5, 12):
        value, gradient = metric_value_and_gradient(SingularMetric(), np.eye(1), X, y, block=block)
        expected = metric_value_and_gradient(IndexedMetric(), np.eye(1), X, y, block=block)
        assert value == expected[0]
        np.testing.assert_array_equal(gradient, expected[1])


def test_rounding_at_a_corner_does_not_spread() -> None:
    # Two clusters whose dissimilar pairs are all at the corner of the hinge, where rounding decides
    # the slope. Sorting records by class, or moving them to their mean, lets one replaced record
    # change it for all pairs: four times the bound, and more for larger n.
    rng = np.random.default_rng(0)
    loss, n, d = HingeMetric(), 30, 3
    bound = loss.sensitivity(Domain(data_norm=1.0), n)
    y = np.arange(n) % 2
    for _ in range(150):
        ends = rng.standard_normal((3, d))
        ends /= np.linalg.norm(ends, axis=1, keepdims=True)
        W = a_matrix(d, rng, semidefinite=True)
        W /= (ends[0] - ends[1]) @ W @ (ends[0] - ends[1])
        X, k = ends[y], rng.integers(n)
        changed_X, changed_y = X.copy(), y.copy()
        changed_X[k], changed_y[k] = ends[2], 1 - y[k]
        before = metric_gradient(loss, W, X, y, block=7)
        after = metric_gradient(loss, W, changed_X, changed_y, block=7)
        assert np.linalg.norm(after - before) <= bound


@pytest.mark.parametrize(("n", "d", "block"), [(300, 7, 64), (100, 3, 7), (600, 33, 256)])
def test_distances_of_other_pairs_keep_their_bits(n: int, d: int, block: int) -> None:
    seen: list[np.ndarray] = []

    class Spy(IndexedMetric):
        def slope(self, squared: np.ndarray, similar: np.ndarray) -> np.ndarray:
            seen.append(squared.copy())
            return np.zeros_like(squared)

    rng = np.random.default_rng(14)
    X, y, W = rng.standard_normal((n, d)), rng.integers(0, 2, n), a_matrix(d, rng)
    metric_gradient(Spy(), W, X, y, block=block)
    before = list(seen)
    seen.clear()
    X[n // 2], y[n // 2] = 3 * X[n // 2], 1 - y[n // 2]
    metric_gradient(Spy(), W, X, y, block=block)
    changed = sum(int((one != two).sum()) for one, two in zip(before, seen, strict=True))
    # Its pairs with n - 1 others, and once more with those of its own block; itself.
    assert 0 < changed <= n + block


def test_gradient_is_the_derivative_of_the_value() -> None:
    rng = np.random.default_rng(10)
    X, y, W = rng.standard_normal((50, 4)) / 2, rng.integers(0, 3, 50), a_matrix(4, rng)
    direction, step = a_matrix(4, rng), 1e-5
    loss = LogisticMetric()
    ahead = metric_value(loss, W + step * direction, X, y, block=16)
    behind = metric_value(loss, W - step * direction, X, y, block=16)
    slope = float((metric_gradient(loss, W, X, y, block=16) * direction).sum())
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-7, abs=1e-9)


def test_only_the_symmetric_part_matters() -> None:
    rng = np.random.default_rng(11)
    X, y, W = rng.standard_normal((20, 4)), rng.integers(0, 2, 20), rng.standard_normal((4, 4))
    loss = LogisticMetric()
    np.testing.assert_allclose(
        metric_gradient(loss, W, X, y), average_gradient(loss, W, X, y), atol=1e-12
    )


@pytest.mark.parametrize("loss", [LogisticMetric(), IndexedMetric()])
def test_memory_is_bounded_by_the_block(loss: MetricLoss) -> None:
    n, d, block = 2000, 10, 64
    rng = np.random.default_rng(12)
    X, y, W = rng.standard_normal((n, d)) / 4, rng.integers(0, 5, n), a_matrix(d, rng)
    tracemalloc.start()
    try:
        metric_value_and_gradient(loss, W, X, y, block=block)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    numbers = 8 * n * d + 16 * block**2 + 12 * block**2
    assert peak < 8 * numbers + 200_000
    assert peak < n * n * 8 / 10


def test_inputs_are_left_alone() -> None:
    rng = np.random.default_rng(13)
    X, y, W = rng.standard_normal((30, 3)), rng.integers(0, 2, 30), a_matrix(3, rng)
    for array in (X, y, W):
        array.flags.writeable = False
    metric_value_and_gradient(LogisticMetric(), W, X, y, block=4)


def test_refusals() -> None:
    loss, X, y, W = LogisticMetric(), np.zeros((4, 2)), np.zeros(4), np.eye(2)
    for function in (metric_value, metric_gradient, metric_value_and_gradient):
        with pytest.raises(ValueError, match=r"the matrix must have shape \(2, 2\)"):
            function(loss, np.eye(3), X, y)
        for bad_X, bad_y in ((X[:1], y[:1]), (X[0], y), (X, y[:3]), (X, y[:, None])):
            with pytest.raises(ValueError, match="x must have shape"):
                function(loss, W, bad_X, bad_y)
        with pytest.raises(ValueError, match="block must be at least 1"):
            function(loss, W, X, y, block=0)
        with pytest.raises(TypeError, match="block must be an integer"):
            function(loss, W, X, y, block=2.5)  # type: ignore[arg-type]


def test_slopes_at_a_corner_depend_on_the_pair_alone() -> None:
    # All dissimilar pairs sit at the corner of the hinge, as near as rounding lets them; one
    # record of one class moves, or changes its class.
    loss, n = HingeMetric(), 300
    first, second = np.array([0.3, 0.1]), np.array([-0.4, 0.45])
    apart = first - second
    weights = np.outer(apart, apart) / (apart @ apart) ** 2
    x = np.where(np.arange(n)[:, None] % 2 == 0, first, second)
    y = (np.arange(n) % 2).astype(np.float64)
    allowed = loss.sensitivity(Domain(1.0, float(np.linalg.norm(weights))), n) * (1 + 1e-9)
    before = metric_gradient(loss, weights, x, y)
    for place in (0, 1, 150, 299):
        for moved in (np.array([0.1234567, -0.7654321]), first, second):
            for label in (0.0, 1.0):
                other_x, other_y = x.copy(), y.copy()
                other_x[place], other_y[place] = moved, label
                change = metric_gradient(loss, weights, other_x, other_y) - before
                assert np.linalg.norm(change) <= allowed
