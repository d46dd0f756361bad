"""Private linear classifiers and regressors: their parameters, and what they refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from pairdp import (
    BoundsScaler,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
)
from pairdp.algorithms import (
    ConditionedDescent,
    GradientDescent,
    MinimizerRelease,
    NoisyGradientDescent,
)
from pairdp.losses import (
    HingePointwise,
    LeastSquaresPointwise,
    LogisticPointwise,
    LogisticRanking,
    PowerHingePointwise,
    PowerPointwise,
)
from tests.estimators.data import FEW_RECORDS, two_classes
from tests.estimators.linear import KINDS, MODELS, data, targets

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> BaseEstimator:
    return clone(MODELS[request.param])


def test_what_auto_chooses_follows_from_public_facts() -> None:
    chosen = PrivateLinearClassifier(data_norm=1.0).plan(1000, 5)
    assert isinstance(chosen.algorithm, ConditionedDescent)
    assert chosen.reasons[0].startswith("auto: rows centred and whitened")
    assert len(PrivateLinearClassifier(data_norm=1.0).choices(1000, 5).candidates) == 3
    few = PrivateLinearClassifier(data_norm=1.0).plan(50, 5)
    assert isinstance(few.algorithm, NoisyGradientDescent)
    assert few.reasons[0].startswith("auto: noise on every gradient")
    without = PrivateLinearClassifier(data_norm=1.0, fit_intercept=False).plan(1000, 5)
    assert (without.algorithm.constant, chosen.algorithm.constant) == (0.0, 1.0)
    pure = PrivateLinearClassifier(delta=0.0, data_norm=1.0).plan(1000, 5)
    assert isinstance(pure.algorithm, MinimizerRelease)
    assert pure.problem.regularization > 0
    bare = PrivateLinearRegressor(None, data_norm=1.0).plan(1000, 5)
    assert isinstance(bare.algorithm, MinimizerRelease)
    many = (
        PrivateLinearClassifier(loss="hinge", delta=1e-8, data_norm=1.0)
        .choices(10**6, 5)
        .best.algorithm
    )
    assert isinstance(many, NoisyGradientDescent)
    assert many.batch_size == 10**6 // 20
    given = PrivateLinearRegressor(delta=0.0, regularization=0.25, data_norm=1.0).plan(1000, 5)
    assert given.problem.regularization == 0.25
    with pytest.raises(ValueError, match="delta > 0"):
        PrivateLinearClassifier(delta=0.0, loss="hinge", data_norm=1.0).plan(1000, 5)
    with pytest.raises(ValueError, match="delta > 0"):
        PrivateLinearClassifier(delta=0.0, regularization=0.0, data_norm=1.0).plan(1000, 5)


@pytest.mark.parametrize(
    "algorithm",
    [
        GradientDescent(),
        GradientDescent("average"),
        "DPGDSC",
        "DPGDC",
        "DPGDC2",
        "DPEGD",
        "Kang2021",
        "Wang2024Pointwise",
    ],
    ids=str,
)
def test_algorithms_by_name_and_as_objects(algorithm: Any, kind: BaseEstimator) -> None:
    x, y = data(kind, 60)
    made = kind.set_params(algorithm=algorithm, epsilon=4.0).fit(x, y)
    assert made.certificate_.holds


@pytest.mark.parametrize("loss", [LogisticPointwise(0.5), HingePointwise(0.2)], ids=str)
def test_losses_as_objects(loss: Any) -> None:
    assert PrivateLinearClassifier(loss=loss, data_norm=1.0).plan(100, 3).problem.loss == loss
    regressor = PrivateLinearRegressor(target_bound=3.0, data_norm=1.0).plan(100, 3)
    assert regressor.problem.loss == LeastSquaresPointwise(3.0)


def test_losses_of_wang() -> None:
    classifier = PrivateLinearClassifier(20.0, loss="q_hinge", data_norm=1.0, random_state=0)
    x, y = two_classes()
    assert classifier.fit(x, y).score(x, y) > 0.8
    assert classifier.plan_.problem.loss == PowerHingePointwise()
    regressor = PrivateLinearRegressor(50.0, loss="q_norm", target_bound=2.0, data_norm=1.0)
    assert regressor.set_params(random_state=0).fit(*targets()).score(*targets()) > 0.5
    assert regressor.plan_.problem.loss == PowerPointwise(1.5, 2.0)
    absolute = PowerPointwise(1.0, 2.0)
    assert regressor.set_params(loss=absolute).plan(100, 3).problem.loss == absolute
    with pytest.raises(ValueError, match="they must be the same"):
        regressor.set_params(target_bound=1.0).plan(100, 3)
    with pytest.raises(ValueError, match="is a loss of two classes"):
        regressor.set_params(loss="hinge").plan(100, 3)


@pytest.mark.parametrize("size", [33, 400])
def test_batches_give_the_same_model(size: int, kind: BaseEstimator) -> None:
    x, y = data(kind)
    whole = clone(kind).fit(x, y)
    batches = ((x[i : i + size], y[i : i + size]) for i in range(0, len(x), size))
    parts = clone(kind).fit_batches(batches, 400, 4, labels=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9)


def test_given_labels_need_not_occur() -> None:
    x, _ = two_classes()
    model = PrivateLinearClassifier(classes=["no", "yes"], data_norm=1.0).fit(
        x, np.full(len(x), "no")
    )
    assert list(model.classes_) == ["no", "yes"]
    assert "Which two labels occur is public." not in model.certificate_.assumptions
    with pytest.raises(ValueError, match="PrivateLinearClassifier needs records of two classes"):
        PrivateLinearClassifier(data_norm=1.0).fit(x, np.zeros(len(x)))


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"epsilon": 0.0}, ValueError, "epsilon"),
        ({"delta": 1.0}, ValueError, "delta"),
        ({"algorithm": "OffPairStrC"}, ValueError, "loss of one record"),
        ({"algorithm": "SGD"}, ValueError, "known: .*DPGDSC"),
        ({"radius": -1.0}, ValueError, "radius"),
        ({"data_norm": 0.0}, ValueError, "data_norm"),
        ({"regularization": -1.0}, ValueError, "regularization"),
        ({"fit_intercept": "yes"}, TypeError, "fit_intercept"),
        ({"calibration": "printed"}, ValueError, "certified plans"),
        ({"ledger": 3.0}, TypeError, "BudgetLedger"),
        ({"random_state": "a"}, TypeError, "random_state"),
    ],
)
def test_wrong_parameters_are_refused_at_fit(
    kind: BaseEstimator, params: dict[str, object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        kind.set_params(**params).fit(*data(kind))


def test_wrong_losses_and_targets_are_refused() -> None:
    x, y = targets(40)
    for loss, error in (("cubic", ValueError), (LogisticRanking(), TypeError)):
        with pytest.raises(error, match="loss must be"):
            PrivateLinearClassifier(loss=loss, data_norm=1.0).fit(*two_classes(40))
    with pytest.raises(ValueError, match="not smooth"):
        PrivateLinearClassifier(loss="hinge", algorithm="DPGDSC", data_norm=1.0).fit(
            *two_classes(40)
        )
    for bound in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="target_bound"):
            PrivateLinearRegressor(target_bound=bound, data_norm=1.0).fit(x, y)
    with pytest.raises(TypeError, match="target_bound"):
        PrivateLinearRegressor(target_bound=None, data_norm=1.0).fit(x, y)
    with pytest.raises(ValueError, match="NaN"):
        PrivateLinearRegressor(data_norm=1.0).fit(x, np.where(np.arange(40) == 3, np.nan, y))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        PrivateLinearRegressor(data_norm=1.0).fit(csr_array(x), y)
    with pytest.raises(NotFittedError):
        PrivateLinearRegressor(data_norm=1.0).predict(x)


@pytest.mark.filterwarnings("ignore::pairdp.UncoveredSearchWarning")
def test_names_searches_and_seeds(kind: BaseEstimator) -> None:
    x, y = data(kind)
    table = pd.DataFrame(x, columns=list("abcd"))
    made = clone(kind).fit(table, y)
    assert list(made.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        made.predict(table[["b", "a", "c", "d"]])
    again = clone(kind).fit(x, y)
    np.testing.assert_array_equal(again.coef_, made.coef_)
    secret = clone(kind).set_params(random_state=None).fit(x, y)
    assert not np.array_equal(secret.coef_, made.coef_)
    assert "operating system" in secret.certificate_.noise_source
    search = GridSearchCV(kind, {"epsilon": [0.01, 50.0]}, cv=2).fit(x, y)
    assert search.best_params_ == {"epsilon": 50.0}


def test_labels_given_in_any_order_are_predicted_right() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 2)) / 9 + np.outer(2 * y - 1, [0.5, 0.0])
    for classes in ((0, 1), (1, 0)):
        model = PrivateLinearClassifier(5.0, classes=classes, random_state=0, data_norm=1.0).fit(
            x, y
        )
        assert list(model.classes_) == [0, 1]
        assert model.score(x, y) > 0.9


@pytest.mark.parametrize(
    "model",
    [PrivateLinearClassifier(data_norm=1.0), PrivateLinearRegressor(data_norm=1.0), BoundsScaler()],
    ids=str,
)
def test_errors_quote_no_data(model: BaseEstimator) -> None:
    table = np.array([[1.0, 2.0], [2.0, "secret-value"], [3.0, 1.0]], dtype=object)
    with pytest.raises(ValueError, match="table of numbers") as raised:
        model.fit(table, [0, 1, 1])
    assert "secret" not in str(raised.value)


def test_a_regressor_that_fails_to_refit_is_as_it_was() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)) / 4, rng.uniform(-1, 1, 60)
    model = PrivateLinearRegressor(5.0, random_state=0, data_norm=1.0).fit(x, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.c_[x, x], np.full(60, np.nan))
    assert pickle.dumps(model) == before
