r"""Noisy descent on rows of features, in coordinates in which they are about isotropic.

Rows φ have norm at most 1. From noisy second moments C of these (or from their diagonal), a
`Whitening` W gives z = φW, with an expected squared norm of about ΣΛ/(Λ + ridge), and a width c of
twice its root. z is clipped to norm c, and what is released of each step has a sensitivity that
does not depend on what was released before:

- "logistic", or the loss of the problem: the mean of φ'(s, y)·z/(S·c) over records, each clipped to
  norm `CLIP`, with S the size of φ' and |φ'/S| clipped to `STEEPEST`: 2·CLIP/n;
- "pairwise": Σ over positives i and negatives j of -s(s_j - s_i)(z_i - z_j)/(n(n-1)c), with z
  clipped to norm c/2: 2·½/n.

**Rounding.** As for scorecards (`pairdp.algorithms.scorecard.descent`): the computed mean is Wᵀt/c,
where t is a mean of vectors of norm at most `STEEPEST` (1 for pairs), and |W|/c ≤ ½·ridge^{-1/2}.
The product of both is the amplification. Without a largest slope, a row that is short in the
coordinates of z could have a huge coefficient, and its rounding error would have no bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total, sum_in_pairs
from pairdp.algorithms.conditioned.blocks import Block, CentredBlock, TableBlock
from pairdp.algorithms.conditioned.features import Features
from pairdp.algorithms.conditioned.location import centred, distances
from pairdp.algorithms.conditioned.slopes import Slopes
from pairdp.algorithms.scorecard.descent import Whitening
from pairdp.engines.local import InProcess
from pairdp.engines.parts import Part, Parts
from pairdp.losses import LogisticPointwise, LogisticRanking
from pairdp.pairs.ranking import Slopes as PairSlopes
from pairdp.pairs.ranking import score_sums
from pairdp.score_sums.base import ScoreSums

Array = NDArray[np.float64]

CLIP = 0.5
"""The largest norm of a record's gradient, in units of S·c."""
PAIR_CLIP = 0.5
"""The largest norm of a row in sums over pairs, in units of c."""
STEEPEST = 2.0
"""The largest slope of a record's loss, in units of S; that of the logistic loss is not larger."""
_STEP, _LEAST_SPREAD = 0.9, 0.08
_OF_PAIRS = 2.0
_MOST_NUMBERS = 6 * 10**7
"""Rows of an expansion are kept in memory up to this many numbers, and computed again in every step
beyond. Those of linear features are never kept: they are fast to compute."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of features of records and their labels; as private as the data.

    Attributes
    ----------
    features : Features
        The features.
    x : array of shape (n, d)
        The rows of numbers.
    y : array of shape (n,)
        Labels or targets.
    counted : array of shape (n,)
        0 for null records, otherwise 1; or whether a record is none.
    kept : array of shape (n, size) or None
        The features of all rows, if they are not linear, and not too many.
    factors : array of shape (n,) or None
        What centred rows are multiplied by, if features are linear.
    """

    features: Features
    x: Array
    y: Array
    counted: NDArray[Any]
    kept: Array | None = None
    factors: Array | None = None

    @classmethod
    def of(
        cls,
        features: Features,
        x: Array,
        y: Array,
        counted: NDArray[Any],
        away: Array | None = None,
    ) -> Rows:
        """Return rows of features, which are kept if they are not too many.

        ``away`` are the distances of the rows from the centre, if they are known.
        """
        if features.has_one_scale:
            away = distances(x, features.centre) if away is None else away
            return cls(features, x, y, counted, factors=features.factors(away))
        kept = None
        if len(x) * features.size <= _MOST_NUMBERS:
            kept = np.empty((len(x), features.size))
            for start in range(0, len(x), BLOCK):
                some = slice(start, start + BLOCK)
                features.rows(x[some], kept[some])
        return cls(features, x, y, counted, kept)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.x)

    def blocks(self) -> Iterator[tuple[slice, Block]]:
        """Yield the places of blocks of records, and their features until the next ones."""
        if self.factors is not None:
            constant = self.features.constant
            for some, away in centred(self.x, self.features.centre):
                yield some, CentredBlock(away, self.factors[some], constant)
            return
        for start in range(0, self.n, BLOCK):
            some = slice(start, start + BLOCK)
            kept = self.features.rows(self.x[some]) if self.kept is None else self.kept[some]
            yield some, TableBlock(kept)


@dataclass(frozen=True, eq=False)
class RowParts:
    """The rows of all parts of the records.

    Attributes
    ----------
    parts : Parts
        Their values are `Rows`, or functions of those.
    n : int
        Number of rows in all parts.
    features : Features
        The features.
    """

    parts: Parts
    n: int
    features: Features

    @classmethod
    def of(cls, rows: Rows) -> RowParts:
        """Return rows in one part."""
        return cls(Parts(InProcess(), [Part(0, rows.n, rows)], rows.n), rows.n, rows.features)


