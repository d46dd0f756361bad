r"""Pairs of records, by a matching of the places that is fixed by n.

How well a metric separates pairs of the same class from pairs of different classes is an AUC of
pairs, with minus the distance as their score. If all pairs were used, one record would be in n - 1
of them. In a matching, each record is in one pair at most, so a replaced record changes one pair,
and everything that is proved of n records with scores holds for ⌊n/2⌋ pairs with scores. The noise
is the same as for a design in which every record is in m pairs, relative to the number of pairs;
and pairs that have no record in common are independent, as the interval assumes.

The order of the places is that of a fixed hash of them, so that files that are sorted by class have
pairs of the same class too. It depends on n alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]


def matching(n: int) -> tuple[Places, Places]:
    """Return the places of the first and of the second record of ⌊n/2⌋ pairs.

    Examples
    --------
    >>> first, second = matching(7)
    >>> len(first), len(set(first.tolist()) | set(second.tolist()))
    (3, 6)
    """
    order = np.argsort(_hash(np.arange(n, dtype=np.uint64)), kind="stable")
    half = n // 2
    return order[:half], order[half : 2 * half]


def _hash(places: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the values of SplitMix64, a permutation of 64-bit integers."""
    with np.errstate(over="ignore"):
        z = (places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def matched_pairs(rows: Array, codes: Array) -> tuple[Array, Array]:
    """Return minus the distance of each pair, and 1 or -1 for the same or different classes.

    Parameters
    ----------
    rows : array of shape (n, k)
        Records in coordinates whose Euclidean distances are those of the metric.
    codes : array of shape (n,)
        Their classes, as equal numbers for the same class; NaN for null records. The sign of a pair
        with one of them is 0.
    """
    first, second = matching(len(rows))
    with np.errstate(all="ignore"):
        apart = rows[first] - rows[second]
        largest = np.abs(apart).max(axis=1)
        unit = apart / np.where(largest > 0, largest, 1.0)[:, None]
        distances = largest * np.sqrt(np.einsum("ij,ij->i", unit, unit))
    one, other = codes[first], codes[second]
    null = np.isnan(one) | np.isnan(other) | np.isnan(distances)
    signs = np.where(null, 0.0, np.where(one == other, 1.0, -1.0))
    return np.where(null, np.nan, -distances), signs


def ordered_pairs(scores: Array, responses: Array) -> Array:
    """Return whether the record with the larger response has the larger score, for each pair.

    Parameters
    ----------
    scores, responses : array of shape (n,)
        NaN for null records.

    Returns
    -------
    array of shape (⌊n/2⌋,)
        1 for pairs in the right order, 0 for pairs in the wrong one, and ½ for equal scores; NaN
        for equal responses, and for pairs with a null record.
    """
    first, second = matching(len(scores))
    by_score = _order(scores[first], scores[second])
    by_response = _order(responses[first], responses[second])
    return np.where(by_response == 0, np.nan, (1 + by_score * by_response) / 2)


def _order(one: Array, other: Array) -> Array:
    """Return 1, 0 or -1 as numbers are larger, equal or smaller than others; NaN with NaN."""
    found = (one > other).astype(np.float64) - (one < other)
    return np.where(np.isnan(one) | np.isnan(other), np.nan, found)
