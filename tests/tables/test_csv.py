"""CSV tables as people have them, and errors that quote no value."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from pairdp.tables import TableError, open_table
from tests.tables.small_tables import PLAIN, csv_table, read

FEATURES = [[1.0, -2.5], [300.0, 0.5], [-0.25, 7.0]]

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
    "short row": ("x,y\n1,2\n5317\n", "1 entries in record 2, but 2 columns"),
    "long row": ("x,y\n1,2\n\n1,2\n1,2,5317\n", "3 entries in record 3, but 2 columns"),
    "space in a line": ("x,y\n1,2\n  \n", "1 entries in record 2"),
    "missing": ("x,y\n1,2\n3,5\n5317,\n", "no value in column 'y', record 3"),
    "missing, with spaces": ("x,y\n1,  \n", "no value in column 'y', record 1"),
    "text": ("x,y\n1,2\n1,5317 kg\n", "an entry that is not a number in column 'y', record 2"),
    "decimal comma": ("x;y\n1;5,317\n", "not a number in column 'y', record 1"),
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
def test_bad_csv_files_are_refused_without_quoting_a_value(
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


def test_a_file_that_shrinks_while_it_is_read_does_not_crash(tmp_path: Path) -> None:
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
        ("folder.csv", "is a directory without Parquet files"),
        ("data.xlsx", "must have the extension"),
        ("data", "must have the extension"),
        ("data.gz", "must have the extension"),
    ],
)
def test_files_that_cannot_be_opened_are_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    for other in ["data.xlsx", "data", "data.gz"]:
        (tmp_path / other).write_text(PLAIN)
    with pytest.raises(TableError, match=reason):
        open_table(tmp_path / name)


def test_tab_separated_values_have_their_own_ending(tmp_path: Path) -> None:
    table = csv_table(tmp_path, PLAIN.replace(",", "\t"), "data.tsv")
    assert read(table, ["x", "y"])[0] == FEATURES
