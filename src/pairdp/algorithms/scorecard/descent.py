r"""Noisy descent on the weights of a scorecard, in coordinates in which rows are about isotropic.

Rows x of the features are divided by their radius and clipped to norm 1. From noisy second moments
C = QΛQᵀ of these, W = Q(Λ₊ + ridge)^{-1/2}, and z = xW has about r² = ΣΛ₊/(Λ₊ + ridge) as expected
squared norm. With c = 2·max(r, 1), z is clipped to norm c, and the logistic gradient (p - y)z/c of
a record to norm `CLIP`. The released means of these have sensitivity 2·CLIP/n, whatever was
released before, since W is a function of released values.

**Rounding.** The computed mean is Wᵀt/c, where t is the mean of vectors of norm at most 1 in the
coordinates of x. The error of t is at most `SUMMING`, that of the product with W at most
D^1.5·u·|W| with u = 2⁻⁵³ and D features, and |W| ≤ ridge^{-1/2}, c ≥ 2. The norm of z that decides
on clipping has an error of at most D^1.5·u·|W| too. The bound "mean of clipped gradients" pays for
all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.scorecard.expansion import Bins, Expansion

Array = NDArray[np.float64]

CLIP = 0.35
"""The largest norm of a record's gradient, in units of c."""
_WIDE = 2.0
_AVERAGED = 4
_STEP, _LEAST_SPREAD = 0.7, 0.02
_SHRINKAGE = 0.5


@dataclass(frozen=True)
class LabelledBins:
    """The bins of records and their labels; as private as the data.

    Attributes
    ----------
    bins : array of shape (columns, n)
        The bin of each record in each column.
    positive : array of shape (n,)
        1 for records of the second class, 0 for others.
    counted : array of shape (n,)
        0 for null records, otherwise 1.
    """

    bins: Bins
    positive: Array
    counted: Array

    def blocks(self) -> Iterator[tuple[slice, Bins]]:
        """Yield the places of blocks of records, and their bins."""
        for start in range(0, self.bins.shape[1], BLOCK):
            some = slice(start, start + BLOCK)
            yield some, self.bins[:, some]


@dataclass(frozen=True)
class Whitening:
    """The coordinates of the descent, functions of released values.

    Attributes
    ----------
    matrix : array of shape (features, features)
        W.
    inverse : array
        Its inverse.
    width : float
        c.
    """

    matrix: Array
    inverse: Array
    width: float

    @staticmethod
    def of(moments: Array, ridge: float) -> Whitening:
        """Return the coordinates for noisy second moments."""
        values, vectors = np.linalg.eigh(moments)
        values = np.maximum(values, 0.0)
        sizes = np.sqrt(values + ridge)
        radius = float(np.sqrt(np.sum(values / (values + ridge))))
        return Whitening(vectors / sizes, sizes[:, None] * vectors.T, _WIDE * max(radius, 1.0))


def second_moments(expansion: Expansion, records: LabelledBins) -> Array:
    """Return Σxxᵀ over records of rows over their radius, clipped to norm 1."""
    total = Total.zeros(expansion.size, expansion.size)
    for some, bins in records.blocks():
        rows, _ = _unit_rows(expansion, bins)
        rows *= records.counted[some, None]
        total += rows.T @ rows
    return np.asarray((total.high + total.high.T) / 2)


def _unit_rows(expansion: Expansion, bins: Bins) -> tuple[Array, Array]:
    """Return rows over their radius, clipped to norm 1, and the factors that made them so."""
    rows = expansion.rows(bins)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    factors = 1 / np.maximum(norms, expansion.radius)
    rows *= factors[:, None]
    return rows, factors


def descend(
    expansion: Expansion,
    records: LabelledBins,
    whitening: Whitening,
    initial: Array,
    positives: float,
    deviation: float,
    steps: int,
    release: Callable[[Array, int], Array],
) -> tuple[Array, Array]:
    """Return the weights after noisy steps, and the covariance of their noise to first order.

    Parameters
    ----------
    expansion : Expansion
        The features.
    records : LabelledBins
        The records. They enter through ``release`` only.
    whitening : Whitening
        The coordinates.
    initial : array
        The weights to start from.
    positives : float
        The released share of positives.
    deviation : float
        The standard deviation of the noise on a mean gradient, in units of c.
    steps : int
        Number of steps.
    release : callable
        Adds noise to a sum of clipped gradients over n, at a step.
    """
    scales, norms = _clipped(expansion, records, whitening)
    start = whitening.inverse @ initial * expansion.radius
    position = start
    size = _STEP / max(positives * (1 - positives), _LEAST_SPREAD) * whitening.width
    last = min(_AVERAGED, steps)
    average = np.zeros_like(start)
    for step in range(steps):
        weights = whitening.matrix @ position
        total = _sum_of_gradients(expansion, records, weights, scales, norms / whitening.width)
        gradient = release(whitening.matrix.T @ total / whitening.width, step)
        position = position - size * gradient
        if step >= steps - last:
            average += position / last
    moved = average - start
    # The average contains the noise of step t in each of the averaged positions after it.
    contained = np.minimum(np.arange(steps, 0, -1), last) / last
    variance = (size * deviation) ** 2 * float(contained @ contained)
    length = float(moved @ moved)
    noise = variance * moved.size
    kept = max(0.0, 1 - _SHRINKAGE * noise / length) if length > 0 else 0.0
    found = whitening.matrix @ (start + kept * moved) / expansion.radius
    spread = kept * np.sqrt(variance) * whitening.matrix / expansion.radius
    return found, np.asarray(spread @ spread.T)


def _clipped(
    expansion: Expansion, records: LabelledBins, whitening: Whitening
) -> tuple[Array, Array]:
    """Return the factor of each row that gives its clipped z, and the norm of z."""
    n = records.bins.shape[1]
    scales, norms = np.empty(n), np.empty(n)
    for some, bins in records.blocks():
        rows, factors = _unit_rows(expansion, bins)
        inside = rows @ whitening.matrix
        lengths = np.sqrt(np.einsum("ij,ij->i", inside, inside))
        clip = whitening.width / np.maximum(lengths, whitening.width)
        scales[some] = factors * clip
        norms[some] = lengths * clip
    return scales, norms


def _sum_of_gradients(
    expansion: Expansion, records: LabelledBins, weights: Array, scales: Array, norms: Array
) -> Array:
    """Return Σ(p - y)·min(1, CLIP/|(p - y)z/c|)·x over records, in the coordinates of x."""
    total = Total.zeros(expansion.size)
    for some, bins in records.blocks():
        scores = expansion.scores(bins, weights) * scales[some]
        slopes = expit(scores) - records.positive[some]
        lengths = np.abs(slopes) * norms[some]
        slopes *= CLIP / np.maximum(lengths, CLIP) * scales[some] * records.counted[some]
        total += expansion.weighted_sum(bins, slopes)
    return total.high
