"""A small hospital table, with its schema."""

from __future__ import annotations

from typing import Any

import numpy as np

SCHEMA: dict[str, Any] = {
    "patient_id": "id",
    "age": [0, 120],
    "sex": ["F", "M"],
    "systolic": {"range": [60, 260], "missing": "indicator"},
    "ward": {"categories": ["ICU", "Surgery"], "other": True},
    "remarks": "ignore",
    "died": {"label": ["yes", "no"]},
}
"""The class "no" ranks high, though "yes" is the last in sorted order."""

TARGET: dict[str, Any] = {**SCHEMA, "died": "ignore", "stay": {"target": [0, 100]}}
N = 800


def table(n: int = N, seed: int = 0) -> dict[str, list[Any]]:
    """Return the columns of a table as a CSV file has them: texts, in another order."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    died = age + rng.normal(0, 15, n) > 60
    pressure = rng.normal(120, 20, n).round().astype(int).astype(str)
    return {
        "died": np.where(died, "yes", "no").tolist(),
        "ward": rng.choice(["ICU", "Surgery", "Medicine"], n).tolist(),
        "systolic": np.where(rng.random(n) < 0.1, "", pressure).tolist(),
        "extra": ["x"] * n,
        "sex": rng.choice(["F", "M"], n).tolist(),
        "age": age.astype(str).tolist(),
        "stay": (age + rng.normal(0, 5, n)).round(1).astype(str).tolist(),
        "patient_id": (np.arange(n) // 2).astype(str).tolist(),
    }


def changed(columns: dict[str, list[Any]], name: str, row: int, cell: Any) -> dict[str, list[Any]]:
    """Return a table with another cell in one place."""
    column = list(columns[name])
    column[row] = cell
    return {**columns, name: column}
