"""Features of columns, and the coordinates in which a scorecard descends."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms.scorecard import Scorecard
from pairdp.algorithms.scorecard import run as run_module
from pairdp.algorithms.scorecard.cells import FINE
from pairdp.algorithms.scorecard.column_features import column_features
from pairdp.algorithms.scorecard.descent import (
    Gradients,
    LabelledBins,
    Whitening,
    largest_whitening,
    second_moments,
    whitening_of,
)
from pairdp.algorithms.scorecard.evidence import Column, Smoothing
from pairdp.algorithms.scorecard.expansion import (
    Expansion,
    block_sizes,
    chosen_blocks,
    expand,
    most_features,
    scales_unit,
)
from pairdp.algorithms.scorecard.partition import Edges
from pairdp.algorithms.scorecard.run import _shared_weight
from pairdp.constraints import Unconstrained
from pairdp.losses import LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem

BLOCKS = ("scales", "products", "second scales", "hats", "categories")
CHOICES = st.sets(st.sampled_from(BLOCKS)).map(tuple)


def _column(rng: np.random.Generator) -> tuple[Column, Edges | None]:
    """Return a column of random counts, evidence and bins, with empty ones among them."""
    size, is_number = int(rng.integers(1, 30)), bool(rng.random() < 0.6)
    missing = int(is_number and rng.random() < 0.3)
    counts = rng.uniform(0, 100, size + missing) * (rng.random(size + missing) < 0.9)
    counts[0] += 1
    column = Smoothing.of(
        rng.normal(size=size + missing) * rng.choice([0.0, 1.0, 30.0]),
        counts,
        np.full(size + missing, 9.0),
        float(rng.uniform(0.02, 0.98)),
        2.0,
        is_number=is_number,
        missing=missing,
    ).column()
    inner = np.sort(rng.choice(np.arange(1, FINE), size - 1, replace=False))
    return column, np.concatenate([[0], inner, [FINE]]) if is_number else None


def _expansion(seed: int, blocks: tuple[str, ...]) -> tuple[Expansion, list[Column]]:
    rng = np.random.default_rng(seed)
    found = [_column(rng) for _ in range(int(rng.integers(1, 6)))]
    columns, edges = [one for one, _ in found], [ends for _, ends in found]
    pairs = tuple(combinations(range(len(found)), 2))
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
        columns.append(
            Smoothing.of(excess, counts, np.ones(60), 0.5, 1.0, is_number=True, missing=0).column()
        )
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


@pytest.mark.parametrize(("rho", "expected"), [(0.0, 1.0), (0.999, 0.5)])
def test_columns_that_repeat_each_other_share_their_weight(rho: float, expected: float) -> None:
    """For moments of rows that are clipped, as they are released."""
    expansion, bins, columns = _correlated(rho)
    n = bins.shape[1]
    records = LabelledBins(bins, np.ones(n), np.ones(n))
    scales = second_moments(expansion.scales, records)[:-1, :-1] / n * scales_unit(2)
    assert np.diag(scales).max() < 0.8
    assert _shared_weight(expansion, columns, scales) == pytest.approx(expected, abs=0.05)


def test_no_coefficient_of_a_row_is_larger_than_one() -> None:
    """Columns of one bin have no variance, and leave the constant alone."""
    column = Smoothing.of(
        np.zeros(1), np.array([500.0]), np.array([9.0]), 0.5, 2.0, is_number=True, missing=0
    ).column()
    expansion = expand([column], [np.array([0, FINE])], ["scales"])
    records = LabelledBins(np.zeros((1, 500), np.int16), np.zeros(500), np.ones(500))
    whitening = whitening_of(expansion, np.array([[0.3]]), 0.01, 1.0)
    assert Gradients.of(expansion, records, whitening).scales.max() <= 1


def test_features_of_many_categories_are_found_in_a_moment() -> None:
    rng = np.random.default_rng(0)
    column = Smoothing.of(
        rng.normal(size=1500), rng.uniform(1, 9, 1500), np.ones(1500), 0.5, 1.0,
        is_number=False, missing=0,
    ).column()  # fmt: skip
    table = column_features(column, None, ("categories",), column.variance).table
    assert table.shape == (1500, 1499)


def test_a_block_that_only_a_rare_class_leaves_room_for_is_planned() -> None:
    sizes = block_sizes(21, 88, 0)
    assert chosen_blocks(sizes, 36, 1581.97, 0.98) == ["scales", "categories"]
    assert "categories" not in chosen_blocks(sizes, 36, 1581.97, 1.0)
    assert most_features(sizes, 36, 1581.97) >= 36 + 1 + 21 + 88


@pytest.mark.parametrize("pairs", [(), ((0, 1), (0, 2), (1, 2))])
@pytest.mark.parametrize("interactions", [False, True])
def test_runs_stay_within_the_planned_amplification(
    monkeypatch: pytest.MonkeyPatch, pairs: tuple[tuple[int, int], ...], interactions: bool
) -> None:
    if pairs and interactions:
        pytest.skip("one of both")
    seen: list[float] = []

    def tapped(*given: object) -> Whitening:
        found = whitening_of(*given)  # type: ignore[arg-type]
        seen.append(float(np.linalg.norm(found.matrix, 2)) / found.width)
        return found

    monkeypatch.setattr(run_module, "whitening_of", tapped)
    rng = np.random.default_rng(0)
    x = np.repeat(rng.uniform(-0.5, 0.5, (3000, 1)), 3, axis=1)  # moments without an inverse
    y = np.where(x.sum(axis=1) + rng.normal(size=3000) > 0, 1.0, -1.0)
    problem = PointwiseProblem(LogisticPointwise(), Unconstrained(), data_norm=7.0)
    for epsilon in (1.0, 30.0):
        card = Scorecard(interactions=interactions, pairs=pairs)
        plan = card.plan(problem, 3000, 3, Budget(epsilon, 1e-5))
        plan.run(problem.records(x, y), NoiseSource(0))
        gradients = next(r for r in plan.certificate.releases if r.name == "clipped gradients")
        assert 0.05 * gradients.sensitivity.inputs["amplification"] < seen[-1]
        assert seen[-1] <= gradients.sensitivity.inputs["amplification"]
        assert verify(plan.certificate).holds


def test_a_diagonal_matrix_needs_no_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    squares = np.random.default_rng(0).normal(size=7)
    expected = Whitening.of(np.diag(squares), 0.1)
    monkeypatch.delattr(np.linalg, "eigh")
    found = Whitening.of_squares(squares, 0.1)
    np.testing.assert_allclose(np.abs(found.matrix), np.abs(expected.matrix), rtol=1e-12)
    np.testing.assert_allclose(found.matrix @ found.inverse, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(found.width, expected.width)
