"""The sum of gradients over the pairs of one record with many others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import weighted_rows
from pairdp.losses import MetricLoss, PairwiseLoss, RankingLoss
from pairdp.records import Records

Array = NDArray[np.float64]
_BLOCK = 1024


def one_against(
    loss: PairwiseLoss,
    parameters: Array,
    records: Records,
    own: int,
    others: Records,
    counts: Array | None = None,
    *,
    ordered: bool = False,
) -> Array:
    """Return Σ c_j(∇ℓ(w;z,z_j) + ∇ℓ(w;z_j,z))/2 over other records with counts c_j.

    Null records contribute zero.

    Parameters
    ----------
    loss : PairwiseLoss
        The loss.
    parameters : array
        w.
    records : Records
        The records that contain z.
    own : int
        The index of z.
    others : Records
        The partners z_j.
    counts : array, optional
        c_j; 1 by default.
    ordered : bool
        Whether to return Σ c_j∇ℓ(w;z,z_j) instead, with z first in every pair.
    """
    if records.null[own]:
        return np.zeros_like(parameters)
    if others.has_null:
        present = np.where(others.null, 0.0, 1.0)
        counts = present if counts is None else counts * present
    own_x, own_y = records.x[own], records.y[own]
    if isinstance(loss, RankingLoss):
        turn = np.sign(own_y - others.y)
        scores = own_x @ parameters - others.x @ parameters
        pulls = turn * loss.slope(loss.scale * turn * scores)
        if counts is not None:
            pulls *= counts
        share = loss.orders / 2
        if ordered and not loss.symmetric:
            pulls *= turn > 0
            share = 1.0
        total = pulls.sum() * own_x - weighted_rows(others.x, pulls)
        return np.asarray(share * loss.scale * total)
    total = np.zeros_like(parameters)
    for start in range(0, others.n, _BLOCK):
        some = slice(start, start + _BLOCK)
        weights = None if counts is None else counts[some]
        if weights is not None and not weights.any():
            continue
        part = others.part(some)
        total += _sum_over(loss, parameters, own_x, own_y, part, weights, ordered)
    return total


def _sum_over(
    loss: PairwiseLoss,
    parameters: Array,
    own_x: Array,
    own_y: Array,
    others: Records,
    counts: Array | None,
    ordered: bool,
) -> Array:
    x, y = others.x, others.evaluable
    weights = np.ones(len(y)) if counts is None else counts
    if isinstance(loss, MetricLoss):
        difference = own_x - x
        squared = np.einsum("ij,ij->i", difference @ parameters, difference)
        return np.asarray((difference.T * (weights * loss.slope(squared, y == own_y))) @ difference)
    mine = np.broadcast_to(own_x, x.shape), np.broadcast_to(own_y, y.shape)
    gradients = loss.gradient(parameters, *mine, x, y)
    if not ordered:
        gradients = (gradients + loss.gradient(parameters, x, y, *mine)) / 2
    return np.asarray(np.tensordot(weights, gradients, axes=1))
