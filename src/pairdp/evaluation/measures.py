"""Which measures a fitted model has, and the model with one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from pairdp._checks import one_of, real
from pairdp.evaluation.kinds import (
    EvaluatedModel,
    OfErrors,
    OfGivenPairs,
    OfMatchedPairs,
    OfPredictions,
    OfResponses,
    OfScores,
)
from pairdp.evaluation.scoring import ScoredModel, has_two_scores, model_parts

Measure = Literal["auto", "auc", "accuracy", "error", "pair_auc", "concordance"]
MEASURES = ("auto", "auc", "accuracy", "error", "pair_auc", "concordance")


def evaluated_model(
    model: Any, measure: Measure = "auto", target_range: tuple[float, float] | None = None
) -> EvaluatedModel:
    """Return a fitted model with the measure that fits it, or with a given one.

    Raises
    ------
    TypeError
        If it is not a model that can be evaluated, or not by this measure.
    """
    one_of("measure", measure, *MEASURES)
    parts = model_parts(model)
    found = _natural_measure(parts.last) if measure == "auto" else measure
    if found not in _possible_measures(parts.last):
        raise TypeError(
            "evaluate needs a fitted model: one with scores (decision_function) for two classes "
            "such as PrivateRanker, a classifier, a regressor or a metric, or a Pipeline that ends "
            f"with one; got {type(parts.last).__name__}"
            + ("" if measure == "auto" else f", which has no {measure}")
        )
    if found == "error":
        return OfErrors(parts, _range_of(parts.last, target_range))
    if found == "concordance":
        return OfResponses(parts, _range_of(parts.last, target_range))
    if target_range is not None:
        raise ValueError("target_range is for regressors, and this model predicts no number")
    given_pairs = found == "pair_auc" and has_two_scores(parts.last)
    kinds: dict[str, Callable[[ScoredModel], EvaluatedModel]] = {
        "auc": OfScores,
        "accuracy": OfPredictions,
        "pair_auc": OfGivenPairs if given_pairs else OfMatchedPairs,
    }
    return kinds[found](parts)


def _possible_measures(last: Any) -> list[str]:
    """Return the measures of a fitted model, the natural one first."""
    if hasattr(last, "pair_distance") and _is_fitted(last):
        return ["pair_auc"]
    if getattr(last, "_is_graded", False):
        return ["concordance"] if _is_fitted(last) else []
    found = []
    if has_two_scores(last):
        found.append("auc")
    if hasattr(last, "predict") and hasattr(last, "classes_") and np.ndim(last.classes_) == 1:
        found.append("accuracy")
    if not found and hasattr(last, "predict") and _is_regressor(last):
        found.append("error")
    return found


def _natural_measure(last: Any) -> str:
    return next(iter(_possible_measures(last)), "auto")


def _is_regressor(last: Any) -> bool:
    from sklearn.base import is_regressor  # verifying certificates does not need it

    return _is_fitted(last) and bool(is_regressor(last))


def _is_fitted(last: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(last)
    except (NotFittedError, TypeError):
        return False
    return True


def _range_of(last: Any, given: tuple[float, float] | None) -> tuple[float, float]:
    """Return the public range of the target or response, by the model or as it is given."""
    schema = getattr(last, "schema_", None)
    declared = None if schema is None else schema.target
    if declared is None:
        declared = getattr(last, "response_bounds", None)
    if declared is not None:
        if given is not None and tuple(given) != tuple(declared):
            raise ValueError(
                "the model or its schema gives the range of the target: leave out target_range"
            )
        return float(declared[0]), float(declared[1])
    if given is not None:
        return given
    bound = getattr(last, "target_bound", None)
    if bound is None:
        raise ValueError(
            "the range of the target is not known: pass target_range=(low, high), from public facts"
        )
    return -real("target_bound", bound), real("target_bound", bound)
