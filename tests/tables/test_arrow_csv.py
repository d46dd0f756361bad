"""Hostile CSV files: blocks of lines are read as one line after the other is."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pairdp._reading import Invalid
from pairdp.schema import Schema
from pairdp.tables import Table, TableError, TextFormat
from pairdp.tables.arrow_csv import ArrowCSVTable
from pairdp.tables.arrow_text import TextParser
from pairdp.tables.delimited import CSVTable
from pairdp.tables.threads import in_threads

SCHEMA = Schema.of(
    {
        "x": {"range": [0, 10], "missing": "indicator", "missing_values": ["?", -9]},
        "y": {"categories": ["a", "b"], "other": True},
        "z": {"label": ["0", "1"]},
    }
)
CELLS = (
    b"1", b"2.5", b"-3e2", b"+4", b" 5 ", b".5", b"7.", b"1e999", b"1_0", b"nan", b"nan(1)",
    b"-inf", b"infinity", b"?", b"-9", b"0x1", b"", b"  ", b"a", b"b ", b"\xc3\xa4", b"\xff",
    b"\xe2\x82", b"\xef\xbb\xbf", b"\xc2\xa01", b"\x1c", b"\xd9\xa1", b"1\0", b"\0", b'"1"',
    b'"a,b"', b'"a""b"', b'""', b'"a', b'a"b', b'"a"b', b'"', b"1,5", b"1;5", b"\t2", b"0", b"1",
    b"9" * 400, b"\x85", b"\x1c1", b"e5", b"1e", b"1e5", b"+-1", b"1 2", b"-", b".", b"1,",
    b"TRUE", b"\xef\xbb\xbf1", b"1e-400", b"-1e99999999999999999999", b"0." + b"1" * 900,
)  # fmt: skip
ENDS = (b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\n\r\n", b"")
FORMS = [
    TextFormat(),
    TextFormat(decimal=","),
    TextFormat(separator=";"),
    TextFormat(encoding="latin-1"),
    TextFormat(encoding="cp1252", decimal=","),
    TextFormat(encoding="ascii"),
    TextFormat(separator="1"),
]


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, TextFormat]:
    """Return the bytes of a file, and how it is said to be written."""
    form = draw(st.sampled_from(FORMS))
    mark = (form.separator or ",").encode()
    cell = st.sampled_from(CELLS) | st.binary(max_size=3)
    row = st.lists(cell, min_size=3, max_size=3) | st.lists(cell, max_size=5)
    lines = draw(st.lists(st.tuples(row.map(mark.join), st.sampled_from(ENDS)), max_size=8))
    bom = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) if form.encoding is None else b""
    head = bom + mark.join([b"x", b'"y"', b"z"]) + draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    return head + b"".join(line + end for line, end in lines), form


def outcome(read: Any) -> Any:
    try:
        return read()
    except TableError:
        return "refused"


def numbers(table: Table, size: int, invalid: Invalid) -> Any:
    batches = list(table.batches(["x", "z"], "y", size, invalid=invalid))
    rows = [row for batch in batches for row in batch.features.tolist()]
    return repr(rows), [label for batch in batches for label in batch.labels.tolist()]


def texts(table: Table, size: int, invalid: Invalid) -> Any:
    batches = list(table.cells(["x", "y", "z"], size, numbers=["x"], invalid=invalid))
    found = [
        list(column)
        for batch in batches
        for column in zip(*(batch.columns[name] for name in "xyz"), strict=True)
    ]
    return found, [bad for batch in batches for bad in batch.unreadable.tolist()]


def encoded(table: Table, size: int, invalid: Invalid) -> Any:
    found = []
    for batch in table.coded_cells(["x", "y", "z"], size, numbers=["x"], invalid=invalid):
        rows = SCHEMA.encode(batch.columns, batch.rows, invalid="null")
        labels = SCHEMA.encode_label(batch.columns["z"])
        found += np.column_stack([rows, labels, batch.unreadable]).tolist()
    return repr(found)


def check_same(path: Path, form: TextFormat, block: int, size: int) -> None:
    slow, fast = CSVTable(path, form), ArrowCSVTable(path, form)
    assert fast.can_read
    fast.block_size = block
    for invalid in ("null", "error"):
        for read in (numbers, texts, encoded):
            expected = outcome(lambda: read(slow, size, invalid))  # noqa: B023
            assert outcome(lambda: read(fast, size, invalid)) == expected  # noqa: B023
        for label in ("y", "z"):
            expected = outcome(lambda: slow.count(label, invalid=invalid))  # noqa: B023
            assert outcome(lambda: fast.count(label, invalid=invalid)) == expected  # noqa: B023
    assert fast.count(None, invalid="null") == slow.count(None, invalid="null")


# A path that all examples write to is fine, since each writes the whole file.
SHARED_PATH = [HealthCheck.function_scoped_fixture]


@settings(max_examples=60, deadline=None, suppress_health_check=SHARED_PATH, derandomize=True)
@given(files(), st.integers(1, 60), st.integers(1, 4))
@example((b'x,y,z\n1,a,0\n"2,b,1\n3,c,0\n4,d",1\n5,e,1\n', TextFormat()), 8, 2)
@example((b"x,y,z\n1,a,0\n\xef\xbb\xbf\n\xef\xbb\xbf2,b,1\n", TextFormat()), 60, 2)
@example((b'x,y,z\n1,"a\r\nb",0\n2,b,1\n', TextFormat()), 12, 2)
def test_every_record_of_every_file_is_read_as_by_lines(
    tmp_path: Path, file: tuple[bytes, TextFormat], block: int, size: int
) -> None:
    content, form = file
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    check_same(path, form, block, size)


@pytest.mark.slow
@settings(max_examples=600, deadline=None, suppress_health_check=SHARED_PATH)
@given(files(), st.integers(1, 60), st.integers(1, 4))
def test_more_files_are_read_as_by_lines(
    tmp_path: Path, file: tuple[bytes, TextFormat], block: int, size: int
) -> None:
    content, form = file
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    check_same(path, form, block, size)


def test_a_table_that_is_not_read_to_its_end_waits_for_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector may close it anywhere: waiting there for threads may never end."""
    (tmp_path / "long.csv").write_text("x,y,z\n" + "1,a,0\n" * 500)
    table = ArrowCSVTable(tmp_path / "long.csv", TextFormat())
    table.block_size = 60
    go_on, parse = threading.Event(), TextParser.parse
    started: list[bytes] = []

    def slow(self: TextParser, block: bytes) -> Any:
        started.append(block)
        if len(started) > 1:
            go_on.wait(timeout=60)
        return parse(self, block)

    monkeypatch.setattr(TextParser, "parse", slow)
    batches = table.batches(["x"], "z", size=5)
    assert len(next(batches).features) == 5
    begin = time.monotonic()
    batches.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 30
    assert not go_on.is_set()
    go_on.set()


def test_functions_of_parts_that_are_not_needed_any_more_are_not_waited_for() -> None:
    go_on = threading.Event()
    parts = in_threads(lambda part: part == 0 or go_on.wait(timeout=60), range(9), workers=2)
    assert next(parts)
    begin = time.monotonic()
    parts.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 30
    go_on.set()
