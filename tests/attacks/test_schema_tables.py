"""Tables that a schema describes: no record affects how another one is read."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyarrow import parquet

from pairdp import Schema
from pairdp.cli.schema_table import cells_for, encoded
from pairdp.tables import TextFormat, open_table
from tests.cli.helpers import run
from tests.cli.test_messy_tables import COLUMNS, FIT, GOOD, SCHEMA, rows, write

PLACE = 3
LINES = [",".join(row[name] for name in COLUMNS) for row in rows(7)]


def rows_of(path: Path, form: TextFormat | None = None) -> NDArray[np.float64]:
    """Return the encoded rows of a table, read one by one."""
    schema = Schema.of(SCHEMA)
    batches = cells_for(schema, open_table(path, form), schema.features, invalid="null")
    return np.concatenate([encoded(schema, batch, 0, "null") for batch in batches])


cells = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters='\r\n"')),
    st.sampled_from(["", "?", "nan", "-inf", "1e999", "9" * 400, "0x1", "1_0", "\ufeff", "\x00"]),
)


@given(
    line=st.one_of(
        st.binary().map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b"")),
        st.lists(cells, min_size=9, max_size=9).map(lambda line: ",".join(line).encode()),
    ),
    encoding=st.sampled_from([None, "latin-1", "cp1252", "shift_jis", "gb18030"]),
    decimal=st.sampled_from([".", ","]),
)
@example(b'"', None, ".")
@example(b'a,"b', None, ".")
@example(b"\xef\xbb\xbf", None, ".")
@example(b"\xff\xfe", None, ",")
@example(b"\x81", "shift_jis", ".")
def test_no_line_of_a_file_changes_how_others_are_read(
    line: bytes, encoding: str | None, decimal: str
) -> None:
    form = TextFormat(encoding, ",", decimal)
    raw = [",".join(COLUMNS).encode(), *(text.encode() for text in LINES)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_bytes(b"\n".join(raw))
        right = rows_of(path, form)
        raw[PLACE] = line or b" "  # an empty line is no record, and n is public
        path.write_bytes(b"\n".join(raw))
        found = rows_of(path, form)
    assert len(found) == len(right)
    others = np.arange(len(right)) != PLACE - 1
    np.testing.assert_array_equal(found[others], right[others])
    norms = np.linalg.norm(found[np.isfinite(found).all(axis=1)], axis=1)
    assert np.all(norms <= 1 + 1e-12)


VALUES: dict[str, list[Any]] = {
    "null": [None, 41, 43],
    "large": [2**62, 41, 43],
    "NaN": [float("nan"), 41.0, 43.0],
    "text": ["old", "41", "43"],
    "truth": [True, False, True],
}


@pytest.mark.parametrize("kind", VALUES)
def test_no_value_of_a_parquet_column_changes_how_others_are_read(
    tmp_path: Path, kind: str
) -> None:
    values = VALUES[kind]
    found = []
    for first in (values[0], values[1]):
        table = {name: [GOOD[name]] * 3 for name in COLUMNS} | {"age": [first, *values[1:]]}
        parquet.write_table(pa.table(table), tmp_path / "data.parquet")
        found.append(rows_of(tmp_path / "data.parquet")[1:])
    np.testing.assert_array_equal(found[0], found[1])


def test_what_is_printed_does_not_depend_on_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(json.dumps(SCHEMA))
    write(rows(40), "train.csv")
    lines = Path("train.csv").read_bytes().splitlines()
    shown = set()
    for line in (lines[PLACE], b'"', b"1,2", b"\xff" * 9, b",,,,,,,,", b"9" * 5000):
        Path("train.csv").write_bytes(b"\n".join([*lines[:PLACE], line, *lines[PLACE + 1 :]]))
        result = run(*FIT, "--force", "--invalid", "null")
        shown.add((result.stdout, result.stderr))
    assert len(shown) == 1
