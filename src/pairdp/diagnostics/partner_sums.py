r"""Sums of rows over the partners of every record, weighted by a function of score differences.

For each positive i and each negative j, with f = φ' or f = φ'' of a ranking loss,

.. math:: v_i = Σ_j f(u_i - u_j) r_j, \qquad v_j = Σ_i f(u_i - u_j) r_i.

As a function of u_i, the first sum is as smooth as f, and there are few distinct sums to compute:

- *analytic* φ: the sum is computed at Chebyshev nodes of pieces of the line and interpolated, with
  a number of nodes that depends on the range of scores and not on n;
- *quadratic* φ: two nodes suffice;
- *truncated parabolas* (the smoothed and the squared hinge): suffix sums of sorted scores;
- any other structure: pair by pair, in O(n²) time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pairdp.losses import RankingLoss
from pairdp.score_sums import Analytic, Quadratic, TruncatedPowers
from pairdp.score_sums.pieces import Pieces, widest_piece

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Derivative = Literal[1, 2]

_DEGREE = 30
_STRIP = 0.9  # φ'' has poles of a higher order than φ', whose coefficients decay more slowly
_TILE = 1024
_STEP = 1e-3


def partner_sums(
    loss: RankingLoss, derivative: Derivative, u: Array, positive: Index, rows: Array
) -> Array:
    """Return the sums of all records, as an array of the shape of ``rows``.

    Parameters
    ----------
    loss : RankingLoss
        The loss, whose structure determines the method.
    derivative : {1, 2}
        Whether f is φ' or φ''.
    u : array of shape (n,)
        Scaled scores.
    positive : array of int of shape (n,)
        1 for positives, 0 for negatives.
    rows : array of shape (n, m)
        What is summed.
    """
    sums = np.zeros_like(rows)
    up, down = np.flatnonzero(positive), np.flatnonzero(positive == 0)
    if up.size and down.size:
        sums[up] = _sums_at(loss, derivative, u[up], u[down], rows[down])
        # f(u_i - u_j) as a function of -u_j, with the sources -u_i.
        sums[down] = _sums_at(loss, derivative, -u[down], -u[up], rows[up])
    return sums


def _sums_at(
    loss: RankingLoss, derivative: Derivative, points: Array, sources: Array, rows: Array
) -> Array:
    """Return Σ_j f(point - source_j) row_j for each point."""
    structure = loss.structure()
    if isinstance(structure, TruncatedPowers) and structure.power == 2:
        return _suffix_sums(structure, derivative, points, sources, rows)
    function = loss.slope if derivative == 1 else _second_derivative(loss, points, sources)
    low, high = float(points.min()), float(points.max())
    length = max(high - low, 1e-9)
    if isinstance(structure, Quadratic):
        return _interpolated(function, Pieces(low, length, 1, 1), points, sources, rows)
    if isinstance(structure, Analytic):
        count = math.ceil(length / widest_piece(_STRIP * structure.strip, _DEGREE))
        pieces = Pieces(low, length / count, count, _DEGREE)
        return _interpolated(function, pieces, points, sources, rows)
    return _pair_by_pair(function, points, sources, rows)


def _second_derivative(
    loss: RankingLoss, points: Array, sources: Array
) -> Callable[[Array], Array]:
    """Return φ'', by differences of φ' of order four."""
    largest = float(np.abs(points).max() + np.abs(sources).max())
    h = _STEP * min(1.0, loss.derivative_bound(largest) / loss.curvature(largest))

    def second(u: Array) -> Array:
        near = loss.slope(u + h) - loss.slope(u - h)
        far = loss.slope(u + 2 * h) - loss.slope(u - 2 * h)
        return (8 * near - far) / (12 * h)

    return second


def _pair_by_pair(
    function: Callable[[Array], Array], points: Array, sources: Array, rows: Array
) -> Array:
    sums = np.zeros((points.size, rows.shape[1]))
    for top in range(0, points.size, _TILE):
        some = slice(top, top + _TILE)
        for left in range(0, sources.size, _TILE):
            part = slice(left, left + _TILE)
            sums[some] += function(points[some, None] - sources[part]) @ rows[part]
    return sums


def _interpolated(
    function: Callable[[Array], Array], pieces: Pieces, points: Array, sources: Array, rows: Array
) -> Array:
    """Return the sums by interpolation on each piece with points."""
    order = pieces.degree + 1
    piece, place = pieces.locate(points)
    occupied = np.unique(piece)
    if occupied.size * order >= points.size:
        return _pair_by_pair(function, points, sources, rows)
    angles = (np.arange(order) + 0.5) * (math.pi / order)
    centres = pieces.low + pieces.width * (occupied + 0.5)
    nodes = centres[:, None] + pieces.width / 2 * np.cos(angles)
    values = _pair_by_pair(function, nodes.ravel(), sources, rows)
    to_coefficients = np.cos(np.outer(np.arange(order), angles)) * (2 / order)
    to_coefficients[0] /= 2
    sums = np.empty((points.size, rows.shape[1]))
    by_piece = np.argsort(piece, kind="stable")
    ends = np.searchsorted(piece[by_piece], occupied, side="right")
    for k, (start, stop) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
        here = by_piece[start:stop]
        coefficients = to_coefficients @ values[k * order : (k + 1) * order]
        sums[here] = np.polynomial.chebyshev.chebvander(place[here], pieces.degree) @ coefficients
    return sums


def _suffix_sums(
    structure: TruncatedPowers, derivative: Derivative, points: Array, sources: Array, rows: Array
) -> Array:
    """Return the sums of a combination of truncated parabolas."""
    order = np.argsort(sources)
    middle = float(np.median(sources))  # to avoid cancellation of large scores
    ordered, held = sources[order] - middle, rows[order]
    zero = np.zeros((1, rows.shape[1]))
    of_rows = np.concatenate([np.cumsum(held[::-1], axis=0)[::-1], zero])
    moments = np.concatenate([np.cumsum((ordered[:, None] * held)[::-1], axis=0)[::-1], zero])
    sums = np.zeros((points.size, rows.shape[1]))
    for sign, drop in structure.terms:
        thresholds = points - middle - structure.knot + drop
        first = np.searchsorted(ordered, thresholds, side="right")
        if derivative == 2:
            sums += sign * of_rows[first]
        else:
            sums -= sign * (moments[first] - thresholds[:, None] * of_rows[first])
    return 2 * structure.scale * sums
