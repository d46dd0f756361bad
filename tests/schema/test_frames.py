"""DataFrames of pandas, polars and pyarrow are encoded as their cells are, one by one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairdp._coded_cells import DistinctCells
from pairdp.schema import Schema, columns_of

SCHEMA = Schema.of(
    {
        "age": {"range": [0, 100], "missing": "indicator", "missing_values": [-9]},
        "ward": {"categories": ["ICU", "Medicine"], "other": True, "missing": "indicator"},
        "code": {"categories": [1, 2, 3], "missing": 1, "other": 2},
        "day": {"date": ["2020-01-01", "2024-12-31"], "parts": ["month"], "missing": "indicator"},
        "smoker": {"flag": None, "missing": "indicator"},
        "died": {"label": [0, 1], "missing": "null"},
    }
)
CELLS: dict[str, list[Any]] = {
    "age": [1.5, None, -9.0, 250.0, 7.0],
    "ward": ["ICU", " Medicine ", None, "", "x\0"],
    "code": [1, None, 3, 2, 9],
    "day": [dt.date(2021, 3, 4), None, dt.date(1999, 1, 1), dt.date(2024, 2, 29), None],
    "smoker": [True, None, False, True, True],
    "died": [0, 1, None, 1, 0],
}


class Exported:
    """A table with nothing but the Arrow PyCapsule interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


ARROW = pa.table(CELLS)
CATEGORIES = ARROW.set_column(1, "ward", ARROW["ward"].dictionary_encode())
FRAMES: dict[str, Any] = {
    "pyarrow": ARROW,
    "pyarrow in chunks": pa.concat_tables([ARROW.slice(0, 2), ARROW.slice(2)]),
    "pyarrow, categories": pa.concat_tables([CATEGORIES.slice(0, 2), CATEGORIES.slice(2)]),
    "polars": pl.DataFrame(CELLS),
    "polars, categories": pl.DataFrame(CELLS).cast({"ward": pl.Categorical}),
    "pandas": pd.DataFrame(CELLS),
    "pandas, own types": pd.DataFrame(CELLS).convert_dtypes(),
    "pandas, categories": pd.DataFrame(CELLS).astype({"ward": "category", "code": "category"}),
    "pandas of pyarrow": ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "narwhals": nw.from_native(pl.DataFrame(CELLS)),
    "record batch": ARROW.to_batches()[0],
    "only exported": Exported(ARROW),
    "no pyarrow": None,
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_encoded_as_its_cells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = FRAMES[name]
    if name == "no pyarrow":
        monkeypatch.setattr("pairdp.schema.frames.has_pyarrow", lambda: False)
        frame = FRAMES["polars, categories"]
    expected = SCHEMA.encode(CELLS, 5)
    columns, n = columns_of(frame, [*SCHEMA.features, "died"])
    assert n == 5
    np.testing.assert_array_equal(SCHEMA.encode(columns, n), expected)
    np.testing.assert_array_equal(
        SCHEMA.encode_label(columns["died"]), SCHEMA.encode_label(CELLS["died"])
    )
    assert SCHEMA.outside(columns) == SCHEMA.outside(CELLS)
    for row in range(5):  # a record alone is read as among others
        alone = {key: column[row : row + 1] for key, column in columns.items()}
        np.testing.assert_array_equal(SCHEMA.encode(alone, 1), expected[row : row + 1])


LARGE = [2**62, 2**62 + 1, 7, -3]


@pytest.mark.parametrize("missing", [False, True])
def test_integers_are_not_rounded_where_one_is_missing(missing: bool) -> None:
    schema = Schema.of({"code": {"categories": [str(number) for number in LARGE], "other": True}})
    cells = [*LARGE, None if missing else 1]
    arrow = pa.table({"code": pa.array(cells, pa.int64())})
    frames = {
        "pyarrow": arrow,
        "polars": pl.DataFrame({"code": pl.Series(cells, dtype=pl.Int64)}),
        "pandas": pd.DataFrame({"code": pd.array(cells, "Int64")}),
        "only exported": Exported(arrow),
    }
    for name, frame in frames.items():
        columns, n = columns_of(frame, ["code"])
        found = schema.encode(columns, n)
        assert np.argmax(found[:4], axis=1).tolist() == [0, 1, 2, 3], name


def test_a_number_is_read_without_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [1, 2, None, 4]
    table = pa.table({"a": pa.array(values), "b": pa.array(values, pa.float32())})
    schema = Schema.of({name: {"range": [0, 5], "missing": "indicator"} for name in "ab"})
    expected = schema.encode({"a": values, "b": values}, 4)
    monkeypatch.setattr("pairdp.schema.frames._objects", None)
    columns, n = columns_of(Exported(table), "ab")
    np.testing.assert_array_equal(schema.encode(columns, n), expected)


def test_a_lazy_frame_is_to_be_collected() -> None:
    with pytest.raises(ValueError, match="collect"):
        columns_of(pl.DataFrame(CELLS).lazy(), ["age"])


def test_errors_of_an_export_quote_no_cell() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError("the cell 'secret' is wrong")

    with pytest.raises(ValueError, match="type Broken cannot be read") as found:
        columns_of(Broken(), ["age"])
    assert "secret" not in str(found.value)
    assert found.value.__suppress_context__


NUMBERS = np.linspace(0.0, 1.0, 1000)
WARDS = ["ICU", "Surgery"] * 500


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": NUMBERS, "ward": pd.Categorical(WARDS)}),
        pd.DataFrame({"x": NUMBERS, "ward": WARDS}).convert_dtypes(dtype_backend="pyarrow"),
        pd.DataFrame({"x": pd.array(NUMBERS, "Float64"), "ward": pd.Categorical(WARDS)}),
        pl.DataFrame({"x": NUMBERS, "ward": WARDS}),
        pa.table({"x": NUMBERS, "ward": WARDS}),
    ],
    ids=["pandas", "pandas of pyarrow", "pandas Float64", "polars", "pyarrow"],
)
def test_columns_of_frames_do_not_become_python_objects(frame: Any) -> None:
    found, n = columns_of(frame, ["x", "ward"])
    assert n == 1000
    numbers, wards = found["x"], found["ward"]
    assert isinstance(numbers, np.ndarray)
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, NUMBERS)
    assert isinstance(wards, DistinctCells)
    assert len(wards.distinct) <= 3  # with that of missing cells


def test_numbers_of_arrow_are_not_copied() -> None:
    column = pa.array(NUMBERS)
    held = np.frombuffer(column.buffers()[1])
    assert np.shares_memory(columns_of(pa.table({"x": column}), ["x"])[0]["x"], held)
    frame = pl.DataFrame({"x": NUMBERS})
    assert np.shares_memory(columns_of(frame, ["x"])[0]["x"], frame["x"].to_numpy())
