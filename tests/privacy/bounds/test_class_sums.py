"""Bounds for mean squares, and for class sums with mean sizes: two routes, and attacks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import Sensitivity
from pairdp.privacy.bounds.sensitivity import find_bound

SQUARES, SUMS = "mean squares of features", "class sums and mean sizes"
# One vector for each class: two opposite, one at an angle, one inside the ball.
VECTORS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8], [0.1, -0.3]])
CLASSES = len(VECTORS)


def statistic(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a statistic by its definition; a negative label marks a null record."""
    n, x, y = len(y), x[y >= 0], y[y >= 0]
    if name == SQUARES:
        return np.sum(x * x, axis=0) / n
    return np.vstack([VECTORS[y].T @ x, np.sum(np.abs(x), axis=0)]) / n


def bound(name: str, n: int, norm: float = 1.0) -> float:
    return Sensitivity.of(name, data_norm=norm, n=n).value


def moved(name: str, x: np.ndarray, y: np.ndarray, own: np.ndarray, label: int) -> float:
    """Return how far a statistic moves if the first record is replaced."""
    other_x, other_y = x.copy(), y.copy()
    other_x[0], other_y[0] = own, label
    return float(np.linalg.norm(statistic(name, x, y) - statistic(name, other_x, other_y)))


@pytest.mark.parametrize("name", [SQUARES, SUMS])
@given(norm=st.floats(1e-3, 1e3), n=st.integers(2, 10**9))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_two_routes(name: str, norm: float, n: int) -> None:
    both = find_bound(name)
    assert both.second_route is not None
    found = [route(data_norm=norm, n=n) for route in (both.formula, both.second_route)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_values() -> None:
    assert bound(SQUARES, 100, 3.0) == pytest.approx(9 * math.sqrt(2) / 100)
    assert bound(SUMS, 100, 3.0) == pytest.approx(0.06)


@pytest.mark.parametrize("name", [SQUARES, SUMS])
def test_no_search_gets_beyond_a_bound_but_all_reach_it(name: str) -> None:
    rng, n, best = np.random.default_rng(0), 5, 0.0
    for _ in range(300):
        x = rng.normal(size=(n, 2)) * rng.choice([0.3, 1.0, 10.0])
        x = np.where(rng.random(x.shape) < 0.3, 0.0, x)
        x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
        y = rng.integers(-1, CLASSES, n)
        own = x[0] if rng.random() < 0.3 else rng.normal(size=2) * rng.choice([0.0, 9.0], 2)
        own = own / max(1.0, float(np.linalg.norm(own)))
        best = max(best, moved(name, x, y, own, int(rng.integers(-1, CLASSES))))
    assert 0.95 * bound(name, n) <= best <= bound(name, n)


@pytest.mark.parametrize("n", [2, 7, 40])
def test_bounds_that_are_attained(n: int) -> None:
    e, f = np.eye(2)
    x, y = np.tile(e, (n, 1)), np.zeros(n, dtype=int)
    assert moved(SQUARES, x, y, f, 0) == pytest.approx(bound(SQUARES, n))
    # Equally far are the other end within a class, the opposite class, and another feature.
    for own, label in ((-e, 0), (e, 1), (f, 0), (f, 1)):
        assert moved(SUMS, x, y, own, label) == pytest.approx(bound(SUMS, n))
    assert moved(SUMS, x, y, e, -1) == pytest.approx(bound(SUMS, n) / math.sqrt(2))


@given(
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sizes_cost_nothing_beside_class_sums(rows: list[float], codes: list[float]) -> None:
    """The squares of both changes add up to 2|x|² + 2|x'|² at most, for any vectors of classes."""
    x, other = np.array(rows).reshape(2, 3)
    e, f = (v / max(1.0, float(np.linalg.norm(v))) for v in np.array(codes).reshape(2, 2))
    moved_sums = np.linalg.norm(np.outer(e, x) - np.outer(f, other))
    moved_sizes = np.linalg.norm(np.abs(x) - np.abs(other))
    assert moved_sums**2 + moved_sizes**2 <= 2 * (x @ x + other @ other) * (1 + 1e-12) + 1e-300
