"""Estimators with a schema: labels, plans, certificates, batches and streams."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from pairdp import (
    Budget,
    BudgetLedger,
    NoSignalWarning,
    OnlinePrivateMetric,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    Schema,
    SchemaEncoder,
    verify,
)
from pairdp.algorithms.schema_rows import SchemaRows, schema_of
from pairdp.verification import verify_model
from tests.estimators.patients import SCHEMA, TARGET, N, changed, table

TABLE = table()
HELD_OUT = table(seed=1)
WIDTH = Schema.of(SCHEMA).width
PRIVATE: dict[str, Any] = {"epsilon": 8.0, "random_state": 0}


def assert_same_scores(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.decision_function(TABLE), other.decision_function(TABLE))


@pytest.fixture(autouse=True)
def no_warning() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


CLASSIFIERS = [
    PrivateRanker(**PRIVATE, schema=SCHEMA),
    PrivateRanker(**PRIVATE, schema=SCHEMA, model="linear"),
    PrivateLinearClassifier(**PRIVATE, schema=SCHEMA),
    OnlinePrivateRanker(**PRIVATE, schema=SCHEMA),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_the_last_class_of_the_schema_ranks_high(model: Any) -> None:
    model = clone(model).fit(TABLE)
    assert model.classes_.tolist() == ["yes", "no"]
    assert model.score(HELD_OUT) > 0.75
    assert model.score(HELD_OUT, HELD_OUT["died"]) == model.score(HELD_OUT)
    young = np.array(HELD_OUT["age"], dtype=int) < 20
    assert (model.predict(HELD_OUT)[young] == "no").mean() > 0.8
    assert model.privacy_statement().endswith("Label 'no' is ranked above label 'yes'.")
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["age", "sex", "systolic", "ward"]
    if getattr(model, "model_", "linear") == "linear":
        assert model.coef_.shape == (1, WIDTH)


@pytest.mark.parametrize("kind", [PrivateMetric, OnlinePrivateMetric])
def test_metrics(kind: Any) -> None:
    metric = kind(**PRIVATE, schema=SCHEMA)
    rows = metric.fit_transform(TABLE)
    assert rows.shape == (N, WIDTH)
    encoded = SchemaEncoder(SCHEMA).transform(TABLE)
    np.testing.assert_allclose(rows, encoded @ metric.components_.T)
    pairs = encoded[:4].reshape(2, 2, WIDTH)
    apart = np.linalg.norm(rows[[0, 2]] - rows[[1, 3]], axis=1)
    np.testing.assert_allclose(metric.pair_distance(pairs), apart)


def test_targets_of_regression_are_in_their_own_units() -> None:
    model = PrivateLinearRegressor(20.0, schema=TARGET, random_state=0).fit(TABLE)
    assert model.score(HELD_OUT) > 0.5
    assert np.mean(model.predict(HELD_OUT)) == pytest.approx(50, abs=10)
    verify_model(model)
    with pytest.raises(ValueError, match="leave out target_bound"):
        model.set_params(target_bound=2.0).plan(N)


def test_targets_of_rankers_are_graded_responses() -> None:
    model = PrivateRanker(**PRIVATE, schema=TARGET).fit(TABLE)
    assert not is_classifier(model)
    assert model.score(HELD_OUT) > 0.8
    np.testing.assert_array_equal(model.predict(HELD_OUT), model.decision_function(HELD_OUT))
    verify_model(model)


@pytest.mark.parametrize(
    ("model", "schema", "reason"),
    [
        (PrivateRanker(), {"x": [0, 1], "y": {"label": ["a", "b", "c"]}}, "two classes"),
        (PrivateLinearClassifier(), TARGET, "a label of two classes"),
        (PrivateMetric(), TARGET, "a label with classes"),
        (PrivateLinearRegressor(), SCHEMA, "needs a target"),
        (PrivateRanker(classes=("no", "yes")), SCHEMA, "leave out classes"),
        (PrivateRanker(response_bounds=(0, 1)), SCHEMA, "leave out response_bounds"),
        (PrivateRanker(data_norm=2.0), SCHEMA, "leave out data_norm"),
    ],
)
def test_schemas_for_other_models_are_refused(model: Any, schema: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        model.set_params(schema=schema).plan(N)


def test_plans_count_encoded_features() -> None:
    model = PrivateRanker(schema=SCHEMA)
    assert model.plan(N).task.features == WIDTH
    assert model.plan(N, WIDTH).certificate == model.plan(N).certificate
    with pytest.raises(ValueError, match=f"encodes {WIDTH} features, and n_features is 4"):
        model.plan(N, 4)
    with pytest.raises(ValueError, match="n_features is needed"):
        PrivateRanker().plan(N)


def test_a_schema_may_be_given_as_a_dict_a_file_or_a_schema(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    models = [
        PrivateRanker(**PRIVATE, schema=given).fit(TABLE)
        for given in (SCHEMA, Schema.of(SCHEMA), path, str(path))
    ]
    for model in models[1:]:
        assert model.certificate_ == models[0].certificate_
        assert_same_scores(model, models[0])
    path.unlink()  # a fitted model does not need it
    np.testing.assert_array_equal(models[2].predict(TABLE), models[0].predict(TABLE))
    models[2].save(tmp_path / "model")


def test_the_certificate_states_the_schema_and_no_public_labels() -> None:
    model = PrivateRanker(**PRIVATE, schema=SCHEMA).fit(TABLE)
    words = " ".join(model.privacy_statement().split())
    assert "Which two labels occur" not in words
    assert "Rows are encoded by a public schema of 4 columns" in words
    assert "Preparation of the records by the schema is covered" in words
    assert "before they reach the algorithm is not covered" not in words
    assert schema_of(model.certificate_) == Schema.of(SCHEMA)
    assert verify(model.certificate_).holds
    model.schema = {**SCHEMA, "age": [0, 60]}
    with pytest.raises(ValueError, match="does not follow from the model's parameters"):
        verify_model(model)


def test_a_certificate_with_another_number_of_features_is_refused() -> None:
    with pytest.raises(ValueError, match="encodes 8 features"):
        SchemaRows(Schema.of(SCHEMA)).check(PrivateRanker(schema=SCHEMA).plan(N).problem, 3)


def test_without_a_label_in_the_schema_y_is_needed() -> None:
    schema = {name: form for name, form in SCHEMA.items() if name != "died"}
    with pytest.raises(ValueError, match="y is needed: the schema has no label"):
        PrivateRanker(**PRIVATE, schema=schema).fit(TABLE)
    model = PrivateRanker(**PRIVATE, schema=schema).fit(TABLE, TABLE["died"])
    assert model.classes_.tolist() == ["no", "yes"]
    assert "Which two labels occur is public." in model.certificate_.assumptions
    rows = SchemaEncoder(schema).transform(TABLE)
    with pytest.raises(ValueError, match="y is needed: there is no schema"):
        PrivateRanker(**PRIVATE, data_norm=1.0).fit(rows, TABLE["died"]).score(rows)
    for y in ([None, *TABLE["died"][1:]], TABLE["died"][1:]):
        with pytest.raises(ValueError, match="y "):
            PrivateMetric(**PRIVATE, schema=schema).fit(TABLE, y)


def test_batches_are_the_whole_table() -> None:
    def batches() -> Any:
        for first in range(0, N, 300):
            yield {name: column[first : first + 300] for name, column in TABLE.items()}, None

    for model in ("auto", "linear"):
        whole = PrivateRanker(**PRIVATE, schema=SCHEMA, model=model)
        parts = clone(whole).fit_batches(batches(), N)
        scores = whole.fit(TABLE).decision_function(TABLE)
        np.testing.assert_allclose(parts.decision_function(TABLE), scores)
    metric = PrivateMetric(**PRIVATE, schema=SCHEMA)
    parts = clone(metric).fit_batches(batches(), N)
    np.testing.assert_allclose(parts.components_, metric.fit(TABLE).components_)
    bad = changed(TABLE, "sex", 500, "?")
    rest = {name: column[300:] for name, column in bad.items()}
    first = {name: column[:300] for name, column in bad.items()}
    with pytest.raises(ValueError, match="'sex' in row 500"):
        PrivateRanker(schema=SCHEMA).fit_batches([(first, None), (rest, None)], N)


def test_streams(tmp_path: Path) -> None:
    model = OnlinePrivateRanker(**PRIVATE, horizon=N, schema=SCHEMA)
    for first in range(0, N, 200):
        model.partial_fit({name: column[first : first + 200] for name, column in TABLE.items()})
        if first == 200:
            model.pause(tmp_path / "stream")
            model = OnlinePrivateRanker.resume(tmp_path / "stream")
    assert model.records_left_ == 0
    assert model.score(HELD_OUT) > 0.75
    verify_model(model)


def test_units_are_the_column_that_the_schema_declares_as_an_identifier() -> None:
    shared = {**PRIVATE, "schema": SCHEMA, "max_records": 2}
    by_column = PrivateRanker(**shared, unit="patient_id").fit(TABLE)
    given = PrivateRanker(**shared, unit="patient_id").fit(TABLE, groups=TABLE["patient_id"])
    assert_same_scores(by_column, given)
    with pytest.raises(ValueError, match="pass groups"):
        PrivateRanker(**shared, unit="remarks").fit(TABLE)


def test_the_ledger_names_the_columns(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(9.0, 1e-5), tmp_path / "ledger.json")
    PrivateRanker(8.0, schema=SCHEMA, ledger=ledger).fit(TABLE)
    assert ledger.spends[0].facts.columns == ("age", "sex", "systolic", "ward")


@pytest.mark.parametrize(
    ("name", "cell"),
    [("age", "n/a"), ("sex", "X"), ("sex", ""), ("died", "perhaps"), ("died", None)],
)
def test_one_unreadable_record_is_an_error_or_null_and_changes_no_other(
    name: str, cell: Any
) -> None:
    table = changed(TABLE, name, 7, cell)
    with pytest.raises(ValueError, match=f"column '{name}' in row 7") as caught:
        PrivateRanker(schema=SCHEMA).fit(table)
    assert cell in (None, "") or repr(cell) not in str(caught.value)
    null = PrivateRanker(None, schema=SCHEMA, invalid="null")
    absent = changed(changed(TABLE, "age", 7, "?"), "died", 7, None)
    np.testing.assert_array_equal(null.fit(table).coef_, clone(null).fit(absent).coef_)
    scores = null.decision_function(table)
    assert np.isnan(scores).sum() == (name != "died")
    if name != "died":
        with pytest.raises(ValueError, match="null records"):
            null.predict(table)


def test_a_failed_fit_leaves_the_model_unchanged() -> None:
    model = PrivateRanker(**PRIVATE, schema=SCHEMA).fit(TABLE)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="'sex'"):
        model.fit(changed(TABLE, "sex", 3, "?"))
    assert vars(model) == before
    rows = SchemaEncoder(SCHEMA).transform(TABLE)
    model.set_params(schema=None, data_norm=1.0).fit(rows, TABLE["died"])
    assert not hasattr(model, "schema_")
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(rows).shape == (N,)


def test_a_model_can_be_fitted_again_without_its_schema() -> None:
    model = PrivateRanker(**PRIVATE, schema=TARGET).fit(TABLE)
    rows = SchemaEncoder(SCHEMA).transform(TABLE)
    model.set_params(schema=None, data_norm=1.0).fit(rows, TABLE["died"])
    assert set(model.predict(rows)) <= {"no", "yes"}
    model.set_params(schema=SCHEMA, data_norm=None)
    model.fit_batches([(TABLE, None)], N)
    assert model.classes_.tolist() == ["yes", "no"]


def test_warnings_point_at_the_caller() -> None:
    for model in (PrivateRanker(1e-3, schema=SCHEMA), OnlinePrivateRanker(1e-3, schema=SCHEMA)):
        with pytest.warns(NoSignalWarning) as caught:
            model.fit(TABLE)
        assert caught[0].filename == __file__


def test_the_noise_of_weights_is_in_units_of_the_target() -> None:
    model = PrivateLinearRegressor(20.0, schema=TARGET, random_state=0).fit(TABLE)
    pytest.importorskip("pandas")
    shown = model.weights_frame()["noise_std"].to_numpy()[:WIDTH]
    expected = 50 * np.broadcast_to(model.parameter_noise_.deviation, (WIDTH + 1,))[:WIDTH]
    np.testing.assert_allclose(shown, expected)


@pytest.mark.parametrize("kind", [PrivateRanker, PrivateLinearClassifier])
def test_scores_leave_null_records_out(kind: Any) -> None:
    schema = {**SCHEMA, "age": {"range": [0, 120], "missing": "null"}}
    model = kind(**PRIVATE, schema=schema).fit(TABLE)
    messy = {**TABLE, "age": ["", *TABLE["age"][1:]]}
    assert model.score(messy) == model.score({name: cells[1:] for name, cells in TABLE.items()})
    weight = np.arange(N)
    assert model.score(messy, sample_weight=weight) == model.score(TABLE, sample_weight=weight)


@pytest.mark.parametrize("kind", [PrivateRanker, PrivateLinearRegressor])
def test_scores_leave_records_without_a_target_out(kind: Any) -> None:
    schema = {
        **TARGET,
        "age": {"range": [0, 120], "missing": "null"},
        "stay": {"target": [0, 100], "missing": "null"},
    }
    model = kind(**PRIVATE, schema=schema).fit(TABLE)
    messy = {**TABLE, "age": ["", *TABLE["age"][1:]]}
    messy["stay"] = [TABLE["stay"][0], "", *TABLE["stay"][2:]]
    assert model.score(messy) == model.score({name: cells[2:] for name, cells in TABLE.items()})
