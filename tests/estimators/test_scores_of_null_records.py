"""Scores leave out null records, whether their features or their labels make them so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pairdp import (
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivatePairMetric,
    PrivateRanker,
    PrivateScorecard,
)
from tests.estimators.data import FEW_RECORDS

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(400, 2))
HIGH = X[:, 0] + 0.3 * RNG.normal(size=400) > 0.5
LABELS = np.where(HIGH, "yes", "no").astype(object)
WRONG = np.arange(400) < 50
NAMES: dict[str, Any] = {"classes": ["no", "yes"]}
OPTIONS: dict[str, Any] = {"invalid": "null", "random_state": 0}


def _table(labels: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": labels})


def _schema(**label: Any) -> dict[str, Any]:
    return {"a": [0, 1], "b": [0, 1], "y": label}


@pytest.mark.parametrize("kind", [PrivateRanker, PrivateLinearClassifier])
def test_labels_that_are_no_class_are_left_out(kind: Any) -> None:
    given = np.where(WRONG, "x", LABELS)
    model = kind(5.0, data_norm=2.0, **NAMES, **OPTIONS).fit(X, given)
    expected = model.score(X[~WRONG], LABELS[~WRONG])
    assert model.score(X, given) == expected
    weights = np.where(WRONG, 7.0, 1.0)
    assert model.score(X, given[:, None], sample_weight=weights) == pytest.approx(expected)
    strict = model.set_params(invalid="error")
    with pytest.raises(ValueError, match="does not know"):
        strict.score(X, given)


@pytest.mark.parametrize("kind", [PrivateRanker, PrivateLinearClassifier, PrivateScorecard])
def test_labels_that_a_schema_has_no_place_for_are_left_out(kind: Any) -> None:
    table = _table(np.where(WRONG, "x", LABELS))
    model = kind(5.0, schema=_schema(label=["no", "yes"]), **OPTIONS).fit(table)
    assert model.score(table) == model.score(_table(LABELS)[~WRONG])
    model.set_params(invalid="error")
    with pytest.raises(ValueError, match="is not as the schema says"):
        model.score(table)


def test_labels_that_a_schema_makes_null_are_left_out() -> None:
    table = _table(np.where(WRONG, None, LABELS))
    schema = _schema(label=["no", "yes"], missing="null")
    model = PrivateRanker(5.0, schema=schema, random_state=0).fit(table)
    assert model.score(table) == model.score(_table(LABELS)[~WRONG])


@pytest.mark.parametrize("of_schema", [True, False])
@pytest.mark.parametrize("kind", [PrivateRanker, PrivateLinearRegressor])
def test_targets_that_cannot_be_read_are_left_out(kind: Any, of_schema: bool) -> None:
    targets = np.where(WRONG, "n/a", X[:, 0].astype(object))
    if of_schema:
        given: tuple[Any, ...] = (_table(targets),)
        kept: tuple[Any, ...] = (given[0][~WRONG],)
        model = kind(5.0, schema=_schema(target=[0, 1]), **OPTIONS)
    else:
        given, kept = (X, targets), (X[~WRONG], targets[~WRONG])
        bounds = {"response_bounds": (0, 1)} if kind is PrivateRanker else {}
        model = kind(5.0, data_norm=2.0, **bounds, **OPTIONS)
    model.fit(*given)
    assert model.score(*given) == model.score(*kept)
    model.set_params(invalid="error")
    with pytest.raises(ValueError, match=r"y|target"):
        model.score(*given)


def test_labels_of_pairs_that_are_none_are_left_out() -> None:
    pairs, signs = np.stack([X, X[::-1]], axis=1), np.where(HIGH[::-1] == HIGH, 1.0, -1.0)
    signs[WRONG] = 5
    model = PrivatePairMetric(5.0, data_norm=2.0, **OPTIONS).fit(pairs, signs)
    assert model.score(pairs, signs) == model.score(pairs[~WRONG], signs[~WRONG])
