"""Tables: CSV and Parquet as people have them, and errors that tell no value."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pairdp.tables import Table, TableError, open_table

PLAIN = "x,y,label\n1,-2.5,a\n3e2,0.5,b\n-0.25,7,a\n"
FEATURES = [[1.0, -2.5], [300.0, 0.5], [-0.25, 7.0]]


def csv_table(tmp_path: Path, content: str | bytes, name: str = "data.csv") -> Table:
    raw = content.encode() if isinstance(content, str) else content
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return open_table(tmp_path / name)


def parquet_table(tmp_path: Path, **columns: Any) -> Table:
    parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
    return open_table(tmp_path / "data.parquet")


def read(
    table: Table, features: list[str], label: str | None = None, size: int = 2
) -> tuple[list[list[float]], list[Any]]:
    """Return all rows of a table, read in small batches."""
    rows: list[list[float]] = []
    labels: list[Any] = []
    for batch in table.batches(features, label, size):
        assert batch.features.dtype == np.float64
        assert 0 < len(batch.features) <= size
        rows += batch.features.tolist()
        labels += batch.labels.tolist()
    return rows, labels


# Forms of CSV


FORMS: dict[str, str | bytes] = {
    "commas": PLAIN,
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CR": PLAIN.replace("\n", "\r"),
    "byte order mark": "\ufeff" + PLAIN,
    "no newline at the end": PLAIN.rstrip(),
    "newlines at the end": PLAIN + "\n\n\n",
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "blank lines with CRLF": PLAIN.replace("\n", "\r\n\r\n"),
    "spaces": PLAIN.replace(",", " , "),
    "quotes": '"x","y","label"\n"1","-2.5","a"\n"3e2","0.5","b"\n"-0.25","7","a"\n',
}


@pytest.mark.parametrize("name", ["data.csv", "DATA.CSV", "data.v1.csv", "a.csv.gz", "data.txt"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_csv_file_is_the_same_table(tmp_path: Path, form: str, name: str) -> None:
    table = csv_table(tmp_path, FORMS[form], name)
    assert table.columns == ("x", "y", "label")
    assert table.count("label") == (3, ("a", "b"))
    assert table.count(None) == (3, ())
    for size in (1, 2, 3, 100):
        assert read(table, ["x", "y"], "label", size) == (FEATURES, ["a", "b", "a"])


def test_columns_are_read_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    table = csv_table(tmp_path, PLAIN)
    assert read(table, ["y", "x"])[0] == [row[::-1] for row in FEATURES]
    assert read(table, ["y"]) == ([row[1:] for row in FEATURES], [])


def test_quoted_fields_may_have_marks_quotes_and_newlines(tmp_path: Path) -> None:
    content = '"a,b";"say ""x""";label\n1;2;"yes;\nsir"\n3;4;"no, ""never"""\n'
    table = csv_table(tmp_path, content)
    assert table.columns == ("a,b", 'say "x"', "label")
    rows, labels = read(table, ["a,b", 'say "x"'], "label")
    assert rows == [[1.0, 2.0], [3.0, 4.0]]
    assert labels == ["yes;\nsir", 'no, "never"']


def test_names_may_be_unicode_numbers_and_spaced(tmp_path: Path) -> None:
    table = csv_table(tmp_path, "größe, 身長 ,0,10\n1,2,3,4\n")
    assert table.columns == ("größe", "身長", "0", "10")
    assert read(table, ["身長", "10"])[0] == [[2.0, 4.0]]


def test_columns_that_are_not_asked_for_may_hold_anything(tmp_path: Path) -> None:
    table = csv_table(tmp_path, "x,comment\n1,\n2,nothing\n3,NaN\n")
    assert read(table, ["x"])[0] == [[1.0], [2.0], [3.0]]


def test_more_rows_than_a_batch(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_001, 2))
    lines = "".join(f"{a!r},{b!r},{i % 3}\n" for i, (a, b) in enumerate(rows.tolist()))
    table = csv_table(tmp_path, "a,b,c\n" + lines)
    assert table.count("c") == (20_001, (0, 1, 2))
    sizes = [len(batch.features) for batch in table.batches(["a"], None)]
    assert max(sizes) < 20_001
    assert sum(sizes) == 20_001
    found = np.concatenate([batch.features for batch in table.batches(["a", "b"], None)])
    np.testing.assert_array_equal(found, rows)


