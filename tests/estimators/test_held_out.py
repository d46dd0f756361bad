"""Fits that evaluate themselves on records that are held out."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from pairdp import (
    BoundsScaler,
    Budget,
    BudgetExceededError,
    BudgetLedger,
    CertificateError,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivatePairMetric,
    PrivateRanker,
    PrivateScorecard,
    evaluate,
    load,
    verify,
)
from pairdp.evaluation.evaluate import HopelessEvaluationWarning
from pairdp.privacy.certificates.held_out import HeldOut, certificate_of
from pairdp.verification import verify_file
from pairdp.verification.models import verify_model

N, D, SHARE = 2000, 3, 0.2
RNG = np.random.default_rng(7)
Y = np.sort(RNG.integers(0, 2, N))  # a table that is sorted by label
X = (RNG.normal(size=(N, D)) + Y[:, None]) / 5
TARGETS = X @ [0.6, -0.3, 0.2]
GROUPS = RNG.integers(0, 1500, N)
KINDS: dict[str, tuple[type, dict[str, Any], Any]] = {
    "ranker": (PrivateRanker, {}, Y),
    "linear ranker": (PrivateRanker, {"model": "linear", "invalid": "null", "classes": [0, 1]}, Y),
    "scorecard": (PrivateScorecard, {}, Y),
    "classifier": (PrivateLinearClassifier, {}, Y),
    "regressor": (PrivateLinearRegressor, {}, TARGETS),
    "metric": (PrivateMetric, {"algorithm": "scatter"}, Y),
}
HELD_OUT = HeldOut(SHARE).places(N)


def made(name: str = "linear ranker", **more: Any) -> Any:
    kind, parameters, _ = KINDS[name]
    common = {"epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "random_state": 0}
    return kind(**{**common, **parameters, **more})


def fitted(name: str = "linear ranker", groups: Any = None, **more: Any) -> Any:
    return made(name, **more).fit(X, KINDS[name][2], groups, evaluation_share=SHARE)


@pytest.mark.parametrize("name", KINDS)
def test_the_evaluation_is_that_of_the_rows_that_were_held_out(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    found, labels = model.evaluation_, KINDS[name][2]
    alone = made(name).fit(X[~HELD_OUT], labels[~HELD_OUT])
    for array in ("coef_", "parameters_", "points_", "components_"):
        assert np.array_equal(getattr(alone, array, 0), getattr(model, array, 0))
    again = evaluate(
        alone,
        X[HELD_OUT],
        labels[HELD_OUT],
        1.0,
        1e-6,
        random_state=0,
        invalid=alone.invalid,
    )
    assert found.numbers() == again.numbers()  # with the same noise
    assert found.certificate == again.certificate
    budget = model.certificate_.budget
    assert (budget, model.certificate_.n) == (Budget(1.0, 1e-6), N)
    assert model.plan_.task.n == N - 400
    model.save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    assert loaded.certificate_ == model.certificate_
    assert loaded.evaluation_.figures() == found.figures()
    (report,) = verify_file(tmp_path / "model.pairdp")
    assert report.holds
    assert pickle.loads(pickle.dumps(model)).evaluation_ == found


def test_units_are_in_one_part() -> None:
    model = fitted(groups=GROUPS, max_records=2, unit="id")
    assert model.evaluation_.certificate.unit == model.certificate_.unit
    assert verify(model.certificate_).holds
    assert "All rows of one id are in the part" in " ".join(model.privacy_statement().split())
    assert model.evaluation_.auc > 0.7


def test_batches_are_fitted_as_one_table() -> None:
    whole = fitted(groups=GROUPS, max_records=2)
    cuts = [(0, 3), (3, 900), (900, N)]
    batches = ((X[i:j], Y[i:j], GROUPS[i:j]) for i, j in cuts)
    model = made(max_records=2).fit_batches(batches, N, D, evaluation_share=SHARE)
    assert np.array_equal(model.coef_, whole.coef_)
    assert model.evaluation_ == whole.evaluation_


def test_tables_with_a_schema() -> None:
    import pandas as pd

    schema: dict[str, Any] = {f"x{j}": [-1, 1] for j in range(D)}
    schema |= {"id": "id", "died": {"label": ["no", "yes"]}}
    table = pd.DataFrame(np.clip(X, -1, 1), columns=[f"x{j}" for j in range(D)])
    table["died"], table["id"] = np.where(Y, "yes", "no"), GROUPS
    ranker = PrivateRanker(1.0, schema=schema, random_state=0, unit="id", max_records=2)
    model = ranker.fit(table, evaluation_share=SHARE)
    assert model.evaluation_.plan.evaluation.classes == ("no", "yes")
    assert model.evaluation_.auc > 0.7
    assert all(report.holds for report in verify_model(model))
    assert "Preparation of the records by the schema is covered" in model.privacy_statement()
    targets: dict[str, Any] = {**schema, "died": {"target": [10.0, 20.0]}}
    table["died"] = 15 + 2 * TARGETS
    regressor = PrivateLinearRegressor(1.0, schema=targets, random_state=0)
    found = regressor.fit(table, evaluation_share=SHARE).evaluation_
    assert found.mean_absolute_error.value < 0.5  # and not half of the range, or of ±1
    assert "targets from 10 to 20" in str(found)


def test_options_are_those_of_evaluate() -> None:
    options = {"roc": True, "threshold": 0.0, "epsilon": 3.0, "delta": 0.0, "seed": 5}
    model = made().fit(X, Y, evaluation_share=0.5, evaluation_options=options)
    found = model.evaluation_
    assert model.certificate_.budget == Budget(3.0, 1e-6)  # the larger
    assert found.certificate.budget == Budget(3.0)
    assert len(found.roc.thresholds) == 15
    assert found.at(0.0).sensitivity.value > 0.5
    assert "RandomState(5).permutation(2000)" in " ".join(model.privacy_statement().split())
    assert all(report.holds for report in verify_model(model))


def test_a_pipeline_passes_the_share_on() -> None:
    pipeline = make_pipeline(BoundsScaler(-1, 1), made())
    pipeline.fit(X, Y, privateranker__evaluation_share=SHARE)
    assert pipeline[-1].evaluation_.auc > 0.7


def test_the_plan_says_what_to_expect() -> None:
    plan = made().plan_with_evaluation(N, D, evaluation_share=SHARE)
    assert plan.certificate.budget == Budget(1.0, 1e-6)
    assert plan.training.task.n == 1600
    assert plan.evaluation.n == 400
    assert not plan.evaluation.is_hopeless()
    assert plan.evaluation.expected_width() == pytest.approx(0.133, abs=0.001)
    words = str(plan)
    assert words.startswith("n = 2000 records, 1600 for training and 400 held out, ε = 1")
    assert "expected 95 % interval" in words
    (release,) = plan.evaluation.certificate.releases
    fit = fitted()
    assert (
        certificate_of(fit.certificate_, "training").releases == plan.training.certificate.releases
    )
    assert fit.evaluation_.certificate.releases == (release,)


def test_one_entry_of_the_ledger_pays_for_both() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-6))
    model = made(random_state=None, ledger=ledger)
    model.fit(X, Y, evaluation_share=SHARE)
    (entry,) = ledger.spends
    assert "(training)" in entry.label
    assert "(evaluation)" in entry.label
    assert ledger.spent() == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y, evaluation_share=SHARE)


class Untouchable:
    shape = (N, D)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the data was read")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evaluation_share": "stratified"}, "lets one record move others"),
        ({"evaluation_share": Y}, "got a ndarray"),
        ({"evaluation_share": 0.0005}, "leaves 1999 for training and 1 for evaluation"),
        ({"evaluation_share": 0.002}, "4 of the 2000 records would be held out, and n must be"),
        ({"evaluation_share": 0.005}, "10 of the 2000 records would be held out, and with 10"),
        ({"evaluation_options": {"roc": True}}, "need evaluation_share"),
        ({"evaluation_share": 0.2, "evaluation_options": {"rok": True}}, "did you mean 'roc'"),
        ({"evaluation_share": 0.2, "evaluation_options": {"noise": "none"}}, "noise must be"),
        ({"evaluation_share": 0.2, "evaluation_options": {"seed": -1}}, "evaluation_seed"),
    ],
)
def test_what_cannot_work_costs_nothing(options: dict[str, Any], message: str) -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-6))
    model = made(random_state=None, ledger=ledger)
    with pytest.raises(ValueError, match=message):
        model.fit(Untouchable(), Y, **options)
    assert not ledger.spends
    assert set(vars(model)) == set(vars(made()))


def test_models_without_an_evaluation_say_so() -> None:
    with pytest.raises(ValueError, match="cannot be evaluated privately"):
        OnlinePrivateRanker(1.0, data_norm=1.0).fit(X, TARGETS, evaluation_share=SHARE)
    with pytest.raises(ValueError, match="given pairs cannot be held out"):
        PrivatePairMetric(1.0, data_norm=1.0).fit(X, Y, evaluation_share=SHARE)
    with pytest.raises(ValueError, match="epsilon is None"):
        made("classifier", epsilon=None, delta=None).fit(X, Y, evaluation_share=SHARE)
    with pytest.raises(ValueError, match="evaluated by another measure"):
        made("metric").fit(X, Y, evaluation_share=SHARE, evaluation_options={"roc": True})


def test_batches_that_lack_records_cost_nothing() -> None:
    """Even if all that is for training is there: the last row is held out by this seed."""
    seed = next(seed for seed in range(100) if HeldOut(SHARE, seed).places(N)[-1])
    ledger = BudgetLedger(Budget(1.0, 1e-6))
    model = made(random_state=None, ledger=ledger)
    for n in (N - 1, 10):
        with pytest.raises(ValueError, match="records, not"):
            model.fit_batches(
                [(X[:n], Y[:n])], N, D, evaluation_share=SHARE, evaluation_options={"seed": seed}
            )
    assert not ledger.spends


def test_unreadable_records_are_an_error_before_anything_is_spent() -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-6))
    model = made("classifier", random_state=None, ledger=ledger)
    for value in (np.nan, 1e200):
        broken = X.copy()
        broken[np.flatnonzero(HELD_OUT)[0]] = value
        with pytest.raises(ValueError, match=r"contains NaN|cannot be read"):
            model.fit(broken, Y, evaluation_share=SHARE)
    assert not ledger.spends


def test_a_hopeless_evaluation_can_be_asked_for() -> None:
    options = {"hopeless": "warn"}
    with pytest.warns(HopelessEvaluationWarning):
        model = made().fit(X, Y, evaluation_share=0.005, evaluation_options=options)
    assert model.evaluation_.certificate.n == 10


def test_a_fit_without_a_share_has_no_evaluation() -> None:
    model = fitted()
    assert not hasattr(clone(model), "evaluation_")
    model.fit(X, Y)
    assert not hasattr(model, "evaluation_")
    assert model.certificate_.n == N


def test_models_with_another_evaluation_are_refused() -> None:
    one, other = fitted(), fitted(random_state=1)
    other.evaluation_ = made().fit(X, Y, evaluation_share=0.3).evaluation_
    with pytest.raises(CertificateError, match="is not that of the model's certificate"):
        verify_model(other)
    del one.evaluation_
    with pytest.raises(CertificateError, match="without a certificate, or the certificate of one"):
        verify_model(one)


def test_scorecards_of_rankers_keep_the_evaluation(tmp_path: Path) -> None:
    card = fitted("ranker", model="additive").to_scorecard()
    card.save(tmp_path / "card.pairdp")
    assert verify_file(tmp_path / "card.pairdp")[0].holds
    assert load(tmp_path / "card.pairdp").evaluation_ == card.evaluation_


def test_notebooks_show_the_evaluation() -> None:
    model = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = model._repr_html_inner()
    assert "of which 400 were held out for evaluation" in page
    assert "AUC 0." in page


def test_probabilities_follow_from_the_counts_of_the_evaluation(tmp_path: Path) -> None:
    model = made().fit(X, Y, evaluation_share=SHARE, evaluation_options={"roc": True})
    probabilities = model.calibrate(model.evaluation_).predict_proba(X)[:, 1]
    assert np.mean(probabilities[Y == 1]) > np.mean(probabilities[Y == 0]) + 0.1
    model.save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    assert np.array_equal(loaded.predict_proba(X)[:, 1], probabilities)
    assert all(report.holds for report in verify_file(tmp_path / "model.pairdp"))


def test_an_evaluation_that_fails_says_what_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-6))

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("pairdp.estimators.held_out_records.HeldOutRecords.evaluate", fail)
    with pytest.raises(MemoryError) as raised:
        fitted(random_state=None, ledger=ledger)
    assert "Budget(epsilon=1.0, delta=1e-06) was spent" in raised.value.__notes__[-1]
    assert len(ledger.spends) == 1
