r"""Sums over pairs of a quadratic: counts, sums and squares of each class.

Each class is summarised about its own mean, so that squares of large scores do not
cancel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.structure import Quadratic

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class ClassPowers:
    """Count, mean and sum of squares about the mean of each class; they add up.

    Attributes
    ----------
    counts, means, spreads : arrays of shape (2,)
        Negatives first.
    """

    counts: Array
    means: Array
    spreads: Array

    def __add__(self, other: ClassPowers) -> ClassPowers:
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1.0)
        apart = other.means - self.means
        spreads = self.spreads + other.spreads + apart**2 * self.counts * share
        return ClassPowers(counts, self.means + apart * share, spreads)


def _class_sums(values: Array, positive: Index) -> Array:
    """Return the sum over negatives and over positives, added pairwise to keep all digits."""
    of_positives = values * positive
    return np.array([np.sum(values - of_positives), np.sum(of_positives)])


@dataclass(frozen=True)
class QuadraticSums:
    """Sums of φ' and φ over all positive-negative pairs, from three numbers a class.

    Parameters
    ----------
    structure : Quadratic
        The coefficients of φ.
    """

    structure: Quadratic

    def moments(self, u: Array, positive: Index) -> ClassPowers:
        """Return the moments of these records; ``positive`` is 1 for positives, else 0."""
        counts = np.bincount(positive, minlength=2).astype(np.float64)
        centre = float(u.mean()) if u.size else 0.0
        shifted = u - centre
        means = _class_sums(shifted, positive) / np.maximum(counts, 1.0)
        shifted -= means.take(positive)
        spreads = _class_sums(shifted * shifted, positive)
        return ClassPowers(counts, np.where(counts > 0, means + centre, 0.0), spreads)

    def slopes(self, u: Array, positive: Index, moments: ClassPowers) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the partners in the other class."""
        # φ' is linear: Σ over partners is their number times φ' at their mean.
        partners = moments.counts[::-1].take(positive)
        apart = u - moments.means[::-1].take(positive)
        apart *= np.where(positive, 2 * self.structure.square, -2 * self.structure.square)
        apart += self.structure.linear
        apart *= partners
        return np.asarray(apart)

    def total(self, moments: ClassPowers) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        negatives, positives = moments.counts
        apart = moments.means[1] - moments.means[0]
        squares = (
            negatives * positives * apart**2
            + negatives * moments.spreads[1]
            + positives * moments.spreads[0]
        )
        phi = self.structure
        pairs = negatives * positives
        return float(phi.constant * pairs + phi.linear * apart * pairs + phi.square * squares)
