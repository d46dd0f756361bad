"""Private linear classifiers and regressors: their contract, and that nothing else leaves."""

from __future__ import annotations

import pickle
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairdp
from pairdp import (
    BoundsScaler,
    Budget,
    BudgetExceededError,
    BudgetLedger,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    verify,
)
from pairdp.algorithms import MinimizerRelease, NoisyGradientDescent
from pairdp.cli.main import main
from pairdp.pointwise_problem import PointwiseProblem
from tests.estimators.data import FEW_RECORDS, budget_of, two_classes
from tests.estimators.linear import KINDS, MODELS, data, targets
from tests.estimators.test_privacy import PAID_BY, Untouchable, numbers

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> BaseEstimator:
    return clone(MODELS[request.param])


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> BaseEstimator:
    return clone(MODELS[request.param])


# Where a check asks for accuracy, noise would fail it in bad luck: then ε is large.
WIDE = {"data_norm": 4.0, "radius": 3.0}
FAR = {"data_norm": 6.0, "radius": 2.0, "target_bound": 4.0}
CHECKED = [
    PrivateLinearClassifier(data_norm=1.0),
    PrivateLinearRegressor(data_norm=1.0),
]
CHECKED_SLOWLY = [
    PrivateLinearClassifier(1e3, 0.0, **WIDE),
    PrivateLinearRegressor(1e4, 0.0, **FAR),
    PrivateLinearClassifier(1e3, loss="rounded_hinge", algorithm=MinimizerRelease(), **WIDE),
    PrivateLinearClassifier(
        1e3,
        loss="hinge",
        algorithm=NoisyGradientDescent(steps=60, step_size=0.1),
        fit_intercept=False,
        **WIDE,
    ),
    PrivateLinearClassifier(None, loss="least_squares", **WIDE),
    PrivateLinearRegressor(1e4, algorithm=NoisyGradientDescent(steps=100, step_size=0.01), **FAR),
]


def expected_failures(model: BaseEstimator) -> dict[str, str]:
    """Return the checks that are known to fail, and why."""
    if isinstance(model, PrivateLinearRegressor) and model.epsilon == 1.0:
        why = "it asks for R² > 0.5 of 200 rows of norm 3, which ε = 1 and data_norm = 1 forbid"
        return {"check_regressors_train": why}
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED_SLOWLY, expected_failed_checks=expected_failures)
def test_checks_of_scikit_learn_with_other_parameters(
    estimator: BaseEstimator, check: object
) -> None:
    check(estimator)  # type: ignore[operator]


def fitted(model: BaseEstimator, seed: int = 0) -> Any:
    return clone(model).fit(*data(model, seed=seed))


def test_each_attribute_is_paid_for(model: BaseEstimator) -> None:
    found = set(vars(fitted(model))) - set(model.get_params())
    assert found <= set(PAID_BY)
    assert {"certificate_", "plan_", "n_features_in_", "coef_", "intercept_"} <= found


def test_plans_know_the_shape_alone_and_are_certified(model: BaseEstimator) -> None:
    one, other = fitted(model, 0), fitted(model, 1)
    assert one.plan_ == other.plan_ == model.plan(400, 4)
    assert one.certificate_ == other.certificate_
    assert one.certificate_.holds
    verify(one.certificate_)
    assert one.certificate_.budget == budget_of(model, 400)
    # The intercept is one of the released parameters.
    assert one.certificate_.releases[-1].dimension == 4 + model.fit_intercept
    assert f"ε = {model.epsilon:g}" in " ".join(one.privacy_statement().split())
    words = " ".join(one.certificate_.assumptions)
    assert ("constant feature" in words) == model.fit_intercept
    assert ("target" in words) == isinstance(model, PrivateLinearRegressor)
    assert ("labels occur is public" in words) == isinstance(model, PrivateLinearClassifier)


def test_no_record_sits_in_a_fitted_model(model: BaseEstimator) -> None:
    x, y = data(model)
    made = clone(model).fit(x, y)
    stored = pickle.dumps(made)
    norms = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    secret = [x.ravel(), (x / norms).ravel()]
    if isinstance(model, PrivateLinearRegressor):
        secret.append(y)
    values = set(np.concatenate(secret).tolist())
    for value in values:
        assert np.float64(value).tobytes() not in stored
    for array in numbers(made, set()):
        if array.dtype.kind == "f":
            assert not values & set(array.ravel().tolist())


def test_overspending_is_refused_before_data_is_touched(kind: BaseEstimator) -> None:
    ledger = BudgetLedger(budget_of(kind, 400, 1 / 3))
    poor = kind.set_params(ledger=ledger, random_state=None)
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        poor.fit(Untouchable(), np.arange(400) % 2)
    with pytest.raises(BudgetExceededError):
        poor.fit_batches(iter([Untouchable()]), 400, 4, labels=[0, 1])
    assert ledger.spends == ()
    assert not hasattr(poor, "certificate_")


def test_a_ledger_pays_once_for_each_fit_and_not_for_bad_data(kind: BaseEstimator) -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-5))
    kind.set_params(ledger=ledger, random_state=None)
    x, y = data(kind)
    kind.fit(x, y)
    assert len(ledger.spends) == 1
    holed = x.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        kind.fit(holed, y)
    with pytest.raises(ValueError, match="NaN"):
        kind.fit_batches([(holed, y)], 400, 4, labels=[0, 1])
    assert len(ledger.spends) == 1
    clone(kind).fit(x, y)
    assert len(ledger.spends) == 2


