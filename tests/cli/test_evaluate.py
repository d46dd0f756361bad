"""``pairdp evaluate``: tables and models of every kind, ledgers, plans and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pairdp import (
    BoundsScaler,
    Budget,
    BudgetLedger,
    PrivateLinearRegressor,
    PrivateRanker,
    load,
    save,
)
from pairdp._sealed import seal
from pairdp.cli.main import main
from tests.cli.helpers import BOUNDED, refused, run, run_json, table, write

EVALUATE = ["evaluate", "model.pairdp", "data.csv", "--epsilon", "5", "--label", "outcome"]
SEEDED = [*EVALUATE, "--seed", "1"]
SCHEMA = {"age": [0, 120], "sex": ["F", "M"], "died": {"label": ["no", "yes"]}}


def true_auc(path: str = "data.csv") -> float:
    frame = pd.read_csv(path)
    return float(load("model.pairdp").score(frame[["age", "bmi"]], frame["outcome"]))


def test_the_auc_of_a_scaled_ranker_with_its_statement() -> None:
    run(*BOUNDED)
    output = run(*SEEDED).stdout
    assert output.startswith("AUC ")
    assert "95 % interval" in output
    assert "is differentially private with ε = 5" in " ".join(output.split())
    found = run_json(*SEEDED)
    lower, upper = found["figures"]["auc_interval"]
    assert lower < true_auc() < upper
    assert found["figures"]["classes"] == ["0", "1"]
    assert found["certificate"]["algorithm"] == "Private evaluation of scores"


@pytest.mark.parametrize("outcome", [("no", "yes"), (0, 1), (False, True)])
@pytest.mark.parametrize("path", ["data.csv", "data.parquet"])
def test_labels_of_every_kind_in_every_format(outcome: Any, path: str) -> None:
    write(table(outcome), path)
    run(*(path if word == "data.csv" else word for word in BOUNDED))
    found = run_json(*(path if word == "data.csv" else word for word in SEEDED))
    assert found["figures"]["auc"] > 0.7
    assert found["figures"]["positives"] == pytest.approx(100, abs=20)


def write_patients(rows: int = 600, **more: str) -> None:
    rng = np.random.default_rng(0)
    age, sex = rng.integers(20, 100, rows), rng.choice(["F", "M"], rows)
    died = np.where(rng.random(rows) < 1 / (1 + np.exp((60 - age) / 8)), "yes", "no")
    frame = pd.DataFrame({"id": np.arange(rows) // 2, "age": age, "sex": sex, "died": died})
    frame = frame.astype(object)
    for name, cell in more.items():
        frame.loc[3, name] = cell
    frame.to_csv("patients.csv", index=False)


PATIENTS = ["evaluate", "model.pairdp", "patients.csv", "--epsilon", "5", "--seed", "2"]


@pytest.mark.parametrize("options", [(), ("--scorecard",)])
def test_a_schema_reads_the_table_and_the_label(options: tuple[str, ...]) -> None:
    write_patients()
    Path("schema.json").write_text(json.dumps({**SCHEMA, "id": "id"}))
    fit = ["fit", "patients.csv", "--schema", "schema.json", "--epsilon", "9", "--seed", "0"]
    run(*fit, *options, "-o", "model.pairdp")
    found = run_json(*PATIENTS)
    assert found["figures"]["auc"] > 0.8
    write_patients(age="old")
    assert "row 3 (counted from 0)" in refused(*PATIENTS)
    one = run_json(*PATIENTS, "--invalid", "null")
    write_patients(age="?", sex="x", died="maybe")
    assert run_json(*PATIENTS, "--invalid", "null") == one
    of_units = run_json(*PATIENTS, "--invalid", "null", "--unit", "id", "--max-records", "1")
    assert of_units["certificate"]["unit"] == {"name": "id", "max_records": 1}
    assert of_units["figures"]["null_records"] == pytest.approx(300, abs=30)
    assert "drop --label" in refused(*PATIENTS, "--label", "sex")


def test_a_pipeline_of_scikit_learn() -> None:
    write_patients()
    frame = pd.read_csv("patients.csv")
    coded = OneHotEncoder(categories=[["F", "M"]], sparse_output=False)
    steps = make_column_transformer((coded, ["sex"]), (BoundsScaler([0.0], [120.0]), ["age"]))
    model = make_pipeline(steps, PrivateRanker(9.0, data_norm=2.0, random_state=0))
    save(model.fit(frame[["age", "sex"]], frame["died"]), "model.pairdp")
    options = [*PATIENTS, "--label", "died"]
    found = run_json(*options)
    assert found["figures"]["auc"] == pytest.approx(
        model.score(frame[["age", "sex"]], frame["died"]), abs=0.1
    )
    null = run_json(*options, "--invalid", "null")
    write_patients(sex="unheard of")
    run(*options, code=1)
    one = run_json(*options, "--invalid", "null")
    write_patients(age="old")
    assert "not a number" in refused(*options)
    assert run_json(*options, "--invalid", "null") == one
    assert one["figures"]["auc"] == pytest.approx(null["figures"]["auc"], abs=0.02)


def test_a_ledger_pays() -> None:
    run(*BOUNDED)
    BudgetLedger(Budget(6.0), "ledger.json")
    run(*EVALUATE, "--ledger", "ledger.json")
    (spend,) = BudgetLedger.load("ledger.json").spends
    assert spend.facts.data_set == "data.csv"
    assert "exceeds" in refused(*EVALUATE, "--ledger", "ledger.json", code=3)
    assert "seed repeats it" in refused(*SEEDED, "--ledger", "ledger.json")
    assert len(BudgetLedger.load("ledger.json").spends) == 1


def test_a_plan_spends_nothing_and_says_what_to_expect() -> None:
    run(*BOUNDED)
    BudgetLedger(Budget(6.0), "ledger.json")
    output = run(*EVALUATE, "--ledger", "ledger.json", "--plan").stdout
    assert "expected 95 % interval" in output
    assert not BudgetLedger.load("ledger.json").spends
    expected = run_json(*EVALUATE, "--plan")["expected"]
    assert [entry["hopeless"] for entry in expected] == [False, False, True]


@pytest.mark.filterwarnings("default::pairdp.evaluation.HopelessEvaluationWarning")
def test_what_is_hopeless_is_refused_first() -> None:
    run(*BOUNDED)
    BudgetLedger(Budget(6.0), "ledger.json")
    hopeless = ["evaluate", "model.pairdp", "data.csv", "--epsilon", "0.05", "--label", "outcome"]
    assert "nothing can be said" in refused(*hopeless, "--ledger", "ledger.json")
    assert not BudgetLedger.load("ledger.json").spends
    assert "Warning: with 200 records" in run(*hopeless, "--hopeless", "warn").stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["data.csv", "--epsilon", "5"], "give --label"),
        (["data.csv", "--epsilon", "5", "--label", "outcom"], "did you mean"),
        (["data.csv", "--epsilon", "-5", "--label", "outcome"], "epsilon"),
        (["none.csv", "--epsilon", "5", "--label", "outcome"], "none.csv"),
        (["data.csv", "--epsilon", "5", "--label", "outcome", "--unit", "age"], "belong together"),
        (["data.csv", "--epsilon", "5", "--label", "bmi"], "labels other than"),
        (["data.csv", "--epsilon", "5", "--label", "outcome", "--figure", "f.svg"], "give --roc"),
        (["data.csv", "--epsilon", "5", "--label", "outcome", "-o", "data.csv"], "is an input"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options: list[str], words: str) -> None:
    run(*BOUNDED)
    assert words in refused("evaluate", "model.pairdp", *options)


def test_files_are_written_and_verified() -> None:
    run(*BOUNDED)
    BudgetLedger(Budget(20.0), "ledger.json")
    files = ["-o", "evaluation.json", "--figure", "roc.svg"]
    output = run(*EVALUATE, "--roc", *files, "--ledger", "ledger.json").stdout
    assert "at threshold 0\n  sensitivity" in output
    assert "holds: ε = 5" in run("verify", "evaluation.json").stdout
    assert Path("roc.svg").read_text().startswith("<svg")
    assert "already exists" in refused(*SEEDED, "--roc", *files)
    assert len(BudgetLedger.load("ledger.json").spends) == 1
    document = json.loads(Path("evaluation.json").read_text())
    assert len(document["figures"]["thresholds"]) == 15
    document["figures"]["auc"] = 0.99
    del document["digest"]
    Path("evaluation.json").write_text(seal(document))
    assert "do not follow" in run("verify", "evaluation.json", code=1).stderr
    found = run(*SEEDED, "--threshold", "0.001", "-o", "one.json").stdout
    assert "at threshold 0.001" in found
    run("verify", "one.json")


def test_a_metric_has_an_auc_of_distances() -> None:
    run("fit", "data.csv", "--task", "metric", "--label", "outcome", "--bounds", "bounds.json",
        "--epsilon", "9", "--seed", "0", "-o", "model.pairdp")  # fmt: skip
    found = run_json(*SEEDED)
    assert 0.5 < found["figures"]["auc"] < 0.9
    assert found["figures"]["classes"] == ["different", "same"]
    assert found["certificate"]["problem"]["pairs"] == 100
    assert "has no accuracy" in refused(*SEEDED, "--measure", "accuracy")
    assert "of two classes" in refused(*SEEDED, "--roc")


def test_the_accuracy_of_a_classifier() -> None:
    run(*BOUNDED)
    found = run_json(*SEEDED, "--measure", "accuracy", "-o", "accuracy.json")
    frame = pd.read_csv("data.csv")
    predicted = load("model.pairdp").predict(frame[["age", "bmi"]])
    assert found["figures"]["accuracy"] == pytest.approx(
        (predicted == frame["outcome"]).mean(), abs=0.05
    )
    assert "holds" in run("verify", "accuracy.json").stdout
    assert "accuracy of 0.8" in run(*EVALUATE, "--measure", "accuracy", "--plan").stdout


def test_the_errors_of_a_regressor() -> None:
    frame = table()
    frame["outcome"] = np.clip(frame["age"], 0, 100)
    write(frame)
    regressor = PrivateLinearRegressor(
        9.0, target_bound=100.0, radius=300.0, data_norm=1.0, random_state=0
    )
    scaled = make_pipeline(BoundsScaler([0, 10], [100, 60]), regressor)
    save(scaled.fit(frame[["age", "bmi"]], frame["outcome"]), "model.pairdp")
    found = run_json(*SEEDED, "--target-range", "0", "100", "-o", "errors.json")
    predicted = load("model.pairdp").predict(frame[["age", "bmi"]])
    error = np.abs(np.clip(predicted, 0, 100) - frame["outcome"]).mean()
    lower, upper = found["figures"]["mean_absolute_error"]["interval"]
    assert lower < error < upper
    assert run(*SEEDED).stdout.startswith("mean absolute error ")
    assert "holds" in run("verify", "errors.json").stdout


def test_it_is_listed() -> None:
    assert "evaluate" in main.list_commands(None)  # type: ignore[arg-type]
