"""Real tables for choosing constants of metrics: other columns of adult and german as classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.schema.real_tables import FILES, parts

from pairdp import Schema, SchemaEncoder

Columns = dict[str, np.ndarray]
Classes = Callable[[Columns], np.ndarray]


def _number(cells: np.ndarray) -> np.ndarray:
    return np.array([float(cell or "nan") for cell in cells])


def _marital(c: Columns) -> np.ndarray:
    return np.select([c["marital_status"] == s for s in ("Married-civ-spouse", "Never-married")],
                     [0, 1], 2)  # fmt: skip


def _job(c: Columns) -> np.ndarray:
    return np.select([c["job"] == "A173", c["job"] == "A174"], [0, 1], 2)


_MARRIAGE = ("marital_status", "relationship")
ADULT: dict[str, tuple[Classes, tuple[str, ...]]] = {
    "income": (lambda c: c["income"] == ">50K", ()),
    "sex": (lambda c: c["sex"] == "Male", ("sex", "relationship")),
    "married": (lambda c: c["marital_status"] == "Married-civ-spouse", _MARRIAGE),
    "marital status": (_marital, _MARRIAGE),
    "relationship": (lambda c: np.unique(c["relationship"], return_inverse=True)[1],
                     (*_MARRIAGE, "sex")),
    "private work": (lambda c: c["workclass"] == "Private", ("workclass",)),
    "college": (lambda c: _number(c["education_num"]) >= 13, ("education_num", "education")),
    "long hours": (lambda c: _number(c["hours_per_week"]) > 40, ("hours_per_week",)),
    "age": (lambda c: np.digitize(_number(c["age"]), [30, 45]), ("age",)),
}  # fmt: skip
GERMAN: dict[str, tuple[Classes, tuple[str, ...]]] = {
    "risk": (lambda c: c["risk"] == "good", ()),
    "telephone": (lambda c: c["telephone"] == "A192", ("telephone",)),
    "housing": (lambda c: c["housing"] == "A152", ("housing", "property")),
    "sex": (lambda c: c["personal_status"] == "A92", ("personal_status",)),
    "job": (_job, ("job",)),
    "employment": (lambda c: np.isin(c["employment"], ["A74", "A75"]), ("employment",)),
    "checking": (lambda c: c["checking"] == "A14", ("checking",)),
    "credits": (lambda c: c["existing_credits"] != "1", ("existing_credits", "credit_history")),
    "amount": (lambda c: np.digitize(_number(c["amount"]), [1500, 3500]), ("amount",)),
    "age": (lambda c: _number(c["age"]) > 33, ("age",)),
    "savings": (lambda c: c["savings"] == "A61", ("savings",)),
}
RAW = {
    "adult": ("age", "education_num", "hours_per_week", "capital_gain", "capital_loss"),
    "german": ("age", "amount", "duration", "installment_rate", "residence_years",
               "existing_credits"),
}  # fmt: skip
SIZES = {"adult": (300, 700, 2000), "german": (300, 700)}


def targets() -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """Yield a title, a number of records to learn from, rows in the unit ball, and classes.

    The columns that define a class are left out of its rows. Rows are all encoded columns, or
    numbers in their units, divided by the largest norm.
    """
    for name, classes in (("adult", ADULT), ("german", GERMAN)):
        both = parts(name)
        columns: Any = {k: np.concatenate([np.asarray(p[k]) for p in both]) for k in both[0]}
        encoder = SchemaEncoder(Schema.read(FILES / f"{name}.json"))
        rows = np.vstack([encoder.fit_transform(part) for part in both])
        own = np.array([c.split("=")[0].split(" (")[0] for c in encoder.get_feature_names_out()])
        for title, (classified, dropped) in classes.items():
            y = np.asarray(classified(columns)).astype(int)
            raw = np.column_stack([_number(columns[c]) for c in RAW[name] if c not in dropped])
            for form, x in (("encoded", rows[:, ~np.isin(own, dropped)]), ("raw", raw)):
                x = x / np.linalg.norm(x, axis=1).max()
                yield from ((f"{name}, {title}, {form}", n, x, y) for n in SIZES[name])
