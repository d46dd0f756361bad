"""Graded responses of a ranker: coding by public bounds, and the concordance of scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import RECORDS
from pairdp._reading import Invalid, uses_null_records
from pairdp.algorithms.facts import ResponseBounds
from pairdp.label_coding import code_labels

Array = NDArray[np.float64]


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
