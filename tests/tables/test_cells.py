"""Cells of tables as they are: text of CSV files, and values of Parquet files."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pairdp.tables import Table, TableError, TextFormat, open_table
from tests.tables.small_tables import csv_table

MESSY = (
    'age,sex,ward,crp,remarks\n 41 ,F,"Medicine, general",1.5,"says ""no"""\n'
    ",M,ICU,,\n1e2,?,Chirurgie für alle,-3,x\n"
)
AGES, WARDS = ["41", None, "1e2"], ["Medicine, general", "ICU", "Chirurgie für alle"]


def cells(table: Table, *names: str, size: int = 2, **options: Any) -> dict[str, list[Any]]:
    """Return the cells of all rows, read in small batches."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in table.cells(names, size, **options):
        assert list(batch.columns) == list(names)
        assert 0 < batch.rows <= size
        for name, column in batch.columns.items():
            assert column.dtype == object
            assert len(column) == batch.rows
            found[name] += column.tolist()
    return found


FORMS: dict[str, tuple[bytes, TextFormat]] = {
    "utf-8": (MESSY.encode(), TextFormat()),
    "byte order mark": (MESSY.encode("utf-8-sig"), TextFormat(encoding="UTF-8")),
    "latin-1": (MESSY.encode("latin-1"), TextFormat(encoding="latin-1")),
    "windows": (MESSY.replace("\n", "\r\n").encode("cp1252"), TextFormat(encoding="cp1252")),
    "utf-16": (MESSY.encode("utf-16"), TextFormat(encoding="utf-16")),
    "bars": (MESSY.replace(",", "|").replace("Medicine|", "Medicine,").encode(), TextFormat()),
    "other mark": (
        MESSY.replace(",", "~").replace("Medicine~", "Medicine,").encode(),
        TextFormat(separator="~"),
    ),
    "tabs": (
        MESSY.replace(",", "\t").replace("Medicine\t", "Medicine,").encode(),
        TextFormat(separator="tab"),
    ),
}


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
@pytest.mark.parametrize("form", FORMS)
def test_cells_are_the_same_in_every_form(
    tmp_path: Path, form: str, name: str, invalid: str
) -> None:
    content, told = FORMS[form]
    table = csv_table(tmp_path, content, name, told)
    if form == "utf-16" and invalid == "null":
        with pytest.raises(TableError, match="convert the file to UTF-8"):
            list(table.cells(["age"], invalid="null"))
        return
    found = cells(table, "age", "ward", "remarks", invalid=invalid)
    assert found == {"age": AGES, "ward": WARDS, "remarks": ['says "no"', None, "x"]}
    assert cells(table, "crp", invalid=invalid, numbers=["crp"])["crp"] == ["1.5", None, "-3"]
    assert table.count(None)[0] == 3


def test_a_decimal_comma_is_read_in_columns_of_numbers_alone(tmp_path: Path) -> None:
    content = "crp;ward;day\n1,5;a,5;1.5.2023\n-2e1;b.5;\n1.5;;\n1.234,5;;\n,5;;\n"
    (tmp_path / "data.csv").write_text(content)
    table = open_table(tmp_path / "data.csv", TextFormat(decimal=","))
    found = cells(table, "crp", "ward", "day", numbers=["crp"])
    assert found["crp"] == ["1.5", "-2e1", "1,5", "1,234.5", ".5"]
    assert found["ward"][:2] == ["a,5", "b.5"]
    assert found["day"][0] == "1.5.2023"
    for bad in found["crp"][2:4]:  # a point is not a decimal mark here, nor between thousands
        with pytest.raises(ValueError, match="could not convert"):
            float(bad)


def test_a_decimal_comma_in_features_and_responses(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x;y\n1,5;0,5\n-2;1\n")
    table = open_table(tmp_path / "data.csv", TextFormat(decimal=","))
    for invalid in ("error", "null"):
        (batch,) = table.batches(["x"], "y", invalid=invalid)  # type: ignore[arg-type]
        assert batch.features.tolist() == [[1.5], [-2.0]]
        assert batch.labels.tolist() == ["0.5", "1"]
    (tmp_path / "data.csv").write_text("x;y\n1.500;a.b\n2;1.5\n")
    with pytest.raises(TableError, match="not a number in column 'x', record 1"):
        list(table.batches(["x"], None))
    (batch,) = table.batches(["x"], "y", invalid="null")
    assert np.isnan(batch.features[0]).all()
    assert batch.labels.tolist() == ["a.b", "1,5"]


def test_a_file_that_is_not_utf_8_is_refused_with_the_way_out(tmp_path: Path) -> None:
    for content in ("größe\n1\n", "x\nschön\n"):
        (tmp_path / "data.csv").write_bytes(content.encode("latin-1"))
        with pytest.raises(TableError, match="not UTF-8 text: give its encoding, such as --enc"):
            list(open_table(tmp_path / "data.csv").cells([]))
    with pytest.raises(TableError, match="is not ascii text"):
        list(open_table(tmp_path / "data.csv", TextFormat(encoding="ascii")).cells([]))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"encoding": "klingon"}, "'klingon' is not an encoding of text"),
        ({"encoding": "base64"}, "not an encoding of text"),
        ({"encoding": ""}, "not an encoding"),
        ({"separator": ""}, "one character"),
        ({"separator": '"'}, "one character"),
        ({"separator": "::"}, "one character"),
        ({"separator": "\0"}, "one character"),
        ({"decimal": "'"}, "decimal mark must be"),
    ],
)
def test_bad_forms_are_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(TableError, match=reason):
        TextFormat(**options)


@pytest.mark.parametrize("encoding", [None, "u8", "UTF8", "cp65001", "utf-8-sig"])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path, encoding: str | None) -> None:
    (tmp_path / "data.csv").write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert open_table(tmp_path / "data.csv", TextFormat(encoding)).columns == ("a", "b")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "shift_jis"])
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_progress_is_shown_in_bytes_of_the_file(tmp_path: Path, encoding: str, name: str) -> None:
    content = ("x,y\n" + "1,2\n" * 60_000).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    table = open_table(tmp_path / name, TextFormat(encoding))
    told: list[int] = []
    totals: list[int] = []

    @contextmanager
    def shown(total: int) -> Iterator[Callable[[int], object]]:
        totals.append(total)
        yield told.append

    table.show_progress = shown
    assert sum(batch.rows for batch in table.batches(["x"], "y")) == 60_000
    size = (tmp_path / name).stat().st_size
    assert totals == [size]
    assert told == sorted(told)
    assert told[-1] == size


def test_a_form_is_not_for_parquet(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": [1]}), tmp_path / "data.parquet")
    with pytest.raises(TableError, match="is not text"):
        open_table(tmp_path / "data.parquet", TextFormat(decimal=","))


@pytest.mark.parametrize("encoding", [None, "latin-1", "cp1252", "gbk", "shift_jis", "utf-7"])
@pytest.mark.parametrize("bad", [b"\x81", b"\xff", b"\xe2\x82", b"+", b'"', b"1,2,3", b"\x1b$B"])
def test_no_line_changes_how_another_is_read(
    tmp_path: Path, encoding: str | None, bad: bytes
) -> None:
    form = TextFormat(encoding=encoding)
    good = "1,2\n3,a\n4,b\n"
    (tmp_path / "data.csv").write_bytes(b"x,y\n" + good.encode())
    right = cells(open_table(tmp_path / "data.csv", form), "x", "y", invalid="null")
    first, _, *rest = good.encode().splitlines()
    (tmp_path / "data.csv").write_bytes(b"\n".join([b"x,y", first, b"3," + bad, *rest]))
    table = open_table(tmp_path / "data.csv", form)
    assert table.count(None, invalid="null")[0] == 3
    found = cells(table, "x", "y", invalid="null")
    for name in ("x", "y"):
        assert [found[name][0], found[name][2]] == [right[name][0], right[name][2]]


def test_malformed_lines_are_marked(tmp_path: Path) -> None:
    table = csv_table(tmp_path, 'x,y\n1,2\n3\n4,"5\n,\n')
    (batch,) = table.cells(["x"], invalid="null")
    assert batch.unreadable.tolist() == [False, True, True, False]
    assert batch.columns["x"].tolist() == ["1", None, None, None]
    with pytest.raises(TableError, match="not a well-formed CSV"):
        list(table.cells(["x"]))
    with pytest.raises(TableError, match="1 entries in record 2"):
        list(csv_table(tmp_path, "x,y\n1,2\n3\n").cells(["x"]))


def test_names_are_asked_for_or_may_be_twice(tmp_path: Path) -> None:
    table = csv_table(tmp_path, "x,note,note,,\n1,a,b,,\n")
    assert cells(table, "x") == {"x": ["1"]}
    with pytest.raises(TableError, match="has the column 'note' twice"):
        list(table.cells(["x", "note"]))
    with pytest.raises(TableError, match=r"has no column 'X'; it has .*; did you mean 'x'"):
        list(table.cells(["X"]))


PARQUET: dict[str, tuple[Any, list[Any]]] = {
    "integers": (pa.array([1, None], pa.int8()), [1, None]),
    "floats": (pa.array([0.5, None]), [0.5, None]),
    "decimals": (pa.array([Decimal("1.50"), None]), [Decimal("1.50"), None]),
    "booleans": (pa.array([True, None]), [True, None]),
    "text": (pa.array([" a ", " "]), ["a", None]),
    "categories": (pa.array(["a", None]).dictionary_encode(), ["a", None]),
    "dates": (pa.array([dt.date(2024, 2, 29), None]), [dt.date(2024, 2, 29), None]),
    "times": (
        pa.array([1_500_000_000_000_000_001, None], pa.timestamp("ns")),
        [dt.datetime(2017, 7, 14, 2, 40), None],
    ),
    "dates after the last year": (
        pa.array([10**9, 0], pa.date32()),
        ["\ufffd", dt.date(1970, 1, 1)],
    ),
    "times after the last year": (
        pa.array([10**15, 0], pa.timestamp("s")),
        ["\ufffd", dt.datetime(1970, 1, 1)],
    ),
    "lists": (pa.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
}


@pytest.mark.parametrize("kind", PARQUET)
def test_cells_of_parquet_files_are_values(tmp_path: Path, kind: str) -> None:
    column, values = PARQUET[kind]
    parquet.write_table(pa.table({"x": column, "other": [1, 2]}), tmp_path / "data.parquet")
    table = open_table(tmp_path / "data.parquet")
    for size in (1, 2):
        found = cells(table, "x", size=size, numbers=["x"], invalid="null")["x"]
        assert found == values
        assert [type(value) for value in found] == [type(value) for value in values]
