"""`evaluate` for classifiers, nearest neighbours, regressors and metrics."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from pairdp import (
    BoundsScaler,
    Evaluation,
    OnlinePrivateMetric,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivatePairMetric,
    PrivateRanker,
    Unit,
    evaluate,
    plan_evaluation,
    verify,
)
from pairdp.evaluation.pair_distances import matching
from tests.evaluation.test_evaluate import SCHEMA, TABLE, X, Y

N = len(X)
RNG = np.random.default_rng(1)
THREE = RNG.integers(0, 3, N)
CLUSTERS = np.clip(np.eye(3)[THREE] / 2 + RNG.normal(size=(N, 3)) / 5, -0.9, 0.9)
TARGET = np.clip(X @ [0.5, -0.3, 0.1] + 0.05 * RNG.normal(size=N), -1, 1)
PAIRS = CLUSTERS[np.stack(matching(N), axis=1)]
SIMILAR = np.where(THREE[matching(N)[0]] == THREE[matching(N)[1]], 1, -1)
OPTIONS: dict[str, Any] = {"epsilon": 20.0, "data_norm": 1.0, "random_state": 0}
TARGETS = {"a": [-1, 1], "b": [-1, 1], "sex": ["F", "M"], "cost": {"target": [0, 50]}}
COSTS = {**{name: TABLE[name] for name in ("a", "b", "sex")}, "cost": 25 + 25 * TARGET}


@cache
def model(kind: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match kind:
            case "classifier":
                return PrivateLinearClassifier(**OPTIONS).fit(X, Y)
            case "by schema":
                schema: Any = {**SCHEMA}
                return PrivateRanker(20.0, schema=schema, random_state=0).fit(TABLE)
            case "neighbours":
                metric = PrivateMetric(**OPTIONS)
                return make_pipeline(metric, KNeighborsClassifier(5)).fit(CLUSTERS, THREE)
            case "forest":
                return RandomForestClassifier(20, max_depth=4, random_state=0).fit(CLUSTERS, THREE)
            case "regressor":
                return PrivateLinearRegressor(**OPTIONS).fit(X, TARGET)
            case "target of a schema":
                return PrivateLinearRegressor(20.0, schema=TARGETS, random_state=0).fit(COSTS)
            case "of scikit-learn":
                return LinearRegression().fit(X, TARGET)
            case "metric":
                return PrivateMetric(**OPTIONS).fit(CLUSTERS, THREE)
            case "scaled metric":
                scaler = BoundsScaler([-1.0] * 3, [1.0] * 3)
                return make_pipeline(scaler, PrivateMetric(**OPTIONS)).fit(CLUSTERS, THREE)
            case "online metric":
                return OnlinePrivateMetric(**OPTIONS).fit(CLUSTERS[:300], THREE[:300])
            case "pairs":
                norm = {**OPTIONS, "data_norm": 2.0}
                return PrivatePairMetric(**norm).fit(PAIRS, SIMILAR)
    raise KeyError(kind)


def found(kind: str, x: Any, y: Any = None, **options: Any) -> Any:
    return evaluate(model(kind), x, y, **{"epsilon": 5.0, "random_state": 1, **options})


def read_again(evaluation: Any) -> None:
    report = verify(evaluation.certificate)
    assert report.holds
    assert "ON TRUST" not in str(report)
    again = Evaluation.from_json(evaluation.to_json())
    assert again == evaluation
    assert type(again) is type(evaluation)
    assert str(again) == str(evaluation)
    assert str(evaluation.plan.to_dict())


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [("neighbours", CLUSTERS, THREE), ("forest", CLUSTERS, THREE), ("classifier", X, Y)],
)
def test_accuracy(kind: str, x: Any, y: Any, invalid: Any) -> None:
    evaluation = found(kind, x, y, measure="accuracy", invalid=invalid)
    right = float(np.mean(model(kind).predict(x) == y))
    assert evaluation.accuracy == pytest.approx(right, abs=0.02)
    assert evaluation.accuracy_interval.lower < right < evaluation.accuracy_interval.upper
    assert evaluation.accuracy_interval.width < 0.07
    assert evaluation.certificate.releases[0].dimension == 1 + (invalid == "null")
    read_again(evaluation)


def test_the_accuracy_of_a_model_with_a_schema() -> None:
    frame = pd.DataFrame(TABLE)
    evaluation = found("by schema", frame, measure="accuracy")
    right = (model("by schema").predict(frame) == frame["died"]).mean()
    assert evaluation.accuracy == pytest.approx(right, abs=0.02)


def test_nearest_neighbours_say_that_their_records_are_not_covered() -> None:
    evaluation = found("neighbours", CLUSTERS, THREE)
    assert "not covered  the reference records" in str(evaluation)
    statement = " ".join(evaluation.privacy_statement().split())
    assert "does NOT cover the reference records" in statement
    for kind in (RadiusNeighborsClassifier(5.0), BaggingClassifier(SVC(), 2, max_samples=99)):
        made = evaluate(kind.fit(CLUSTERS, THREE), CLUSTERS, THREE, 5.0, measure="accuracy")
        assert made.plan.evaluation.holds_records
    numbers = KNeighborsRegressor().fit(CLUSTERS, THREE)
    errors = evaluate(numbers, CLUSTERS, THREE, 5.0, target_range=(0, 2))
    assert "not covered  " in str(errors)
    assert errors.plan.evaluation.holds_records
    read_again(errors)
    other = found("forest", CLUSTERS, THREE)
    assert "reference records" not in other.privacy_statement()
    assert "the model is public" in " ".join(other.privacy_statement().split())


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_errors(noise: Any, invalid: Any) -> None:
    evaluation = found("regressor", X, TARGET, noise=noise, delta=1e-6, invalid=invalid)
    errors = np.abs(np.clip(model("regressor").predict(X), -1, 1) - TARGET)
    absolute, squared = evaluation.mean_absolute_error, evaluation.mean_squared_error
    assert absolute.value == pytest.approx(errors.mean(), abs=0.01)
    assert squared.value == pytest.approx((errors**2).mean(), abs=0.02)
    assert absolute.interval.lower < errors.mean() < absolute.interval.upper
    assert squared.interval.lower < (errors**2).mean() < squared.interval.upper
    assert absolute.interval.width < 0.06
    root = evaluation.root_mean_squared_error
    assert root.interval.upper == pytest.approx(squared.interval.upper**0.5)
    read_again(evaluation)


def test_errors_are_in_units_of_the_target() -> None:
    evaluation = found("target of a schema", COSTS)
    assert evaluation.plan.evaluation.target == (0.0, 50.0)
    errors = np.abs(np.clip(model("target of a schema").predict(COSTS), 0, 50) - COSTS["cost"])
    lower, upper = evaluation.mean_absolute_error.interval
    assert lower < errors.mean() < upper < lower + 2.0
    with pytest.raises(ValueError, match="leave out target_range"):
        found("target of a schema", COSTS, target_range=(0, 10))


def test_other_regressors_need_the_range_of_the_target() -> None:
    with pytest.raises(ValueError, match="pass target_range"):
        found("of scikit-learn", X, TARGET)
    evaluation = found("of scikit-learn", X, TARGET, target_range=(-1, 1))
    assert 0 < evaluation.mean_absolute_error.value < 0.1
    with pytest.raises(ValueError, match="is for regressors"):
        found("classifier", X, Y, target_range=(-1, 1))


@pytest.mark.parametrize("invalid", ["error", "null"])
@pytest.mark.parametrize("kind", ["metric", "scaled metric", "online metric"])
def test_distances(kind: str, invalid: Any) -> None:
    evaluation = found(kind, CLUSTERS, THREE, invalid=invalid)
    first, second = matching(N)
    rows = model(kind).transform(CLUSTERS)
    apart = np.linalg.norm(rows[first] - rows[second], axis=1)
    exact = roc_auc_score(THREE[first] == THREE[second], -apart)
    assert evaluation.auc_interval.lower < exact < evaluation.auc_interval.upper
    assert evaluation.auc == pytest.approx(exact, abs=0.03)
    assert evaluation.auc > 0.7
    assert evaluation.certificate.n == N
    assert f"n = {N // 2} pairs" in str(evaluation)
    read_again(evaluation)


def test_labels_of_any_kind_name_the_classes_of_a_metric() -> None:
    names = np.array(["a", "b", "c"], dtype=object)[THREE]
    assert found("metric", CLUSTERS, names).auc == found("metric", CLUSTERS, THREE).auc


def test_given_pairs() -> None:
    evaluation = found("pairs", PAIRS, SIMILAR)
    assert evaluation.auc == pytest.approx(model("pairs").score(PAIRS, SIMILAR), abs=0.03)
    read_again(evaluation)
    people = np.arange(2 * len(PAIRS)).reshape(-1, 2) // 3
    units = found("pairs", PAIRS, SIMILAR, groups=people, max_records=1, unit="person")
    assert units.certificate.unit == Unit("person", 1)
    assert units.null_records == pytest.approx(len(PAIRS) / 2, abs=150)
    broken = PAIRS.copy()
    broken[3, 1, 2] = np.nan
    assert found("pairs", broken, SIMILAR, invalid="null").auc > 0.6
    for x, y, words in ((broken, SIMILAR, "cannot be read"), (PAIRS, THREE[:600], "y must be 1"),
                        (CLUSTERS, THREE, "pairs of records")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            found("pairs", x, y)


@pytest.mark.parametrize(
    ("kind", "x", "y", "figure"),
    [
        ("neighbours", CLUSTERS, THREE, lambda e: e.accuracy),
        ("regressor", X, TARGET, lambda e: e.mean_absolute_error.value),
        ("metric", CLUSTERS, THREE, lambda e: e.auc),
    ],
)
def test_units_and_null_records(kind: str, x: Any, y: Any, figure: Any) -> None:
    units: dict[str, Any] = {"groups": np.arange(N) // 4, "max_records": 2, "unit": "patient"}
    evaluation = found(kind, x, y, **units)
    whole = figure(found(kind, x, y))
    assert figure(evaluation) == pytest.approx(whole, abs=0.15)
    unused = np.arange(N) % 4 >= 2
    moved = np.where(unused[:, None], -x, x)
    assert figure(found(kind, moved, y, **units)) == figure(evaluation)
    expected = N / 2 if kind != "metric" else 0.75 * N / 2
    assert evaluation.null_records == pytest.approx(expected, abs=60)
    broken = x.copy()
    broken[::3, 0] = np.nan
    null = found(kind, broken, y, invalid="null")
    assert figure(null) == pytest.approx(whole, abs=0.15)


@pytest.mark.parametrize(
    ("kind", "x", "y", "words"),
    [("neighbours", CLUSTERS, THREE, "accuracy of 0.8 would"),
     ("regressor", X, TARGET, "mean absolute error of 0.2 would"),
     ("metric", CLUSTERS, THREE, "600 pairs, 0.5 of them")],
)  # fmt: skip
def test_what_is_hopeless_is_refused(kind: str, x: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=rf"{words}.*nothing was spent"):
        found(kind, x, y, epsilon=0.005)


def test_plans_without_a_model() -> None:
    assert plan_evaluation(100, 0.05, measure="accuracy").is_hopeless()
    assert not plan_evaluation(1000, 0.5, measure="accuracy").is_hopeless()
    plan = plan_evaluation(1000, 0.5, measure="error", target_range=(0, 10))
    lower, upper = plan.expected_interval()
    assert lower < 1.0 < upper < lower + 0.4
    assert "mean absolute error of 1: " in str(plan)
    assert plan_evaluation(1000, 0.5, measure="pair_auc").items == 500
    with pytest.raises(ValueError, match="needs target_range"):
        plan_evaluation(1000, 0.5, measure="error")
    with pytest.raises(ValueError, match="measure must be"):
        plan_evaluation(1000, 0.5, measure="f1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="edges are for"):
        plan_evaluation(1000, 0.5, measure="accuracy", edges=(0.0,))


@pytest.mark.parametrize(
    ("kind", "x", "y", "change", "words"),
    [
        ("metric", CLUSTERS, THREE, {"measure": "accuracy"}, "has no accuracy"),
        ("classifier", X, Y, {"measure": "error"}, "has no error"),
        ("regressor", X, TARGET, {"roc": True}, "of two classes"),
        ("neighbours", CLUSTERS, THREE, {"threshold": 0.0}, "of two classes"),
        ("neighbours", CLUSTERS, THREE + 1, {}, "does not know"),
        ("regressor", X, np.where(Y == 1, np.nan, 0.0), {}, "finite numbers"),
        ("metric", CLUSTERS, THREE[:-1], {}, "labels, and X has"),
        ("metric", CLUSTERS, np.full(N, np.nan), {}, "missing"),
    ],
)
def test_wrong_arguments(kind: str, x: Any, y: Any, change: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        found(kind, x, y, **change)


@pytest.mark.parametrize("n", [2, 7, 1000, 10_001])
def test_a_matching_has_each_place_once(n: int) -> None:
    places = np.concatenate(matching(n))
    assert len(set(places.tolist())) == 2 * (n // 2)
    assert places.min() >= 0
    assert places.max() < n


def test_a_sorted_file_has_pairs_of_the_same_class() -> None:
    first, second = matching(1000)
    for classes in (np.arange(1000) // 500, np.arange(1000) % 2, np.arange(1000) // 100):
        same = np.mean(classes[first] == classes[second])
        assert same == pytest.approx(1 / (classes.max() + 1), abs=0.07)


def test_r2_is_released_if_it_is_paid_for() -> None:
    found = evaluate(model("regressor"), X, TARGET, 20.0, r2=True, random_state=0)
    predicted = np.clip(model("regressor").predict(X), -1, 1)
    true = 1 - np.mean((predicted - TARGET) ** 2) / np.var(TARGET)
    assert found.r2.interval.lower <= max(true, 0) <= found.r2.interval.upper
    assert "R²" in str(found)
    assert found.figures()["r2"]["value"] == found.r2.value
    assert [release.name for release in found.certificate.releases] == [
        "errors, their squares",
        "targets, their squares",
    ]
    read_again(found)
    without = evaluate(model("regressor"), X, TARGET, 20.0, random_state=0)
    with pytest.raises(AttributeError, match="was not paid for"):
        _ = without.r2
    with pytest.raises(ValueError, match="r2 is for"):
        evaluate(model("classifier"), X, Y, 20.0, r2=True)
    with pytest.raises(ValueError, match="r2 is for"):
        plan_evaluation(1000, 1.0, r2=True)
