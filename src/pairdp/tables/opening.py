"""Which reader a file is for."""

from __future__ import annotations

from pathlib import Path

from pairdp.tables.arrow_csv import ArrowCSVTable
from pairdp.tables.base import Table, TableError
from pairdp.tables.delimited import CSVTable
from pairdp.tables.parquet import ParquetTable
from pairdp.tables.parquet_files import ENDINGS
from pairdp.tables.text_format import TextFormat


def open_table(path: str | Path, form: TextFormat | None = None) -> Table:
    """Return the table in a CSV or Parquet file, by its extension, or in a directory of the latter.

    Parameters
    ----------
    path : path-like
        The file.
    form : TextFormat, optional
        Encoding, separator and decimal mark of a CSV file; a Parquet file has none of them.
    """
    path = Path(path)
    if not path.exists():
        raise TableError(f"there is no file {path}")
    if not path.is_file() and not path.is_dir():
        raise TableError(f"{path} is not a file")
    ending = "".join(path.suffixes[-2:]).lower()
    if path.is_dir() or ending.endswith(ENDINGS):
        if form not in (None, TextFormat()):
            raise TableError(f"{path} is not text: encoding, separator and decimal are for CSV")
        return ParquetTable(path)
    if ending.endswith((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")):
        table = ArrowCSVTable(path, form)
        return table if table.can_read else CSVTable(path, form)
    raise TableError(f"{path} must have the extension .csv, .csv.gz or .parquet")
