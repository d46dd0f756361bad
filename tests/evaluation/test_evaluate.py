"""`evaluate`: every kind of model and table, units, ledgers, budgets that say nothing."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from pairdp import (
    BoundsScaler,
    Budget,
    BudgetExceededError,
    BudgetLedger,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateRanker,
    PrivateScorecard,
    SchemaEncoder,
    Unit,
    evaluate,
    load,
    verify,
)
from pairdp.evaluation import HopelessEvaluationWarning

N = 1200
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
X = np.clip((RNG.normal(size=(N, 3)) + Y[:, None]) / 5, -0.5, 0.5)
SCHEMA = {"a": [-1, 1], "b": [-1, 1], "sex": ["F", "M"], "died": {"label": ["no", "yes"]}}
TABLE = {
    "a": X[:, 0],
    "b": X[:, 1],
    "sex": np.where(X[:, 2] > 0, "M", "F"),
    "died": np.where(Y == 1, "yes", "no"),
}
EPSILON = 5.0


def fitted(model: Any, *data: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@cache
def model(kind: str) -> Any:
    options: dict[str, Any] = {"epsilon": 20.0, "data_norm": 1.0, "random_state": 0}
    schema = {**options, "schema": SCHEMA}
    del schema["data_norm"]
    match kind:
        case "ranker":
            return fitted(PrivateRanker(**options), X, Y)
        case "classifier":
            return fitted(PrivateLinearClassifier(**options), X, Y)
        case "online":
            return fitted(OnlinePrivateRanker(**options, classes=[0, 1]), X[:400], Y[:400])
        case "scaled":
            scaler = BoundsScaler([-1.0] * 3, [1.0] * 3)
            return fitted(make_pipeline(scaler, PrivateRanker(**options)), X, Y)
        case "of scikit-learn":
            return fitted(make_pipeline(MinMaxScaler(), PrivateRanker(**options)), X, Y)
        case "ranker by schema":
            return fitted(PrivateRanker(**schema), TABLE)
        case "scorecard":
            return fitted(PrivateScorecard(**schema), TABLE)
        case "encoder":
            features = {name: form for name, form in SCHEMA.items() if name != "died"}
            encoder = SchemaEncoder(features)
            return fitted(make_pipeline(encoder, PrivateRanker(**options)), TABLE, TABLE["died"])
    raise KeyError(kind)


ARRAYS = ["ranker", "classifier", "online", "scaled", "of scikit-learn"]
TABLES = ["ranker by schema", "scorecard"]


def of_arrays(kind: str = "ranker", x: Any = X, y: Any = Y, **options: Any) -> Any:
    return evaluate(model(kind), x, y, **{"epsilon": EPSILON, "random_state": 1, **options})


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize("kind", ARRAYS)
def test_models_of_arrays(kind: str, invalid: Any) -> None:
    found = of_arrays(kind, invalid=invalid)
    assert found.auc_interval.lower < model(kind).score(X, Y) < found.auc_interval.upper or (
        kind in ("classifier", "online")
    )
    assert found.auc == pytest.approx(of_arrays("ranker").auc, abs=0.1)
    assert found.auc_interval.width < 0.15
    assert verify(found.certificate).holds
    assert found.certificate.releases[0].dimension == 2 + (invalid == "null")


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize("kind", TABLES)
def test_models_of_tables(kind: str, invalid: Any) -> None:
    """Labels are a column of the table, or given."""
    options: dict[str, Any] = {"epsilon": EPSILON, "random_state": 1, "invalid": invalid}
    found = evaluate(model(kind), TABLE, **options)
    assert found.auc == pytest.approx(model(kind).score(TABLE), abs=0.03)
    assert found.plan.evaluation.classes == ("no", "yes")
    frame = pd.DataFrame(TABLE)
    assert evaluate(model(kind), frame, **options).auc == found.auc
    assert evaluate(model(kind), frame, frame["died"], **options).auc == found.auc
    features = frame.drop(columns="died")
    assert evaluate(model(kind), features, TABLE["died"], **options).auc == found.auc


def test_a_pipeline_with_an_encoder() -> None:
    found = evaluate(model("encoder"), TABLE, TABLE["died"], EPSILON, random_state=1)
    assert found.auc == pytest.approx(model("encoder").score(TABLE, TABLE["died"]), abs=0.03)
    with pytest.raises(ValueError, match="y is needed"):
        evaluate(model("encoder"), TABLE, epsilon=EPSILON)


def test_a_stream_that_goes_on() -> None:
    stream = OnlinePrivateRanker(20.0, horizon=N, data_norm=1.0, random_state=0, classes=[0, 1])
    stream.partial_fit(X[:500], Y[:500])
    assert evaluate(stream, X, Y, EPSILON, random_state=0).auc > 0.7
    assert stream.records_left_ == N - 500


def test_a_model_from_a_file(tmp_path: Path) -> None:
    model("scorecard").save(tmp_path / "model.pairdp")
    options: dict[str, Any] = {"epsilon": EPSILON, "random_state": 1}
    again = evaluate(load(tmp_path / "model.pairdp"), TABLE, **options)
    assert again.auc == evaluate(model("scorecard"), TABLE, **options).auc


def test_the_figures_in_words_and_as_json() -> None:
    found = of_arrays()
    lower, upper = found.auc_interval
    assert f"AUC         {found.auc:.3f}, 95 % interval {lower:.3f} to {upper:.3f}" in str(found)
    assert "ε = 5, protects each record" in str(found)
    assert f"{lower:.3f} to {upper:.3f}" in found._repr_html_()
    assert found.figures()["auc_interval"] == [lower, upper]
    assert "differentially private with ε = 5" in " ".join(found.privacy_statement().split())
    assert found.positives == pytest.approx(Y.sum(), abs=10)


def test_names_from_labels_are_escaped() -> None:
    labels = np.where(Y == 1, "<b>", "<a>")
    ranker = fitted(PrivateRanker(20.0, data_norm=1.0, random_state=0), X, labels)
    found = evaluate(ranker, X, labels, EPSILON, random_state=0)
    assert "<b>" not in found._repr_html_()


def test_a_unit_is_protected_as_a_whole() -> None:
    people = np.arange(N) // 4
    options: dict[str, Any] = {"groups": people, "max_records": 2, "unit": "patient"}
    found = of_arrays(**options)
    assert found.certificate.unit == Unit("patient", 2)
    assert found.null_records == pytest.approx(N / 2, abs=100)
    assert found.auc == pytest.approx(model("ranker").score(X, Y), abs=0.1)
    assert verify(found.certificate).holds
    # Only the first two rows of each unit are used.
    moved = np.where((np.arange(N) % 4 < 2)[:, None], X, -X)
    assert of_arrays(x=moved, **options).auc == found.auc
    for alone in ({"groups": people}, {"max_records": 2}):
        with pytest.raises(ValueError, match="belong together"):
            of_arrays(**alone)


def test_a_ledger_pays_before_noise_is_drawn() -> None:
    ledger = BudgetLedger(Budget(1.0))
    options: dict[str, Any] = {"random_state": None, "ledger": ledger, "epsilon": 0.75}
    found = of_arrays(**options, data_set="visits 2025")
    (spend,) = ledger.spends
    assert (spend.label, spend.facts.data_set) == (found.certificate.algorithm, "visits 2025")
    assert "operating system" in found.certificate.noise_source
    with pytest.raises(BudgetExceededError):
        of_arrays(**options)
    with pytest.raises(ValueError, match="seed repeats it"):
        of_arrays(ledger=ledger)
    with pytest.raises(TypeError, match="BudgetLedger"):
        of_arrays(ledger="ledger.json", random_state=None)
    assert len(ledger.spends) == 1


def test_what_is_hopeless_is_refused_before_it_is_paid_for() -> None:
    ledger = BudgetLedger(Budget(1.0))
    options: dict[str, Any] = {"random_state": None, "ledger": ledger, "epsilon": 0.01}
    with pytest.raises(ValueError, match=r"nothing can be said.*nothing was spent"):
        of_arrays(**options)
    for counts, needed in ((False, 10), (True, 20)):  # counts have half of the budget
        with pytest.raises(ValueError, match=rf"0\.001 of them .* about {needed} records"):
            of_arrays(**{**options, "epsilon": 1.0}, share=0.001, roc=counts)
    assert not ledger.spends
    with pytest.warns(HopelessEvaluationWarning, match="nothing can be said"):
        found = of_arrays(**options, hopeless="warn")
    assert found.auc_interval.width > 0.3


def test_noise_is_fresh_without_a_seed_and_differs_between_plans() -> None:
    assert of_arrays(random_state=None).auc != of_arrays(random_state=None).auc
    assert of_arrays().auc == of_arrays().auc
    assert of_arrays(epsilon=4.0).auc != of_arrays().auc


def test_other_models_are_refused() -> None:
    with pytest.raises(TypeError, match="fitted model"):
        evaluate(PrivateRanker(1.0), X, Y, 1.0)
    graded = fitted(PrivateRanker(9.0, data_norm=1.0, response_bounds=(0, 1)), X[:50], Y[:50])
    with pytest.raises(TypeError, match="for two classes"):
        evaluate(graded, X, Y, 1.0, measure="auc")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": X[:, :2]}, "3 features"),
        ({"x": X[:100]}, "labels, and X has"),
        ({"y": np.full(N, 7)}, "labels that the model does not know"),
        ({"invalid": "drop"}, "invalid must be"),
        ({"epsilon": None}, "needs epsilon"),
        ({"hopeless": "ignore"}, "hopeless must be"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_wrong_arguments_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        of_arrays(**change)
