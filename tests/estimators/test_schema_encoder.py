"""SchemaEncoder: tables of several libraries, their columns, and the interface of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import pairdp
from pairdp import PrivateRanker, Schema, SchemaEncoder
from tests.estimators.patients import SCHEMA, changed, table

TABLE = table(40)
ROWS = SchemaEncoder(SCHEMA).transform(TABLE)


def with_types(pandas: Any) -> Any:
    """Return the table as pandas reads it: numbers, texts, missing cells."""
    frame = pandas.DataFrame(TABLE)
    frame["age"] = frame["age"].astype(int)
    frame["systolic"] = pandas.to_numeric(frame["systolic"], errors="coerce")
    return frame


def test_rows_do_not_depend_on_the_library() -> None:
    pandas = pytest.importorskip("pandas")
    frame = with_types(pandas)
    tables = [
        pandas.DataFrame(TABLE),
        frame,
        frame.convert_dtypes(),
        frame.astype({"sex": "category", "ward": "category", "systolic": "Float64"}),
        frame[frame.columns[::-1]],
        frame.to_records(index=False),
        frame.to_dict("records"),
        {name: np.array(column) for name, column in TABLE.items()},
    ]
    for given in tables:
        np.testing.assert_array_equal(SchemaEncoder(SCHEMA).transform(given), ROWS)


def test_tables_of_pyarrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    found = pyarrow.Table.from_pandas(with_types(pandas))
    encoder = SchemaEncoder(SCHEMA)
    np.testing.assert_array_equal(encoder.transform(found), ROWS)
    np.testing.assert_array_equal(encoder.transform(pyarrow.table(TABLE)), ROWS)
    np.testing.assert_array_equal(encoder.transform(found.to_batches()[0]), ROWS)
    coded = found.drop_columns(["sex"])
    coded = coded.append_column("sex", found.column("sex").dictionary_encode())
    np.testing.assert_array_equal(encoder.transform(coded), ROWS)


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(SchemaEncoder(SCHEMA).transform(polars.DataFrame(TABLE)), ROWS)


@pytest.mark.parametrize("dtype", ["Int64", "Int128", "Float32"])
def test_a_missing_cell_changes_no_other_in_polars(dtype: str) -> None:
    polars = pytest.importorskip("polars")
    kind = getattr(polars, dtype)
    encoder = SchemaEncoder({"stage": {"categories": ["1", "2", "late"], "missing": "indicator"}})
    full = polars.DataFrame({"stage": polars.Series([1, 2, 2]).cast(kind)})
    gap = polars.DataFrame({"stage": polars.Series([1, 2, None]).cast(kind)})
    np.testing.assert_array_equal(encoder.transform(full)[:2], encoder.transform(gap)[:2])


def test_a_missing_cell_changes_no_other_in_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    code = 2**53 + 1  # not a float
    encoder = SchemaEncoder({"code": {"categories": [str(code), "new"], "missing": "indicator"}})
    for cells in ([code, code], [code, None]):
        frame = pandas.DataFrame({"code": pandas.array(cells, dtype="Int64")})
        assert encoder.transform(frame)[0].tolist() == [1.0, 0.0, 0.0]


def test_dates_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    schema = {"day": {"date": ["2023-01-01", "2023-01-11"], "missing": "indicator"}}
    texts = ["2023-01-06", "", "2022-01-01"]
    days = pandas.to_datetime(pandas.Series(["2023-01-06", None, "2022-01-01"]))
    expected = SchemaEncoder(schema).transform({"day": texts})
    odd = days + pandas.Timedelta(1, "ns")
    for column in (days, days.dt.tz_localize("UTC"), days.astype(object), odd):
        frame = pandas.DataFrame({"day": column})
        np.testing.assert_array_equal(SchemaEncoder(schema).transform(frame), expected)
    pyarrow = pytest.importorskip("pyarrow")
    for column in (days, odd, odd.dt.tz_localize("UTC"), days.dt.date):
        given = pyarrow.Table.from_pandas(pandas.DataFrame({"day": column}))
        np.testing.assert_array_equal(SchemaEncoder(schema).transform(given), expected)


def test_a_misspelt_column_is_answered_with_a_similar_one() -> None:
    with pytest.raises(ValueError, match=r"lacks the column 'systolc'.*mean 'systolic'"):
        SchemaEncoder({"systolc": [60, 260]}).transform(TABLE)
    ranker = PrivateRanker(schema=SCHEMA, unit="patientid", max_records=3)
    with pytest.raises(ValueError, match="did you mean 'patient_id'"):
        ranker.fit(TABLE)


def test_other_columns_are_ignored_or_refused_as_the_schema_says() -> None:
    refusing = SchemaEncoder({**SCHEMA, "$extra": "refuse"})
    with pytest.raises(ValueError, match="does not name: extra, stay"):
        refusing.transform(TABLE)
    known = {name: TABLE[name] for name in TABLE if name in SCHEMA}
    np.testing.assert_array_equal(refusing.transform(known), ROWS)


def test_a_table_without_a_column_is_refused() -> None:
    lacking = {name: column for name, column in TABLE.items() if name not in ("age", "died")}
    with pytest.raises(ValueError, match="lacks the column 'age' of the schema; it has ward"):
        SchemaEncoder(SCHEMA).transform(lacking)


def test_the_label_and_the_identifier_may_be_absent() -> None:
    fewer = {name: TABLE[name] for name in Schema.of(SCHEMA).features}
    np.testing.assert_array_equal(SchemaEncoder(SCHEMA).transform(fewer), ROWS)


def test_a_column_that_is_there_twice_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE)
    twice = pandas.concat([frame, frame[["age"]]], axis=1)
    with pytest.raises(ValueError, match="has the column 'age' twice"):
        SchemaEncoder(SCHEMA).transform(twice)
    others = pandas.concat([frame, frame[["extra"]]], axis=1)
    np.testing.assert_array_equal(SchemaEncoder(SCHEMA).transform(others), ROWS)


@pytest.mark.parametrize("given", [np.eye(3), [[1, 2]], "text", 3, [], None])
def test_tables_without_names_are_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="a schema needs a table with named columns"):
        SchemaEncoder(SCHEMA).transform(given)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one cell for each record"):
        SchemaEncoder(SCHEMA).transform({**TABLE, "sex": ["F"]})


def test_records_without_a_cell_have_it_missing() -> None:
    """Which keys a record has must not change how others are read, nor raise an error."""
    records: list[Any] = [{"age": 1, "sex": "F", "ward": "ICU"}, {"age": 2, "odd": 1}, 7]
    schema = {**SCHEMA, "$extra": "refuse"}
    rows = SchemaEncoder(schema, invalid="null").transform(records)
    assert np.isnan(rows[:, 0]).tolist() == [False, True, True]


def test_masked_cells_are_missing() -> None:
    column = np.ma.masked_array([1, 2], mask=[True, False])
    rows = SchemaEncoder({"x": {"range": [1, 2], "missing": "indicator"}}).transform({"x": column})
    np.testing.assert_array_equal(rows, [[0, 1], [1, 0]])


def test_it_is_a_stateless_transformer() -> None:
    encoder = SchemaEncoder(SCHEMA)
    assert not encoder.__sklearn_tags__().requires_fit
    names = encoder.get_feature_names_out()
    assert names.tolist() == list(Schema.of(SCHEMA).feature_names_out)
    fitted = clone(encoder).fit(TABLE)
    assert fitted.n_features_in_ == 4
    np.testing.assert_array_equal(fitted.transform(TABLE), ROWS)
    with pytest.raises(ValueError, match="needs a schema"):
        SchemaEncoder().fit(TABLE)
    pandas = pytest.importorskip("pandas")
    frame = encoder.set_output(transform="pandas").transform(pandas.DataFrame(TABLE))
    assert frame.columns.tolist() == names.tolist()


def test_null_records_of_a_pipeline() -> None:
    bad = changed(TABLE, "sex", 3, "?")
    private = PrivateRanker(50.0, data_norm=1.0, classes=("no", "yes"), invalid="null")
    model = make_pipeline(SchemaEncoder(SCHEMA, invalid="null"), private)
    model.fit(bad, bad["died"])
    assert np.isnan(model[0].transform(bad)).all(axis=1).sum() == 1


def test_it_is_stored_in_model_files(tmp_path: Path) -> None:
    private = PrivateRanker(50.0, data_norm=1.0, random_state=0)
    model = make_pipeline(SchemaEncoder(SCHEMA), private).fit(TABLE, TABLE["died"])
    pairdp.save(model, tmp_path / "model")
    loaded = pairdp.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(TABLE), model.decision_function(TABLE))
    assert loaded[0].schema == Schema.of(SCHEMA)
