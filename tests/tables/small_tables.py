"""Small tables in files, and what reading them gives."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from pairdp.tables import Table, TextFormat, open_table

PLAIN = "x,y,label\n1,-2.5,a\n3e2,0.5,b\n-0.25,7,a\n"


def csv_table(
    tmp_path: Path, content: str | bytes, name: str = "data.csv", form: TextFormat | None = None
) -> Table:
    raw = content.encode() if isinstance(content, str) else content
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return open_table(tmp_path / name, form)


def read(
    table: Table, features: list[str], label: str | None = None, size: int = 2
) -> tuple[list[list[float]], list[Any]]:
    """Return all rows of a table, read in small batches."""
    rows: list[list[float]] = []
    labels: list[Any] = []
    for batch in table.batches(features, label, size):
        assert batch.features.dtype == np.float64
        assert 0 < len(batch.features) <= size
        rows += batch.features.tolist()
        labels += batch.labels.tolist()
    return rows, labels
