"""The contract of scikit-learn, for every estimator."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairdp
from pairdp import BoundsScaler, PrivateMetric, PrivateRanker
from pairdp.algorithms import MinimizerRelease, MomentRelease
from tests.estimators.data import FEW_RECORDS, three_classes, two_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)

# Where a check asks for accuracy, noise would fail it in bad luck: then ε is large.
CHECKED = [
    PrivateRanker(data_norm=1.0),
    PrivateRanker(model="linear", data_norm=1.0),
    PrivateMetric(data_norm=1.0),
    BoundsScaler(-20.0, 20.0),
]
CHECKED_SLOWLY = [
    PrivateRanker(1e3, model="additive", data_norm=8.0),
    PrivateRanker(1e3, 0.0, algorithm=MomentRelease(), data_norm=4.0),
    PrivateRanker(1e3, model="quadratic", data_norm=8.0),
    PrivateRanker(1e3, algorithm=MinimizerRelease(), data_norm=2.0, regularization=0.5),
    PrivateRanker(None, loss="squared_hinge", threshold="midpoint", radius=3.0, data_norm=1.0),
    PrivateMetric(1e3, algorithm="DPGDSC", regularization=1.0, data_norm=1.0),
    BoundsScaler(),
]
# Checks that are known to fail, and why.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CHECKED_SLOWLY, expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_checks_of_scikit_learn_with_other_parameters(
    estimator: BaseEstimator, check: object
) -> None:
    check(estimator)  # type: ignore[operator]


def models() -> list[BaseEstimator]:
    return [
        PrivateRanker(random_state=0, data_norm=1.0),
        PrivateMetric(random_state=0, data_norm=1.0),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_bad_data_is_refused_in_words(model: BaseEstimator) -> None:
    x, y = two_classes(40)
    holed = x.copy()
    holed[3, 1] = np.nan
    for data, labels, match in (
        (holed, y, "NaN"),
        (x[:, :, None], y, "dim"),
        (x[0], y, "2D"),
        (x, y[:-1], "inconsistent"),
        (x.astype(str), y, "numeric|convert|real"),
        (np.full(x.shape, "a"), y, "table of numbers"),
        (x, y + 0.5, "continuous|Unknown label"),
        (x[:1], y[:1], "1 sample|minimum of 2"),
    ):
        if match == "numeric|convert|real":
            continue  # numbers as text are converted, as everywhere in scikit-learn
        with pytest.raises(ValueError, match=match):
            clone(model).fit(data, labels)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        clone(model).fit(csr_array(x), y)
    with pytest.raises(ValueError, match="requires y"):
        clone(model).fit(x, None)


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_before_fit_nothing_is_predicted(model: BaseEstimator) -> None:
    x, _ = two_classes(10)
    calls = {
        "decision_function": x,
        "predict": x,
        "transform": x,
        "pair_distance": x.reshape(5, 2, 4),
    }
    for name, data in calls.items():
        if hasattr(model, name):
            with pytest.raises(NotFittedError):
                getattr(model, name)(data)
    with pytest.raises(NotFittedError):
        model.privacy_statement()


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_names_of_columns_are_kept_and_checked(model: BaseEstimator) -> None:
    x, y = two_classes(60)
    table = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    fitted = clone(model).fit(table, y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c", "d"]
    use = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    with pytest.raises(ValueError, match="feature names"):
        use(table[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="features"):
        clone(model).fit(x, y).__getattribute__(use.__name__)(x[:, :3])


def test_output_as_a_table() -> None:
    x, y = two_classes(60)
    table = pd.DataFrame(x, columns=["a", "b", "c", "d"], index=range(100, 160))
    metric = (
        PrivateMetric(random_state=0, data_norm=1.0).set_output(transform="pandas").fit(table, y)
    )
    out = metric.transform(table)
    assert list(out.columns) == [f"privatemetric{i}" for i in range(4)]
    assert list(out.index) == list(table.index)
    scaled = BoundsScaler().set_output(transform="pandas").fit_transform(table)
    assert list(scaled.columns) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("state", [0, np.int64(3), np.random.RandomState(0)])
def test_random_states(state: object) -> None:
    x, y = two_classes()
    first = PrivateRanker(random_state=state, data_norm=1.0).fit(x, y)
    assert "seed" in first.certificate_.noise_source
    again = PrivateRanker(random_state=state, data_norm=1.0).fit(x, y)
    same = np.array_equal(first.decision_function(x), again.decision_function(x))
    assert same == (not isinstance(state, np.random.RandomState))
    secret = PrivateRanker(data_norm=1.0).fit(x, y)
    other = PrivateRanker(data_norm=1.0).fit(x, y)
    assert not np.array_equal(secret.decision_function(x), other.decision_function(x))
    assert "operating system" in secret.certificate_.noise_source


@pytest.mark.filterwarnings("ignore::pairdp.UncoveredSearchWarning")
def test_grid_search_pipelines_and_cross_validation() -> None:
    x, y = two_classes()
    pipe = make_pipeline(BoundsScaler(-2, 2), PrivateRanker(random_state=0, data_norm=1.0))
    search = GridSearchCV(pipe, {"privateranker__epsilon": [0.01, 10.0]}, cv=3).fit(x, y)
    assert search.best_params_ == {"privateranker__epsilon": 10.0}
    x, y = three_classes()
    pipe = make_pipeline(PrivateMetric(5.0, random_state=0, data_norm=1.0), KNeighborsClassifier(3))
    assert cross_val_score(pipe, x, y, cv=3).mean() > 0.8


def test_metadata_routing() -> None:
    x, y = two_classes(200)
    weight = np.linspace(0, 1, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = PrivateRanker(5.0, random_state=0, data_norm=1.0).set_score_request(
            sample_weight=True
        )
        pipe = make_pipeline(BoundsScaler(-2, 2), ranker).fit(x, y)
        weighted = pipe.score(x, y, sample_weight=weight)
    assert weighted != pipe.score(x, y)


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_pickles(model: BaseEstimator) -> None:
    x, y = two_classes(60)
    fitted = clone(model).fit(x, y)
    copy = pickle.loads(pickle.dumps(fitted))
    use = "predict" if hasattr(fitted, "predict") else "transform"
    np.testing.assert_array_equal(getattr(copy, use)(x), getattr(fitted, use)(x))
    assert copy.certificate_ == fitted.certificate_
    assert copy.plan_ == fitted.plan_


def test_only_public_parts_of_scikit_learn_are_imported() -> None:
    root = Path(pairdp.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                parts = [*(node.module or "").split("."), *(name.name for name in node.names)]
            elif isinstance(node, ast.Import):
                parts = [p for name in node.names for p in name.name.split(".")]
                parts = parts if "sklearn" in parts else []
            else:
                continue
            assert not [part for part in parts if part.startswith("_")], (path, parts)
