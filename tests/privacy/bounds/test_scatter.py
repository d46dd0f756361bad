"""Bounds for scatters over any number of classes: two routes, and attacks on what they bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import Sensitivity
from pairdp.privacy.bounds.sensitivity import find_bound

RHO = 0.4
WITHIN, MEANS = "scatter within classes", "scatter of class means"


def square_norm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([np.mean(np.sum(x * x, axis=1))])


def squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x.T @ x / len(x)


def within(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    n, total = len(y), np.zeros((x.shape[1],) * 2)
    for i in range(n):
        for j in range(n):
            if i != j and y[i] == y[j]:
                total += np.outer(x[i] - x[j], x[i] - x[j])
    return total / (n * (n - 1))


def class_means(x: np.ndarray, y: np.ndarray, rho: float = RHO) -> np.ndarray:
    total = np.zeros((x.shape[1],) * 2)
    for label in np.unique(y):
        mean = x[y == label].mean(axis=0)
        mean *= min(1.0, rho / max(np.linalg.norm(mean), 1e-300))
        total += np.mean(y == label) * np.outer(mean, mean)
    return total


STATISTICS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "mean squared norm": square_norm,
    "second moments of records": squares,
    WITHIN: within,
    MEANS: class_means,
}


def inputs(name: str, n: int, norm: float = 1.0, rho: float = RHO) -> dict[str, float]:
    more = {"mean_norm": rho * norm} if name == MEANS else {}
    return {"data_norm": norm, "n": n, **more}


def bound(name: str, n: int, rho: float = RHO) -> float:
    return Sensitivity.of(name, **inputs(name, n, rho=rho)).value


def moved(name: str, x: np.ndarray, y: np.ndarray, own: np.ndarray, label: int) -> float:
    """Return how far a statistic moves when the first record is replaced."""
    other_x, other_y = x.copy(), y.copy()
    other_x[0], other_y[0] = own, label
    statistic = STATISTICS[name]
    return float(np.linalg.norm(statistic(x, y) - statistic(other_x, other_y)))


def in_ball(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(1.0, np.linalg.norm(x, axis=-1, keepdims=True))


@pytest.mark.parametrize("name", STATISTICS)
@given(norm=st.floats(1e-3, 1e3), n=st.integers(2, 10**9), rho=st.floats(1e-3, 0.5))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_two_routes(name: str, norm: float, n: int, rho: float) -> None:
    both, given_ = find_bound(name), inputs(name, n, norm, rho)
    assert both.second_route is not None
    assert both.formula(**given_) == pytest.approx(both.second_route(**given_), rel=1e-9)


def test_values() -> None:
    assert bound("mean squared norm", 100) == pytest.approx(0.01)
    assert bound("second moments of records", 100) == pytest.approx(math.sqrt(2) / 100)
    assert bound(WITHIN, 100) == pytest.approx(0.08)
    assert bound(MEANS, 100) == pytest.approx(0.016)


def test_long_class_means_are_refused() -> None:
    for route in (find_bound(MEANS).formula, find_bound(MEANS).second_route):
        assert route is not None
        with pytest.raises(ValueError, match="at most data_norm/2"):
            route(data_norm=1.0, mean_norm=0.51, n=10)


@pytest.mark.parametrize("name", STATISTICS)
@given(
    n=st.integers(2, 9),
    classes=st.integers(1, 5),
    size=st.sampled_from([0.3, 1.0, 10.0]),
    alike=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_replacement_moves_a_statistic_further(
    name: str, n: int, classes: int, size: float, alike: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    x = in_ball(size * rng.normal(size=(n, 3)))
    if alike:  # all records of a class in one place
        x = in_ball(size * rng.normal(size=(classes, 3)))[y]
    own = in_ball(size * rng.normal(size=3))
    assert moved(name, x, y, own, int(rng.integers(classes))) <= bound(name, n)


def search(name: str, n: int, starts: int = 8, steps: int = 80, rho: float = RHO) -> float:
    """Return the largest share of its bound that climbing from random places moves a statistic."""
    rng, best = np.random.default_rng(n), 0.0
    for _ in range(starts):
        # The others sit in one place a class, and the first record and its replacement anywhere.
        classes = int(rng.integers(1, 4))
        y, size = rng.integers(classes, size=n), 0.7
        places, ends = rng.normal(size=(classes, 2)), rng.normal(size=(2, 2))
        label, reached = int(rng.integers(classes)), -1.0
        for _ in range(steps):
            new, tips = (
                places + size * rng.normal(size=places.shape),
                ends + size * rng.normal(size=ends.shape),
            )
            x = in_ball(new)[y]
            x[0] = in_ball(3 * tips[0])
            share = moved(name, x, y, in_ball(3 * tips[1]), label) / bound(name, n, rho)
            if share > reached:
                reached, places, ends = share, new, tips
            else:
                size = max(0.95 * size, 1e-2)
        best = max(best, reached)
    return best


@pytest.mark.parametrize(("name", "n"), [(WITHIN, 4), (WITHIN, 8), (MEANS, 5), (MEANS, 60)])
def test_a_search_does_not_get_beyond_a_bound_but_near(name: str, n: int) -> None:
    found = search(name, n)
    assert found <= 1
    assert found > 0.25  # a bound four times as small would not stand


@pytest.mark.parametrize("n", [2, 7, 40])
def test_bounds_that_are_attained(n: int) -> None:
    e, f = np.eye(2)
    x, y = np.tile(-e, (n, 1)), np.zeros(n, dtype=int)
    x[0] = e
    assert moved(WITHIN, x, y, -e, 0) == pytest.approx(bound(WITHIN, n))
    # Leaving the class of the others for one of its own is as bad.
    assert moved(WITHIN, x, y, e, 1) == pytest.approx(bound(WITHIN, n))
    name = "second moments of records"
    assert moved(name, x, y, f, 0) == pytest.approx(bound(name, n))
    assert moved("mean squared norm", x, y, 0 * e, 0) == pytest.approx(1 / n)


@pytest.mark.parametrize("rho", [0.05, 0.4, 0.5])
def test_class_means_come_near_their_bound(rho: float) -> None:
    # All others in one class, whose mean is just so long that a record at either end stays in.
    n = 2000
    e = np.array([1.0, 0.0])
    x, y = np.tile((rho * n - 1) / (n - 1) * e, (n, 1)), np.zeros(n, dtype=int)
    other = x.copy()
    x[0], other[0] = e, -e
    share = np.linalg.norm(class_means(x, y, rho) - class_means(other, y, rho))
    assert 0.97 <= share / bound(MEANS, n, rho) <= 1


def test_right_angles_at_the_edge_stay_within() -> None:
    # The second kind of rate in the proof: class means beyond the norm that they are shrunk to.
    rng, rho, n = np.random.default_rng(0), 0.5, 400
    for _ in range(100):
        y = np.repeat([0, 1], n // 2)
        means = rng.normal(size=(2, 3))
        means *= (rho * rng.uniform(0.95, 1.3, 2) / np.linalg.norm(means, axis=1))[:, None]
        x = means[y]
        x[0], own = in_ball(9 * rng.normal(size=3)), in_ball(9 * rng.normal(size=3))
        other_x, other_y = x.copy(), y.copy()
        other_x[0], other_y[0] = own, rng.integers(2)
        apart = np.linalg.norm(class_means(x, y, rho) - class_means(other_x, other_y, rho))
        assert apart <= bound(MEANS, n, rho)
