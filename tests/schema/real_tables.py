"""Mixed tables as people have them, and logistic regression on them without privacy."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pairdp import Schema
from tests.studies.data.places import DATA

FILES = Path(__file__).parent / "files"
Columns = dict[str, list[str]]


def columns(name: str) -> Columns:
    """Return the texts of a CSV file by column."""
    with (DATA / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def some(table: Columns, rows: Any) -> Columns:
    """Return some rows of a table."""
    return {name: [column[i] for i in rows] for name, column in table.items()}


def parts(name: str) -> tuple[Columns, Columns]:
    """Return the rows for training and for testing."""
    table = columns(name)
    if name == "adult":
        train = np.array(table["part"]) == "train"
    else:
        train = np.random.default_rng(0).permutation(np.arange(1000) < 700)
    return some(table, np.flatnonzero(train)), some(table, np.flatnonzero(~train))


def without_privacy(schema: Schema, train: Columns, test: Columns) -> float:
    """Return the AUC of logistic regression on standardised numbers and one-hot categories."""
    numbers = [name for name in schema.features if all(map(_is_number, train[name]))]
    others = [name for name in schema.features if name not in numbers]

    def rows(table: Columns) -> Any:
        number = np.array([table[name] for name in numbers], dtype=float).T.astype(object)
        return np.hstack([number, np.array([table[name] for name in others], dtype=object).T])

    at = len(numbers)
    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), list(range(at))),
            (OneHotEncoder(handle_unknown="ignore"), list(range(at, len(schema.features)))),
        ),
        LogisticRegression(max_iter=3000),
    )
    label = str(schema.label)
    high = str((schema.classes or ("",))[-1])
    model.fit(rows(train), [value == high for value in train[label]])
    found = [value == high for value in test[label]]
    return float(roc_auc_score(found, model.decision_function(rows(test))))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