def second_moments(rows: RowParts) -> Array:
    """Return Σφφᵀ/n, symmetric to the last bit."""
    total: Total = rows.parts.map_sum(_second_moments)
    return np.asarray((total.high + total.high.T) / (2 * rows.n))


def _second_moments(rows: Rows) -> Total:
    total = Total.zeros(rows.features.size, rows.features.size)
    for some, block in rows.blocks():
        counted, table = rows.counted[some], block.table()
        table = table if counted.all() else table * counted[:, None]
        total += table.T @ table
    return total


def mean_squares(rows: RowParts) -> Array:
    """Return Σφ²/n, entry by entry."""
    total: Total = rows.parts.map_sum(_squares)
    return np.asarray(total.high / rows.n)


def _squares(rows: Rows) -> Total:
    total = Total.zeros(rows.features.size)
    for some, block in rows.blocks():
        total += rows.counted[some] @ block.table() ** 2
    return total


class Clipped(NamedTuple):
    """The factor of each row that gives its clipped z, and the norm of that in units of c."""

    factors: Array
    lengths: Array


def clipped(rows: Rows, whitening: Whitening, largest: float) -> Clipped:
    """Return how rows are clipped to a largest norm of z, in units of c."""
    factors, lengths = np.empty(rows.n), np.empty(rows.n)
    bound = largest * whitening.width
    for some, block in rows.blocks():
        inside = block.table() @ whitening.matrix
        norms = np.sqrt(np.einsum("ij,ij->i", inside, inside))
        factors[some] = bound / np.maximum(norms, bound)
        lengths[some] = norms * factors[some] / whitening.width
    return Clipped(factors, lengths)


class ClippedRows(NamedTuple):
    """Rows, and how they are clipped."""

    rows: Rows
    clip: Clipped


def clipped_rows(rows: Rows, whitening: Whitening, largest: float) -> ClippedRows:
    """Return rows with how they are clipped to a largest norm of z, in units of c."""
    return ClippedRows(rows, clipped(rows, whitening, largest))


def sum_of_gradients(some_rows: ClippedRows, weights: Array, slopes: Slopes) -> Total:
    """Return Σ of clipped gradients over S, in the coordinates of φ, for weights of features."""
    rows, clip = some_rows
    if not rows.n:
        return Total.zeros(rows.features.size)
    sums: list[Array] = []
    size = slopes.size
    for some, block in rows.blocks():
        factors = clip.factors[some]
        found = slopes.of(block.scores(weights) * factors, rows.y[some]) / size
        np.clip(found, -STEEPEST, STEEPEST, out=found)
        lengths = np.abs(found) * clip.lengths[some]
        found *= CLIP / np.maximum(lengths, CLIP) * factors * rows.counted[some]
        sums.append(block.total(found))
    return Total.of(sum_in_pairs(sums))


def sum_over_pairs(rows: RowParts, weights: Array, largest: float) -> Array:
    """Return Σ of gradients of all pairs over n - 1, in the coordinates of φ.

    The values of the parts are `ClippedRows`, and ``largest`` is a bound on all scores.
    """
    sums = _pair_sums(largest, rows.n)
    moments = rows.parts.map_sum(_pair_moments, weights, largest, rows.n)
    slopes = sums.slopes_for(moments)
    total: Total = rows.parts.map_sum(_pair_gradients, weights, largest, rows.n, slopes)
    return np.asarray(total.high / (rows.n - 1))


def _pair_sums(largest: float, n: int) -> ScoreSums:
    loss = LogisticRanking()
    found = loss.structure().sums_in_parts(loss.phi, loss.slope, -largest, largest, n)
    return found or score_sums(loss, -largest, largest, n)


def _scored(
    some_rows: ClippedRows, weights: Array, largest: float, n: int
) -> Iterator[tuple[slice, Block, NDArray[np.bool_], Array, Array]]:
    """Yield the places of blocks, their rows, and who is used, with located scores and labels."""
    rows, clip = some_rows
    sums = _pair_sums(largest, n)
    for some, block in rows.blocks():
        scores = np.clip(block.scores(weights) * clip.factors[some], -largest, largest)
        used = rows.counted[some] > 0
        scores, labels = scores[used], np.where(rows.y[some][used] > 0, 1.0, -1.0)
        sums.locate(scores, labels)
        yield some, block, used, scores, labels


