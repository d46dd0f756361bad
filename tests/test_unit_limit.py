"""Which records of a unit are used: the first k, whatever they contain."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import Counter
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.unit_limit import UnitLimit

UNITS = st.lists(st.sampled_from(["a", "b", "c", None, ""]), max_size=30)
PROBLEM = Problem(LogisticRanking(), L2Ball(1.0))


def first_of_each(groups: list[Any], k: int) -> list[bool]:
    """Return which rows are unused, by counting the rows before each."""
    return [
        not unit or Counter(groups[:i])[unit] >= k  # as many came before
        for i, unit in enumerate(groups)
    ]


@given(UNITS, st.integers(1, 4), st.lists(st.integers(0, 30), max_size=4))
def test_the_first_k_rows_of_each_unit_are_used_in_any_batches(
    groups: list[Any], k: int, cuts: list[int]
) -> None:
    limit, found = UnitLimit(k), []
    ends = [0, *sorted(min(cut, len(groups)) for cut in cuts), len(groups)]
    for start, end in itertools.pairwise(ends):
        found += limit.unused(groups[start:end], end - start).tolist()
    assert found == first_of_each(groups, k)


@given(UNITS, st.integers(1, 4), st.sets(st.integers(0, 29)))
def test_lost_identifiers_of_a_unit_change_at_most_k_rows_beside_the_data_without_it(
    groups: list[Any], k: int, lost: set[int]
) -> None:
    some = [None if i in lost and unit == "a" else unit for i, unit in enumerate(groups)]
    without = [None if unit == "a" else unit for unit in groups]
    removed = UnitLimit(k).unused(without)
    for given_groups in (groups, some):
        changed = UnitLimit(k).unused(given_groups) != removed
        assert changed.sum() <= k
        assert all(unit == "a" for unit, other in zip(groups, changed, strict=True) if other)


@given(UNITS.filter(lambda groups: len(groups) > 1), st.integers(1, 3), st.integers(0, 2**32))
def test_the_choice_does_not_depend_on_features_labels_or_readability(
    groups: list[Any], k: int, seed: int
) -> None:
    rng, n = np.random.default_rng(seed), len(groups)
    expected = first_of_each(groups, k)
    x, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], n)
    full = Records(x, y, groups=groups, limit=UnitLimit(k))
    assert full.null.tolist() == expected
    assert full.max_records == k
    lost = rng.random(n) < 0.5
    x[lost], y[rng.random(n) < 0.3] = np.nan, 7.0
    some = Records(x, y, groups=groups, limit=UnitLimit(k), invalid="null")
    unreadable = lost | (y == 7.0)
    assert some.null.tolist() == (unreadable | expected).tolist()
    assert not some.x[expected].any()


def test_one_unit_has_one_name() -> None:
    same = [7, 7.0, "7", " 7 ", np.int64(7), np.float32(7), b"7", Decimal(7)]
    assert UnitLimit(1).unused(same).tolist() == [False] + [True] * 7
    assert not UnitLimit(1).unused([7, 7.5, "x", True, date(2025, 1, 1), ("a", 1)]).any()
    assert UnitLimit(3).unused(np.array([1, 1, 1, 1])).tolist() == [False] * 3 + [True]
    huge = [10**400, 10**400 + 1]  # not rounded to one number
    assert not UnitLimit(1).unused(huge).any()


class Hostile:
    """An entry that raises an error whatever is done with it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    def __str__(self) -> str:
        raise RuntimeError("secret")

    __hash__ = None  # type: ignore[assignment]


def test_rows_without_a_unit_are_not_used() -> None:
    missing = [None, "", "  ", math.nan, math.inf, np.datetime64("NaT"), Hostile(), b" "]
    assert UnitLimit(5).unused(missing).all()
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["a", pandas.NA, None, "a"], dtype="string")
    assert UnitLimit(5).unused(column).tolist() == [False, True, True, False]
    assert UnitLimit(5).unused([pandas.NA, pandas.NaT]).all()


PEOPLE = st.sampled_from(["a", "b", "c", "d", 7, None])


@given(st.lists(st.tuples(PEOPLE, PEOPLE), max_size=25), st.integers(1, 3), st.integers(0, 25))
def test_rows_of_two_units_need_room_in_both(
    pairs: list[tuple[Any, Any]], k: int, cut: int
) -> None:
    limit = UnitLimit(k)
    unused = [*limit.unused(pairs[:cut]), *limit.unused(pairs[cut:])]
    used: list[tuple[Any, Any]] = []
    for pair, left_out in zip(pairs, unused, strict=True):
        room = all(sum(person in other for other in used) < k for person in pair)
        assert left_out == (None in pair or not room)
        if not left_out:
            used.append(pair)
    assert all(sum(person in pair for pair in used) <= k for person in ("a", "b", "c", "d", 7))
    assert UnitLimit(1).unused([(), ("a", "a"), ("a", "b")]).tolist() == [True, False, True]


def test_wrong_groups_are_refused_without_quoting_them() -> None:
    x, y = np.zeros((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match="a unit for each of 3 rows, got 2"):
        PROBLEM.records(x, y, groups=["secret", "secret"], limit=UnitLimit(1))
    with pytest.raises(ValueError, match="in one dimension") as caught:
        PROBLEM.records(x, y, groups=np.full((3, 2, 1), "secret"), limit=UnitLimit(1))
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="groups was given without a limit"):
        PROBLEM.records(x, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="without groups"):
        PROBLEM.records(x, y, limit=UnitLimit(1))
    with pytest.raises(ValueError, match="max_records must be at least 1"):
        UnitLimit(0)


def test_units_are_neither_printed_nor_pickled() -> None:
    limit = UnitLimit(2)
    limit.unused(["secret"])
    assert "secret" not in repr(limit)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(limit)


def test_parts_of_records_keep_the_limit() -> None:
    x, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    records = PROBLEM.records(x, y, groups=list("aabb"), limit=UnitLimit(1))
    assert records.part(slice(0, 2)).max_records == 1
    assert records.rows(np.array([0, 3])).max_records == 1
    assert PROBLEM.records(x, y).max_records is None
