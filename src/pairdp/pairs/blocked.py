r"""Averages over pairs for any loss, in blocks of bounded memory.

The average of (ℓ(z,z') + ℓ(z',z))/2 is over the pairs of a `PairDesign`; the complete design has
all n(n-1) ordered pairs. Pairs are enumerated as runs on a circle of records, so both sides of a
block are views of the (shuffled) records and no pairs are stored.

The time is O(nm·p) for m pairs per record (m = n - 1 for all pairs) and p parameters, and the
memory O(nd + block·p). For losses of a score difference or of a distance it is O(nd + block·d):
their gradients are c·a and c·aaᵀ with a = x - x', so the sum over a block is aᵀc or aᵀ(ca) with the
rows of a stacked, and the gradients of single pairs are not computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp._sums import add_up as add_up
from pairdp._sums import gram, weighted_rows
from pairdp.losses.base import PairwiseLoss
from pairdp.losses.metric import MetricLoss
from pairdp.losses.ranking import RankingLoss
from pairdp.pairs.design import PairDesign

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Summed = Callable[[Array, Array, Array, Array, Mask | None], Array]
Runs = Iterable[tuple[slice, slice]]

_NUMBERS = 2**18
"""Default number of pairs in a block times parameters: 2 MB of gradients.

BLAS does not use several threads for matrix products of this size; threads would not speed up
such narrow products, and would slow them down if a core is busy."""
_FEWEST = 16


def design_value(
    loss: PairwiseLoss,
    parameters: Array,
    x: Array,
    y: Array,
    design: PairDesign,
    *,
    null: Mask | None = None,
    block: int | None = None,
) -> float:
    """Return the average over a design of the mean loss of both orders of a pair.

    Parameters
    ----------
    loss : PairwiseLoss
        Any loss; a symmetric one is evaluated once for both orders of a pair.
    parameters : array
        The parameters at which the loss is evaluated.
    x : array of shape (n, d)
        The records, at least two.
    y : array of shape (n,)
        Their labels.
    design : PairDesign
        Pairs of the n records, drawn before the data was read; `PairDesign.complete` for all.
    null : array of bool of shape (n,), optional
        Which records are null: their pairs are counted, with a loss of zero.
    block : int, optional
        Number of pairs that are evaluated at a time; by default 2 MB of gradients, and at least 16.
    """
    runs = design.runs(pairs_at_a_time(parameters, block))
    shuffled = _shuffled(x, y, null, design)
    return math.fsum(map(float, value_sums(loss, parameters, *shuffled, runs))) / design.pairs


def design_gradient(
    loss: PairwiseLoss,
    parameters: Array,
    x: Array,
    y: Array,
    design: PairDesign,
    *,
    null: Mask | None = None,
    block: int | None = None,
) -> Array:
    """Return the average over a design of the mean gradient of both orders; see `design_value`.

    Its sensitivity is at most D_h/n, `PairwiseLoss.sensitivity`, for every design; the proof is in
    `pairdp.pairs.design`.
    """
    parameters = np.asarray(parameters, dtype=np.float64)
    runs = design.runs(pairs_at_a_time(parameters, block))
    shuffled = _shuffled(x, y, null, design)
    return add_up(gradient_sums(loss, parameters, *shuffled, runs)) / design.pairs


def value_sums(
    loss: PairwiseLoss,
    parameters: Array,
    records: Array,
    labels: Array,
    present: Mask | None,
    runs: Runs,
) -> Iterator[Array]:
    """Iterate over sums of the mean loss of both orders of a pair, over runs of pairs.

    Parameters
    ----------
    loss, parameters
        The loss, and where it is evaluated.
    records, labels : arrays of shape (n, d) and (n,)
        Records in the order of the runs; see `PairDesign.runs`.
    present : array of bool of shape (n,), optional
        Which records are not null.
    runs : iterable of pairs of slices
        The places of both records of the pairs.
    """

    def summed(x: Array, y: Array, other_x: Array, other_y: Array, counted: Mask | None) -> Array:
        return np.asarray(_masked(loss.value(parameters, x, y, other_x, other_y), counted).sum())

    return _sums(summed, loss.symmetric, records, labels, present, runs)


def gradient_sums(
    loss: PairwiseLoss,
    parameters: Array,
    records: Array,
    labels: Array,
    present: Mask | None,
    runs: Runs,
) -> Iterator[Array]:
    """Iterate over sums of the mean gradient of both orders of a pair; see `value_sums`."""
    summed = _summed_gradient(loss, parameters)
    return _sums(summed, loss.symmetric, records, labels, present, runs)


def pairs_at_a_time(parameters: Array, block: int | None = None) -> int:
    """Return the number of pairs to evaluate at a time: by default 2 MB of gradients."""
    if block is not None:
        return integer("block", block)
    return max(_FEWEST, _NUMBERS // max(1, np.size(parameters)))


def _sums(
    summed: Summed,
    symmetric: bool,
    records: Array,
    labels: Array,
    present: Mask | None,
    runs: Runs,
) -> Iterator[Array]:
    """Iterate over the sums of runs of pairs, with the mean of both orders of a pair."""
    for left, right in runs:
        first, second = (records[left], labels[left]), (records[right], labels[right])
        # Null records keep their positions: the position of a pair in a block must not depend on
        # them.
        counted = None if present is None else present[left] & present[right]
        if symmetric:
            yield summed(*first, *second, counted)
        else:
            yield (summed(*first, *second, counted) + summed(*second, *first, counted)) / 2


def _masked(values: Array, counted: Mask | None) -> Array:
    """Return the values, with zeros for pairs that are not counted."""
    if counted is None:
        return values
    return np.where(counted.reshape(-1, *(1,) * (values.ndim - 1)), values, 0.0)


def _shuffled(
    x: Array, y: Array, null: Mask | None, design: PairDesign
) -> tuple[Array, Array, Mask | None]:
    records, labels = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if records.ndim != 2 or labels.shape != records.shape[:1]:
        raise ValueError(
            f"x must have shape (n, d) and y shape (n,), got {records.shape} and {labels.shape}"
        )
    if len(records) != design.n:
        raise ValueError(f"the design is for {design.n} records, got {len(records)}")
    present = None if null is None else ~null[design.permutation]
    return records[design.permutation], labels[design.permutation], present


def _summed_gradient(loss: PairwiseLoss, parameters: Array) -> Summed:
    """Return the function that sums the gradients over a block."""
    # For a subclass that overrides the gradient, its own gradient is used.
    if isinstance(loss, RankingLoss) and type(loss).gradient is RankingLoss.gradient:
        return _ranking_sum(loss, parameters)
    if isinstance(loss, MetricLoss) and type(loss).gradient is MetricLoss.gradient:
        return _metric_sum(loss, parameters)

    def summed(x: Array, y: Array, other_x: Array, other_y: Array, counted: Mask | None) -> Array:
        gradients = _masked(loss.gradient(parameters, x, y, other_x, other_y), counted)
        total = weighted_rows(gradients.reshape(len(gradients), -1), np.ones(len(gradients)))
        return total.reshape(gradients.shape[1:])

    return summed


def _ranking_sum(loss: RankingLoss, weights: Array) -> Summed:
    def summed(x: Array, y: Array, other_x: Array, other_y: Array, counted: Mask | None) -> Array:
        difference = x - other_x
        sign = loss.scale * np.sign(y - other_y)
        slopes = loss.slope(sign * (difference @ weights))
        signed = sign if loss.symmetric else np.maximum(sign, 0.0)
        return weighted_rows(difference, _masked(signed * slopes, counted))

    return summed


def _metric_sum(loss: MetricLoss, matrix: Array) -> Summed:
    def summed(x: Array, y: Array, other_x: Array, other_y: Array, counted: Mask | None) -> Array:
        difference = x - other_x
        squared = np.einsum("ki,ki->k", difference @ matrix, difference)
        return gram(difference, _masked(loss.slope(squared, y == other_y), counted))

    return summed
