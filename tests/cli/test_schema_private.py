"""``pairdp schema --private``: ranges that are paid for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pairdp import Budget, BudgetLedger
from tests.cli.helpers import refused, run, run_json

OPTIONS = ("--private", "--columns", "age,crp", "--epsilon", "5")


def write_patients(rows: int = 1500, *, decimal: str = ".") -> None:
    rng = np.random.default_rng(0)
    age, crp = rng.normal(60, 12, rows), rng.lognormal(1, 1, rows)
    cells = (f"{i // 3};{age[i]:.1f};{crp[i]:.3f};ICU" for i in range(rows))
    lines = ["id;age;crp;ward", *(line.replace(".", decimal) for line in cells)]
    lines[5] = "9;old;;ICU"
    lines[6] = "broken"
    Path("patients.csv").write_text("\n".join(lines) + "\n")


def columns_of(path: str) -> dict[str, object]:
    found = json.loads(Path(path).read_text())
    return {name: form for name, form in found.items() if not name.startswith("#")}


def test_ranges_are_in_the_starter_and_their_certificate_beside_it() -> None:
    write_patients()
    output = run("schema", "patients.csv", *OPTIONS, "-o", "schema.json").stdout
    assert "differentially private with ε = 5" in " ".join(output.split())
    found = columns_of("schema.json")
    assert (found["id"], found["ward"]) == ("?", "?")
    lower, upper = found["age"]  # type: ignore[misc]
    assert 0 <= lower < 60 < upper <= 150
    assert "holds: ε = 5" in run("verify", "schema.certificate.json").stdout
    comments = Path("schema.json").read_text()
    assert "The ranges of age, crp were estimated" in comments


def test_ranges_do_not_depend_on_the_way_numbers_are_written() -> None:
    write_patients()
    first = run_json("schema", "patients.csv", *OPTIONS, "--seed", "1", "-o", "one.json")
    write_patients(decimal=",")
    second = run_json(
        "schema", "patients.csv", *OPTIONS, "--seed", "1", "--decimal", ",", "-o", "two.json"
    )
    assert first["ranges"] == second["ranges"]


def test_a_ledger_pays_and_knows_the_columns() -> None:
    write_patients()
    BudgetLedger(Budget(6.0, 1e-5), "ledger.json")
    run("schema", "patients.csv", *OPTIONS, "--ledger", "ledger.json", "-o", "schema.json")
    (spend,) = BudgetLedger.load("ledger.json").spends
    assert spend.facts.columns == ("age", "crp")
    error = refused(
        "schema", "patients.csv", *OPTIONS, "--ledger", "ledger.json", "-o", "more.json", code=3
    )
    assert "exceeds" in error
    assert not Path("more.json").exists()
    assert not Path("more.certificate.json").exists()
    assert not list(Path().glob(".*.writing"))


def test_a_unit_is_protected_as_a_whole() -> None:
    write_patients()
    found = run_json(
        "schema", "patients.csv", *OPTIONS, "--unit", "id", "--max-records", "2", "-o", "s.json"
    )
    assert found["certificate"]["unit"] == {"name": "id", "max_records": 2}
    run("verify", "s.certificate.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--private", "-o", "s.json"), "name the columns that need a range"),
        (("--private", "--columns", "agee", "-o", "s.json"), "did you mean"),
        (("--private", "--columns", "age,age", "-o", "s.json"), "twice"),
        (("--private", "--columns", "age"), "needs -o"),
        (("--columns", "age"), "are for --private"),
        (("--epsilon", "1"), "are for --private"),
        ((*OPTIONS, "--unit", "id", "-o", "s.json"), "belong together"),
        ((*OPTIONS, "--unit", "no", "--max-records", "2", "-o", "s.json"), "no column"),
        ((*OPTIONS, "--coverage", "1", "-o", "s.json"), "below 1"),
        ((*OPTIONS, "--check", "s.json"), "do not combine"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options: tuple[str, ...], words: str) -> None:
    write_patients(20)
    assert words.lower() in refused("schema", "patients.csv", *options).lower()
    assert not Path("s.json").exists()


def test_no_output_depends_on_cells_that_cannot_be_read() -> None:
    """The same noise, and the same output, for two tables with different unreadable cells."""
    outputs = []
    for cell in ("old", '"', "1e999", ""):
        write_patients()
        lines = Path("patients.csv").read_text().split("\n")
        lines[7] = f"9;{cell};;ICU"
        Path("patients.csv").write_text("\n".join(lines))
        done = run("schema", "patients.csv", *OPTIONS, "--seed", "3", "-o", "s.json", "--force")
        outputs.append((done.stdout, done.stderr, Path("s.json").read_text()))
    assert len(set(outputs)) == 1
