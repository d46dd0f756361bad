"""A synthetic bank's table of loans: numbers of many sizes, categories, a date, gaps.

``python -m pairdp.demo.loan_table loans.csv --rows 20000 --seed 1`` writes it. No customer of any
bank is in it. Defaults depend on curved functions of single columns, as those of real scorecards
do, on the instalment as a share of income, and on chance.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCHEMA: dict[str, Any] = {
    "loan_id": "id",
    "applied": {"date": ["2023-01-01", "2025-01-01"]},
    "age": [18, 100],
    "income": {"range": [5_000, 500_000], "scale": "log"},
    "employment": ["permanent", "temporary", "self-employed", "retired", "none"],
    "years_employed": {"range": [0, 50], "missing": "indicator"},
    "purpose": ["car", "home", "education", "business", "debts", "other"],
    "amount": {"range": [500, 100_000], "scale": "log"},
    "months": [6, 84],
    "card_use": {"range": [0, 150], "missing": "indicator"},
    "missed_payments": {"range": [0, 12], "integer": True},
    "defaulted": {"label": ["no", "yes"]},
}
"""The public description of the columns: limits of the form, of the law and of the products."""

_FIRST_DAY = dt.date(2023, 1, 1)
_EMPLOYMENT = np.array([-0.3, 0.4, 0.3, -0.2, 0.9])
_PURPOSE = np.array([-0.2, -0.5, 0.1, 0.7, 0.4, 0.0])


def loans(rows: int, seed: int) -> dict[str, NDArray[np.str_]]:
    """Return the cells of synthetic loans by column, as text; an empty one is missing."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(6.0, 4.5, rows) + 18, 18, 90).astype(int)
    job = np.where(
        age >= 65,
        rng.choice(5, rows, p=[0.05, 0.05, 0.05, 0.84, 0.01]),
        rng.choice(5, rows, p=[0.62, 0.16, 0.13, 0.02, 0.07]),
    )
    years = np.clip(rng.exponential(0.25 * (age - 17)), 0, age - 16).round(1)
    income = np.exp(rng.normal(10.4, 0.45, rows) - 0.3 * np.isin(job, [1, 3]) - 0.8 * (job == 4))
    purpose = rng.choice(6, rows, p=[0.34, 0.18, 0.08, 0.08, 0.2, 0.12])
    amount = np.clip(np.exp(rng.normal(8.9, 0.8, rows)), 500, 100_000)
    months = rng.choice([12, 24, 36, 48, 60, 72, 84], rows)
    card = np.clip(100 * rng.beta(1.1, 2.0, rows) + rng.exponential(6.0, rows), 0, 150)
    missed = np.minimum(rng.negative_binomial(0.4, 0.35, rows), 12)
    burden = amount / months / (income / 12)  # the instalment as a share of the monthly income
    log_odds = (
        -2.6
        + _EMPLOYMENT[job]
        + _PURPOSE[purpose]
        + 0.0012 * (age - 48.0) ** 2
        - 0.7 * np.tanh(years / 4)
        + 1.6 / (1 + np.exp(-(card - 70) / 8))
        + 1.8 * (1 - np.exp(-missed / 1.5))
        + 1.3 * np.tanh((np.log(burden) + 2.7) / 0.8)
    )
    defaulted = rng.random(rows) < 1 / (1 + np.exp(-log_odds))
    days = np.sort(rng.integers(0, 730, rows))  # in the order in which they were applied for
    return {
        "loan_id": np.char.mod("L%06d", np.arange(rows)),
        "applied": np.array([(_FIRST_DAY + dt.timedelta(int(day))).isoformat() for day in days]),
        "age": age.astype(str),
        "income": income.round().astype(int).astype(str),
        "employment": np.array(SCHEMA["employment"])[job],
        "years_employed": np.where(job == 4, "", years.astype(str)),
        "purpose": np.array(SCHEMA["purpose"])[purpose],
        "amount": amount.round(-2).astype(int).astype(str),
        "months": months.astype(str),
        "card_use": np.where(rng.random(rows) < 0.15, "", card.round().astype(int).astype(str)),
        "missed_payments": missed.astype(str),
        "defaulted": np.where(defaulted, "yes", "no"),
    }


def write_loans(path: str | Path, rows: int = 20_000, seed: int = 1) -> None:
    """Write a table of synthetic loans as a CSV file."""
    columns = loans(rows, seed)
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write_loans(given.path, given.rows, given.seed)
