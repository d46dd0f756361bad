"""`predict_proba` after a paid calibration, in memory, in files and on the command line."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from pairdp import (
    CertificateError,
    OnlinePrivateRanker,
    PrivateRanker,
    evaluate,
    load,
    save,
    verify,
)
from pairdp._sealed import seal
from pairdp.evaluation import ScoreResult
from pairdp.report.card import card_of
from pairdp.verification import verify_file, verify_model
from tests.cli.helpers import refused, run, run_json
from tests.evaluation.test_evaluate import TABLE, X, Y, fitted, model, of_arrays
from tests.evaluation.test_kinds import found

OPTIONS: dict[str, Any] = {"epsilon": 20.0, "data_norm": 1.0, "random_state": 0}


def calibrated(kind: str) -> Any:
    """Return a calibrated copy of a model, with the data it takes."""
    data = TABLE if kind in ("scorecard", "ranker by schema") else X
    y = None if data is TABLE else Y
    evaluation = evaluate(model(kind), data, y, 5.0, roc=True, random_state=0)
    copied = fitted(clone(model(kind)), *((data,) if y is None else (data, y)))
    last = copied.steps[-1][1] if hasattr(copied, "steps") else copied
    return last.calibrate(evaluation) and copied, data


@pytest.mark.parametrize(
    "kind", ["ranker", "classifier", "scaled", "scorecard", "ranker by schema"]
)
def test_probabilities_are_those_of_the_evaluation(kind: str) -> None:
    assert not hasattr(model(kind), "predict_proba")
    copied, data = calibrated(kind)
    probabilities = copied.predict_proba(data)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    scores = copied.decision_function(data)
    assert np.all(np.diff(probabilities[np.argsort(scores), 1]) >= 0)
    assert log_loss(Y, probabilities) < 0.9 * np.log(2)
    assert probabilities[:, 1].mean() == pytest.approx(Y.mean(), abs=0.05)


def test_before_that_the_error_says_how_to_get_them() -> None:
    for kind in ("ranker", "classifier", "scorecard"):
        with pytest.raises(AttributeError) as raised:
            model(kind).predict_proba(X)
        text = f"{raised.value} {raised.value.__cause__}"
        assert "roc=True" in text or "no attribute 'predict_proba'" in text
    with pytest.raises(AttributeError, match=r"model\.calibrate"):
        model("ranker").predict_proba(X)


def test_a_new_fit_and_a_clone_have_no_calibration() -> None:
    copied, _ = calibrated("ranker")
    assert not hasattr(clone(copied), "predict_proba")
    assert not hasattr(copied.fit(X, Y), "predict_proba")
    stream = OnlinePrivateRanker(**OPTIONS, horizon=800, classes=[0, 1]).partial_fit(
        X[:400], Y[:400]
    )
    stream.calibrate(evaluate(stream, X, Y, 5.0, roc=True, random_state=0))
    assert stream.predict_proba(X).shape == (len(X), 2)
    stream.partial_fit(X[400:500], Y[400:500])
    assert not hasattr(stream, "predict_proba")


@pytest.mark.parametrize(
    ("evaluation", "words"),
    [
        (lambda: of_arrays(), "roc=True"),
        (lambda: of_arrays(threshold=0.0), "roc=True"),
        (lambda: found("classifier", X, Y, measure="accuracy"), "got AccuracyResult"),
        (lambda: 0.8, "got float"),
        (lambda: evaluate(model("scorecard"), TABLE, epsilon=5.0, roc=True), "no and yes"),
    ],
)
def test_other_evaluations_are_refused(evaluation: Any, words: str) -> None:
    ranker = PrivateRanker(**OPTIONS).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=words):
        ranker.calibrate(evaluation())
    assert not hasattr(ranker, "predict_proba")


@pytest.mark.parametrize("kind", ["ranker", "classifier", "scaled", "scorecard"])
def test_a_file_has_the_calibration_and_its_certificate(kind: str, tmp_path: Path) -> None:
    copied, data = calibrated(kind)
    save(copied, tmp_path / "model.pairdp")
    again = load(tmp_path / "model.pairdp")
    np.testing.assert_array_equal(again.predict_proba(data), copied.predict_proba(data))
    reports = verify_file(tmp_path / "model.pairdp")
    assert len(reports) == len(verify_model(copied)) == 2
    assert all(report.holds for report in reports)
    words = card_of(copied).probabilities
    assert words is not None
    assert "from n = 1200 records at ε = 5" in words


def test_a_forged_calibration_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, _ = calibrated("ranker")
    document = copied.calibration_.to_dict()
    document["certificate"]["claim"]["epsilon"] = 0.1
    forged = seal(document)
    monkeypatch.setattr(ScoreResult, "to_json", lambda _: forged)
    save(copied, tmp_path / "model.pairdp")
    monkeypatch.undo()
    with pytest.raises((CertificateError, ValueError)):
        verify_file(tmp_path / "model.pairdp")


def test_a_scorecard_of_a_calibrated_ranker_is_calibrated() -> None:
    ranker = fitted(PrivateRanker(**OPTIONS, model="additive"), X, Y)
    ranker.calibrate(evaluate(ranker, X, Y, 5.0, roc=True, random_state=0))
    card = ranker.to_scorecard()
    np.testing.assert_allclose(card.predict_proba(X), ranker.predict_proba(X), atol=1e-9)
    assert verify(ranker.calibration_.certificate).holds


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(TABLE).to_csv("test.csv", index=False)
    save(model("scorecard"), "model.pairdp")
    evaluated = ["evaluate", "model.pairdp", "test.csv", "--epsilon", "5"]
    run(*evaluated, "--roc", "-o", "evaluation.json", "--seed", "0")
    calibrate = ["calibrate", "model.pairdp", "evaluation.json", "-o", "calibrated.pairdp"]
    assert "log-odds of yes are" in run(*calibrate).stderr
    assert "exists" in refused(*calibrate)
    assert run_json(*calibrate, "--force")["slope"] > 0
    assert "probabilities" in run("show", "calibrated.pairdp").stdout
    assert run("verify", "calibrated.pairdp").stdout.count("holds") >= 2
    predict = ["predict", "calibrated.pairdp", "test.csv", "--probability"]
    run(*predict, "-o", "scores.csv")
    with Path("scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    copied = load("calibrated.pairdp")
    expected = copied.predict_proba(TABLE)[:, 1]
    np.testing.assert_allclose([float(row["probability"]) for row in rows], expected, atol=1e-12)
    first = run_json(*predict, "--positive", "no")[0]
    assert first["probability"] == pytest.approx(1 - expected[0])
    assert "pairdp calibrate" in refused("predict", "model.pairdp", "test.csv", "--probability")
    run(*evaluated, "--measure", "accuracy", "-o", "accuracy.json", "--seed", "0")
    wrong = refused("calibrate", "model.pairdp", "accuracy.json", "-o", "other.pairdp")
    assert "AccuracyResult" in wrong
    assert not Path("other.pairdp").exists()


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_a_calibration_by_other_records_is_said_not_to_be_covered(tmp_path: Path) -> None:
    copied, _ = calibrated("ranker")
    copied.save(tmp_path / "calibrated.pairdp")
    for one in (copied, load(tmp_path / "calibrated.pairdp")):
        statement = one.privacy_statement()
        assert "probabilities of this model are NOT covered" in statement
        assert "ε = 5" in statement
        words = " ".join(re.sub("<[^>]*>", " ", one.report().html).split())
        assert "do NOT include the calibration of its probabilities" in words
        assert "This does not include the calibration of its probabilities." in words
    again = fitted(clone(model("ranker")), X, Y)
    assert "NOT covered" not in again.privacy_statement()


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_a_calibration_by_records_that_were_held_out_is_covered(tmp_path: Path) -> None:
    ranker = clone(model("ranker"))
    ranker.fit(X, Y, evaluation_share=0.3, evaluation_options={"roc": True, "hopeless": "warn"})
    ranker.calibrate(ranker.evaluation_).save(tmp_path / "model.pairdp")
    for one in (ranker, load(tmp_path / "model.pairdp")):
        assert "NOT covered" not in one.privacy_statement()
        assert "do NOT include" not in one.report().html
