"""``--unit`` and ``--max-records`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pairdp import Unit, load
from tests.cli.helpers import (
    BOUNDED,
    SECRET,
    N,
    coefficients,
    refused,
    run,
    run_json,
    table,
    write,
)

PATIENTS = [f"P{i % 50}" if i >= 10 else "" for i in range(N)]
UNITS = ["--unit", "patient", "--max-records", "3"]
SCHEMA = {"patient": "id", "age": [0, 100], "bmi": [10, 60], "outcome": {"label": ["0", "1"]}}


@pytest.fixture(autouse=True)
def _patients() -> None:
    """Write a table with several rows a patient, some rows without one."""
    write(table(patient=PATIENTS))
    Path("schema.json").write_text(json.dumps(SCHEMA))


def test_a_unit_is_protected_and_is_no_feature() -> None:
    found = run_json(*BOUNDED, *UNITS)
    assert found["features"] == ["age", "bmi"]
    assert found["certificate"]["unit"] == {"name": "patient", "max_records": 3}
    assert found["certificate"]["relation"] == "replace-unit-or-null"
    assert load("model.pairdp")[-1].certificate_.unit == Unit("patient", 3)
    assert "holds" in run("verify", "model.pairdp").stdout
    assert b"P1" not in Path("model.pairdp").read_bytes()
    run("predict", "model.pairdp", "data.csv", "-o", "scores.csv")


def test_rows_beyond_the_limit_do_not_matter() -> None:
    run(*BOUNDED, *UNITS)
    before = coefficients()
    frame = table(patient=PATIENTS)
    frame.loc[160:, "age"] = 1.0  # the fourth row of each patient
    frame.loc[0, "bmi"] = 11.0  # a row without a patient
    write(frame)
    run(*BOUNDED, *UNITS, "--force")
    np.testing.assert_array_equal(coefficients(), before)
    frame.loc[10, "age"] = 1.0
    write(frame)
    run(*BOUNDED, *UNITS, "--force")
    assert np.any(coefficients() != before)


def test_a_schema_names_the_unit_as_an_id() -> None:
    by_schema = ["fit", "data.csv", "--schema", "schema.json", "-o", "model.pairdp"]
    found = run_json(*by_schema, *UNITS)
    assert found["certificate"]["unit"] == {"name": "patient", "max_records": 3}
    reason = "the schema does not declare 'age' as an id"
    assert reason in refused(*by_schema, "--force", "--unit", "age", "--max-records", "3")


def test_wrong_units_are_refused() -> None:
    assert "belong together" in refused(*BOUNDED, "--unit", "patient")
    assert "belong together" in refused(*BOUNDED, "--max-records", "3")
    assert "no column 'patent'" in refused(*BOUNDED, "--unit", "patent", "--max-records", "3")
    schema = ["fit", "data.csv", "--schema", "schema.json", "-o", "m.pairdp"]
    misspelt = refused(*schema, "--unit", "patent", "--max-records", "3")
    assert "does not declare 'patent'" in misspelt
    assert "did you mean 'patient'" in misspelt
    assert "must not have bounds" in refused(*BOUNDED, "--unit", "age", "--max-records", "3")
    assert "is the label" in refused(*BOUNDED, "--unit", "outcome", "--max-records", "3")
    batches = [*BOUNDED, *UNITS, "--algorithm", "Yang2021"]
    assert "does not offer units" in refused(*batches)


def test_a_ledger_for_units() -> None:
    run("ledger", "new", "ledger", "--epsilon", "2", "--unit", "patient")
    assert "protects single records" in refused(*SECRET, "--drop", "patient", "--ledger", "ledger")
    run(*SECRET, *UNITS, "--ledger", "ledger")
    found = run_json("ledger", "show", "ledger")
    assert found["unit"] == "patient"
    assert [spend["unit"] for spend in found["spends"]] == ["patient"]
    assert "for all records of one patient together" in run("ledger", "show", "ledger").stdout


def test_plans_and_audits_of_units() -> None:
    alone = run_json("plan", "--n", "500", "--features", "3", "--algorithm", "DPGDSC")
    units = run_json(
        "plan", "--n", "500", "--features", "3", "--algorithm", "DPGDSC", "--max-records", "3"
    )
    assert units["chosen"]["noise"] > 1.2 * alone["chosen"]["noise"]
    audited = run_json(
        "audit", "DPGDSC", "--max-records", "2", "--steps", "2", "--runs", "2000", "--climbs", "1",
        "--loss", "tight",
    )  # fmt: skip
    assert audited["verdict"] == "consistent"
