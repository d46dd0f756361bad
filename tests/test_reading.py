"""Entries are read one by one: one that cannot be read leaves all others as they were."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pairdp._reading import read_codes, read_labels, read_signs, read_table, uses_null_records

UNREADABLE = [
    np.nan,
    np.inf,
    -np.inf,
    None,
    "secret",
    "1e309",
    10**400,
    -(10**400),
    Fraction(10**400),
    Decimal("sNaN"),
    1 + 2j,
    [1.0, 2.0],
    {"a": 1},
    pd.NA,
    pd.NaT,
    object(),
    b"\xff",
]


@pytest.mark.parametrize("entry", UNREADABLE)
@pytest.mark.parametrize("place", [(0, 0), (2, 1)])
def test_an_entry_that_is_no_number_makes_its_row_nan_and_no_other(
    entry: object, place: tuple[int, int]
) -> None:
    clean = [[0.1, True], [3, 0.25], [7.5, -2], [False, 10**30]]
    rows = [list(row) for row in clean]
    rows[place[0]][place[1]] = entry
    expected = np.array(clean, dtype=np.float64)
    expected[place[0]] = np.nan
    table = np.empty((4, 2), dtype=object)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            table[i, j] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (rows, tuple(rows), table, pd.DataFrame(table)):
            np.testing.assert_array_equal(read_table(given), expected)


def test_a_word_does_not_make_words_of_other_entries() -> None:
    # np.asarray would make "True" of True, which is no number.
    np.testing.assert_array_equal(
        read_table([[True, 1.5], ["x", 2.0]]), [[1.0, 1.5], [np.nan, np.nan]]
    )
    np.testing.assert_array_equal(read_signs([0, 1, "x", 1.0, True], (0, 1)), [-1, 1, 0, 1, 1])


def test_long_tables_are_read_like_short_ones() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3000, 2))
    table = values.astype(object)
    table[1500, 1] = "secret"
    values[1500] = np.nan
    np.testing.assert_array_equal(read_table(table), values)
    words = np.where(np.isnan(values), "secret", values.astype(str))
    np.testing.assert_array_equal(read_table(words), values)
    assert np.isnan(read_table(np.where(np.isnan(values), 1j, values))[1500]).all()


def test_rows_of_another_length_cannot_be_read_where_the_length_is_known() -> None:
    rows = [[1.0, 2.0], [3.0], None, "ab", [4.0, 5.0]]
    nan = [np.nan, np.nan]
    np.testing.assert_array_equal(read_table(rows, 2), [[1, 2], nan, nan, nan, [4, 5]])
    with pytest.raises(ValueError, match="same, public, number of entries"):
        read_table(rows)
    with pytest.raises(ValueError, match="2 features, not 3"):
        read_table(np.zeros((4, 2)), 3)
    with pytest.raises(ValueError, match="non-empty table"):
        read_table(np.zeros(3))


def test_labels_keep_their_types_and_codes_go_by_equality() -> None:
    labels = [1, 1.0, "1", None, np.nan, "a", "a\0", [1], pd.NA, 10**400, True, 1j, np.inf]
    assert read_labels(labels)[2] == "1"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = read_codes(labels)
    np.testing.assert_array_equal(codes, [0, 0, 1, -1, -1, 2, 3, -1, -1, 4, 0, -1, -1])
    np.testing.assert_array_equal(read_codes(np.array([2.5, np.nan, 1.0, 2.5])), [1, -1, 0, 1])
    np.testing.assert_array_equal(read_codes(np.array(["b", "a"])), [1, 0])
    dates = np.array(["2020-01-01", "NaT"], dtype="M8[D]")
    np.testing.assert_array_equal(read_codes(dates), [0, -1])
    with pytest.raises(ValueError, match="one label per record"):
        read_labels(np.zeros((2, 2)))


def test_signs_are_zero_for_labels_of_no_class() -> None:
    np.testing.assert_array_equal(
        read_signs([1, -1, 0, 2, np.nan, None, "x", "1", 10**400]), [1, -1, 0, 0, 0, 0, 0, 1, 0]
    )
    classes = ("no", "yes")
    given = ["yes", "no", "maybe", 1, None, np.array([1, 2])]
    np.testing.assert_array_equal(read_signs(given, classes), [1, -1, 0, 0, 0, 0])
    np.testing.assert_array_equal(read_signs(np.array(["yes", "x"]), classes), [1, 0])
    np.testing.assert_array_equal(read_signs(pd.Series([3, pd.NA, 5]), (3, 5)), [-1, 0, 1])


def test_the_rule_is_one_of_two_words() -> None:
    assert uses_null_records("null")
    assert not uses_null_records("error")
    for wrong in ("drop", None, True, np.array(["null", "error"])):
        with pytest.raises(ValueError, match='"error" or "null"'):
            uses_null_records(wrong)
