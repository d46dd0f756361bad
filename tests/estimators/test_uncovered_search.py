"""Searches and validations of scikit-learn warn that no certificate covers them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline

from pairdp import BoundsScaler, PrivateRanker, PrivateSearch, UncoveredSearchWarning

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 200)
X = (RNG.normal(size=(200, 3)) + Y[:, None]) / 5
RANKER = PrivateRanker(5.0, 1e-6, algorithm="moments", data_norm=1.0, random_state=0)

SEARCHES: dict[str, Callable[[Any], Any]] = {
    "GridSearchCV": lambda m: GridSearchCV(m, {}, cv=2).fit(X, Y),
    "cross_val_score": lambda m: cross_val_score(m, X, Y, cv=2),
    "cross_val_predict": lambda m: cross_val_predict(m, X, Y, cv=2),
    "CalibratedClassifierCV": lambda m: CalibratedClassifierCV(m, cv=2).fit(X, Y),
    "SequentialFeatureSelector": lambda m: SequentialFeatureSelector(
        m, n_features_to_select=1, cv=2
    ).fit(X, Y),
}


@pytest.mark.parametrize("name", list(SEARCHES))
def test_they_warn_and_name_the_way_out(name: str) -> None:
    for model in (RANKER, make_pipeline(BoundsScaler(-1, 1), RANKER)):
        with pytest.warns(UncoveredSearchWarning) as found:
            SEARCHES[name](clone(model))
        said = str(found[0].message)
        assert said.startswith(name)
        assert "no certificate covers its result" in said
        assert "PrivateSearch" in said
        assert found[0].filename == __file__


@pytest.mark.parametrize(
    "search",
    [CalibratedClassifierCV(cv=2), TunedThresholdClassifierCV(None, cv="prefit", refit=False)],
)
def test_they_warn_for_models_that_are_not_fitted_again(search: Any) -> None:
    model = clone(RANKER).fit(X, Y)
    frozen = model if hasattr(search, "refit") else FrozenEstimator(model)
    with pytest.warns(UncoveredSearchWarning, match="labels of records, without noise") as found:
        calibrated = clone(search).set_params(estimator=frozen).fit(X, Y)
    assert str(found[0].message).startswith(type(search).__name__)
    assert "model.calibrate" in str(found[0].message)
    assert found[0].filename == __file__
    calibrated.predict(X)  # for new records, without labels, there is no warning


def test_the_warning_is_shown_once_and_can_be_silenced() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        GridSearchCV(RANKER, {"radius": [0.5, 1.0]}, cv=3).fit(X, Y)
    assert len([each for each in found if each.category is UncoveredSearchWarning]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UncoveredSearchWarning)
        GridSearchCV(RANKER, {"radius": [0.5, 1.0]}, cv=3).fit(X, Y)


def test_it_does_not_depend_on_the_records() -> None:
    texts = set()
    for rows in (X, -X, 0 * X):
        with pytest.warns(UncoveredSearchWarning) as found:
            cross_val_score(RANKER, rows, Y, cv=2)
        texts |= {str(each.message) for each in found}
    assert len(texts) == 1


def test_other_fits_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(RANKER).fit(X, Y)
        make_pipeline(BoundsScaler(-1, 1), RANKER).fit(X, Y)
        FixedThresholdClassifier(RANKER).fit(X, Y)
        cross_val_score(clone(RANKER).set_params(epsilon=None), X, Y, cv=2)


def test_a_private_search_within_a_validation_is_not_covered_either() -> None:
    search = PrivateSearch(RANKER, {"radius": [0.5, 1.0]}, unpromising="ignore", random_state=0)
    with pytest.warns(UncoveredSearchWarning, match="cross_val_score"):
        cross_val_score(search, X, Y, cv=2)
