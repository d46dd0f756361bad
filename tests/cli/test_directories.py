"""Commands on directories of Parquet files, and the progress of reading."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from pairdp.cli.table_options import ByteBar
from tests.cli.helpers import coefficients, refused, run, table

SCHEMA = {
    "age": [0, 100],
    "bmi": [10, 60],
    "ward": ["A", "B", "C"],
    "outcome": {"label": [0, 1]},
}


@pytest.fixture
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the same records to a CSV file, in the order of wards, and to a directory."""
    monkeypatch.chdir(tmp_path)
    frame = table(ward=np.array(["A", "B", "C"])[np.arange(200) % 3])
    frame.sort_values("ward", kind="stable").to_csv("data.csv", index=False)
    frame.to_parquet("parts", partition_cols=["ward"])
    Path("schema.json").write_text(json.dumps(SCHEMA))


@pytest.mark.usefixtures("_tables")
def test_a_directory_is_a_table_for_all_commands() -> None:
    fit = ["--schema", "schema.json", "--model", "linear", "--seed", "1", "-o", "model.pairdp"]
    run("fit", "data.csv", *fit)
    expected = coefficients()
    run("fit", "parts", *fit, "--force")
    np.testing.assert_array_equal(coefficients(), expected)
    lines = [run("predict", "model.pairdp", name).stdout for name in ("data.csv", "parts")]
    assert lines[0] == lines[1]
    kept = [run("predict", "model.pairdp", name, "--keep", "ward").stdout for name in ("parts",)]
    assert kept[0].splitlines()[1].startswith("A,")
    evaluate = ["--epsilon", "5", "--seed", "1"]
    found = [run("evaluate", "model.pairdp", name, *evaluate) for name in ("data.csv", "parts")]
    assert found[0].stdout == found[1].stdout
    for name in ("data.csv", "parts"):
        assert "200 records" in run("schema", name, "--check", "schema.json", "--yes").stdout
    assert '"ward"' in run("schema", "parts").stdout


@pytest.mark.usefixtures("_tables")
def test_directories_that_are_no_tables_are_refused() -> None:
    Path("empty").mkdir()
    fit = ["--schema", "schema.json", "-o", "model.pairdp"]
    assert "directory without Parquet files" in refused("fit", "empty", *fit)
    assert "is not text" in refused("fit", "parts", "--decimal", ",", *fit)
    assert not Path("model.pairdp").exists()


def test_a_bar_shows_bytes_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []

    class Bar:
        n = 0

        def __init__(self, **options: object) -> None:
            assert (options["total"], options["unit"]) == (100, "B")

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            shown.append(-1)

        def update(self, more: int) -> None:
            self.n += more
            shown.append(self.n)

    monkeypatch.setattr("tqdm.tqdm", Bar)
    bar = ByteBar()
    with bar(100) as told:
        told(50)
    assert shown == []  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with bar(100) as told, bar(100) as other:
        told(50)
        other(70)
        told(100)
    assert shown == [50, 100, -1]