# Labels


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["1", "0"], (0, 1)),
        (["10", "9"], (9, 10)),
        (["-1", "1"], (-1, 1)),
        (["+1", "-1"], ("-1", "+1")),
        (["1.0", "0.0"], (0.0, 1.0)),
        (["10.5", "9.5"], ("9.5", "10.5")),
        (["01", "2"], ("01", "2")),
        (["1", "1.0"], ("1", "1.0")),
        (["yes", "no"], ("no", "yes")),
        (["1", "no"], ("1", "no")),
        (["nan", "1"], ("1", "nan")),
        (["inf", "1"], ("1", "inf")),
        (["True", "False"], ("False", "True")),
        (["99999999999999999999", "1"], ("1", "99999999999999999999")),
        (["1e400", "1"], ("1", "1e400")),
        (["é", "e"], ("e", "é")),
        (["b", "c", "a"], ("a", "b", "c")),
    ],
    ids=str,
)
def test_labels_are_sorted_and_whole_numbers_are_numbers(
    tmp_path: Path, texts: list[str], labels: tuple[Any, ...]
) -> None:
    lines = "".join(f"0,{text}\n" for text in [*texts, *texts])
    table = csv_table(tmp_path, "x,label\n" + lines)
    assert table.count("label") == (2 * len(texts), labels)
    assert list(map(type, table.count("label")[1])) == list(map(type, labels))
    # Rows have the text that the labels are written as.
    assert set(read(table, ["x"], "label")[1]) == set(map(str, labels))


# Errors


BAD_CSV: dict[str, tuple[str | bytes, str]] = {
    "empty": (b"", "is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "is empty"),
    "blank first line": ("\nx,y\n", "is empty"),
    "column twice": ("x,y,x\n1,2,3\n", "has the column 'x' twice"),
    "column twice but for spaces": ("x,y, x\n1,2,3\n", "has the column 'x' twice"),
    "latin-1": ("x,größe\n".encode("latin-1"), "is not UTF-8"),
    "latin-1 below": ("x,y\n1,5317é\n".encode("latin-1"), "is not UTF-8"),
    "utf-16": ("x,y\n1,5317\n".encode("utf-16"), "is not UTF-8"),
    "short row": ("x,y\n1,2\n5317\n", "1 entries in record 2, and 2 columns"),
    "long row": ("x,y\n1,2\n\n1,2\n1,2,5317\n", "3 entries in record 3, and 2 columns"),
    "space in a line": ("x,y\n1,2\n  \n", "1 entries in record 2"),
    "missing": ("x,y\n1,2\n3,5\n5317,\n", "no value in column 'y', record 3"),
    "missing, with spaces": ("x,y\n1,  \n", "no value in column 'y', record 1"),
    "text": ("x,y\n1,2\n1,5317 kg\n", "an entry that is no number in column 'y', record 2"),
    "decimal comma": ("x;y\n1;5,317\n", "no number in column 'y', record 1"),
    "NaN": ("x,y\n1,2\n5317,nan\n", "NaN or infinity in record 2"),
    "infinity": ("x,y\n1,2\n1,2\n-inf,5317\n", "NaN or infinity in record 3"),
    "overflow": ("x,y\n1,5317e999\n", "NaN or infinity in record 1"),
    "open quote": ('x,y\n1,"5317\n', "not a well-formed CSV"),
    "text after a quote": ('x,y\n1,"53"17\n', "not a well-formed CSV"),
    "huge field": ("x,y\n1," + "5317" * 50_000, "NaN or infinity in record 1"),
    "no names": ("5317.5,-0.25\n0.5,1.5\n", "numbers in its first line"),
    "no names, and a label": ("5317.5,0.25,setosa\n0.5,1.5,iris\n", "numbers in its first"),
    "no names, a value twice": ("5317.5,5317.5\n0.5,1.5\n", "numbers in its first line"),
}


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
@pytest.mark.parametrize("kind", BAD_CSV)
def test_bad_csv_files_are_refused_without_telling_a_value(
    tmp_path: Path, kind: str, name: str
) -> None:
    content, reason = BAD_CSV[kind]
    with pytest.raises(TableError, match=reason) as error:
        read(csv_table(tmp_path, content, name), ["x", "y"])
    assert "5317" not in str(error.value)
    assert name in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_records_are_counted_across_batches(tmp_path: Path) -> None:
    table = csv_table(tmp_path, "x\n" + "1\n" * 7 + "bad\n")
    with pytest.raises(TableError, match="record 8"):
        read(table, ["x"], size=3)
    table = csv_table(tmp_path, "x,y\n" + "1,2\n" * 7 + "1,nan\n")
    with pytest.raises(TableError, match="record 8"):
        read(table, ["x", "y"], size=3)


@pytest.mark.parametrize("label", ["", "   ", '""'])
def test_missing_labels_are_refused(tmp_path: Path, label: str) -> None:
    table = csv_table(tmp_path, f"x,label\n1,0\n1,1\n1,{label}\n")
    for attempt in (lambda: table.count("label"), lambda: read(table, ["x"], "label")):
        with pytest.raises(TableError, match="no label in column 'label', record 3"):
            attempt()


def test_a_table_of_names_has_no_rows(tmp_path: Path) -> None:
    for content in ["x,label", "x,label\n", "x,label\n\n"]:
        table = csv_table(tmp_path, content)
        assert table.count("label") == (0, ())
        assert read(table, ["x"], "label") == ([], [])


def test_a_file_that_shrinks_while_it_is_read_is_no_crash(tmp_path: Path) -> None:
    table = csv_table(tmp_path, PLAIN)
    table.path.write_text("")
    assert table.count("label") == (0, ())


def test_unknown_columns_are_named_and_known_ones_listed(tmp_path: Path) -> None:
    table = csv_table(tmp_path, ",".join(f"c{i}" for i in range(30)) + "\n")
    table.check_columns(["c0", "c29"])
    with pytest.raises(TableError, match=r"has no column 'a', 'b'; it has c0, .*c19, …$"):
        table.check_columns(["a", "c1", "b"])


@pytest.mark.parametrize("cut", [5, 12, 30, 60, -9, -4, -1])
def test_cut_gzip_files_are_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress((PLAIN + "1,2,c\n" * 20).encode())[:cut])
    with pytest.raises(TableError, match="cannot be read"):
        read(open_table(path), ["x"])


