"""Parquet tables as people have them, and errors that quote no value."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pairdp.tables import Table, TableError, open_table
from tests.tables.small_tables import PLAIN, read


def parquet_table(tmp_path: Path, **columns: Any) -> Table:
    parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
    return open_table(tmp_path / "data.parquet")


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (pa.array([1.5, -2.0]), [1.5, -2.0]),
        (pa.array([1.5, 0.1], pa.float32()), [1.5, float(np.float32(0.1))]),
        (pa.array([1, 2**53], pa.int64()), [1.0, 2.0**53]),
        (pa.array([1, 255], pa.uint8()), [1.0, 255.0]),
        (pa.array([True, False]), [1.0, 0.0]),
        (pa.array([5, 1]).cast(pa.decimal128(25, 2)), [5.0, 1.0]),
        (pa.array([5.0, 1.0]).dictionary_encode(), [5.0, 1.0]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_parquet_numbers_of_any_kind(tmp_path: Path, values: Any, numbers: list[float]) -> None:
    table = parquet_table(tmp_path, x=values, other=["a", "b"])
    assert table.columns == ("x", "other")
    assert read(table, ["x"], size=1)[0] == [[number] for number in numbers]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pa.array([1, 0]), (0, 1)),
        (pa.array([1, 0], pa.uint8()), (0, 1)),
        (pa.array([1.0, 0.0]), (0.0, 1.0)),
        (pa.array([0.1, 0.9], pa.float32()), tuple(map(float, np.float32([0.1, 0.9])))),
        (pa.array([True, False]), (False, True)),
        (pa.array(["yes", "no"]), ("no", "yes")),
        (pa.array(["yes", "no"], pa.large_string()), ("no", "yes")),
        (pa.array(["yes", "no"]).dictionary_encode(), ("no", "yes")),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_parquet_labels(tmp_path: Path, values: Any, labels: tuple[Any, ...]) -> None:
    table = parquet_table(tmp_path, x=[1.0, 2.0], label=values)
    assert table.count("label") == (2, labels)
    assert list(map(type, table.count("label")[1])) == list(map(type, labels))
    # Labels are told apart by their text: it must be the same here and there.
    batches = list(table.batches(["x"], "label", 1))
    found = {text for batch in batches for text in batch.labels.astype(str).tolist()}
    assert found == set(map(str, labels))


STAMP = pa.array([5317, 1], pa.timestamp("ms"))
BAD_PARQUET: dict[str, tuple[dict[str, Any], str]] = {
    "null": ({"x": [1.0, None]}, "missing values in column 'x'"),
    "null integer": ({"x": pa.array([5317, None])}, "missing values in column 'x'"),
    "NaN": ({"x": [5317.0, float("nan")]}, "NaN or infinity"),
    "infinity": ({"x": [5317.0, float("inf")]}, "NaN or infinity"),
    "text": ({"x": ["5317 kg", "2"]}, "no numbers in column 'x'"),
    "lists": ({"x": [[5317], [1, 2]]}, "no numbers in column 'x'"),
    "structures": ({"x": [{"a": 5317}, {"a": 1}]}, "no numbers in column 'x'"),
    "dates": ({"x": STAMP}, "no numbers in column 'x'"),
    "null label": ({"label": ["5317", None]}, "missing values in column 'label'"),
    "NaN label": ({"label": [5317.0, float("nan")]}, "NaN or infinity in the labels 'label'"),
    "date label": ({"label": STAMP}, "labels 'label' that are neither numbers nor text"),
    "bytes label": ({"label": [b"5317", b"b"]}, "neither numbers nor text"),
    "list label": ({"label": [[5317], [1]]}, "neither numbers nor text"),
}


@pytest.mark.parametrize("kind", BAD_PARQUET)
def test_bad_parquet_columns_are_refused_without_quoting_a_value(tmp_path: Path, kind: str) -> None:
    columns, reason = BAD_PARQUET[kind]
    table = parquet_table(tmp_path, **{"x": [1.0, 2.0], "label": [0, 1], **columns})
    with pytest.raises(TableError, match=reason) as error:
        read(table, ["x"], "label")
    assert "5317" not in str(error.value)
    if "label" in columns:
        with pytest.raises(TableError, match=reason):
            table.count("label")


DECIMAL = pa.array([0, 1]).cast(pa.decimal128(20, 0))


@pytest.mark.parametrize(
    "labels", [STAMP, DECIMAL, [b"a", b"b"], [[1], [2]], pa.array([b"a", b"b"]).dictionary_encode()]
)
def test_a_parquet_column_of_no_labels_is_refused_by_its_type(tmp_path: Path, labels: Any) -> None:
    # With null records in the place of all others, a fit would spend its budget on nothing.
    table = parquet_table(tmp_path, x=[1.0, 2.0], label=labels)
    with pytest.raises(TableError, match="labels 'label' that are neither numbers nor text"):
        table.count("label", invalid="null")
    with pytest.raises(TableError, match="labels 'label' that are neither numbers nor text"):
        list(table.batches(["x"], "label", invalid="null"))


@pytest.mark.parametrize("kind", [pa.null(), pa.int8(), pa.float32(), pa.bool_(), pa.string()])
def test_missing_labels_of_a_parquet_column_are_no_reason_to_refuse_it(
    tmp_path: Path, kind: Any
) -> None:
    table = parquet_table(tmp_path, x=[1.0, 2.0], label=pa.array([None, None], kind))
    assert table.count("label", invalid="null") == (2, ())


def test_parquet_columns_twice_are_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    parquet.write_table(twice, tmp_path / "data.parquet")
    table = open_table(tmp_path / "data.parquet")
    with pytest.raises(TableError, match="has the column 'x' twice"):
        read(table, ["x"])
    with pytest.raises(TableError, match="has the column 'x' twice"):
        list(table.cells(["x"]))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 5, PLAIN.encode()])
def test_other_files_are_not_read_as_parquet(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.parquet").write_bytes(content)
    with pytest.raises(TableError, match="not a readable Parquet file"):
        open_table(tmp_path / "data.parquet")


def test_damaged_parquet_pages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    columns = pa.table({"x": np.random.default_rng(0).normal(size=5000)})
    parquet.write_table(columns, path, compression="snappy", write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    with pytest.raises(TableError, match="cannot be read: it is damaged"):
        read(open_table(path), ["x"], size=5000)


def test_parquet_rows_come_in_order_across_row_groups(tmp_path: Path) -> None:
    columns = pa.table({"x": np.arange(100.0), "a.b": np.arange(100.0) + 1, "y": ["n"] * 100})
    parquet.write_table(columns, tmp_path / "data.pq", row_group_size=7)
    table = open_table(tmp_path / "data.pq")
    rows, labels = read(table, ["a.b", "x"], "y", size=30)
    assert rows == [[i + 1.0, float(i)] for i in range(100)]
    assert labels == ["n"] * 100
    assert table.count("y") == (100, ("n",))


def test_an_empty_parquet_table_has_no_rows(tmp_path: Path) -> None:
    table = parquet_table(tmp_path, x=pa.array([], pa.float64()), y=pa.array([], pa.int64()))
    assert table.count("y") == (0, ())
    assert read(table, ["x"], "y") == ([], [])


def test_without_pyarrow_the_error_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet_table(tmp_path, x=[1.0])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match="pip install"):
        open_table(tmp_path / "data.parquet")
