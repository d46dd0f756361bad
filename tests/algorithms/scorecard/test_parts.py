"""The parts of a scorecard, each against a slow and obvious version."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from pairdp._sums import BLOCK
from pairdp.algorithms.scorecard.cells import FINE, CategoryCells, NumberCells, codes_of
from pairdp.algorithms.scorecard.evidence import Smoothing
from pairdp.algorithms.scorecard.expansion import (
    all_products,
    block_sizes,
    chosen_blocks,
    expand,
    most_features,
)
from pairdp.algorithms.scorecard.partition import bin_of_cells, merge, onto_simplex, partition
from pairdp.algorithms.scorecard.shares import most_cells, most_merged, shares_of

BLOCKS = ("scales", "products", "second scales", "hats", "categories")


def test_numbers_at_edges_are_in_the_upper_cell_and_others_are_clipped() -> None:
    cells = NumberCells(0, -0.5, 0.5, missing=1)
    rows = np.array([[-0.5, 0], [0.0, 0], [0.5, 0], [9.0, 0], [-9.0, 0], [0.0, 0.5]])
    assert cells.codes(rows).tolist() == [0, FINE // 2, FINE - 1, FINE - 1, 0, FINE]
    assert CategoryCells((0, 1)).codes(np.array([[0.3, 0], [0, 0.3], [0, 0]])).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: NumberCells(-1, 0.0, 1.0),
        lambda: NumberCells(0, 1.0, 1.0),
        lambda: CategoryCells(()),
        lambda: CategoryCells((5,)).check(5),
    ],
)
def test_wrong_columns_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"place|low|features"):
        wrong()  # type: ignore[operator]


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12), st.floats(0.5, 20))
def test_projection_is_the_nearest_point_of_the_simplex(values: list[float], total: float) -> None:
    found = onto_simplex(np.array(values), total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    # The optimality condition: values above zero are shifted equally, the others by less.
    shifts = np.array(values) - found
    inside = found > 1e-12
    assert np.ptp(shifts[inside]) < 1e-9 * (1 + np.abs(shifts).max())
    assert np.all(shifts[~inside] <= shifts[inside].max() + 1e-9)


@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 3), st.floats(0, 300))
def test_bins_are_within_the_planned_numbers(
    seed: int, bins: int, levels: int, deviation: float
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 5000))
    places = (FINE * rng.beta(*rng.uniform(0.05, 3, 2), n)).astype(int).clip(0, FINE)
    exact = np.bincount(places, minlength=FINE + 1)
    (found,) = partition(
        [exact],
        n,
        bins,
        levels,
        deviation,
        lambda values, _: values + deviation * rng.normal(size=values.size),
    )
    assert found.cells <= most_cells(bins, levels)
    merged = merge(found, bins)
    assert merged.cells <= most_merged(bins)
    assert merged.edges[0] == 0
    assert merged.edges[-1] == FINE
    assert np.all(np.diff(merged.edges) > 0)
    assert merged.counts.sum() == pytest.approx(found.counts.sum())
    codes = bin_of_cells(merged.edges, 1)
    assert codes.size == FINE + 1
    assert codes[-1] == merged.cells


@given(st.floats(1e-3, 1e7), st.integers(1, 60), st.integers(0, 60), st.booleans())
def test_shares_add_up_to_one(signal: float, columns: int, numbers: int, pure: bool) -> None:
    shares = shares_of(100, signal / 100, columns, min(numbers, columns), pure=pure)
    parts = (shares.partition, shares.counts, shares.moments, shares.gradients)
    assert sum(parts) == pytest.approx(1)
    assert min(parts) >= 0
    if pure and shares.learns_weights:
        assert signal / columns**2 >= 300


@given(
    st.floats(1, 1e6),
    st.integers(0, 30),
    st.integers(1, 30),
    st.integers(0, 200),
    st.floats(0.01, 1),
    st.booleans(),
)
def test_features_are_within_the_planned_number(
    signal: float, numbers: int, more: int, cells: int, rarity: float, products: bool
) -> None:
    columns = numbers + more
    sizes = block_sizes(numbers, cells, all_products(columns) if products else 0)
    chosen = chosen_blocks(sizes, columns, signal, rarity)
    taken = columns + 1 + sum(sizes[name] for name in chosen)
    assert taken <= most_features(sizes, columns, signal)


def _expansion(rng: np.random.Generator, blocks: tuple[str, ...] = BLOCKS):  # type: ignore[no-untyped-def]
    edges = [np.array([0, 500, 1000, FINE]), np.array([0, 64, FINE]), None]
    sizes = [4, 2, 5]
    columns = [
        Smoothing.of(
            rng.normal(size=size) * 30,
            rng.uniform(1, 100, size),
            np.full(size, 9.0),
            0.3,
            2.0,
            is_number=ends is not None,
            missing=int(ends is not None and size > len(ends) - 1),
        ).column()
        for size, ends in zip(sizes, edges, strict=True)
    ]
    bins = np.array([rng.integers(0, size, BLOCK + 50) for size in sizes], dtype=np.int16)
    return expand(columns, edges, blocks, ((0, 1), (1, 2))), bins


def test_points_and_interactions_are_the_scores() -> None:
    rng = np.random.default_rng(1)
    expansion, bins = _expansion(rng)
    weights = rng.normal(size=expansion.size)
    matrix = expansion.interactions(weights)
    factors = expansion.factors_of(bins)
    points = sum(p[codes] for p, codes in zip(expansion.points(weights), bins, strict=True))
    products = np.einsum("ni,ij,nj->n", factors, matrix, factors)
    total = points + products + weights[-1] * 0.5
    np.testing.assert_allclose(total, expansion.rows(bins) @ weights, rtol=1e-9)


def test_without_noise_the_shape_is_the_weight_of_evidence() -> None:
    counts = np.array([40_000.0, 30_000.0, 30_000.0])
    chances = np.array([0.2, 0.3, 0.5])
    positives = float(counts @ chances / counts.sum())
    column = Smoothing.of(
        counts * (chances - 0.5), counts, np.zeros(3), positives, 0.0, is_number=False, missing=0
    ).column()
    evidence = logit(chances) - logit(positives)
    evidence -= counts @ evidence / counts.sum()
    np.testing.assert_allclose(column.shape, evidence, atol=0.01)
    assert np.all(column.deviations == 0)


def test_much_noise_shrinks_shapes_to_zero() -> None:
    rng = np.random.default_rng(2)
    noisy = rng.normal(size=10) * 1e4
    column = Smoothing.of(
        noisy, np.full(10, 100.0), np.full(10, 1e8), 0.5, 1e4, is_number=True, missing=0
    ).column()
    assert np.abs(column.shape).max() < 0.1


def test_codes_have_one_row_for_each_column() -> None:
    columns = [NumberCells(0, -1.0, 1.0), CategoryCells((1,))]
    assert codes_of(columns, np.zeros((7, 2))).shape == (2, 7)
