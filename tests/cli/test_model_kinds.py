"""``--model``: plans, fits and predictions of additive and quadratic rankers."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from pairdp import load
from tests.cli.helpers import refused, run, run_json

SCHEMA = {"age": [0, 120], "bmi": [10, 60], "outcome": {"label": ["0", "1"]}}


@pytest.fixture(autouse=True)
def _schema(_folder: None) -> None:
    Path("schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")


def test_a_plan_says_which_model_and_why() -> None:
    size = ["plan", "--n", "20000", "--schema", "schema.json"]
    found = run_json(*size)
    assert found["model"] == "quadratic"
    assert found["candidates"][0]["predicted_error"] is None
    shown = run(*size).stdout
    assert "auto chooses Scorecard" in shown
    assert "auto: the model is quadratic, as nµ ≥ 16·d²" in shown
    assert "AUC was 0.82 to 0.91" in shown
    assert run_json(*size, "--model", "additive")["model"] == "additive"
    linear = run_json(*size, "--model", "linear")
    assert linear["model"] == "linear"
    assert len(linear["candidates"]) > 2
    assert "loss is for model" in refused(*size, "--model", "additive", "--loss", "logistic")
    assert "--model is for --task ranking" in refused(
        "plan", "--n", "99", "--features", "3", "--task", "metric", "--model", "linear"
    )


@pytest.mark.parametrize(
    ("asked", "epsilon", "model"),
    [
        ("additive", "1", "additive"),
        ("quadratic", "60", "quadratic"),
        ("quadratic", "0.3", "additive"),
    ],
)
def test_a_model_is_fitted_shown_verified_and_used(asked: str, epsilon: str, model: str) -> None:
    fit = ["fit", "data.csv", "--schema", "schema.json", "--model", asked, "--seed", "1"]
    found = run_json(*fit, "--epsilon", epsilon, "-o", "model.pairdp")
    assert found["model_kind"] == model
    assert load("model.pairdp").model_ == model
    assert f"{model} ranker" in run("show", "model.pairdp").stdout
    assert "holds" in run("verify", "model.pairdp").stdout
    run("predict", "model.pairdp", "data.csv", "-o", "scores.csv")
    assert pd.read_csv("scores.csv").columns.tolist() == ["score", "label"]


def test_a_fit_says_why_its_model_was_chosen() -> None:
    bounded = ["fit", "data.csv", "--label", "outcome", "--bounds", "bounds.json", "--seed", "1"]
    shown = run(*bounded, "-o", "bounded.pairdp").stdout
    assert "auto: the model is " in shown
    run("predict", "bounded.pairdp", "data.csv", "-o", "scores.csv")
    named = run(*bounded, "--model", "additive", "-o", "named.pairdp").stdout
    assert "auto: " not in named
    assert "a scorecard has no such option" in refused(
        "fit",
        "data.csv",
        "--schema",
        "schema.json",
        "--scorecard",
        "--model",
        "additive",
        "-o",
        "m",
    )


def test_a_scorecard_is_smoothed() -> None:
    fit = ["fit", "data.csv", "--schema", "schema.json", "--seed", "1"]
    run(*fit, "--scorecard", "--smoothing", "2", "--shrinkage", "0.5", "-o", "card.pairdp")
    card = load("card.pairdp")
    assert (card.smoothing, card.shrinkage) == (2.0, 0.5)
    assert "holds" in run("verify", "card.pairdp").stdout
    assert "add --scorecard" in refused(*fit, "--smoothing", "2", "-o", "m.pairdp")


def test_a_scorecard_is_planned_as_it_is_fitted() -> None:
    asked = ["--schema", "schema.json", "--scorecard", "--epsilon", "2"]
    n = str(len(pd.read_csv("data.csv")))
    planned = run_json("plan", "--n", n, *asked)["chosen"]
    run_json("fit", "data.csv", *asked, "--seed", "1", "-o", "card.pairdp")
    plan = load("card.pairdp").plan_
    assert planned["releases"] == [one.describe() for one in plan.certificate.releases]
    assert "labelled counts of bins" in run("plan", "--n", n, *asked).stdout
    assert "give --schema" in refused("plan", "--n", n, "--features", "3", "--scorecard")
    assert "add --scorecard" in refused(
        "plan", "--n", n, "--schema", "schema.json", "--increasing", "age"
    )
