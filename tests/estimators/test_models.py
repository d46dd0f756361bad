"""Rankers that are linear, additive or quadratic: attributes, scores, files, cards and audits."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pairdp import BudgetLedger, PrivateRanker, PrivateScorecard, load
from pairdp.algorithms import MomentRelease, WithThreshold
from pairdp.algorithms.choice.models import MODEL_REASON
from pairdp.algorithms.conditioned import ConditionedDescent
from pairdp.algorithms.scorecard.scorecard import Scorecard
from pairdp.audit import audit_estimator
from pairdp.privacy import Budget
from pairdp.report.card import card_of
from pairdp.storage import ModelFileError
from pairdp.verification import verify_model
from tests.estimators.data import two_classes
from tests.estimators.patients import SCHEMA, table

X, Y = two_classes(600)
TABLE = table()
MODELS = ("linear", "additive", "quadratic")
OTHERS = MODELS[1:]


def ranker(model: str = "auto", **more: Any) -> PrivateRanker:
    return PrivateRanker(
        **{"epsilon": 2.0, "model": model, "data_norm": 1.0, "random_state": 0, **more}
    )


@pytest.fixture(scope="module", params=OTHERS)
def fitted(request: pytest.FixtureRequest) -> PrivateRanker:
    return ranker(request.param).fit(X, Y)


@pytest.mark.parametrize("model", MODELS)
def test_the_model_that_is_named_is_fitted(model: str) -> None:
    found = ranker(model, epsilon=8.0).fit(X, Y)
    assert found.model_ == model
    assert found.score(*two_classes(600, seed=1)) > 0.85
    assert np.mean(found.predict(X) == Y) > 0.8
    assert hasattr(found, "coef_") == (model == "linear")
    assert not any(reason.startswith(MODEL_REASON) for reason in found.plan_.reasons)
    verify_model(found)


def test_the_plan_says_why_a_model_was_chosen() -> None:
    plan = ranker(epsilon=1.0).plan(600, 4)
    assert plan.reasons[0].startswith(f"{MODEL_REASON} additive, as ")
    assert "AUC was" in plan.reasons[0]
    linear = ranker(epsilon=1.0).plan(200, 4)
    assert linear.reasons[0].startswith(f"{MODEL_REASON} linear")
    assert linear.reasons[1].startswith("auto: noise")
    assert len(ranker("linear").choices(600, 4).candidates) > 1
    assert len(ranker().choices(600, 4).candidates) == 1


@pytest.mark.parametrize(
    "linear",
    [
        {"loss": "logistic"},
        {"regularization": 0.1},
        {"radius": 2.0},
        {"schedule": "tuned"},
        {"algorithm": "DPGDSC"},
        {"algorithm": MomentRelease()},
        {"response_bounds": (0, 1)},
        {"epsilon": None},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_describes_a_linear_model_gives_one(linear: dict[str, Any]) -> None:
    assert ranker(**linear).fit(X, Y).model_ == "linear"
    if "epsilon" not in linear:
        for model in OTHERS:
            with pytest.raises(ValueError, match=r"for model=\"linear\"|leave out model"):
                ranker(model, **linear).fit(X, Y)


def test_an_algorithm_has_its_model() -> None:
    named = ranker(algorithm=Scorecard(resolution=96)).fit(X, Y)
    same = ranker("additive").fit(X, Y)
    np.testing.assert_array_equal(named.decision_function(X), same.decision_function(X))
    wrapped = ranker(algorithm=WithThreshold(Scorecard(interactions=True))).fit(X, Y)
    assert (wrapped.model_, wrapped.intercept_) == ("quadratic", 0)
    of_schema = ranker(algorithm="scorecard", schema=SCHEMA).plan(600)
    assert len(of_schema.algorithm.columns) == 4  # type: ignore[attr-defined]
    for wrong in ({"model": "linear"}, {"radius": 2.0}, {"response_bounds": (0, 1)}):
        with pytest.raises(ValueError, match=r"additive|linear models"):
            ranker(algorithm="scorecard", **wrong).fit(X, Y)
    with pytest.raises(ValueError, match="model must be"):
        ranker("cubic").fit(X, Y)


def test_weights_that_do_not_exist_are_explained(fitted: PrivateRanker) -> None:
    with pytest.raises(AttributeError, match=r'use model="linear" for weights'):
        fitted.coef_  # noqa: B018
    chosen = ranker(epsilon=1.0).fit(X, Y)
    with pytest.raises(AttributeError, match='model="auto" chose an additive one'):
        chosen.coef_  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'coefs_'"):
        chosen.coefs_  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(PrivateRanker(), "model_")


def test_a_public_threshold_is_subtracted_from_log_odds(fitted: PrivateRanker) -> None:
    assert fitted.intercept_ == 0
    shifted = clone(fitted).set_params(threshold=0.5).fit(X, Y)
    np.testing.assert_allclose(
        shifted.decision_function(X), fitted.decision_function(X) - 0.5, atol=1e-12
    )
    assert shifted.certificate_ == fitted.certificate_


def test_another_fit_leaves_nothing_of_the_model_before() -> None:
    model = ranker("linear").fit(X, Y)
    linear = set(vars(model))
    model.set_params(model="quadratic").fit(X, Y)
    assert "coef_" not in vars(model)
    assert set(vars(model.set_params(model="linear").fit(X, Y))) == linear


@pytest.mark.parametrize("given", [{}, {"schema": SCHEMA}], ids=["array", "schema"])
def test_a_file_keeps_the_model(fitted: PrivateRanker, given: Any, tmp_path: Path) -> None:
    data = (TABLE,) if given else (X, Y)
    model = clone(fitted).set_params(**given, threshold=0.1).fit(*data)
    model.save(tmp_path / "model")
    for same in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert same.model_ == model.model_
        np.testing.assert_array_equal(
            same.decision_function(data[0]), model.decision_function(data[0])
        )
        assert same.parameter_noise_.to_dict() == model.parameter_noise_.to_dict()
        verify_model(same)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m, "parameters_", m.parameters_[1:]),
        lambda m: setattr(m, "parameters_", np.zeros(0)),
        lambda m: setattr(m, "parameters_", np.full_like(m.parameters_, np.nan)),
        lambda m: setattr(m, "bins_", -m.bins_),
        lambda m: setattr(m, "edges_", m.edges_[::-1]),
        lambda m: setattr(m, "counts_", m.counts_[1:]),
        lambda m: setattr(m, "deviations_", -1 - m.deviations_),
        lambda m: setattr(m, "interactions_", np.zeros((2, 3))),
        lambda m: setattr(m, "factors_", np.ones(3)),
        lambda m: setattr(m, "product_deviations_", np.ones((9, 9))),
        lambda m: setattr(m, "intercept_", np.zeros(2)),
        lambda m: setattr(m, "model", "linear"),
    ],
)
def test_inconsistent_arrays_are_refused(
    fitted: PrivateRanker, change: Any, tmp_path: Path
) -> None:
    model = pickle.loads(pickle.dumps(fitted))
    change(model)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_a_scorecard_is_the_same_model(fitted: PrivateRanker, tmp_path: Path) -> None:
    shifted = clone(fitted).set_params(threshold=0.3, schema=SCHEMA).fit(TABLE)
    card = shifted.to_scorecard()
    assert isinstance(card, PrivateScorecard)
    np.testing.assert_allclose(
        card.decision_function(TABLE), shifted.decision_function(TABLE), atol=1e-12
    )
    assert card.certificate_ == shifted.certificate_
    verify_model(card)
    assert set(card.table()["column"]) == set(SCHEMA) - {"died", "patient_id", "remarks"}
    card.save(tmp_path / "card")
    verify_model(load(tmp_path / "card"))
    with pytest.raises(ValueError, match="has no points"):
        ranker("linear").fit(X, Y).to_scorecard()


@pytest.mark.parametrize("pairs", [{"pairs": ((0, 1),)}, {"chosen": 1}], ids=["pairs", "chosen"])
@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["array", "schema"])
def test_a_scorecard_keeps_its_products(pairs: Any, schema: Any) -> None:
    model = ranker(algorithm=Scorecard(**pairs), schema=schema, epsilon=8.0)
    model.fit(*((X, Y) if schema is None else (TABLE,)))
    assert model.model_ == "quadratic"
    card = model.to_scorecard()
    verify_model(card)
    rows = X if schema is None else TABLE
    np.testing.assert_array_equal(card.decision_function(rows), model.decision_function(rows))


@pytest.mark.parametrize("expansion", OTHERS)
def test_another_score_function_is_kept(expansion: Any, tmp_path: Path) -> None:
    model = ranker(algorithm=ConditionedDescent(expansion=expansion)).fit(X, Y)
    assert model.model_ == expansion
    assert model.score(X, Y) > 0.85
    model.save(tmp_path / "model")
    same = load(tmp_path / "model")
    np.testing.assert_array_equal(same.decision_function(X), model.decision_function(X))
    verify_model(same)
    with pytest.raises(ValueError, match="has no points"):
        model.to_scorecard()
    with pytest.raises(ValueError, match="no table of weights"):
        model.weights_frame()
    assert not hasattr(model, "coef_")
    assert card_of(model).weights == ()
    for name in ("parameters_", "centre_", "scales_"):
        changed = pickle.loads(pickle.dumps(model))
        setattr(changed, name, getattr(model, name)[1:])
        changed.save(tmp_path / "changed")
        with pytest.raises(ModelFileError):
            load(tmp_path / "changed")
    weights = ranker(algorithm=ConditionedDescent()).fit(X, Y)
    assert weights.coef_.shape == (1, 4)


def test_cards_and_tables_of_points(fitted: PrivateRanker) -> None:
    named = clone(fitted).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    card = card_of(named)
    assert card.weights_are == "points of bins"
    assert card.weights[0].name.startswith("a ")
    assert all(weight.noise is not None for weight in card.weights)
    assert f"{named.model_} ranker: label 1" in card.purpose
    assert ">points</th>" in named._repr_html_()
    assert named.parameter_noise_.kind == "first order"
    if named.model_ == "quadratic":
        with pytest.raises(ValueError, match="no table of weights"):
            named.weights_frame()
    else:
        frame = named.weights_frame()
        assert len(frame) == len(card.weights)
        assert (frame["noise_std"] > 0).all()


def test_units_pure_budgets_null_records_and_ledgers(fitted: PrivateRanker) -> None:
    model = clone(fitted).set_params(
        delta=0.0, max_records=2, classes=[0, 1], invalid="null", random_state=None
    )
    x, groups = X.astype(object), np.arange(len(X)) // 2
    x[3, 0] = "n/a"
    ledger = BudgetLedger(Budget(2.0), unit="unit")
    model.set_params(ledger=ledger, unit="unit").fit(x, Y, groups=groups)
    # A pure ε does not buy products.
    assert model.model_ == ("linear" if fitted.model_ == "linear" else "additive")
    assert model.certificate_.unit is not None
    assert model.certificate_.holds
    assert len(ledger.spends) == 1
    verify_model(model)


@pytest.mark.slow
def test_an_audit_of_scores_finds_nothing() -> None:
    x, y = two_classes(40)
    report = audit_estimator(ranker("additive", random_state=None), x, y, runs=60, seed=1)
    assert not report.is_violated


def test_weights_of_an_algorithm_that_is_not_linear_are_refused_with_its_name() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) / 4
    ranker = PrivateRanker(
        algorithm=ConditionedDescent("additive"), data_norm=1.0, random_state=0
    ).fit(x, x[:, 0] > 0)
    with pytest.raises(AttributeError, match="Conditioned descent learned an additive one"):
        _ = ranker.coef_
