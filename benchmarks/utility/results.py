"""Rows of results: one for each table, n, seed, method and ε; how they are grouped and compared."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Row = dict[str, Any]
Key = tuple[Any, ...]
CELL = ("part", "table", "n", "epsilon")


def read(path: Path) -> list[Row]:
    """Return the rows of a file of results."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def key_of(row: Row) -> Key:
    """Return what tells rows apart."""
    return tuple(row[name] for name in (*CELL, "seed", "method"))


def group(rows: Iterable[Row], *names: str) -> dict[Key, list[Row]]:
    """Return rows by the values of some of their fields, in the order of their first row."""
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return dict(found)


def areas(rows: Iterable[Row]) -> list[float]:
    """Return the AUC of rows."""
    return [row["auc"] for row in rows]


def mean_error(values: Sequence[float] | Array) -> tuple[float, float]:
    """Return the mean and its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def signal(row: Row) -> float:
    """Return nµ/d, with d encoded features."""
    return float(row["n"] * row["mu"] / row["width"])


def differences(rows: Iterable[Row], first: str, second: str) -> dict[Key, Array]:
    """Return AUC of one method less that of another in each cell, one value a seed."""
    found = {}
    for key, some in group(rows, *CELL).items():
        by_method = {
            name: {row["seed"]: row["auc"] for row in some if row["method"] == name}
            for name in (first, second)
        }
        seeds = sorted(by_method[first].keys() & by_method[second].keys())
        if seeds:
            gaps = [by_method[first][seed] - by_method[second][seed] for seed in seeds]
            found[key] = np.array(gaps)
    return found
