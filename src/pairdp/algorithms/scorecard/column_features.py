r"""The features of one column of a scorecard: uncorrelated functions of its bins.

The *scale* of a column is its first feature: the number itself, or its normal score if that differs
much from it; for categories, the standardised weight of evidence. Of the further functions of a
column, what their predecessors do not explain under the released counts is a feature of unit
variance, times a size:

- the weight of evidence: its deviation over the root of the mean variance of all columns, at most
  1, so that it weighs the less the less it says beside the scale;
- second scales: the normal score, or the number: ½;
- hats: seven hat functions of the normal score: ½;
- categories: indicators: ½.

Without "scales", the weight of evidence over the root of the mean variance is the first feature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pairdp.algorithms.scorecard.evidence import Column
from pairdp.algorithms.scorecard.partition import Edges

Array = NDArray[np.float64]
KNOTS = np.array([-2.0, -1.2, -0.6, 0.0, 0.6, 1.2, 2.0])
_TAIL, _LEAST_VARIANCE = 0.004, 0.05
_LARGEST_NUMBER, _LARGEST_RANK, _LARGEST_FACTOR = 4.0, 3.0, 2.5
_ALIKE = 0.9
"""The number is the scale of a column if its correlation with the normal score is larger."""
_HALF = 0.5
_LEAST_NEW = 0.003
"""The least share of a function that its predecessors must leave unexplained."""


class ColumnFeatures(NamedTuple):
    """The features of a column.

    Attributes
    ----------
    table : array of shape (bins, features)
        The features; the scale is the first.
    weights : array of shape (features,)
        The weights of the features that give the weight of evidence.
    parts : array of shape (features,)
        How many times the weight of evidence is contained in each feature.
    """

    table: Array
    weights: Array
    parts: Array


def column_features(
    column: Column, ends: Edges | None, blocks: Sequence[str], mean_variance: float
) -> ColumnFeatures:
    """Return the features of a column, which are uncorrelated under its counts.

    Parameters
    ----------
    column : Column
        The column with its counts and shape.
    ends : array or None
        The ends of the bins of a number, in fine cells.
    blocks : sequence of str
        The blocks of features that are used.
    mean_variance : float
        The mean variance of the shapes of all columns.
    """
    shares, shape = column.shares, column.shape
    units: list[Array] = []
    sizes: list[float] = []
    parts: list[float] = []
    for function, size in _functions(column, ends, blocks):
        rest, variance = _unexplained(function, units, shares)
        if units and variance == 0:
            continue
        deviation = math.sqrt(variance) or 1.0
        if function is shape:
            size = size or deviation / math.sqrt(mean_variance)
            size = min(size, 1.0) if units else size
        units.append(rest / deviation if variance else np.zeros_like(rest))
        sizes.append(size)
        parts.append(size / deviation if function is shape and variance else 0.0)
    unit, factors = np.array(units).T, np.array(sizes)
    return ColumnFeatures(unit * factors, (shares * shape) @ unit / factors, np.array(parts))


def _functions(
    column: Column, ends: Edges | None, blocks: Sequence[str]
) -> Iterator[tuple[Array, float]]:
    """Yield functions of the bins and their sizes; 0 for a shape whose variance decides on it."""
    if "scales" not in blocks:
        yield column.shape, 0.0
    elif ends is None:
        yield column.shape, 1.0
    else:
        first, second = _two_scales(column, ends)
        yield first, 1.0
        yield column.shape, 0.0
        if "second scales" in blocks:
            yield second, _HALF
        if "hats" in blocks:
            yield from ((hat, _HALF) for hat in _hats(_ranks(column), column.missing).T)
    if ends is None and "categories" in blocks:
        yield from ((indicator, _HALF) for indicator in np.eye(len(column.shape)))


def _unexplained(function: Array, units: Sequence[Array], shares: Array) -> tuple[Array, float]:
    """Return what a constant and functions of unit variance do not explain, and its variance.

    The variance is 0 if it is a tiny part of the whole.
    """
    centred = function - shares @ function
    rest = centred
    if units:
        known = np.array(units)
        for _ in range(2):  # the second time for what rounding left
            rest = rest - (known @ (shares * rest)) @ known
    variance, whole = float(shares @ rest**2), float(shares @ centred**2)
    return rest, variance if variance > max(_LEAST_NEW * whole, 1e-9) else 0.0


def _two_scales(column: Column, ends: Edges) -> tuple[Array, Array]:
    """Return the number and its normal score; the latter first if they differ much."""
    shares, number, rank = column.shares, _standardised(column, ends), _ranks(column)
    rest, variance = _unexplained(rank, [], shares)
    _, whole = _unexplained(number, [], shares)
    together = float((shares * rest) @ number)
    if together**2 > _ALIKE**2 * variance * whole > 0:
        return number, rank
    return rank, number


def factors_of(columns: Sequence[Column]) -> Iterator[Array]:
    """Yield the factors of products: normal scores of numbers, standardised shapes of others."""
    for column in columns:
        if column.is_number:
            factor = _ranks(column)
        else:
            factor = column.shape / max(column.variance, 1e-6) ** 0.5
        yield np.clip(factor, -_LARGEST_FACTOR, _LARGEST_FACTOR)


def _standardised(column: Column, ends: Edges) -> Array:
    """Return the middles of bins minus their mean, over their standard deviation."""
    middles = (ends[:-1] + ends[1:]) / 2
    widths = np.diff(ends)
    shares = _ordered_shares(column)
    mean = shares @ middles
    deviation = np.sqrt(shares @ ((middles - mean) ** 2 + widths**2 / 12) + 1e-9)
    found = np.clip((middles - mean) / deviation, -_LARGEST_NUMBER, _LARGEST_NUMBER)
    return np.pad(found, (0, column.missing))


def _ranks(column: Column) -> Array:
    """Return standardised normal scores of the bins; 0 for missing numbers."""
    shares = _ordered_shares(column)
    scores = ndtri(np.clip(np.cumsum(shares) - shares / 2, _TAIL, 1 - _TAIL))
    mean = shares @ scores
    deviation = np.sqrt(max(float(shares @ (scores - mean) ** 2), _LEAST_VARIANCE))
    found = np.clip((scores - mean) / deviation, -_LARGEST_RANK, _LARGEST_RANK)
    return np.pad(found, (0, column.missing))


def _ordered_shares(column: Column) -> Array:
    counts = column.counts[: len(column.counts) - column.missing]
    total = float(counts.sum())
    return np.asarray(counts / total if total > 0 else np.full(counts.size, 1 / counts.size))


def _hats(ranks: Array, missing: int) -> Array:
    """Return seven hat functions of the normal scores, centred; 0 for missing numbers."""
    inside = np.clip(ranks, KNOTS[0], KNOTS[-1])
    hats = np.array([np.interp(inside, KNOTS, row) for row in np.eye(len(KNOTS))]).T
    hats -= 1 / len(KNOTS)
    if missing:
        hats[-1] = 0.0
    return np.asarray(hats)
