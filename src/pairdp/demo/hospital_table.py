"""A synthetic hospital's table, as messy as a true one: gaps, categories, dates, ids, remarks.

``python -m pairdp.demo.hospital_table patients.csv --rows 4000 --seed 1`` writes it. No patient
of any hospital is in it.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import math
from pathlib import Path

import numpy as np

COLUMNS = (
    "patient_id", "age", "sex", "systolic", "crp", "ward", "admitted", "remarks", "died",
)  # fmt: skip
WARDS = ("ICU", "Surgery", "Medicine, general", "Maternity")
REMARKS = ("", "", "", "transferred", 'says "no pain"', "Dr Müller, see letter", "diet; no salt")
FIRST_DAY = dt.date(2023, 1, 1)


def patients(rows: int, seed: int) -> list[tuple[str, ...]]:
    """Return the cells of synthetic patients, as text; an empty one is missing."""
    rng = np.random.default_rng(seed)
    return [_patient(number, rng) for number in range(rows)]


def _patient(number: int, rng: np.random.Generator) -> tuple[str, ...]:
    age = int(np.clip(rng.normal(62, 18), 18, 99))
    sex = "FM"[int(rng.random() < 0.5)]
    ward = WARDS[int(rng.choice(4, p=[0.15, 0.3, 0.53, 0.02]))]
    severity = rng.normal(0.8 if ward == "ICU" else 0.0, 1.0)
    systolic = int(np.clip(rng.normal(128 - 9 * severity + 0.2 * (age - 62), 16), 50, 280))
    crp = float(np.clip(math.exp(rng.normal(2.0 + 0.9 * severity, 1.0)), 0.1, 600))
    risk = -2.6 + 0.05 * (age - 62) + 1.1 * severity + 0.3 * (sex == "M")
    died = rng.random() < 1 / (1 + math.exp(-risk))
    return (
        f"P{number:05d}",
        str(age),
        sex,
        "" if rng.random() < 0.12 else str(systolic),
        "" if rng.random() < 0.05 else f"{crp:.1f}",
        ward,
        (FIRST_DAY + dt.timedelta(int(rng.integers(730)))).isoformat(),
        REMARKS[int(rng.integers(len(REMARKS)))],
        "yes" if died else "no",
    )


def write_patients(path: str | Path, rows: int = 10_000, seed: int = 1) -> None:
    """Write a table of synthetic patients as a CSV file."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(patients(rows, seed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write_patients(given.path, given.rows, given.seed)
