"""Labels of tables: their order, and when they are numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tables.small_tables import csv_table, read


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
def test_labels_are_sorted_and_integers_are_numbers(
    tmp_path: Path, texts: list[str], labels: tuple[Any, ...]
) -> None:
    lines = "".join(f"0,{text}\n" for text in [*texts, *texts])
    table = csv_table(tmp_path, "x,label\n" + lines)
    assert table.count("label") == (2 * len(texts), labels)
    assert list(map(type, table.count("label")[1])) == list(map(type, labels))
    # Rows have the text that the labels are written as.
    assert set(read(table, ["x"], "label")[1]) == set(map(str, labels))
