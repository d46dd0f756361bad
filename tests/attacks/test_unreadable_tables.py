"""Tables with one record that cannot be read: the command line does not reveal it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pairdp.tables import TableError, open_table
from pairdp.tables.arrow_csv import ArrowCSVTable
from tests.cli.helpers import (
    BOUNDED,
    BOUNDS,
    N,
    coefficients,
    ranker_of,
    refused,
    run,
    table,
    write,
)

PLACE = 7


@pytest.fixture
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bounds.json").write_text(json.dumps(BOUNDS))


NULL = [*BOUNDED, "--classes", "0,1", "--invalid", "null"]
BROKEN: dict[str, Callable[[str], bytes]] = {
    "empty": lambda line: b",30,1",
    "word": lambda line: b"secret,30,1",
    "nan": lambda line: b"nan,30,1",
    "infinite": lambda line: b"1e309,30,1",
    "400 digits": lambda line: b"9" * 400 + b",30,1",
    "too few": lambda line: b"secret,1",
    "too many": lambda line: b"40,30,1,secret",
    "quote": lambda line: b'"40,30,1',
    "quote within": lambda line: b'4"0"x,30,1',
    "no text": lambda line: b"\xff\xfe,30,1",
    "other label": lambda line: b"40,30,secret",
    "no label": lambda line: b"40,30,",
}


def broken_table(line: Callable[[str], bytes]) -> None:
    write(table())
    lines = Path("data.csv").read_bytes().splitlines()
    lines[PLACE] = line(lines[PLACE].decode())
    Path("data.csv").write_bytes(b"\n".join(lines) + b"\n")


@pytest.mark.usefixtures("_empty_folder")
def test_the_command_line_does_not_reveal_an_unreadable_record() -> None:
    write(table())
    clean = run(*NULL)
    before = coefficients()
    assert run(*NULL, "--force").output == clean.output
    null = None
    for name, line in BROKEN.items():
        broken_table(line)
        result = run(*NULL, "--force")
        assert (result.stdout, result.stderr) == (clean.stdout, clean.stderr), name
        found = coefficients()
        null = found if null is None else null
        np.testing.assert_array_equal(found, null, err_msg=name)
        if name != "no text":
            run("fit", *BOUNDED[1:], "--classes", "0,1", "--force", code=1)
    assert null is not None
    assert not np.array_equal(null, before)
    assert ranker_of().certificate_.n == N


@pytest.mark.usefixtures("_empty_folder")
def test_errors_of_the_command_line_quote_nothing() -> None:
    for line in BROKEN.values():
        broken_table(line)
        message = refused(*BOUNDED, "--classes", "0,1")
        for secret in ("secret", "1e309", "9999", "40"):
            assert secret not in message


@pytest.mark.usefixtures("_empty_folder")
def test_parquet_files_do_not_reveal_an_unreadable_record() -> None:
    command = [*NULL, "--force"]
    command[1] = "data.parquet"
    frame = table()
    write(frame, "data.parquet")
    clean = run(*command)
    null = None
    for column, value in (("age", None), ("age", np.inf), ("bmi", np.nan), ("outcome", None)):
        columns = {name: frame[name].tolist() for name in frame}
        columns[column][PLACE] = value
        parquet.write_table(pa.table(columns), "data.parquet")
        result = run(*command)
        assert (result.stdout, result.stderr) == (clean.stdout, clean.stderr)
        found = coefficients()
        null = found if null is None else null
        np.testing.assert_array_equal(found, null)
    columns = {name: frame[name].tolist() for name in frame}
    columns["age"] = [str(age) for age in columns["age"]]
    columns["age"][PLACE] = "secret"
    parquet.write_table(pa.table(columns), "data.parquet")
    run(*command)
    np.testing.assert_array_equal(coefficients(), null)


@pytest.mark.usefixtures("_empty_folder")
def test_metrics_of_tables_and_predictions() -> None:
    write(table())
    metric = ["fit", "data.csv", "--label", "outcome", "--task", "metric", "--seed", "1"]
    metric += ["--bounds", "bounds.json", "--invalid", "null", "--epsilon", "500"]
    metric += ["-o", "metric.pairdp", "--force"]
    clean = run(*metric)
    broken_table(BROKEN["no label"])
    assert run(*metric).output == clean.output
    broken_table(BROKEN["word"])
    run(*NULL)
    assert "not a number" in run("predict", "model.pairdp", "data.csv", code=1).stderr
    lines = run("predict", "model.pairdp", "data.csv", "--invalid", "null").stdout.splitlines()
    assert len(lines) == N + 1
    assert lines[PLACE] == ","
    assert all("," in line and len(line) > 3 for i, line in enumerate(lines) if i != PLACE)
    told = json.loads(
        run("predict", "model.pairdp", "data.csv", "--invalid", "null", "--json").stdout
    )
    assert told[PLACE - 1] == {"score": None, "label": None}
    coordinates = run("predict", "metric.pairdp", "data.csv", "--invalid", "null").stdout
    assert coordinates.splitlines()[PLACE] == ","


LINES = {**BROKEN, "long": lambda line: b'"' + b"9" * 5000 + b'",30,1'}


@pytest.mark.parametrize("name", LINES)
def test_blocks_in_which_a_table_is_read_reveal_no_record(tmp_path: Path, name: str) -> None:
    path = tmp_path / "data.csv"
    lines = [f"{i}.5,{i % 7},{i % 2}".encode() for i in range(60)]

    def batches(block: int) -> list[tuple[list[list[float]], list[object]]]:
        path.write_bytes(b"\n".join([b"age,bmi,outcome", *lines]) + b"\n")
        opened = open_table(path)
        assert isinstance(opened, ArrowCSVTable)
        opened.block_size = block
        assert opened.count(None, invalid="null")[0] == 60
        found = opened.batches(["age", "bmi"], "outcome", 16, invalid="null")
        return [(batch.features.tolist(), batch.labels.tolist()) for batch in found]

    clean = batches(100)
    assert [len(labels) for _, labels in clean] == [16, 16, 16, 12]
    for place in (0, 17, 59):
        before, lines[place] = lines[place], LINES[name]("")
        for block in (40, 100, 10**6):
            found = batches(block)
            for batch, (rows, labels) in enumerate(found):
                for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
                    if 16 * batch + i != place:
                        assert (row, label) == (clean[batch][0][i], clean[batch][1][i])
            assert [len(labels) for _, labels in found] == [16, 16, 16, 12]
        lines[place] = before


def test_a_line_is_a_record_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    content = ['x,"y",label', "1,2,a", '"3,4,b', '5,"6",b', "", "7,8", "9\0,1,a", '"x\ny",2,c']
    path.write_text("\n".join(content) + "\n", encoding="utf-8")
    opened = open_table(path)
    # The line break in quotation marks ends a record, too.
    assert opened.count("label", invalid="null") == (7, ("a", "b", "c"))
    (batch,) = opened.batches(["x", "y"], "label", invalid="null")
    nan = [np.nan, np.nan]
    np.testing.assert_array_equal(batch.features, [[1, 2], nan, [5, 6], nan, nan, nan, nan])
    assert batch.labels.tolist()[:4] == ["a", None, "b", None]
    with pytest.raises(TableError):
        opened.count("label")
