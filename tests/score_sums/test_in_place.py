"""Sums in slots that are added in place, and the arrays that are used again for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp._sums import BLOCK, Total
from pairdp.losses import LogisticRanking
from pairdp.pairs.ranking import score_sums
from pairdp.score_sums import add_at as module
from pairdp.score_sums.add_at import add_at
from pairdp.score_sums.buffers import lent
from pairdp.score_sums.cells import BLOCK as MOST
from pairdp.score_sums.cells import PowerSums


@pytest.mark.parametrize("compiled", [True, False])
@given(seed=st.integers(0, 10**6), size=st.integers(0, 300), slots=st.integers(1, 40))
def test_added_one_after_the_other(compiled: bool, seed: int, size: int, slots: int) -> None:
    rng = np.random.default_rng(seed)
    slot, values = rng.integers(slots, size=size), rng.normal(size=size)
    found = rng.normal(size=slots)
    expected = found.copy()
    for place, value in zip(slot, values, strict=True):
        expected[place] += value
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(module, "_add_column", None)
        add_at(found, slot, values)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("where", [-1, 8, 2**40, -(2**62)])
def test_no_sum_outside_the_slots(where: int) -> None:
    sums = PowerSums(2, 8)
    with pytest.raises(IndexError, match="outside the range"):
        sums.add(np.array([3, where]), np.zeros(2), np.empty(2))


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf, 1e30, 2.5, -2.5])
def test_scores_outside_the_range_are_refused(score: float) -> None:
    sums = score_sums(LogisticRanking(), -2.0, 2.0, 10**6)
    with np.errstate(invalid="ignore"), pytest.raises(IndexError, match="outside the range"):
        sums.moments(np.array([0.0, score]), np.array([0, 1]) if score > 0 else np.array([1, 0]))


@pytest.mark.parametrize("degree", [2, 3, 6])
def test_blocks_are_as_long_as_they_may_be(degree: int) -> None:
    """However records are cut, blocks of the same records give the same bits."""
    rng = np.random.default_rng(degree)
    slot, place = rng.integers(5, size=9 * MOST), rng.uniform(-0.5, 0.5, 9 * MOST)
    found = []
    for size in (MOST, MOST // 2, MOST // 8):
        sums = PowerSums(degree, 5)
        for start in range(0, slot.size, size):
            some = slice(start, start + size)
            sums.add(slot[some], place[some], np.empty(size))
        found.append(sums.total().high)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[0][0], np.bincount(slot))


def test_a_total_in_place_is_the_sum() -> None:
    rng = np.random.default_rng(0)
    total, expected = Total.zeros(3, BLOCK), Total.zeros(3, BLOCK)
    for size in (1.0, 1e-20, 1e17):
        part = size * rng.normal(size=(3, BLOCK))
        total.add(part)
        expected += part
    np.testing.assert_array_equal(total.high, expected.high)
    np.testing.assert_array_equal(total.low, expected.low)


def test_buffers_are_lent_to_one_at_a_time() -> None:
    with lent() as first, lent() as second:
        assert first is not second
        assert not np.shares_memory(first.term, second.term)
    with lent() as third:
        assert third is first or third is second
