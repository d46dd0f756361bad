"""``pairdp fit --evaluate`` and ``pairdp plan --evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairdp import Budget, BudgetLedger, PrivateRanker, load
from pairdp.verification import verify_file
from tests.cli.helpers import refused, run, run_json

SCHEMA = {"age": [0, 120], "bmi": [10, 60], "id": "id", "died": {"label": ["no", "yes"]}}
FIT = ["fit", "data.csv", "--schema", "schema.json", "--epsilon", "2", "--delta", "1e-6"]
FIT += ["--model", "linear", "-o", "model.pairdp"]
N = 1000


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """A table that is sorted by label."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    died = np.sort(rng.integers(0, 2, N))
    columns = {"age": 60 + 15 * (rng.normal(size=N) + died), "bmi": rng.uniform(15, 40, N)}
    frame = pd.DataFrame({**columns, "id": rng.integers(0, 700, N)})
    frame["died"] = np.where(died, "yes", "no")
    frame.to_csv("data.csv", index=False)
    Path("schema.json").write_text(json.dumps(SCHEMA))
    return frame


def test_a_fit_prints_its_evaluation_and_stores_it(data: pd.DataFrame) -> None:
    output = run(*FIT, "--evaluate", "--seed", "1").stdout
    assert "On 200 records that were held out:\nAUC " in output
    (report,) = verify_file("model.pairdp")
    assert report.holds
    assert report.certificate.n == N
    model = load("model.pairdp")
    again = PrivateRanker(2.0, 1e-6, model="linear", schema=SCHEMA, random_state=1)
    again.fit(data, evaluation_share=0.2)
    assert model.evaluation_.figures() == again.evaluation_.figures()
    shown = run("show", "model.pairdp").stdout
    assert "n = 1000, of which 200 were held out for evaluation" in shown
    assert f"AUC {model.evaluation_.auc:.3f}, 95 % interval" in shown
    found = run_json(*FIT, "--evaluate", "0.3", "--roc", "--evaluation-seed", "4", "--force")
    assert found["evaluation"]["auc"] == load("model.pairdp").evaluation_.auc
    assert len(found["evaluation"]["thresholds"]) == 15
    assert run_json("show", "model.pairdp")["evaluation"] == found["evaluation"]


def test_units_and_one_entry_of_the_ledger() -> None:
    BudgetLedger(Budget(2.0, 1e-6), "ledger.json", unit="id")
    units = ["--unit", "id", "--max-records", "2", "--ledger", "ledger.json"]
    run(*FIT, *units, "--evaluate")
    (entry,) = BudgetLedger.load("ledger.json").spends
    assert entry.facts.unit == "id"
    certificate = load("model.pairdp").certificate_
    assert certificate.budget == Budget(2.0, 1e-6)
    assert certificate.unit is not None
    assert "exceeds" in refused(*FIT, *units, "--evaluate", "--force", code=3)


def test_tables_of_numbers(data: pd.DataFrame) -> None:
    data.drop(columns="id").to_csv("numbers.csv", index=False)
    Path("bounds.json").write_text(json.dumps({"age": [0, 120], "bmi": [10, 60]}))
    fit = ["fit", "numbers.csv", "--label", "died", "--bounds", "bounds.json", "--epsilon", "2"]
    run(*fit, "-o", "model.pairdp", "--evaluate", "--seed", "0")
    assert load("model.pairdp")[-1].evaluation_.auc > 0.6
    assert verify_file("model.pairdp")[0].holds


def test_what_can_be_expected_is_printed_first() -> None:
    plan = ["plan", "--n", "1000", "--schema", "schema.json", "--epsilon", "2"]
    output = run(*plan, "--evaluate").stdout
    assert output.startswith("n = 1000 records, 800 for training and 200 held out, ε = 2")
    assert "expected 95 % interval of an AUC of 0.8" in output
    found = run_json(*plan, "--evaluate", "0.1")
    assert found["evaluation"]["n"] == 100
    assert run_json(*plan)["evaluation"] is None


@pytest.mark.filterwarnings("always::UserWarning")
def test_refusals_leave_nothing_behind() -> None:
    poor = [*FIT[:5], "0.01", *FIT[6:], "--evaluate"]
    message = refused(*poor)
    assert "200 of the 1000 records would be held out" in message
    assert "or pass --hopeless warn" in message
    assert "leave out --roc" in refused(*FIT, "--roc")
    assert "above 0 and below 1" in refused(*FIT, "--evaluate", "1.5")
    assert not Path("model.pairdp").exists()
    assert "Warning: with 200 records" in run(*poor, "--hopeless", "warn").stderr
    assert load("model.pairdp").evaluation_.certificate.n == 200
