"""Designs have every record equally often, and no pair twice."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.pairs.design import PairDesign
from pairdp.privacy.mechanisms.noise_source import NoiseSource


def all_of(design: PairDesign, size: int = 5) -> np.ndarray:
    """Return the pairs, one a row, after checking their blocks."""
    blocks = list(design.blocks(size))
    assert all(1 <= len(left) == len(right) <= size for left, right in blocks)
    left, right = (np.concatenate([block[side] for block in blocks]) for side in (0, 1))
    return np.sort(np.stack([left, right], axis=1), axis=1)


def assert_regular(design: PairDesign, n: int, m: int, size: int = 5) -> None:
    pairs = all_of(design, size)
    assert design.n == n
    assert design.m == m
    assert len(pairs) == design.pairs == n * m // 2
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    np.testing.assert_array_equal(np.bincount(pairs.ravel(), minlength=n), np.full(n, m))


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    share=st.floats(0, 1),
    size=st.integers(1, 70),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_drawn_designs_are_regular(seed: int, n: int, share: float, size: int) -> None:
    m = max(1, round(share * (n - 1)))
    if n % 2 and m % 2:
        m += 1
    assert_regular(PairDesign.draw(n, m, np.random.default_rng(seed)), n, m, size)


def test_every_small_design() -> None:
    for n in range(2, 12):
        for m in range(1, n):
            if n % 2 == 0 or m % 2 == 0:
                for seed in range(3):
                    assert_regular(PairDesign.draw(n, m, np.random.default_rng(seed)), n, m)


@pytest.mark.parametrize("n", range(2, 12))
def test_complete_designs_have_all_pairs(n: int) -> None:
    assert_regular(PairDesign.complete(n), n, n - 1)


def test_every_pair_is_equally_likely() -> None:
    # Each of the 10 pairs of 5 records is in half of the designs. Ten counts stay within 5.5
    # standard deviations except once in 2·10^6 runs; a share that is wrong by 10 % is off by 10.
    designs = 11_000
    generator = np.random.default_rng(1)
    counts = np.zeros((5, 5))
    for _ in range(designs):
        for i, j in PairDesign.draw(5, 2, generator).blocks(5):
            counts[i, j] += 1
    drawn = (counts + counts.T)[np.triu_indices(5, 1)]
    assert drawn.sum() == designs * 5
    deviations = np.abs(drawn - designs / 2) / np.sqrt(designs / 4)
    assert deviations.max() < 5.5


def test_a_seed_gives_one_design() -> None:
    first, again, other = (
        PairDesign.draw(50, 7, NoiseSource(seed=seed).stream("design")) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.permutation, again.permutation)
    assert first.offsets == again.offsets
    assert not np.array_equal(first.permutation, other.permutation)


def test_runs_are_blocks_of_the_shuffled_records() -> None:
    design = PairDesign.draw(20, 5, np.random.default_rng(2))
    for (left, right), (first, second) in zip(design.runs(3), design.blocks(3), strict=True):
        np.testing.assert_array_equal(design.permutation[left], first)
        np.testing.assert_array_equal(design.permutation[right], second)


def test_memory_is_that_of_the_permutation() -> None:
    n = 100_000
    tracemalloc.start()
    try:
        design = PairDesign.draw(n, 40, np.random.default_rng(0))
        total = sum(len(left) for left, _ in design.blocks(1000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == design.pairs == 2_000_000
    assert peak < 6 * 8 * n


def test_designs_are_frozen_and_compare_by_identity() -> None:
    design = PairDesign.draw(6, 2, np.random.default_rng(0))
    same = PairDesign(design.permutation, design.offsets)
    assert design == design
    assert design != same
    assert len({design, same}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        design.offsets = (1,)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        design.permutation[0] = 1


def test_a_design_keeps_its_own_permutation() -> None:
    permutation = np.arange(6)
    design = PairDesign(permutation, (1,))
    permutation[:] = 0
    assert_regular(design, 6, 2)


@pytest.mark.parametrize("n", [3, 5, 101])
def test_odd_times_odd_is_impossible(n: int) -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"n·m/2 is not an integer; choose an even m, such as 2"):
        PairDesign.draw(n, 1, generator)


def test_refusals() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"m must be at most n - 1 = 5"):
        PairDesign.draw(6, 6, generator)
    with pytest.raises(ValueError, match="n must be at least 2"):
        PairDesign.draw(1, 1, generator)
    with pytest.raises(ValueError, match="m must be at least 1"):
        PairDesign.draw(6, 0, generator)
    with pytest.raises(TypeError, match="m must be an integer"):
        PairDesign.draw(6, 2.0, generator)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n must be at least 2"):
        PairDesign.complete(1)
    with pytest.raises(ValueError, match=r"each of 0\.\.n-1 once"):
        PairDesign(np.array([0, 1, 1]), (1,))
    with pytest.raises(ValueError, match="one-dimensional"):
        PairDesign(np.array([[0, 1], [2, 3]]), (1,))
    for offsets in ((), (1, 1)):
        with pytest.raises(ValueError, match="offsets must be"):
            PairDesign(np.arange(4), offsets)
    with pytest.raises(ValueError, match="offset must be at most 2"):
        PairDesign(np.arange(5), (3,))
    with pytest.raises(ValueError, match="size must be at least 1"):
        next(PairDesign.complete(4).blocks(0))
