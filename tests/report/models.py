"""Fitted models of every kind, small and cheap."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Any

from sklearn.pipeline import make_pipeline

from pairdp import (
    BoundsScaler,
    Evaluation,
    OnlinePrivateMetric,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    PrivateScorecard,
    evaluate,
    write_report,
)
from tests.estimators.data import three_classes, two_classes
from tests.estimators.patients import SCHEMA, TARGET, table

DAY = date(2026, 1, 2)
_UNITS: dict[str, Any] = {"schema": SCHEMA, "unit": "patient_id", "max_records": 2}


def _stream(kind: Any) -> Any:
    return kind(2.0, horizon=400, data_norm=1.0).partial_fit(*two_classes(), classes=[0, 1])


def _stream_of_metrics() -> Any:
    return OnlinePrivateMetric(2.0, horizon=400, data_norm=1.0).partial_fit(*two_classes())


KINDS: dict[str, Callable[[], Any]] = {
    "linear": lambda: PrivateRanker(1.0, model="linear", data_norm=1.0).fit(*two_classes()),
    "pure": lambda: PrivateRanker(1.0, 0.0, model="linear", data_norm=1.0).fit(*two_classes()),
    "scorecard": lambda: PrivateScorecard(1.0, schema=SCHEMA).fit(table()),
    "unit": lambda: PrivateRanker(1.0, **_UNITS).fit(table()),
    "metric": lambda: PrivateMetric(4.0, data_norm=1.0).fit(*three_classes()),
    "classifier": lambda: PrivateLinearClassifier(1.0, data_norm=1.0).fit(*two_classes()),
    "regressor": lambda: PrivateLinearRegressor(1.0, schema=TARGET).fit(table()),
    "pipeline": lambda: make_pipeline(BoundsScaler(-2, 2), PrivateRanker(1.0, data_norm=1.0)).fit(
        *two_classes()
    ),
    "stream": lambda: _stream(OnlinePrivateRanker),
    "stream of metrics": _stream_of_metrics,
    "not private": lambda: PrivateRanker(None, data_norm=1.0).fit(*two_classes()),
    "printed": lambda: PrivateRanker(
        1.0, algorithm="DPGDSC", calibration="printed", data_norm=1.0
    ).fit(*two_classes()),
    "seeded": lambda: PrivateRanker(1.0, data_norm=1.0, random_state=0).fit(*two_classes()),
}


@cache
def model_of(kind: str) -> Any:
    """Return a fitted model; warnings of few records are not what tests here are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS[kind]()


@cache
def evaluation(kind: str, *, roc: bool = True) -> Evaluation:
    """Return a private evaluation of a model."""
    if kind in ("scorecard", "unit"):
        return evaluate(model_of(kind), table(seed=1), epsilon=1.0, roc=roc)
    return evaluate(model_of(kind), *two_classes(seed=1), epsilon=1.0, roc=roc)


@cache
def html_of(kind: str, *, evaluated: bool = False) -> str:
    """Return the report of a model, without or with an evaluation."""
    found = evaluation(kind) if evaluated else None
    return write_report(model_of(kind), evaluation=found, date=DAY).html