@pytest.mark.parametrize("name", MODELS)
def test_files_and_pickles_keep_the_model(name: str, tmp_path: Path) -> None:
    made = fitted(MODELS[name])
    x, _ = data(made)
    made.save(tmp_path / "model.pairdp")
    for copy in (pairdp.load(tmp_path / "model.pairdp"), pickle.loads(pickle.dumps(made))):
        assert type(copy) is type(made)
        np.testing.assert_array_equal(copy.predict(x), made.predict(x))
        np.testing.assert_array_equal(copy.coef_, made.coef_)
        assert type(copy.intercept_) is type(made.intercept_)
        assert copy.certificate_ == made.certificate_
        assert copy.plan_ == made.plan_
        assert type(copy.plan_.problem) is PointwiseProblem
        assert copy.fit_intercept == made.fit_intercept
    assert pairdp.load(tmp_path / "model.pairdp").random_state is None


def test_the_command_line_predicts(kind: BaseEstimator, tmp_path: Path) -> None:
    x, y = data(kind, 60)
    table = pd.DataFrame(x, columns=list("abcd"))
    made = kind.fit(table, y)
    made.save(tmp_path / "model.pairdp")
    table.to_csv(tmp_path / "new.csv", index=False)
    done = CliRunner().invoke(
        main, ["predict", str(tmp_path / "model.pairdp"), str(tmp_path / "new.csv")]
    )
    assert done.exit_code == 0
    found = pd.read_csv(StringIO(done.stdout))
    last = found["prediction" if isinstance(made, PrivateLinearRegressor) else "label"]
    np.testing.assert_allclose(last, made.predict(table), rtol=1e-12)


def test_a_pipeline_is_saved_with_its_bounds(tmp_path: Path) -> None:
    x, y = targets()
    pipe = make_pipeline(
        BoundsScaler(-2, 2), PrivateLinearRegressor(random_state=0, data_norm=1.0)
    ).fit(x, y)
    pairdp.save(pipe, tmp_path / "pipe.pairdp")
    np.testing.assert_array_equal(pairdp.load(tmp_path / "pipe.pairdp").predict(x), pipe.predict(x))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "rounded_hinge", "least_squares"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_classes_are_separated(loss: str, fit_intercept: bool) -> None:
    x, y = two_classes(2000)
    model = PrivateLinearClassifier(
        3.0, loss=loss, fit_intercept=fit_intercept, random_state=0, data_norm=1.0
    )
    model.fit(x, np.array(["no", "yes"])[y])
    assert model.score(x, np.array(["no", "yes"])[y]) > 0.8
    np.testing.assert_array_equal(model.predict(x) == "yes", model.decision_function(x) > 0)
    assert model.coef_.shape == (1, 4)
    assert (model.intercept_[0] != 0) == fit_intercept


def test_without_noise_the_fit_agrees_with_scikit_learn() -> None:
    x, y = two_classes(1000)
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    ours = PrivateLinearClassifier(
        None,
        radius=50.0,
        regularization=1e-3,
        fit_intercept=False,
        algorithm=MinimizerRelease(1e-6),
        data_norm=1.0,
    ).fit(x, y)
    theirs = LogisticRegression(C=1 / (1e-3 * 1000), fit_intercept=False, tol=1e-10).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3)
    x, y = targets(1000)
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    regressor = PrivateLinearRegressor(
        None,
        radius=5.0,
        regularization=1e-5,
        algorithm=MinimizerRelease(1e-6),
        target_bound=9.0,
        data_norm=1.0,
    ).fit(x, y)
    exact = LinearRegression().fit(x, y)
    np.testing.assert_allclose(regressor.coef_, exact.coef_, rtol=1e-3)
    assert regressor.intercept_ == pytest.approx(exact.intercept_, rel=1e-3)


def test_an_intercept_is_learnt_where_classes_are_off_centre() -> None:
    x, y = two_classes(2000)
    x = x * 0.5 + np.array([0.4, 0.0, 0.0, 0.0])
    scores = [
        PrivateLinearClassifier(5.0, fit_intercept=fit, radius=3.0, random_state=0, data_norm=1.0)
        .fit(x, y)
        .score(x, y)
        for fit in (True, False)
    ]
    assert scores[0] > scores[1] + 0.05


def test_a_constant_feature_widens_the_bound_by_the_root_of_two() -> None:
    for norm in (0.5, 1.0, 7.0):
        with_one = PrivateLinearRegressor(data_norm=norm).plan(100, 3)
        without = PrivateLinearRegressor(data_norm=norm, fit_intercept=False).plan(100, 3)
        assert with_one.problem.data_norm == pytest.approx(np.sqrt(2) * norm)
        assert without.problem.data_norm == norm
        assert (with_one.task.features, without.task.features) == (4, 3)


def test_rows_and_targets_beyond_the_bounds_are_clipped_in_silence() -> None:
    x, y = targets()
    model = PrivateLinearRegressor(1e5, radius=2.0, target_bound=0.5, random_state=0, data_norm=1.0)
    far_x, far_y = x.copy(), y.copy()
    far_x[0], far_y[0] = 1e6 * x[0], 1e9
    near_x, near_y = x.copy(), y.copy()
    near_x[0], near_y[0] = x[0] / np.linalg.norm(x[0]), 0.5
    found = [clone(model).fit(*pair).coef_ for pair in ((far_x, far_y), (near_x, near_y))]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
