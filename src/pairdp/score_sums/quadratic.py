r"""Sums over pairs of a quadratic function, from counts, sums and squares of each class.

The squares of each class are centred at its mean, to avoid cancellation of large scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairdp._sums import two_sum
from pairdp.score_sums.base import Array, Function, Index, ScoreSums, Structure


@dataclass(frozen=True)
class ClassPowers:
    r"""Count, mean and centred sum of squares of each class, which can be added.

    The mean of two parts is that of the larger plus s times the difference of the means, where s ≤
    1/2 is the fraction of the smaller part; the error is 3u·s times the difference, and rounding
    errors are compensated. The error in the mean of a part is weighted by its fraction of the
    total. So the total error is at most 3u times the range of the scores times Σ(smaller part)/n
    over all additions, which is at most log₂(n)/2 for any order of adding n records: below 50u for
    n ≤ 10¹⁰.

    Attributes
    ----------
    counts, means, rests, spreads : arrays of shape (2,)
        Negatives first; the rests are the rounding errors of the means.
    """

    counts: Array
    means: Array
    rests: Array
    spreads: Array

    def __add__(self, other: ClassPowers) -> ClassPowers:
        counts = self.counts + other.counts
        swap = other.counts > self.counts
        small, large = (
            tuple(np.where(swap, a, b) for a, b in zip(one, two, strict=True))
            for one, two in ((self._mean, other._mean), (other._mean, self._mean))
        )
        share = np.minimum(self.counts, other.counts) / np.maximum(counts, 1.0)
        difference = (small[0] - large[0]) + (small[1] - large[1])
        means, left = two_sum(large[0], difference * share)
        means, rests = two_sum(means, left + large[1])
        larger = np.maximum(self.counts, other.counts)
        spreads = self.spreads + other.spreads + difference**2 * larger * share
        return ClassPowers(counts, means, rests, spreads)

    @property
    def _mean(self) -> tuple[Array, Array]:
        return self.means, self.rests


def _class_sums(values: Array, positive: Index) -> Array:
    """Return the sums over negatives and over positives, by pairwise summation."""
    of_positives = values * positive
    return np.array([np.sum(values - of_positives), np.sum(of_positives)])


@dataclass(frozen=True)
class Quadratic(Structure, ScoreSums):
    """φ(u) = constant + linear · u + square · u²: O(n) time, from three numbers per class."""

    constant: float
    linear: float
    square: float

    def sums(self, phi: Function, slope: Function, low: float, high: float, n: int) -> ScoreSums:
        """Return itself: the sums need only the coefficients."""
        return self

    def sums_in_parts(
        self, phi: Function, slope: Function, low: float, high: float, n: int
    ) -> ScoreSums:
        """Return itself: the moments are eight numbers."""
        return self

    def moments(self, u: Array, positive: Index) -> ClassPowers:
        """Return the moments of these records; ``positive`` is 1 for positives, 0 for negatives."""
        counts = np.bincount(positive, minlength=2).astype(np.float64)
        centre = float(u.mean()) if u.size else 0.0
        shifted = u - centre
        means = _class_sums(shifted, positive) / np.maximum(counts, 1.0)
        shifted -= means.take(positive)
        spreads = _class_sums(shifted * shifted, positive)
        # Exactly 0 if there are no records.
        means, rests = two_sum(means, np.where(counts > 0, centre, 0.0))
        return ClassPowers(counts, means, rests, spreads)

    def slopes(self, u: Array, positive: Index, moments: ClassPowers) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the records of the other class."""
        # φ' is linear: Σ over partners is their number times φ' at their mean.
        partners = moments.counts[::-1].take(positive)
        slopes = u - moments.means[::-1].take(positive)
        slopes *= np.where(positive, 2 * self.square, -2 * self.square)
        slopes += self.linear
        slopes *= partners
        return np.asarray(slopes)

    def total(self, moments: ClassPowers) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        negatives, positives = moments.counts
        difference = moments.means[1] - moments.means[0]
        squares = (
            negatives * positives * difference**2
            + negatives * moments.spreads[1]
            + positives * moments.spreads[0]
        )
        pairs = negatives * positives
        return float(
            self.constant * pairs + self.linear * difference * pairs + self.square * squares
        )
