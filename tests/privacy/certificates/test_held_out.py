"""Which rows are held out: from row numbers, or for units from that of their first row."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp.privacy import Part, Unit
from pairdp.privacy.certificates.held_out import HeldOut, HeldOutRows, Placed

SPLIT = HeldOut(0.4, seed=3)
UNITS = st.lists(st.sampled_from([None, "a", "b", "c", "d", "e", 7, 7.0, ("a", "b")]), min_size=5)


def placed(groups: list[Any], cuts: tuple[int, ...] = (), split: HeldOut = SPLIT) -> Placed:
    """Return where the rows of a data set are, read in batches."""
    rows, start = HeldOutRows(split, len(groups)), 0
    found: list[Placed] = []
    starts: list[int] = []
    for stop in (*cuts, len(groups)):
        starts.append(start)
        found.append(rows.of_batch(stop - start, groups[start:stop]))
        start = stop
    rows.finish()
    training, evaluation = (
        np.concatenate([part[side] + begin for part, begin in zip(found, starts, strict=True)])
        for side in (0, 1)
    )
    return Placed(training, evaluation, [unit for part in found for unit in part.groups or ()])


def alone(groups: list[Any]) -> list[str | None]:
    """Return groups of one unit each, by one name."""
    return [None if isinstance(u, tuple | None) else "7" if u == 7 else u for u in groups]


def test_sizes_follow_from_n_alone() -> None:
    assert HeldOut(0.2).sizes(1000) == (800, 200)
    assert HeldOut(0.25).parts(10, None) == (Part("training", 8), Part("evaluation", 2))
    assert all(part.by_unit for part in HeldOut(0.25).parts(10, Unit("id", 2)))
    for n in range(5, 60):
        held_out = SPLIT.places(n)
        assert held_out.sum() == SPLIT.sizes(n)[1]


def test_the_rule_is_the_one_that_is_stated() -> None:
    chosen = np.random.RandomState(3).permutation(50)[:20]
    assert sorted(chosen) == np.flatnonzero(SPLIT.places(50)).tolist()
    assert "RandomState(3).permutation(50)" in SPLIT.rule(50)
    assert "Which 20 of the 50 rows" in SPLIT.rule(50)
    assert np.flatnonzero(HeldOut(0.2).places(20)).tolist() == [1, 8, 18, 19]
    assert not np.array_equal(SPLIT.places(50), HeldOut(0.4, seed=4).places(50))


@pytest.mark.parametrize(
    "share", ["stratified", True, None, 0, 1, 1.5, -0.2, float("nan"), [0, 1], np.ones(4), len]
)
def test_only_a_share_is_accepted(share: Any) -> None:
    with pytest.raises(ValueError, match="evaluation_share must be") as caught:
        HeldOut(share)
    if isinstance(share, str | list | np.ndarray):
        assert "lets one record move others" in str(caught.value)


def test_labels_given_as_a_split_are_not_quoted() -> None:
    secret = np.array(["secret", "other"])
    with pytest.raises(ValueError, match="got a ndarray") as caught:
        HeldOut(secret)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_parts_of_one_record_are_refused() -> None:
    with pytest.raises(ValueError, match="leaves 4 for training and 1 for evaluation"):
        HeldOut(0.2).sizes(5)
    with pytest.raises(ValueError, match="evaluation_seed"):
        HeldOut(0.2, seed=-1)


@given(UNITS)
def test_all_used_rows_of_a_unit_are_in_one_part(groups: list[Any]) -> None:
    found = placed(groups)
    n = len(groups)
    assert sorted([*found.training, *found.evaluation]) == list(range(n))
    assert (found.training.size, found.evaluation.size) == SPLIT.sizes(n)
    held_out, numbered = set(found.evaluation.tolist()), SPLIT.places(n)
    parts: dict[str, set[bool]] = {}
    first: dict[str, int] = {}
    for row, (given_unit, used) in enumerate(zip(groups, found.groups or (), strict=True)):
        names = given_unit if isinstance(given_unit, tuple) else (given_unit,)
        for name in names:
            first.setdefault(str(name), row)
            if used is not None:
                assert used == given_unit
                parts.setdefault("7" if name == 7 else str(name), set()).add(row in held_out)
    for name, sides in parts.items():
        begin = min(first.get(name, n), first.get("7.0", n) if name == "7" else n)
        assert sides == {bool(numbered[begin])}


@given(UNITS, st.randoms())
def test_identifiers_and_batches_do_not_matter(groups: list[Any], rng: Any) -> None:
    """Another name for a unit, in all of its rows, moves nothing: neighbours may have that."""
    singles = alone(groups)
    renamed = [None if unit is None else f"another {unit}" for unit in singles]
    stop = rng.randint(0, len(groups))
    one, other = placed(singles, (stop,)), placed(renamed)
    assert one.training.tolist() == other.training.tolist()
    unused = [[unit is None for unit in found.groups or ()] for found in (one, other)]
    assert unused[0] == unused[1]


@given(UNITS, st.data())
def test_a_unit_that_becomes_null_or_another_moves_no_other(groups: list[Any], data: Any) -> None:
    """Its rows lose their unit, or get one that is new: all other units stay where they are."""
    singles = alone(groups)
    chosen = data.draw(st.sampled_from(singles))
    changed = ["new" if unit == chosen and unit is not None else unit for unit in singles]
    rows = HeldOutRows(SPLIT, len(groups)), HeldOutRows(SPLIT, len(groups))
    for held_out, units in zip(rows, (singles, changed), strict=True):
        held_out.of_batch(len(units), units)
    sides = [
        {name: side for name, side in held_out._part_of.items() if name not in (str(chosen), "new")}
        for held_out in rows
    ]
    assert sides[0] == sides[1]


def test_without_units_rows_are_as_numbered() -> None:
    rows = HeldOutRows(SPLIT, 10)
    found = [rows.of_batch(4), rows.of_batch(6)]
    held_out = [*found[0].evaluation, *(found[1].evaluation + 4)]
    assert held_out == np.flatnonzero(SPLIT.places(10)).tolist()
    assert found[0].groups_of(found[0].training) == ()
    with pytest.raises(ValueError, match="more than n = 10"):
        rows.of_batch(1)


def test_other_numbers_of_rows_are_refused() -> None:
    rows = HeldOutRows(SPLIT, 10)
    rows.of_batch(4)
    with pytest.raises(ValueError, match="have 4 records, not 10"):
        rows.finish()
    with pytest.raises(ValueError, match="a unit for each of 3 rows, got 2"):
        rows.of_batch(3, ["a", "b"])
    with pytest.raises(TypeError, match="raw data"):
        pickle.dumps(rows)
