"""``pairdp fit``: what it takes, what it refuses, and what it leaves."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from pairdp import PrivateMetric, PrivateRanker, load
from pairdp.algorithms.plan import Plan
from tests.cli.helpers import (
    BOUNDED,
    FIT,
    SECRET,
    N,
    coefficients,
    ranker_of,
    refused,
    run,
    run_json,
    table,
    there,
    write,
)

# Fit


def test_fit_says_what_it_did_for_machines() -> None:
    found = run_json(*BOUNDED, "--epsilon", "0.5", "--delta", "1e-6")
    assert found["n"] == N
    assert found["features"] == ["age", "bmi"]
    assert (found["epsilon"], found["delta"]) == (0.5, 1e-6)
    assert found["claim_is_proved"] is True
    assert 0.49 < found["true_epsilon"] <= 0.5
    certificate = load("model.pairdp")[-1].certificate_
    assert found["certificate"] == certificate.to_dict()
    assert found["algorithm"] == certificate.algorithm


def test_an_existing_model_is_replaced_only_by_force() -> None:
    Path("model.pairdp").write_text("precious")
    assert "--force" in refused(*BOUNDED)
    assert Path("model.pairdp").read_text() == "precious"
    run(*BOUNDED, "--force")
    assert isinstance(load("model.pairdp"), Pipeline)


def test_noise_without_a_seed_is_new_each_time() -> None:
    for name in ("a", "b"):
        run(*BOUNDED[:6], *BOUNDED[8:-1], name)
    assert not np.array_equal(coefficients("a"), coefficients("b"))


SAME: dict[str, Callable[[], list[str]]] = {
    "parquet": lambda: _as("data.parquet", table()),
    "parquet of small numbers": lambda: _as("data.parquet", table().astype({"outcome": np.int8})),
    "parquet with text": lambda: _as("data.parquet", table(outcome=("0", "1"))),
    "columns in another order": lambda: _as("data.csv", table()[["outcome", "bmi", "age"]]),
    "bounds in CSV": lambda: _bounds("name,lower,upper\nage,0,100\nbmi,10,60\n"),
    "column dropped": lambda: _as("data.csv", table(id="x"), "--drop", "id"),
    "columns dropped": lambda: _as("data.csv", table(a=1, b=""), "--drop", "a", "--drop", "b"),
    "classes": lambda: ["--classes", "0,1"],
    "classes with spaces": lambda: ["--classes", " 0 , 1"],
    "truth values": lambda: _as("data.parquet", table(outcome=(False, True))),
    "floats": lambda: _as("data.csv", table(outcome=(0.0, 1.0))),
    "signs": lambda: _as("data.csv", table(outcome=("-1", "+1"))),
    "numbers of two lengths": lambda: _as("data.csv", table(outcome=(9, 10))),
}


def _as(path: str, frame: pd.DataFrame, *more: str) -> list[str]:
    write(frame, path)
    return [*more, "--table", path]


def _bounds(content: str) -> list[str]:
    Path("bounds.json").write_text(content)
    return []


@pytest.mark.parametrize("kind", SAME)
def test_the_same_data_in_another_form_is_the_same_model(kind: str) -> None:
    run(*BOUNDED)
    right = coefficients()
    args = SAME[kind]()
    path = "data.csv"
    if "--table" in args:
        path = args.pop()
        args.pop()
    run("fit", path, *BOUNDED[2:-1], "other.pairdp", *args)
    np.testing.assert_array_equal(coefficients("other.pairdp"), right)


def test_a_positive_label_turns_the_scores() -> None:
    write(table(outcome=("alive", "dead")))
    run(*BOUNDED)
    assert ranker_of().classes_.tolist() == ["alive", "dead"]
    run(*BOUNDED[:-1], "classes", "--classes", "dead,alive")
    assert ranker_of("classes").classes_.tolist() == ["alive", "dead"]
    plain, turned, same = (
        run_json("predict", "model.pairdp", "data.csv", *more)
        for more in ([], ["--positive", "alive"], ["--positive", "dead"])
    )
    assert same == plain
    assert [row["score"] for row in turned] == [-row["score"] for row in plain]
    assert [row["label"] for row in turned] == [row["label"] for row in plain]
    assert "alive, dead" in refused("predict", "model.pairdp", "data.csv", "--positive", "lost")


def test_given_classes_are_no_assumption_about_the_labels_that_occur() -> None:
    run(*BOUNDED)
    run(*BOUNDED[:-1], "given", "--classes", "0,1")
    assumption = "Which two labels occur is public."
    assert assumption in ranker_of().certificate_.assumptions
    assert assumption not in ranker_of("given").certificate_.assumptions
    assert list(ranker_of("given").classes) == [0, 1]


def test_given_classes_need_not_both_occur() -> None:
    write(table(outcome=("sick", "sick")))
    assert "needs two labels" in refused(*BOUNDED)
    run(*BOUNDED, "--classes", "well,sick")
    assert ranker_of().classes_.tolist() == ["sick", "well"]


@pytest.mark.parametrize(
    ("outcome", "path", "classes"),
    [
        ((False, True), "data.parquet", "False,True"),
        ((0.0, 1.0), "data.parquet", "0,1"),
        ((0.0, 1.0), "data.parquet", "0.0,1.0"),
        ((-1, 1), "data.csv", "-1,1"),
    ],
)
def test_given_classes_are_of_the_column_s_kind(outcome: Any, path: str, classes: str) -> None:
    write(table(outcome=outcome), path)
    run("fit", path, *BOUNDED[2:], "--classes", classes)
    assert ranker_of().classes_.tolist() == list(outcome)


def test_labels_of_single_precision_are_told_apart() -> None:
    # Written 1e+10 in single precision, and 10000000000.0 in double.
    frame = table(outcome=(0.0, 1e10)).astype({"outcome": np.float32})
    write(frame, "data.parquet")
    run(*BOUNDED)
    run("fit", "data.parquet", *BOUNDED[2:-1], "single")
    np.testing.assert_array_equal(coefficients("single"), coefficients())


def test_a_threshold_can_be_public() -> None:
    run(*BOUNDED, "--threshold", "0.25")
    assert ranker_of().intercept_.tolist() == [-0.25]
    assert len(ranker_of().certificate_.releases) == 1
    run(*BOUNDED[:-1], "paid")
    assert len(ranker_of("paid").certificate_.releases) == 2


def test_unscaled_features_are_taken_as_they_are() -> None:
    frame = table()
    frame[["age", "bmi"]] /= 200
    write(frame)
    run(*FIT, "--unscaled", "--data-norm", "1", "-o", "model.pairdp")
    model = load("model.pairdp")
    assert isinstance(model, PrivateRanker)
    assert model.feature_names_in_.tolist() == ["age", "bmi"]
    direct = PrivateRanker(algorithm="DPGDSC", random_state=1, data_norm=1.0)
    direct.fit(pd.read_csv("data.csv")[["age", "bmi"]], frame["outcome"])
    np.testing.assert_array_equal(model.coef_, direct.coef_)
    scores = [row["score"] for row in run_json("predict", "model.pairdp", "data.csv")]
    np.testing.assert_allclose(
        scores, direct.decision_function(pd.read_csv("data.csv")[["age", "bmi"]]), rtol=1e-12
    )


def test_a_metric_is_fitted_to_any_number_of_classes() -> None:
    frame = table()
    frame["outcome"] = np.array(["a", "b", "c"])[np.arange(N) % 3]
    write(frame)
    write(frame, "data.parquet")
    for path in ("data.csv", "data.parquet"):
        run("fit", path, *BOUNDED[2:-1], path + ".model", "--task", "metric")
    (_, metric), (_, other) = (load(f"data.{end}.model").steps[-1] for end in ("csv", "parquet"))
    assert isinstance(metric, PrivateMetric)
    np.testing.assert_array_equal(metric.components_, other.components_)
    rows = run_json("predict", "data.csv.model", "data.csv")
    features = frame[["age", "bmi"]]
    coordinates = load("data.csv.model").transform(features)
    np.testing.assert_allclose([[row["z0"], row["z1"]] for row in rows], coordinates, rtol=1e-12)
    assert "holds" in run("verify", "data.csv.model").stdout
    for option in (["--threshold", "0"], ["--classes", "a,b"]):
        error = refused(*BOUNDED, "--task", "metric", *option)
        assert f"{option[0]} is for --task ranking" in error


def test_printed_noise_is_named_as_what_it_is() -> None:
    found = run_json(*BOUNDED, "--calibration", "printed", "--epsilon", "2")
    assert found["certificate"]["calibration"] == "printed"
    assert found["certificate"]["plan"]["schedule"] == "theorem"
    assert isinstance(found["claim_is_proved"], bool)


def test_warnings_are_one_line_each_on_standard_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run(*BOUNDED, "--delta", "0.1")
    assert result.stderr.startswith("Warning: delta = 0.1 is not below 1/n")
    assert result.stderr.count("\n") == 1
    assert "Warning" not in result.stdout


BAD_FITS: dict[str, tuple[list[str], str]] = {
    "no table": (["fit", "nowhere.csv", *BOUNDED[2:]], "there is no file nowhere.csv"),
    "other ending": (["fit", "bounds.json", *BOUNDED[2:]], "must have the extension .csv"),
    "no label": ([*BOUNDED, "--label", "result"], "no column 'result'; it has age, bmi, outcome"),
    "no dropped column": ([*BOUNDED, "--drop", "id"], "no column 'id'"),
    "all dropped": ([*BOUNDED, "--drop", "age", "--drop", "bmi"], "features must be at least 1"),
    "no bounds": ([*FIT, "-o", "model.pairdp"], "--bounds FILE, or --unscaled"),
    "bounds and unscaled": ([*BOUNDED, "--unscaled"], "give only one of"),
    "no bounds file": ([*FIT, "--bounds", "no.json", "-o", "m"], "no.json cannot be read"),
    "bounds of data": ([*FIT, "--bounds", "data.csv", "-o", "m"], "lack the columns"),
    "label with bounds": (
        [*BOUNDED, "--label", "age"],
        "the label column 'age' must not have bounds",
    ),
    "no directory": ([*BOUNDED[:-1], "nowhere/model"], "there is no directory nowhere"),
    "no ledger": ([*SECRET, "--ledger", "no.json"], "no.json"),
    "broken ledger": ([*SECRET, "--ledger", "bounds.json"], "damaged"),
    "one class given": ([*BOUNDED, "--classes", "1"], "two different labels"),
    "same class given": ([*BOUNDED, "--classes", "1, 1"], "two different labels"),
    "three classes given": ([*BOUNDED, "--classes", "0,1,2"], "two different labels"),
    "same number given twice": ([*BOUNDED, "--classes", "1,1.0"], "two different labels"),
    "no class given": ([*BOUNDED, "--classes", "0,"], "two different labels"),
    "fractions given": ([*BOUNDED, "--classes", "0,0.5"], "fractions cannot be labels"),
    "other classes given": ([*BOUNDED, "--classes", "1,2"], "has labels other than 1 and 2"),
    "classes of text": ([*BOUNDED, "--classes", "no,yes"], "has labels other than 'no' and 'yes'"),
    "bad threshold": ([*BOUNDED, "--threshold", "nan"], "threshold"),
    "bad seed": ([*BOUNDED, "--seed", "-1"], "seed"),
    "bad budget": ([*BOUNDED, "--epsilon", "0"], "epsilon must be"),
    "bad delta": ([*BOUNDED, "--delta", "2"], "delta must be"),
    "bad algorithm": ([*BOUNDED, "--algorithm", "SGD"], "known name"),
    "bad loss": ([*BOUNDED, "--loss", "zero-one"], "loss must be one of"),
    "loss of metrics": ([*BOUNDED, "--task", "metric", "--loss", "least_squares"], "loss must"),
    "printed by auto": (
        [*BOUNDED, "--calibration", "printed", "--algorithm", "auto"],
        "name a published algorithm",
    ),
}


@pytest.mark.parametrize("kind", BAD_FITS)
def test_bad_fits_are_refused_in_one_sentence_and_leave_nothing(kind: str) -> None:
    args, reason = BAD_FITS[kind]
    before = there()
    assert reason in refused(*args)
    assert reason in run_json(*args, code=1)["error"]
    assert there() == before


BAD_TABLES: dict[str, tuple[str, str]] = {
    "empty": ("", "is empty"),
    "no records": ("age,bmi,outcome\n", "has 0 records; a pair needs two"),
    "one record": ("age,bmi,outcome\n5317,2,0\n", "has 1 records; a pair needs two"),
    "no names": ("53.17,22.5,0\n60.5,31.5,1\n", "must name the columns"),
    "text": ("age,bmi,outcome\n5317yrs,2,0\n1,2,1\n", "not a number in column 'age', record 1"),
    "missing": ("age,bmi,outcome\n5317,2,0\n1,,1\n", "no value in column 'bmi', record 2"),
    "NaN": ("age,bmi,outcome\n5317,nan,0\n1,1,1\n", "NaN or infinity in record 1"),
    "no label": ("age,bmi,outcome\n5317,2,0\n1,1,\n", "no label in column 'outcome', record 2"),
    "ragged": ("age,bmi,outcome\n1,2,0\n5317,1\n", "2 entries in record 2"),
    "one class": ("age,bmi,outcome\n5317,2,53170\n1,1,53170\n", "'outcome' has 1"),
    "many classes": ("age,bmi,outcome\n1,2,53170\n1,1,53171\n1,1,53172\n", "'outcome' has 3"),
    "more columns": ("age,bmi,id,outcome\n1,2,5317,0\n1,1,53171,1\n", "--drop id"),
    "fewer columns": ("age,outcome\n1,0\n1,1\n", "has no column 'bmi'"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_bad_tables_are_refused_without_telling_a_value_and_cost_nothing(kind: str) -> None:
    content, reason = BAD_TABLES[kind]
    Path("data.csv").write_text(content)
    run("ledger", "new", "ledger.json", "--epsilon", "5")
    before = Path("ledger.json").read_bytes()
    error = refused(*SECRET, "--ledger", "ledger.json")
    assert reason in error
    assert "5317" not in error
    assert "53.17" not in error
    assert not Path("model.pairdp").exists()
    assert Path("ledger.json").read_bytes() == before


@pytest.mark.parametrize("at", ["reading", "running", "saving"])
def test_an_interrupted_fit_leaves_no_file(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    owner, name = {"reading": (Plan, "read"), "running": (Plan, "run"), "saving": (os, "replace")}[
        at
    ]
    monkeypatch.setattr(owner, name, interrupt)
    assert "interrupted" in refused(*BOUNDED, code=130)
    assert there() == {"data.csv", "bounds.json"}


def test_a_full_disk_leaves_the_old_model(monkeypatch: pytest.MonkeyPatch) -> None:
    run(*BOUNDED)
    before = Path("model.pairdp").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in refused(*BOUNDED, "--force")
    assert Path("model.pairdp").read_bytes() == before