def _pair_moments(some_rows: ClippedRows, weights: Array, largest: float, n: int) -> Any:
    sums = _pair_sums(largest, n)
    if not some_rows.rows.n:
        return sums.moments(np.zeros(0), np.zeros(0, dtype=np.intp))
    return sums.moments_of(
        (scores, labels) for *_, scores, labels in _scored(some_rows, weights, largest, n)
    )


def _pair_gradients(
    some_rows: ClippedRows, weights: Array, largest: float, n: int, slopes_of: PairSlopes
) -> Total:
    total, slopes_of = Total.zeros(some_rows.rows.features.size), copy(slopes_of)
    for some, block, used, scores, labels in _scored(some_rows, weights, largest, n):
        coefficients = np.zeros(len(used))
        coefficients[used] = slopes_of(scores, labels)
        total += block.total(coefficients * some_rows.clip.factors[some])
    return total


@dataclass(frozen=True, eq=False)
class Descent:
    """Steps from noisy gradients, in the coordinates of a whitening.

    Attributes
    ----------
    rows : RowParts
        The records, which enter through ``release`` only.
    whitening : Whitening
        W and c.
    slopes : Slopes or None
        Those of the loss of one record; None for pairs.
    spread : float
        4π(1-π) for two classes, and 1 for targets: curvature is proportional to it.
    """

    rows: RowParts
    whitening: Whitening
    slopes: Slopes | None
    spread: float

    def run(
        self,
        initial: Array,
        steps: int,
        release: Callable[[Array, int], Array],
        deviation: float,
        *,
        shrunk: bool = False,
    ) -> tuple[Array, float]:
        """Return the average weights of the last half, and their noise in each coordinate.

        Parameters
        ----------
        initial : array
            The weights of features to start from.
        steps : int
            Number of steps.
        release : callable
            Adds noise to a mean gradient in units of c (and S), at a step.
        deviation : float
            The standard deviation of that noise.
        shrunk : bool
            Whether the distance from the initial weights is shrunk by the noise (James-Stein).
        """
        largest = PAIR_CLIP if self.slopes is None else 1.0
        parts = self.rows.parts.map(clipped_rows, self.whitening, largest)
        rows = replace(self.rows, parts=parts)
        start = position = self.whitening.inverse @ initial
        average = np.zeros_like(position)
        last = max(1, steps // 2)
        size = self.step_size
        for step in range(steps):
            mean = self._sum(position, rows) / self.rows.n
            mean = self.whitening.matrix.T @ mean / self.whitening.width
            position = position - size * release(mean, step)
            if step >= steps - last:
                average += position / last
        noise, kept = self._noise(size * deviation, steps, last), 1.0
        if shrunk:
            moved = average - start
            length = float(moved @ moved)
            kept = max(0.0, 1 - average.size * noise / length) if length > 0 else 0.0
            average = start + kept * moved
        return np.asarray(self.whitening.matrix @ average), kept * math.sqrt(noise)

    def _noise(self, deviation: float, steps: int, last: int) -> float:
        """Return about the variance of an average weight, given that of a step.

        A position keeps 1 - _STEP·h of an earlier one, where h falls from 1 as the noise of scores
        exceeds the range in which the loss is curved.
        """
        slopes = self.slopes or Slopes(LogisticPointwise())
        curved = slopes.size / slopes.curvature
        spread, found = deviation, 0.0
        for _ in range(2):
            scores = spread * math.sqrt(self.rows.features.size)
            kept = 1 - _STEP / math.sqrt(1 + 2 * (scores / curved) ** 2)
            places = np.arange(steps)
            powers = np.where(
                places[:, None] >= places, kept ** np.abs(places[:, None] - places), 0.0
            )
            shares = powers[steps - last :].mean(axis=0)
            found = deviation**2 * float(shares @ shares)
            spread = deviation * math.sqrt(float(np.sum(powers[-1] ** 2)))
        return found

    @property
    def step_size(self) -> float:
        """The step, for gradients in units of S·c."""
        spread = max(self.spread, _LEAST_SPREAD)
        if self.slopes is None:
            return _STEP * _OF_PAIRS * 4 / spread * self.whitening.width
        size, curvature = self.slopes.size, self.slopes.curvature
        return _STEP * size / (curvature * spread) * self.whitening.width

    def _sum(self, position: Array, rows: RowParts) -> Array:
        weights = self.whitening.matrix @ position
        if self.slopes is not None:
            total: Total = rows.parts.map_sum(sum_of_gradients, weights, self.slopes)
            return total.high
        # Cauchy-Schwarz, with slack for the rounding of both factors.
        largest = PAIR_CLIP * self.whitening.width * float(np.linalg.norm(position))
        return sum_over_pairs(rows, weights, largest * (1 + 1e-6) + 1e-6)
