"""Graded responses of a ranker: coding by public bounds, and the concordance of scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import RECORDS
from pairdp._reading import Invalid, uses_null_records
from pairdp.algorithms.facts import ResponseBounds
from pairdp.estimators.schema_tables import known_records, response_of
from pairdp.estimators.table_input import TableInput
from pairdp.label_coding import code_labels
from pairdp.losses import GradedRanking, PairwiseLoss, RankingLoss
from pairdp.schema import Schema

Array = NDArray[np.float64]


class GradedResponses(TableInput):
    """A mixin for rankers by a graded response, if they have public bounds of it."""

    response_bounds: tuple[float, float] | None = None
    response_levels: int | None = None
    classes: ArrayLike | None = None
    decision_function: Callable[[Any], Array]

    @property
    def _is_graded(self) -> bool:
        """Whether records are ranked by a graded response."""
        if self.response_bounds is not None:
            return True
        schema = self._known_schema()
        return schema is not None and schema.target is not None

    def _responses(self) -> ResponseBounds | None:
        """Return the bounds of a graded response; None for two classes."""
        schema = self._schema()
        given = self.response_bounds if schema is None or not schema.target else schema.target
        bounds = check_response_bounds(given)
        if bounds is None and self.response_levels is not None:
            raise ValueError("response_levels are for a graded response: give response_bounds")
        if bounds is not None and self.classes is not None:
            raise ValueError("classes are not for a graded response: leave out response_bounds")
        return bounds

    def _of_labels(self, loss: RankingLoss) -> PairwiseLoss:
        """Return the loss of pairs of classes or of graded responses."""
        if self._responses() is None:
            return loss
        return GradedRanking(loss, levels=self.response_levels)

    def _coded_responses(self, y: Any, bounds: ResponseBounds) -> Array:
        schema = self._schema()
        if schema is None or schema.target is None:
            return coded_responses(y, bounds, self.invalid)
        return coded_responses(schema.encode_label(y, invalid=self.invalid), bounds, "null")

    def _concordance(self, X: Any, y: Any, bounds: ResponseBounds) -> float:
        """Return the concordance of scores with responses, without null records."""
        schema: Schema | None = self.__dict__.get("schema_")
        found, scores = response_of(schema, X, y), self.decision_function(X)
        if schema is not None and schema.target is not None:
            found = schema.encode_label(found, invalid=self.invalid)
            coded = coded_responses(found, bounds, "null")
        else:
            coded = coded_responses(found, bounds, self.invalid)
        scores, coded, _ = known_records(scores, coded)
        return concordance(coded, scores)


def check_response_bounds(response_bounds: Any) -> ResponseBounds | None:
    """Return the bounds of a graded response, None if labels are two classes."""
    if response_bounds is None:
        return None
    try:
        low, high = response_bounds
    except (TypeError, ValueError):
        raise ValueError(
            f"response_bounds must be None or two numbers (low, high), got {response_bounds!r}"
        ) from None
    return ResponseBounds(low, high)


def coded_responses(y: ArrayLike, bounds: ResponseBounds, invalid: Invalid) -> Array:
    """Return responses clipped to their bounds and mapped to [-1, 1]; NaN if unreadable."""
    values, unreadable = code_labels(y, False, RECORDS[1], null=uses_null_records(invalid))
    inside = np.clip(values, bounds.low, bounds.high)
    coded = (inside - bounds.low) / (bounds.high - bounds.low) * 2 - 1
    return np.where(unreadable, np.nan, coded)


def decoded_responses(coded: Array, bounds: ResponseBounds) -> Array:
    """Return responses that were mapped to [-1, 1] in their own range."""
    return bounds.low + (bounds.high - bounds.low) * (1 + coded) / 2


def concordance(y: Array, scores: Array) -> float:
    """Return how often the record with the larger response has the larger score; ties count 1/2.

    It is over pairs with different responses, the AUC if there are two, and (1 + D)/2 with Somers'
    D, which follows from Kendall's τ_b in O(n log n) time.
    """
    from scipy.stats import kendalltau  # which takes a second to import

    pairs, ties, tied_scores = math.comb(y.size, 2), _tied_pairs(y), _tied_pairs(scores)
    if ties == pairs:
        raise ValueError("the concordance needs records with different responses")
    if tied_scores == pairs:
        return 0.5
    tau = float(kendalltau(y, scores, variant="b").statistic)
    return (1 + tau * math.sqrt((pairs - tied_scores) / (pairs - ties))) / 2


def _tied_pairs(values: Array) -> int:
    counts = np.unique(values, return_counts=True)[1].astype(object)  # as exact integers
    return int((counts * (counts - 1)).sum()) // 2
