r"""Sums over pairs of a quadratic: counts, sums and squares of each class.

Each class is summarised about its own mean, so that squares of large scores do not
cancel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairdp._sums import two_sum
from pairdp.score_sums.base import Array, Function, Index, ScoreSums, Structure


@dataclass(frozen=True)
class ClassPowers:
    r"""Count, mean and sum of squares about the mean of each class; they add up.

    The mean of two parts is that of the larger, moved by at most half of the way to that of the
    smaller: by the share s of the smaller, with an error of 3u·s times their distance, and what
    rounding left carried on. An error in the mean of one part counts by the share of the part in
    the whole. So all errors together are at most 3u times the range of the scores times
    Σ(smaller part)/n over all additions, which is at most log₂(n)/2 for any order of adding n
    records: below 50u for n ≤ 10¹⁰.

    Attributes
    ----------
    counts, means, rests, spreads : arrays of shape (2,)
        Negatives first; the rests are what rounding left of the means.
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
    """Return the sum over negatives and over positives, added pairwise to keep all digits."""
    of_positives = values * positive
    return np.array([np.sum(values - of_positives), np.sum(of_positives)])


@dataclass(frozen=True)
class Quadratic(Structure, ScoreSums):
    """φ(u) = constant + linear · u + square · u²: O(n) time, from three numbers a class."""

    constant: float
    linear: float
    square: float

    def sums(self, phi: Function, slope: Function, low: float, high: float, n: int) -> ScoreSums:
        """Return itself: the coefficients are all that is needed."""
        return self

    def moments(self, u: Array, positive: Index) -> ClassPowers:
        """Return the moments of these records; ``positive`` is 1 for positives, else 0."""
        counts = np.bincount(positive, minlength=2).astype(np.float64)
        centre = float(u.mean()) if u.size else 0.0
        shifted = u - centre
        means = _class_sums(shifted, positive) / np.maximum(counts, 1.0)
        shifted -= means.take(positive)
        spreads = _class_sums(shifted * shifted, positive)
        # Exact: where there are no records, 0.
        means, rests = two_sum(means, np.where(counts > 0, centre, 0.0))
        return ClassPowers(counts, means, rests, spreads)

    def slopes(self, u: Array, positive: Index, moments: ClassPowers) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the partners in the other class."""
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
