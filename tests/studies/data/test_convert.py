"""From archives' files to one CSV form."""

from __future__ import annotations

import pytest

from pairdp.studies.data import CATALOG
from pairdp.studies.data.convert import delimited, write_rows
from tests.studies.data.places import DATA, needs_data


def test_label_is_moved_last_and_named() -> None:
    convert = delimited(("a", "b"), label=0, classes={"1": "0", "2": "1"})
    assert convert("2,30,?\n1,40,5.10\n") == "a,b,label\n30,?,1\n40,5.10,0\n"


def test_arff_head_comments_blanks_and_spaces_are_left_out() -> None:
    convert = delimited(("a",), label=-1, classes={"yes": "1", "no": "0"})
    head = ("@relation r", "% words", "@attribute a numeric", "@DATA")
    text = "\r\n".join((*head, "1.50, yes", "", "%end", "2,no", ""))
    assert convert(text) == "a,label\n1.50,1\n2,0\n"


def test_dropped_columns_go_and_the_last_is_the_label() -> None:
    convert = delimited(("a", "b"), label=-1, classes={"2": "0", "4": "1"}, dropped=(0,))
    assert convert("1000025,5,1,4\n") == "a,b,label\n5,1,1\n"


def test_decimals_are_fixed_where_archives_spell_differently() -> None:
    convert = delimited(("a", "b"), label=-1, classes={"0": "0"}, decimals={"b": 1})
    assert convert("30,30,0\n7,?,0\n1,2.5,0\n") == "a,b,label\n30,30.0,0\n7,?,0\n1,2.5,0\n"
    with pytest.raises(ValueError, match="not a number") as wrong:
        convert("1,secret,0\n")
    assert "secret" not in str(wrong.value)


@needs_data
def test_the_archives_spelling_of_diabetes_gives_the_right_bytes() -> None:
    """The archive's ARFF file has integers without decimals and classes in words."""
    source = CATALOG["diabetes"]
    assert source.convert is not None
    form = (DATA / source.file).read_text()
    words = {"1": "tested_positive", "0": "tested_negative"}
    rows = [line.split(",") for line in form.splitlines()[1:]]
    archive = "\n".join(
        ",".join((*(value.removesuffix(".0") for value in row[:-1]), words[row[-1]]))
        for row in rows
    )
    assert "10,168,74,0,0,38,0.537,34,tested_positive" in archive
    assert source.convert(f"@relation pima_diabetes\n@data\n{archive}\n") == form


def test_unknown_labels_and_short_rows_are_refused_without_quoting_them() -> None:
    convert = delimited(("a",), label=-1, classes={"0": "0", "1": "1"})
    with pytest.raises(ValueError, match="unknown label") as unknown:
        convert("secret,7\n")
    assert "secret" not in str(unknown.value)
    assert "7" not in str(unknown.value)
    with pytest.raises(ValueError, match="3 values, expected 2"):
        convert("1,2,0\n")


def test_rows_must_have_a_value_for_each_column() -> None:
    with pytest.raises(ValueError, match="expected"):
        write_rows(("a", "b"), [("1", "0")])


@pytest.mark.parametrize("name", CATALOG)
def test_sources_are_complete(name: str) -> None:
    source = CATALOG[name]
    assert source.file == f"{name}.csv"
    assert len(source.sha256) == 64
    assert len(set(source.columns)) == len(source.columns)
    assert (source.url == "") == (source.convert is None)
    assert source.url == "" or source.url.startswith("https://")
