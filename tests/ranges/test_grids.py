"""Grids of round numbers, counts between their edges, and the shortest window."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pairdp.ranges.grids import count_values, decades, round_grid
from pairdp.ranges.windows import Window, shortest_window

ENDS = st.tuples(st.floats(-1e12, 1e12, allow_nan=False), st.floats(1e-6, 1e12), st.integers(4, 60))


@given(ENDS)
def test_a_grid_of_round_numbers_covers_its_ends_with_few_bins(
    ends: tuple[float, float, int],
) -> None:
    lower, width, bins = ends
    upper = lower + max(width, 1e-6 * abs(lower))
    edges = round_grid(lower, upper, bins)
    slack = 1e-8 * (upper - lower)
    assert edges[0] <= lower + slack
    assert edges[-1] >= upper - slack
    assert 2 <= edges.size <= bins + 3
    assert np.all(np.diff(edges) > 0)


def test_edges_are_the_nearest_doubles_of_short_decimals() -> None:
    assert round_grid(0, 1, 10).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert decades(-2, 0).tolist() == [-1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=30))
def test_every_value_is_counted_exactly_once(values: list[float]) -> None:
    edges = decades(-3, 3)
    total = count_values(np.array(values), edges)
    assert total.size == edges.size + 2
    each = [count_values(np.array([value]), edges) for value in values]
    assert all(np.count_nonzero(one) == 1 for one in each)
    np.testing.assert_array_equal(total, np.sum(each, axis=0))


def test_the_far_edge_belongs_to_a_bin_and_zero_to_the_one_above() -> None:
    edges = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    for value, place in [(-2, 1), (-1.5, 1), (-1, 2), (0, 3), (1, 3), (1.5, 4), (2, 4), (2.1, 5)]:
        assert count_values(np.array([float(value)]), edges)[place] == 1, value


def test_a_window_without_noise_is_the_shortest_that_holds_the_share() -> None:
    counts = np.array([0.0, 1, 20, 70, 8, 1, 0, 100])  # the last are missing
    assert shortest_window(counts, 200, 0.98, 0.0, 0.0) == Window(2, 4)
    assert shortest_window(counts, 200, 0.995, 0.0, 0.0) == Window(1, 5)
    assert shortest_window(counts, 200, 0.65, 0.0, 0.0) == Window(3, 3)


def test_a_window_is_found_if_all_values_are_missing() -> None:
    window = shortest_window(np.array([0.0, 0, 0, 50]), 50, 0.98, 0.0, 0.0)
    assert 0 <= window.first <= window.last <= 2


def test_the_deviation_of_a_corrected_sum_is_as_stated() -> None:
    """By simulation with 20 000 draws: 5 % is more than 7 standard deviations."""
    rng = np.random.default_rng(0)
    m, width = 12, 5
    noise = rng.normal(size=(20_000, m))
    corrected = noise - noise.mean(axis=1, keepdims=True)
    sums = corrected[:, :width].sum(axis=1)
    assert math.isclose(sums.std(), math.sqrt(width * (m - width) / m), rel_tol=0.05)
