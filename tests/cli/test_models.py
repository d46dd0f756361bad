"""Ledgers, and models that were saved: ``pairdp ledger``, ``verify`` and ``predict``."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from pairdp import BoundsScaler, PrivateMetric, PrivateRanker, load, save
from tests.cli.helpers import (
    BOUNDED,
    SECRET,
    N,
    command,
    refused,
    run,
    run_json,
    table,
    there,
    write,
)

# Ledger


def test_a_ledger_pays_until_it_is_empty() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "1.2", "--delta", "1e-6")
    shown = run_json("ledger", "show", "ledger.json")
    assert (shown["epsilon"], shown["delta"], shown["spends"]) == (1.2, 1e-6, [])
    assert shown["spent_epsilon"] == 0
    run(*SECRET, "--ledger", "ledger.json")
    shown = run_json("ledger", "show", "ledger.json")
    assert 0.99 < shown["spent_epsilon"] <= 1
    assert [spend["label"] for spend in shown["spends"]] == ["DPGDSC (Xue 2021, Algorithm 1)"]
    assert "DPGDSC" in run("ledger", "show", "ledger.json").stdout
    before, files = Path("ledger.json").read_bytes(), there()
    again = [*SECRET[:-1], "second", "--ledger", "ledger.json"]
    assert "exceeds what is left" in refused(*again, code=3)
    assert "exceeds what is left" in run_json(*again, code=3)["error"]
    assert Path("ledger.json").read_bytes() == before
    assert there() == files


def test_over_budget_is_refused_before_the_table_is_read() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "0.1")
    # Record 200 is bad, and no one looks at it.
    Path("data.csv").write_text(Path("data.csv").read_text() + "bad,bad,1\n")
    assert "exceeds what is left" in refused(*SECRET, "--ledger", "ledger.json", code=3)


def test_the_true_command_has_the_exit_code_of_a_refused_budget() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "0.1")
    done = command(*SECRET, "--ledger", "ledger.json")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "5")
    with monkeypatch.context() as locked:
        locked.setattr(os, "access", lambda _, mode, **__: mode != os.W_OK)
        assert "is not writable" in refused(*SECRET, "--ledger", "ledger.json")
    assert run_json("ledger", "show", "ledger.json")["spends"] == []


def test_a_ledger_is_not_opened_twice() -> None:
    args = ["ledger", "new", "ledger.json", "--epsilon", "2", "--adaptive"]
    assert run_json(*args) == {
        "ledger": "ledger.json",
        "epsilon": 2.0,
        "delta": 1e-6,
        "adaptive": True,
        "data_set": None,
        "unit": None,
    }
    assert "already exists" in refused(*args)
    assert run_json("ledger", "show", "ledger.json")["adaptive"] is True


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["new", "ledger.json", "--epsilon", "0"], "epsilon must be"),
        (["new", "ledger.json", "--delta", "1"], "delta must be"),
        (["new", "nowhere/ledger.json"], "no directory"),
        (["show", "nowhere.json"], "does not exist"),
        (["show", "data.csv"], "damaged"),
    ],
    ids=str,
)
def test_ledgers_that_cannot_be_are_refused(args: list[str], reason: str) -> None:
    assert reason in refused("ledger", *args)
    assert there() == {"data.csv", "bounds.json"}


# Verify


def test_verify_takes_models_and_certificates() -> None:
    run(*BOUNDED)
    certificate = load("model.pairdp")[-1].certificate_
    certificate.save("certificate.json")
    for path in ("model.pairdp", "certificate.json"):
        found = run_json("verify", path)
        assert found["holds"] is True
        (one,) = found["certificates"]
        assert one["n"] == N
        assert one["claim"] == {"epsilon": 1.0, "delta": 1e-6}
        shown = run("verify", path, "--statement").stdout
        assert certificate.statement() in shown
        assert certificate.statement() not in run("verify", path).stdout


def test_verify_checks_every_step_of_a_pipeline() -> None:
    frame, y = table()[["age", "bmi"]], table()["outcome"]
    scaler = BoundsScaler.from_file("bounds.json")
    model = make_pipeline(
        scaler,
        PrivateMetric(2.0, algorithm="DPGDC", data_norm=1.0, random_state=1),
        PrivateRanker(algorithm="DPGDSC", data_norm=1.0),
    ).fit(frame, y)
    save(model, "model.pairdp")
    found = run_json("verify", "model.pairdp")["certificates"]
    assert [one["claim"]["epsilon"] for one in found] == [2.0, 1.0]
    scores = [row["score"] for row in run_json("predict", "model.pairdp", "data.csv")]
    np.testing.assert_allclose(scores, model.decision_function(frame), rtol=1e-9)


def test_verify_knows_models_of_every_length() -> None:
    # A model begins with the length of its header, and 31520 is " {" in bytes.
    run(*BOUNDED)
    model, size = load("model.pairdp"), 8
    for _ in range(6):
        half = size // 2
        model[0].feature_names_in_ = np.array(["a" * half, "b" * (size - half)], dtype=object)
        save(model, "long.pairdp")
        start = Path("long.pairdp").read_bytes()[:8]
        size += 31520 - int.from_bytes(start, "little")
    assert start[:3] == b" {\0"
    assert "holds" in run("verify", "long.pairdp").stdout


@pytest.mark.parametrize("change", ["damaged", "cut", "scaler", "text", "none", "certificate"])
def test_verify_fails_on_anything_else(change: str) -> None:
    run(*BOUNDED)
    content = bytearray(Path("model.pairdp").read_bytes())
    if change == "damaged":
        content[len(content) // 3] ^= 1
    elif change == "cut":
        content = content[:-3]
    elif change == "text":
        content = bytearray(b"hello")
    elif change == "certificate":
        text = load("model.pairdp")[-1].certificate_.to_json()
        content = bytearray(text.replace('"epsilon": 1.0', '"epsilon": 0.5').encode())
    Path("other").write_bytes(content)
    if change == "scaler":
        save(BoundsScaler().fit_columns(["age"]), "other")
    if change == "none":
        Path("other").unlink()
    error = refused("verify", "other")
    assert "other" in error or change == "certificate"
    assert "error" in run_json("verify", "other", code=1)


# Predict


def test_predictions_go_to_the_output_and_nowhere_else() -> None:
    run(*BOUNDED)
    printed = run("predict", "model.pairdp", "data.csv")
    assert printed.stderr == ""
    assert len(printed.stdout.splitlines()) == N + 1
    done = run("predict", "model.pairdp", "data.csv", "-o", "scores.csv")
    assert done.stdout == ""
    assert Path("scores.csv").read_text() == printed.stdout
    assert run_json("predict", "model.pairdp", "data.csv", "-o", "scores.csv", "--force") == {
        "output": "scores.csv",
        "n": N,
    }
    assert Path("scores.csv").read_text() == printed.stdout
    rows = run_json("predict", "model.pairdp", "data.csv")
    assert len(rows) == N
    assert set(rows[0]) == {"score", "label"}


def test_predictions_need_the_features_in_any_order_and_no_label() -> None:
    run(*BOUNDED)
    right = run("predict", "model.pairdp", "data.csv").stdout
    write(table(extra="text")[["extra", "bmi", "age"]], "new.csv")
    write(table()[["bmi", "age"]], "new.parquet")
    for path in ("new.csv", "new.parquet"):
        assert run("predict", "model.pairdp", path).stdout == right


def test_an_empty_table_has_no_predictions() -> None:
    run(*BOUNDED)
    Path("new.csv").write_text("age,bmi\n")
    assert run("predict", "model.pairdp", "new.csv").stdout == "score,label\n"
    assert run_json("predict", "model.pairdp", "new.csv") == []


def test_predictions_that_cannot_be_are_refused() -> None:
    run(*BOUNDED)
    Path("new.csv").write_text("age\n1\n")
    assert "no column 'bmi'" in refused("predict", "model.pairdp", "new.csv")
    Path("new.csv").write_text("age,bmi\n1,2\n1,5317kg\n")
    Path("scores.csv").write_text("precious")
    args = ["predict", "model.pairdp", "new.csv", "-o", "scores.csv"]
    assert "--force" in refused(*args)
    error = refused(*args, "--force")
    assert "record 2" in error
    assert "5317" not in error
    assert Path("scores.csv").read_text() == "precious"
    for place in ("nowhere/scores.csv", "new.csv/scores.csv"):
        assert "no directory" in refused(*args[:-1], place)
    assert "not a pairdp model" in refused("predict", "data.csv", "data.csv")
    assert "there is no file" in refused("predict", "nowhere", "data.csv")
    save(BoundsScaler().fit_columns(["age"]), "scaler")
    assert "without a model" in refused("predict", "scaler", "data.csv")
    rows = table()[["age", "bmi"]].to_numpy() / 100
    PrivateRanker(algorithm="DPGDSC", data_norm=1.0).fit(rows, table()["outcome"]).save("nameless")
    assert "no names of columns" in refused("predict", "nameless", "data.csv")
    assert not [name for name in there() if "writing" in name]


def test_fractions_are_no_labels() -> None:
    write(table(outcome=(9.5, 10.5)))
    assert "fractions cannot be labels" in refused(*BOUNDED)
