r"""Points that are pulled together after all releases: functions of released values alone.

**Shrinkage** replaces points p by (1-s)p + s·p⁰, where p⁰ are those of naive Bayes, which follow
from the counts of bins. Products of columns are multiplied by 1 - s.

**Smoothing** replaces the points p of a column with k bins by the q that minimises

    Σ w_b·(q_b - p_b)² + λ·Σ a_bc·(q_b - q_c)²,

the second sum over all pairs of bins, with w_b = k times the share of records in bin b.
Neighbouring bins of a number have a = 1; categories all have a = 1/k, and so have missing numbers
with every other bin. So λ = 1 pulls the points of two neighbours together as much as an average bin
holds its own. With W = diag(w) and L the Laplacian of a, q = Sp for S = (W + λL)⁻¹W, which has no
negative entry and rows that add up to 1: it keeps the mean of the points over all records.

The standard deviation of a weighted mean of dependent numbers is at most that of their standard
deviations: the deviations of both results are upper bounds, to first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import FINE, Cells, NumberCells

Array = NDArray[np.float64]
_LEAST_WEIGHT = 1e-9


class Pulled(NamedTuple):
    """Points of all bins, column by column, and the standard deviations of their noise."""

    points: Array
    deviations: Array

    def towards(self, other: Pulled, share: float) -> Pulled:
        """Return what is between these points and others."""
        points, deviations = (
            (1 - share) * own + share * given for own, given in zip(self, other, strict=True)
        )
        return Pulled(points, deviations)

    def smoothed(
        self, columns: Sequence[Cells], sizes: Array, counts: Array, strength: float
    ) -> Pulled:
        """Return the points with those of each column pulled together."""
        if strength == 0:
            return self
        found: tuple[list[Array], list[Array]] = ([], [])
        start = 0
        for column, size in zip(columns, sizes.astype(np.intp).tolist(), strict=True):
            bins = slice(start, start + size)
            start += size
            matrix = smoothing_matrix(column, counts[bins], strength)
            for smooth, values in zip(found, self, strict=True):
                smooth.append(matrix @ values[bins])
        return Pulled(*(np.concatenate(smooth) for smooth in found))


def smoothing_matrix(column: Cells, counts: Array, strength: float) -> Array:
    """Return S, for the counts of the bins of a column and λ."""
    near = _nearness(column, counts.size)
    laplacian = np.diag(near.sum(axis=1)) - near
    weights = counts.size * counts / max(float(counts.sum()), _LEAST_WEIGHT)
    weights = np.maximum(weights, _LEAST_WEIGHT)
    return np.asarray(np.linalg.solve(np.diag(weights) + strength * laplacian, np.diag(weights)))


def _nearness(column: Cells, size: int) -> Array:
    """Return a, the symmetric matrix of how much two bins are pulled together."""
    near = (np.ones((size, size)) - np.eye(size)) / size
    if isinstance(column, NumberCells):
        ordered = size - (column.size - FINE)
        near[:ordered, :ordered] = np.eye(ordered, k=1) + np.eye(ordered, k=-1)
    return near
