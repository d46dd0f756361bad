"""A synthetic hospital's table in many forms, and its schema."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from pairdp.demo.hospital_table import COLUMNS, patients

SCHEMA = """\
{"patient_id": "id",
 "age":      [0, 120],
 "sex":      ["F", "M"],
 "systolic": {"range": [60, 260], "missing": "indicator"},
 "crp":      {"range": [0.1, 500], "scale": "log", "missing": 5.0},
 "ward":     {"categories": ["ICU", "Surgery", "Medicine, general"], "other": true},
 "admitted": {"date": ["2023-01-01", "2025-01-01"]},
 "remarks":  "ignore",
 "died":     {"label": ["no", "yes"]}}
"""
Rows = Sequence[Sequence[str]]


def text_of(rows: Rows, mark: str = ",", columns: Sequence[str] = COLUMNS) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=mark, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return file.getvalue()


def write_csv(path: str, rows: Rows, mark: str = ",", encoding: str = "utf-8") -> None:
    Path(path).write_bytes(text_of(rows, mark).encode(encoding))


def write_gzip(path: str, rows: Rows) -> None:
    Path(path).write_bytes(gzip.compress(text_of(rows).encode(), mtime=0))


def write_decimal_commas(path: str, rows: Rows) -> None:
    crp = COLUMNS.index("crp")
    write_csv(
        path, [(*row[:crp], row[crp].replace(".", ","), *row[crp + 1 :]) for row in rows], ";"
    )


def write_other_order(path: str, rows: Rows) -> None:
    text = text_of([row[::-1] for row in rows], columns=COLUMNS[::-1])
    Path(path).write_text(text, encoding="utf-8")


def write_parquet(path: str, rows: Rows) -> None:
    """Write typed columns: integers, floats with nulls, a dictionary and dates."""
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))

    def typed(name: str, read: Callable[[str], object], kind: pa.DataType) -> pa.Array:
        return pa.array([read(cell) if cell else None for cell in columns[name]], kind)

    parquet.write_table(
        pa.table(
            {
                "patient_id": columns["patient_id"],
                "age": typed("age", int, pa.int16()),
                "sex": pa.array(columns["sex"]).dictionary_encode(),
                "systolic": typed("systolic", int, pa.int32()),
                "crp": typed("crp", float, pa.float64()),
                "ward": pa.array(columns["ward"]).dictionary_encode(),
                "admitted": typed("admitted", dt.date.fromisoformat, pa.date32()),
                "remarks": columns["remarks"],
                "died": columns["died"],
            }
        ),
        path,
        row_group_size=100,
    )


# From the name of a form to its file, what writes it, and the options that read it.
FORMS: dict[str, tuple[str, Callable[[str, Rows], None], list[str]]] = {
    "commas": ("p.csv", write_csv, []),
    "gzip": ("p.csv.gz", write_gzip, []),
    "Parquet": ("p.parquet", write_parquet, []),
    "semicolons": ("p.csv", lambda path, rows: write_csv(path, rows, ";"), []),
    "tabs": ("p.tsv", lambda path, rows: write_csv(path, rows, "\t"), ["--separator", "tab"]),
    "byte order mark": ("p.csv", lambda p, rows: write_csv(p, rows, ",", "utf-8-sig"), []),
    "Latin-1": (
        "p.csv",
        lambda p, rows: write_csv(p, rows, ",", "latin-1"),
        ["--encoding", "latin-1"],
    ),
    "UTF-16": (
        "p.csv",
        lambda p, rows: write_csv(p, rows, ";", "utf-16"),
        ["--encoding", "utf-16"],
    ),
    "decimal commas": ("p.csv", write_decimal_commas, ["--decimal", ","]),
    "other order": ("p.csv", write_other_order, []),
}

__all__ = ["COLUMNS", "FORMS", "SCHEMA", "patients", "text_of", "write_csv"]
