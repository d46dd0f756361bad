"""The command pairdp audit --data."""

from __future__ import annotations

import pandas as pd

from tests.cli.helpers import BOUNDED, N, refused, run, run_json, table, write

SURE = ("--confidence", "0.99999999", "--runs", "20000")
DATA = ("--data", "data.csv", "--label", "outcome")


def test_an_algorithm_is_audited_on_a_table() -> None:
    shown = run("audit", "minimizer", *DATA, "--bounds", "bounds.json", *SURE).stdout
    assert shown.startswith("consistent: Minimiser with output noise\n")
    assert "an influential canary, at record" in shown
    assert "NOT private, unless the data is public" in shown


def test_canaries_and_json() -> None:
    options = ("audit", "moments", *DATA, "--bounds", "bounds.json", *SURE)
    influential, extreme = run_json(*options), run_json(*options, "--canary", "extreme")
    assert "extreme canary, at record 0" in extreme["audits"][0]["notes"][-1]
    assert influential["verdict"] == extreme["verdict"] == "consistent"
    assert influential["audits"][0]["lower_bound"] > 0


def test_a_saved_model_is_audited_on_a_table() -> None:
    run(*BOUNDED)
    found = run_json("audit", "model.pairdp", *DATA, "--runs", "40")
    (report,) = found["audits"]
    assert report["verdict"] == "consistent"
    assert "influential canary" in report["notes"][-1]
    said = refused("audit", "model.pairdp", *DATA, "--bounds", "bounds.json")
    assert "which scales its features: leave out --bounds" in said
    write(pd.DataFrame(table().head(50)))
    assert f"the plan is for {N} records" in refused("audit", "model.pairdp", *DATA)


def test_other_tasks_and_unscaled_features() -> None:
    write(table(outcome=("low", "high")).head(20))
    metric = run_json("audit", "DPGDC", "--task", "metric", *DATA, *SURE)
    assert metric["verdict"] == "consistent"


def test_what_is_refused() -> None:
    assert "the data needs --label" in refused("audit", "DPGDSC", "--data", "data.csv")
    assert "this option is for --data: leave out --label" in refused(
        "audit", "DPGDSC", "--label", "outcome"
    )
    assert "leave out --n" in refused("audit", "DPGDSC", *DATA, "--n", "10")
    assert "has no column 'other'" in refused(
        "audit", "DPGDSC", "--data", "data.csv", "--label", "other"
    )
    write(table(outcome=("a", "b")).assign(outcome="a"))
    assert "two labels, and has 1" in refused("audit", "DPGDSC", *DATA, "--bounds", "bounds.json")