def test_damaged_gzip_files_are_refused_or_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = "".join(f"{a!r},{b!r}\n" for a, b in rng.normal(size=(50, 2)).tolist())
    good = gzip.compress(f"x,y\n{rows}".encode(), mtime=0)
    path = tmp_path / "data.csv.gz"
    path.write_bytes(good)
    right = read(open_table(path), ["x", "y"])
    refused = 0
    for place in range(0, len(good), 11):
        damaged = bytearray(good)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            assert read(open_table(path), ["x", "y"], size=100) == right
        except TableError:
            refused += 1
    assert refused > 0.9 * (len(good) // 11)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere.csv", "there is no file"),
        ("folder.csv", "is not a file"),
        ("data.xlsx", "must end in"),
        ("data", "must end in"),
        ("data.gz", "must end in"),
    ],
)
def test_what_cannot_be_opened_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    for other in ["data.xlsx", "data", "data.gz"]:
        (tmp_path / other).write_text(PLAIN)
    with pytest.raises(TableError, match=reason):
        open_table(tmp_path / name)


def test_tab_separated_values_have_their_own_ending(tmp_path: Path) -> None:
    table = csv_table(tmp_path, PLAIN.replace(",", "\t"), "data.tsv")
    assert read(table, ["x", "y"])[0] == FEATURES


# Parquet


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
    "date label": ({"label": STAMP}, "labels 'label' that are no numbers and no text"),
    "bytes label": ({"label": [b"5317", b"b"]}, "no numbers and no text"),
    "list label": ({"label": [[5317], [1]]}, "no numbers and no text"),
}


@pytest.mark.parametrize("kind", BAD_PARQUET)
def test_bad_parquet_columns_are_refused_without_telling_a_value(tmp_path: Path, kind: str) -> None:
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
    with pytest.raises(TableError, match="labels 'label' that are no numbers and no text"):
        table.count("label", invalid="null")
    with pytest.raises(TableError, match="labels 'label' that are no numbers and no text"):
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
    with pytest.raises(TableError, match="has the column 'x' twice"):
        open_table(tmp_path / "data.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 5, PLAIN.encode()])
def test_what_is_no_parquet_file_is_refused(tmp_path: Path, content: bytes) -> None:
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
