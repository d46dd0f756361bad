r"""Bins of scores, from public facts about a model, and counts of each class in them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, real

Array = NDArray[np.float64]

BINS = 16
_MOST_BINS = 1000
_BEND, _LOG_ODDS = 3.0, 6.0


def count_bins(scores: Array, signs: Array, edges: Array) -> Array:
    """Return how many records of each class are in each bin: the negative ones first.

    A score on an edge is in the bin below it, so those in the bins above an edge are the scores
    that exceed it. A record without a score or a class is in none.

    Examples
    --------
    >>> count_bins(np.array([0.0, 1.0, 2.0, np.nan]), np.array([1.0, -1, -1, 1]), np.array([1.0]))
    array([[1., 1.],
           [1., 0.]])
    """
    known = ~np.isnan(scores)
    found = np.zeros((2, edges.size + 1))
    for row, sign in zip(found, (-1, 1), strict=True):
        places = np.searchsorted(edges, scores[known & (signs == sign)], side="left")
        row[:] = np.bincount(places, minlength=row.size)
    return found


def spread_edges(half: float, bins: int = BINS, *more: float) -> tuple[float, ...]:
    """Return edges from -half to half, closest at zero, with others among them.

    Models of two classes have their threshold at zero, near which most scores are; how near is not
    known. Edges are half·sinh(3i/m)/sinh(3) for |i| < m = bins/2.

    Examples
    --------
    >>> [round(edge, 2) for edge in spread_edges(1.0, 6)]
    [-0.36, -0.12, 0.0, 0.12, 0.36]
    """
    if not (math.isfinite(half) and half > 0):
        raise ValueError(f"scores must have a positive range, got {half!r}")
    m = integer("bins", bins, at_least=2, at_most=_MOST_BINS) // 2
    inner = [half * math.sinh(_BEND * i / m) / math.sinh(_BEND) for i in range(1 - m, m)]
    return checked_edges((*inner, *more))


def checked_edges(edges: Any) -> tuple[float, ...]:
    """Return different finite edges in order."""
    found = sorted({real("edge", edge) + 0.0 for edge in edges})
    if any(math.isinf(edge) for edge in found):
        raise ValueError("the edges of bins must be finite")
    if len(found) > _MOST_BINS:
        raise ValueError(f"there may be at most {_MOST_BINS} edges of bins, got {len(found)}")
    return tuple(found)


def half_range(model: Any) -> float:
    """Return how far from zero most scores of a public model are, as far as it is known.

    For a linear model it is |w|·R + |b|, where R is the norm that rows are clipped to in a fit (1
    for rows by a schema). The scores of other models of this library are log-odds, most of which
    are within ±6. Larger scores are counted in the outer bins.
    """
    weights = getattr(model, "coef_", None)
    if weights is None and type(model).__module__.startswith("pairdp."):
        return _LOG_ODDS
    if weights is None or np.ndim(weights) != 2:
        raise ValueError(
            "the range of scores of this model is not known: pass score_range, a public bound on "
            "their absolute value"
        )
    norm = getattr(model, "data_norm", None)
    norm = 1.0 if norm is None or getattr(model, "schema_", None) is not None else float(norm)
    intercept = float(np.abs(np.ravel(getattr(model, "intercept_", 0.0))[0]))
    return float(np.linalg.norm(weights)) * norm + intercept
