"""Files that are damaged or no tables: one sentence, or null records, for every command."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.helpers import BOUNDED, refused, run, table

LINE = "41.5,27,0\n"


def _text(change: Callable[[bytes], bytes]) -> Callable[[], str]:
    def write() -> str:
        Path("hostile.csv").write_bytes(change(Path("data.csv").read_bytes()))
        return "hostile.csv"

    return write


def _cut_gzip() -> str:
    content = gzip.compress(Path("data.csv").read_bytes())
    Path("hostile.csv.gz").write_bytes(content[: len(content) // 2])
    return "hostile.csv.gz"


def _cut_parquet() -> str:
    table().to_parquet("whole.parquet")
    content = Path("whole.parquet").read_bytes()
    Path("hostile.parquet").write_bytes(content[: len(content) // 2])
    return "hostile.parquet"


def _mixed_directory() -> str:
    Path("parts").mkdir()
    table().to_parquet("parts/a.parquet")
    table().astype({"age": str}).to_parquet("parts/b.parquet")
    return "parts"


def _empty_directory() -> str:
    Path("parts").mkdir()
    return "parts"


DAMAGED = {
    "truncated gzip": _cut_gzip,
    "truncated Parquet": _cut_parquet,
    "mixed types": _mixed_directory,
    "empty directory": _empty_directory,
    "empty file": _text(lambda content: b""),
}
RECORDS = {
    "too few cells": _text(lambda content: content + b"41.5\n"),
    "too many cells": _text(lambda content: content + b"41.5,27,0,5317\n"),
    "NUL": _text(lambda content: content + b"4\x001,27,0\n"),
    "other encoding": _text(lambda content: content + "5317ä,27,0\n".encode("latin-1")),
    "open quotation mark": _text(lambda content: content + b'"41,27,0\n' + LINE.encode()),
}


def _commands(path: str) -> dict[str, list[str]]:
    return {
        "fit": ["fit", path, *BOUNDED[2:-1], "other.pairdp"],
        "predict": ["predict", "model.pairdp", path, "-o", "scores.csv"],
        "evaluate": ["evaluate", "model.pairdp", path, "--label", "outcome", "--epsilon", "5"],
    }


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_files_are_refused_in_one_sentence(kind: str, command: str) -> None:
    run(*BOUNDED)
    arguments = _commands(DAMAGED[kind]())[command]
    for invalid in ("error", "null"):
        refused(*arguments, "--invalid", invalid)
    assert not Path("scores.csv").exists()
    assert not Path("other.pairdp").exists()


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_that_cannot_be_read_is_an_error_or_a_null_record(kind: str, command: str) -> None:
    run(*BOUNDED)
    arguments = _commands(RECORDS[kind]())[command]
    assert "5317" not in refused(*arguments, "--invalid", "error")
    assert not Path("scores.csv").exists()
    run(*arguments, "--invalid", "null")
    if command == "predict":
        scores = pd.read_csv("scores.csv")
        assert scores["score"].isna().sum() == 1
        assert scores["score"].isna()[200]
