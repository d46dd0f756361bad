"""Directories of Parquet files as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pairdp.tables import TableError, open_table
from tests.tables.small_tables import read


def write(path: Path, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


def test_files_are_one_table_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", x=[3.0, 4.0], y=[1, 0])
    write(tmp_path / "a.parquet", x=[1.0, 2.0], y=[0, 1])
    write(tmp_path / "deeper" / "c.pq", x=[5.0], y=[1])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden").mkdir()
    write(tmp_path / ".hidden" / "d.parquet", x=[9.0], y=[1])
    (tmp_path / "notes.txt").write_text("not a table")
    table = open_table(tmp_path)
    assert table.columns == ("x", "y")
    assert table.count("y") == (5, (0, 1))
    for size in (1, 2, 3, 100):
        sizes = [batch.rows for batch in table.batches(["x"], "y", size)]
        assert sizes == [size] * (5 // size) + ([5 % size] if 5 % size else [])
        assert read(table, ["x"], "y", size) == (
            [[1.0], [2.0], [3.0], [4.0], [5.0]],
            [0, 1, 1, 0, 1],
        )


def test_names_of_directories_are_columns_of_text(tmp_path: Path) -> None:
    write(tmp_path / "year=2023" / "ward=A%2FB" / "0.parquet", x=[1.0])
    write(tmp_path / "year=2024" / "ward=__HIVE_DEFAULT_PARTITION__" / "0.parquet", x=[2.0, 3.0])
    table = open_table(tmp_path)
    assert table.columns == ("x", "year", "ward")
    (cells,) = table.cells(["ward", "x", "year"])
    assert cells.columns["year"].tolist() == ["2023", "2024", "2024"]
    assert cells.columns["ward"].tolist() == ["A/B", None, None]
    # A directory that is no year does not change how the others are read.
    write(tmp_path / "year=unknown" / "ward=C" / "0.parquet", x=[4.0])
    (cells,) = open_table(tmp_path).cells(["year"])
    assert cells.columns["year"].tolist() == ["2023", "2024", "2024", "unknown"]
    (batch,) = open_table(tmp_path).batches(["x", "year"], "ward", invalid="null")
    np.testing.assert_array_equal(batch.features[:2], [[1, 2023], [2, 2024]])
    assert np.isnan(batch.features[3]).all()
    assert batch.labels.tolist() == ["A/B", None, None, "C"]


@pytest.mark.parametrize("other", [{"x": ["5317"]}, {"z": [1.0]}, {"x": [1.0], "z": [1.0]}])
def test_files_with_other_columns_are_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    write(tmp_path / "a.parquet", x=[1.0])
    write(tmp_path / "b.parquet", **other)
    with pytest.raises(
        TableError, match=r"b\.parquet has other columns or types than .*a\.parquet"
    ):
        open_table(tmp_path)


def test_other_directories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="is a directory without Parquet files"):
        open_table(tmp_path)
    write(tmp_path / "x=1" / "a.parquet", y=[1.0])
    write(tmp_path / "b.parquet", y=[1.0])
    with pytest.raises(TableError, match="not in directories of the same columns"):
        open_table(tmp_path)
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError, match=r"b\.parquet is not a readable Parquet file"):
        open_table(tmp_path)
    (tmp_path / "b.parquet").unlink()
    write(tmp_path / "x=1" / "a.parquet", x=[1.0])
    with pytest.raises(TableError, match="'x' in the names of directories and in files"):
        open_table(tmp_path)


def test_files_are_not_all_open_at_once(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    for number in range(40):
        parquet.write_table(pa.table({"x": [float(number)]}), tmp_path / f"{number:02}.parquet")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, limits[1]))
    try:
        rows, _ = read(open_table(tmp_path), ["x"], None, 7)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert rows == [[float(number)] for number in range(40)]
