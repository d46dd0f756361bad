"""Finer bins of numbers, from released counts alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp.algorithms.scorecard.cells import FINE
from pairdp.algorithms.scorecard.evidence import Smoothing
from pairdp.algorithms.scorecard.partition import Counted, merge, partition
from pairdp.algorithms.scorecard.refinement import Refined, refine


def _refined(seed: int, bins: int, levels: int, deviation: float, resolution: int, missing: int):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 5000))
    places = (FINE * rng.beta(*rng.uniform(0.05, 3, 2), n)).astype(int).clip(0, FINE - 1)
    exact = np.append(np.bincount(places, minlength=FINE), [7] * missing)
    (cells,) = partition(
        [exact],
        n,
        bins,
        levels,
        deviation,
        lambda values, _: values + deviation * rng.normal(size=values.size),
    )
    merged = merge(cells, bins)
    return merged, refine(cells, merged, resolution)


@given(
    st.integers(0, 10**6),
    st.integers(3, 40),
    st.integers(1, 3),
    st.floats(0, 300),
    st.integers(1, 200),
    st.integers(0, 1),
)
def test_parts_divide_bins(
    seed: int, bins: int, levels: int, deviation: float, resolution: int, missing: int
) -> None:
    coarse, parts = _refined(seed, bins, levels, deviation, resolution, missing)
    assert np.all(np.diff(parts.edges) > 0)
    assert np.isin(coarse.edges, parts.edges).all()
    assert parts.parents.size == parts.edges.size - 1 + missing <= resolution + coarse.cells + 1
    inside = np.searchsorted(coarse.edges, parts.edges[:-1], side="right") - 1
    assert parts.parents[: inside.size].tolist() == inside.tolist()
    assert parts.shares.min() > 0
    np.testing.assert_allclose(np.bincount(parts.parents, parts.shares), 1)
    np.testing.assert_allclose(parts.averaging() @ np.ones(parts.parents.size), 1)
    assert parts.counts(coarse.counts).sum() == pytest.approx(coarse.counts.sum())


def test_a_bin_is_divided_where_the_records_are() -> None:
    edges = np.array([0, 256, FINE])
    cells = Counted(edges, np.array([900.0, 100.0]), np.zeros(2))
    parts = refine(cells, Counted(edges[[0, 2]], np.array([1000.0]), np.zeros(1)), 20)
    assert np.sum(parts.edges[1:] <= 256) >= 9  # half of them by counts, half by width
    assert np.diff(parts.edges[-8:]).max() < 450
    assert parts.shares[parts.edges[1:] <= 256].sum() > 0.7


def test_shapes_rise_within_bins_and_keep_their_means() -> None:
    counts = np.full(3, 10_000.0)
    given = np.array([0.3, 0.5, 0.7]) - 0.5
    parts = Refined(np.arange(0, 25, 2), np.repeat(np.arange(3), 4), np.full(12, 0.25))

    def shape(refined: Refined | None) -> np.ndarray:
        excess, variances = given * counts, np.zeros(3)
        found = Smoothing.of(
            excess, counts, variances, 0.5, 1.0, is_number=True, missing=0, refined=refined
        ).column()
        return found.shape

    fine = shape(parts)
    assert np.all(np.diff(fine) > 0)
    np.testing.assert_allclose(parts.averaging() @ fine, shape(None), atol=0.1)
