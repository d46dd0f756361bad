"""Encoded rows: what each cell becomes, and that rows stay in the unit ball."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.schema import Schema
from pairdp.schema.encoding import CellCounts

PATIENTS: dict[str, Any] = {
    "patient_id": "id",
    "age": [0, 120],
    "sex": ["F", "M"],
    "systolic": {"range": [60, 260], "missing": "indicator"},
    "crp": {"range": [0.1, 500], "scale": "log", "missing": 5.0},
    "ward": {"categories": ["ICU", "Surgery", "Medicine, general"], "other": True},
    "admitted": {"date": ["2023-01-01", "2025-01-01"], "parts": ["month", "weekday"]},
    "smoker": {"flag": None, "missing": "indicator", "weight": 2},
    "remarks": "ignore",
    "died": {"label": ["no", "yes"]},
}


def one(form: Any, *cells: Any, **options: Any) -> np.ndarray:
    """Return the encoded cells of a schema with one column."""
    schema = Schema.of({"x": form, **{f"${key}": value for key, value in options.items()}})
    return schema.encode({"x": list(cells)}, len(cells), invalid="null")


def test_numbers_are_mapped_from_their_range_to_the_unit_interval() -> None:
    cells = [0, "60", "120", 120.0, "-5", 1e9, True]
    expected = [-1, 0, 1, 1, -1, 1, 1 / 60 - 1]
    np.testing.assert_allclose(one([0, 120], *cells)[:, 0], expected)


def test_log_scale() -> None:
    values = one({"range": [0.1, 1000], "scale": "log"}, 0.1, 10, "1000", 0, -3)[:, 0]
    np.testing.assert_allclose(values, [-1, 0, 1, -1, -1], atol=1e-15)


def test_cells_that_are_no_numbers_make_null_records() -> None:
    cells = ["x", "inf", float("inf"), object(), [1, 2], 1 + 2j, datetime.date(2020, 1, 1), "1,5"]
    assert np.isnan(one([0, 1], *cells)).all()
    assert np.isnan(one({"range": [0, 9], "integer": True}, 1.5, "2.5")).all()
    assert not np.isnan(one({"range": [0, 9], "integer": True}, 1.0, "2", 3)).any()


@pytest.mark.parametrize("cell", [None, "", "  ", math.nan, "nan", np.datetime64("NaT")])
def test_missing_cells(cell: object) -> None:
    np.testing.assert_array_equal(
        one({"range": [0, 2], "missing": "indicator"}, cell, 2), [[0, 1], [1, 0]]
    )
    np.testing.assert_array_equal(one({"range": [0, 2], "missing": 1}, cell, 0), [[0], [-1]])
    assert np.isnan(one({"range": [0, 2], "missing": "null"}, cell)).all()
    assert np.isnan(one([0, 2], cell)).all()


def test_pandas_missing_values_are_missing() -> None:
    pandas = pytest.importorskip("pandas")
    for cell in (pandas.NA, pandas.NaT):
        for form in ([0, 2], ["a"], {"date": ["2020-01-01", "2021-01-01"]}, "flag"):
            column = pandas.Series([cell], dtype=object)
            schema = Schema.of({"x": form})
            assert schema.outside({"x": column})["x"] == CellCounts(1, 1, 0, 0)


def test_further_missing_values() -> None:
    form = {"range": [-100, 100], "missing": "indicator", "missing_values": [-9, "unknown"]}
    np.testing.assert_array_equal(one(form, -9, "-9.0", " unknown", 100)[:, 1], [1, 1, 1, 0])
    np.testing.assert_array_equal(
        one({"categories": ["a"], "missing": "indicator"}, "?", "a", missing_values=["?"]),
        [[0, 1], [1, 0]],
    )


def test_categories() -> None:
    np.testing.assert_array_equal(one(["F", "M"], "F", " M "), np.eye(2))
    assert np.isnan(one(["F", "M"], "f", None, 3)).all()
    other = {"categories": ["a", "b"], "other": True}
    np.testing.assert_array_equal(one(other, "c", "b", None)[:, 2], [1, 0, 1])
    to_b = {"categories": ["a", "b"], "other": "b"}
    np.testing.assert_array_equal(one(to_b, "c", "a", None), [[0, 1], [1, 0], [0, 1]])
    fixed = {"categories": ["a", "b"], "missing": "a"}
    np.testing.assert_array_equal(one(fixed, "", "b"), np.eye(2))


def test_categories_that_are_numbers_match_equal_numbers() -> None:
    np.testing.assert_array_equal(
        one({"categories": [1, 2]}, "1", 1, 1.0, "1e0", True)[:, 0], np.ones(5)
    )
    assert np.isnan(one(["01", "02"], 1, "1")).all()
    np.testing.assert_array_equal(one(["1", "A"], 1.0, 1, "1", "A")[:, 0], [1, 1, 1, 0])


def test_flags() -> None:
    cells = [True, "yes", "Y", 1, 1.0, "TRUE", np.True_, False, "no", 0, "0", "f"]
    np.testing.assert_array_equal(one("flag", *cells)[:, 0], [1] * 7 + [-1] * 5)
    np.testing.assert_array_equal(one({"flag": ["nein", "ja"]}, "ja", "nein")[:, 0], [1, -1])
    assert np.isnan(one({"flag": ["nein", "ja"]}, "yes")).all()
    assert np.isnan(one("flag", "maybe", 2)).all()


def test_dates() -> None:
    form = {"date": ["2023-01-01", "2023-01-11"]}
    cells = [
        "2023-01-01", "2023-01-06T23:59", datetime.date(2023, 1, 11), np.datetime64("2023-01-06"),
        datetime.datetime(2030, 1, 1), "1999-01-01", "2023-01-06T01:00+02:00",
    ]  # fmt: skip
    np.testing.assert_allclose(one(form, *cells)[:, 0], [-1, 0, 1, 0, 1, -1, -0.2])
    assert np.isnan(one(form, "2023-02-30", "6.1.2023", 3)).all()
    np.testing.assert_allclose(one({**form, "format": "%d.%m.%Y"}, "6.1.2023"), [[0.0]])
    monthly = {"date": ["2023-01-01", "2023-03-01"], "unit": "month"}
    np.testing.assert_allclose(one(monthly, "2023-02-28")[0], [0.0])


def test_parts_of_dates() -> None:
    form = {"date": ["2023-01-01", "2025-01-01"], "parts": ["month", "weekday"]}
    schema = Schema.of({"x": form})
    row = schema.encode({"x": ["2024-02-29"]}, 1)[0]
    named = {
        name for name, value in zip(schema.feature_names_out[1:], row[1:], strict=True) if value
    }
    assert named == {"x (month=2)", "x (weekday=Thursday)"}
    assert np.linalg.norm(row) <= 1


def test_weights_are_shares_of_the_norm() -> None:
    schema = Schema.of({"a": [-1, 1], "b": {"range": [-1, 1], "weight": 3}})
    row = schema.encode({"a": [1], "b": [1]}, 1)[0]
    np.testing.assert_allclose(row, [1 / math.sqrt(10), 3 / math.sqrt(10)])


def test_sparse_flags_share_the_norm_of_their_public_count() -> None:
    flags = {f"word{i}": "flag" for i in range(100)}
    schema = Schema.of({**flags, "$sparse": 4})
    cells = {name: [i < 4, i < 1, True] for i, name in enumerate(flags)}
    rows = schema.encode(cells, 3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0.5, 1])
    assert set(rows[1]) == {0.0, 0.5}


def test_errors_name_the_row_and_the_column_but_quote_no_value() -> None:
    schema = Schema.of(PATIENTS)
    cells = {name: ["1"] * 3 for name in schema.features} | {"sex": ["F", "secret", "M"]}
    with pytest.raises(ValueError, match="'sex' in row 11") as caught:
        schema.encode(cells, 3, start=10)
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match='add "missing"'):
        schema.encode(cells | {"sex": ["F", None, "M"]}, 3)


def test_where_the_schema_says_null_a_missing_cell_is_no_error() -> None:
    schema = Schema.of({"x": {"range": [0, 1], "missing": "null"}})
    rows = schema.encode({"x": [None, "1"]}, 2, invalid="error")
    np.testing.assert_array_equal(rows[:, 0], [np.nan, 1])


def test_labels() -> None:
    schema = Schema.of({"x": [0, 1], "y": {"label": ["yes", "no"]}})
    np.testing.assert_array_equal(
        schema.encode_label(["no ", "yes", None, "?", 1]), [1, -1, np.nan, np.nan, np.nan]
    )
    with pytest.raises(ValueError, match="'y' in row 2"):
        schema.encode_label(["no", "yes", "?"], invalid="error")
    grades = Schema.of({"x": [0, 1], "y": {"label": ["a", "b", "c"]}})
    np.testing.assert_array_equal(grades.encode_label(["c", "a"]), [2, 0])
    target = Schema.of({"x": [0, 1], "y": {"target": [0, 10]}})
    np.testing.assert_array_equal(target.encode_label(["11", 5, "x"]), [10, 5, np.nan])


def test_counts_of_cells() -> None:
    schema = Schema.of(PATIENTS)
    cells = {"age": ["", "130", "x", 5], "died": ["yes", "YES", None, "no"], "remarks": ["x"] * 4}
    found = schema.outside(cells)
    assert found == {"age": CellCounts(4, 1, 1, 1), "died": CellCounts(4, 1, 0, 1)}


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6),
    st.binary(max_size=3), st.dates(), st.datetimes(), st.just(np.datetime64("NaT")), st.decimals(),
    st.sampled_from(["F", "M", "ICU", "60", "1e3", "yes", "2024-02-29", 10**400, "1_0", [1], {}]),
)  # fmt: skip
SCHEMAS = (
    Schema.of(PATIENTS),
    Schema.of(PATIENTS | {"$sparse": 1, "a": "flag", "b": {"flag": [0, 1], "weight": 0.5}}),
)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_row_is_in_the_unit_ball_and_depends_on_its_own_cells_alone(data: Any) -> None:
    schema = data.draw(st.sampled_from(SCHEMAS))
    n = 3
    cells = {name: data.draw(st.lists(CELLS, min_size=n, max_size=n)) for name in schema.features}
    rows = schema.encode(cells, n, invalid="null")
    readable = rows[~np.isnan(rows[:, 0])]
    assert np.all(np.linalg.norm(readable, axis=1) <= 1 + 1e-12)
    assert np.array_equal(np.isnan(rows).any(axis=1), np.isnan(rows).all(axis=1))
    alone = [
        schema.encode({name: [cells[name][i]] for name in cells}, 1, invalid="null")[0]
        for i in range(n)
    ]
    np.testing.assert_array_equal(rows, alone)


def test_the_bound_on_the_norm_is_attained() -> None:
    """The share of each column could not be larger."""
    schema = Schema.of(PATIENTS)
    cells = {
        "age": [120], "sex": ["F"], "systolic": [None], "crp": [500], "ward": ["x"],
        "admitted": ["2025-01-01"], "smoker": [None],
    }  # fmt: skip
    assert np.linalg.norm(schema.encode(cells, 1)) > 1 - 1e-12
