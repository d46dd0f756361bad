"""``pairdp schema``: a starter from the header, and a check that is not private."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairdp.schema import Schema
from tests.cli.helpers import refused, run, run_json, table, there, write

HEADER = 'id,age,"ward, or unit",remarks,died\n'
SCHEMA = {
    "id": "id",
    "age": [0, 120],
    "ward, or unit": {"categories": ["ICU", "Surgery"], "other": True},
    "remarks": "ignore",
    "died": {"label": ["no", "yes"]},
}
ROWS = "1,41,ICU,x,no\n2,5317,Surgery,,yes\n3,,Maternity,y,yes\n4,old,,z,perhaps\n"


def write_table(rows: str = ROWS) -> None:
    Path("patients.csv").write_text(HEADER + rows)
    Path("schema.json").write_text(json.dumps(SCHEMA, indent=1))


def test_a_starter_has_every_name_and_depends_on_the_header_alone() -> None:
    write_table("")
    empty = run("schema", "patients.csv").stdout
    columns = {k: v for k, v in json.loads(empty).items() if not k.startswith("#")}
    assert columns == dict.fromkeys(SCHEMA, "?")
    for rows in (ROWS, 'broken "line\n', "\x00\n"):
        write_table(rows)
        assert run("schema", "patients.csv").stdout == empty
    Path("patients.csv").write_bytes(HEADER.encode() + b"\xff\xfe not UTF-8")
    assert run("schema", "patients.csv").stdout == empty
    assert "5317" not in empty


def test_a_starter_is_written_once_and_is_not_a_schema_yet() -> None:
    write_table()
    Path("schema.json").unlink()
    assert "9" not in run("schema", "patients.csv", "-o", "schema.json").stdout
    text = Path("schema.json").read_text()
    assert "already exists" in refused("schema", "patients.csv", "-o", "schema.json")
    assert Path("schema.json").read_text() == text
    found = run_json("schema", "patients.csv", "-o", "schema.json", "--force")
    assert found == {"schema": "schema.json", "columns": list(SCHEMA)}
    error = refused("schema", "--check", "schema.json", "patients.csv", "--yes")
    assert "not described yet: 'id' in line" in error
    for name, form in SCHEMA.items():
        text = text.replace(f'{json.dumps(name)}: "?"', f"{json.dumps(name)}: {json.dumps(form)}")
    Path("schema.json").write_text(text)
    assert Schema.read("schema.json").to_dict() == SCHEMA


def test_starters_of_other_tables() -> None:
    write(table(), "data.parquet")
    assert '"bmi": "?"' in run("schema", "data.parquet").stdout
    Path("data.csv").write_bytes("größe;x;;\n1;2;;\n".encode("latin-1"))
    assert "--encoding" in refused("schema", "data.csv")
    text = run("schema", "data.csv", "--encoding", "latin-1").stdout
    assert '"größe": "?",\n  "x": "?"\n}' in text
    Path("data.csv").write_text("x,y,x\n")
    assert "has the column 'x' twice" in refused("schema", "data.csv")
    Path("data.csv").write_text("41.5,7.25,x\n42.5,1.5,y\n")
    assert "must name the columns" in refused("schema", "data.csv")


CHECK = ["schema", "--check", "schema.json", "patients.csv"]


def test_a_check_counts_cells_and_says_that_this_is_not_private() -> None:
    write_table()
    found = run_json(*CHECK, "--yes")
    assert "NOT PRIVATE" in found["warning"]
    assert found["n"] == 4
    assert found["columns"] == {
        "age": {"missing": 1, "outside": 1, "unknown": 1},
        "ward, or unit": {"missing": 1, "outside": 0, "unknown": 1},
        "died": {"missing": 0, "outside": 0, "unknown": 1},
    }
    shown = run(*CHECK, "--yes").stdout
    assert shown.startswith("NOT PRIVATE")
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert (
        "age 1 1 1 missing cells are refused, cells outside are clipped, unknown cells are refused"
    ) in lines
    assert "ward, or unit 1 0 1 missing cells count as other, unknown cells count as other" in lines
    assert "5317" not in shown


def test_a_check_is_for_terminals_and_is_not_saved() -> None:
    write_table()
    before = there()
    assert "this is not a terminal: give --yes" in refused(*CHECK)
    assert "not saved: leave out -o" in refused(*CHECK, "-o", "counts.json", "--yes")
    assert "--yes is for --check" in refused("schema", "patients.csv", "--yes")
    assert there() == before


def test_a_check_tells_of_columns_and_malformed_lines() -> None:
    write_table(ROWS + "5,6\n")
    assert "2 entries in record 5" in refused(*CHECK, "--yes")
    found = run_json(*CHECK, "--yes", "--invalid", "null")
    assert (found["n"], found["malformed_lines"]) == (5, 1)
    Path("patients.csv").write_text('age,"ward, or unit",bed\n1,ICU,x\n')
    shown = run(*CHECK, "--yes").stdout
    assert "Not in the schema, and ignored: bed" in shown
    assert "no label column" in shown
    Path("patients.csv").write_text("aeg,died\n1,no\n")
    assert "has no column 'age'" in refused(*CHECK, "--yes")
    Path("schema.json").write_text(json.dumps({**SCHEMA, "$extra": "refuse"}))
    Path("patients.csv").write_text('age,"ward, or unit",bed\n1,ICU,x\n')
    assert "columns that the schema does not name: bed" in refused(*CHECK, "--yes")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"age": [0, 120],\n "sex": ["F", "M"\n', "line"),
        ('{"age": [0, 120],\n "sex": 5}', "line 2: column 'sex'"),
        ('{"age": [0, 120],\n\n "crp": {"range": [0, 5], "scale": "log"}}', "line 3"),
        ('{"age": [120, 0]}', "lower below upper"),
        ("[]", "schema.json"),
    ],
)
def test_a_schema_with_errors_is_refused_with_the_line_and_the_reason(
    text: str, reason: str
) -> None:
    write_table()
    Path("schema.json").write_text(text)
    error = refused(*CHECK, "--yes")
    assert reason in error
    assert "schema.json" in error


def test_no_schema_at_all() -> None:
    write_table()
    error = refused("schema", "--check", "nowhere.json", "patients.csv", "--yes")
    assert "nowhere.json cannot be read" in error
