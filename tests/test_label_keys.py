"""Keys of labels: a public function of each label, whatever the other labels are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pairdp.label_coding import label_key
from pairdp.records import Records

LISTS: dict[str, list[Any]] = {
    "integers": [3, 1, 1, 2, -1],
    "text": ["b", "a", "a", "c", "d"],
    "floats": [0.5, 1.0, 1.0, 2.0, 7.0],
    "flags": [True, False, False, True, True],
}


def buckets(y: Any, invalid: str = "error") -> np.ndarray:
    records = Records(np.ones((len(y), 1)), y, binary=False, invalid=invalid)  # type: ignore[arg-type]
    return records.buckets(256)


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize("y", LISTS.values(), ids=LISTS)
def test_a_replaced_label_changes_no_other_bucket(y: list[Any], invalid: str) -> None:
    before = buckets(y, invalid)
    others = [*y[1:], 0, 99, 2.5, "a", "zz", 10**60, 2**60, -3]
    for other in others:
        changed = [other, *y[1:]]
        try:
            after = buckets(changed, invalid)
        except ValueError:  # labels of several types are refused
            continue
        np.testing.assert_array_equal(after[1:], before[1:])


def test_integers_are_their_own_keys_however_they_are_written() -> None:
    for label in (7, 7.0, "7", "7.0", np.int8(7), np.float32(7), np.str_("7"), b"7"):
        assert label_key(label) == 7
    assert [label_key(label) for label in (True, False, "True", -1)] == [1, 0, 1, -1]
    assert len({*buckets(list(range(256))).tolist()}) == 256
    assert buckets([-1, 1]).tolist() == [255, 1]


def test_large_numbers_have_one_key_as_integers_and_as_floats() -> None:
    for number in (2**60, -(2**70), 10**30):
        assert label_key(number) == label_key(float(number)) == label_key(str(number))
        assert 0 <= label_key(number) < 2**48


def test_text_has_a_digest() -> None:
    keys = {label_key(text) for text in ("a", "b", "", "nan", "inf", "1,5", "\ud800")}
    assert len(keys) == 7
    assert label_key("good") == label_key(np.array(["good", "longer"])[0])


def test_batches_have_the_same_buckets() -> None:
    y = np.array(["b", "a", "c", "a"])
    x = np.ones((4, 1))
    batches = [(x[:2], y[:2]), (x[2:], y[2:])]
    gathered = Records.gather(batches, 4, 1, binary=False)
    np.testing.assert_array_equal(gathered.buckets(256), buckets(y))
    np.testing.assert_array_equal(gathered.part(slice(1, 3)).buckets(256), buckets(y)[1:3])
    np.testing.assert_array_equal(gathered.rows(np.array([3, 0])).buckets(256), buckets(y)[[3, 0]])


def test_labels_that_are_numbers_do_not_name_classes() -> None:
    with pytest.raises(ValueError, match="labels are numbers"):
        Records(np.ones((2, 1)), [-1, 1]).buckets(4)


class Colour(str, Enum):  # noqa: UP042 - whose text is not its value
    RED = "red"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
EQUAL: tuple[tuple[Any, Any], ...] = (
    (Fraction(1, 2), 0.5),
    (Colour.RED, "red"),
    (NOON, NOON.astimezone(timezone(timedelta(hours=2)))),
    (np.float32(0.1), 0.1),
)


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize(("one", "other"), EQUAL, ids=lambda label: type(label).__name__)
def test_an_equal_label_that_is_written_differently_moves_no_other_record(
    one: Any, other: Any, invalid: str
) -> None:
    for kind in (list, lambda y: np.array(y, dtype=object)):
        before = buckets(kind([other] * 4), invalid)
        after = buckets(kind([one, other, other, other]), invalid)
        np.testing.assert_array_equal(after[1:], before[1:])


@pytest.mark.parametrize(
    "y",
    [[1, 2, 3], [0.5, 2.0, 0.1], [True, False, True], pd.date_range("2020", periods=3).tolist(),
     pd.to_timedelta([1, 2, 3], "s").tolist(), list("abc")],
    ids=["integers", "floats", "flags", "dates", "times", "text"],
)  # fmt: skip
@pytest.mark.parametrize("other", [1 + 2j, "x", None, np.nan, 10**30, 0.25, np.datetime64("2020")])
def test_the_type_of_a_column_moves_no_other_record(y: list[Any], other: Any) -> None:
    before = buckets(pd.Series(y), "null")
    after = buckets(pd.Series([other, *y[1:]]), "null")
    np.testing.assert_array_equal(after[1:], before[1:])


@pytest.mark.parametrize("label", [10**5000, Unprintable()], ids=["long integer", "no text"])
def test_a_label_without_text_is_no_error(label: Any) -> None:
    assert buckets([label, "a", "b"], "null")[1:].tolist() == buckets(["c", "a", "b"])[1:].tolist()
