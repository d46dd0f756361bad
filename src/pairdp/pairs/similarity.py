"""The average over all pairs of a bilinear similarity loss, and its gradient, in tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import add_up
from pairdp.losses.bilinear_similarity import BilinearSimilarity
from pairdp.pairs.base import check_shape
from pairdp.records import Records

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_TILE = 512


@dataclass(frozen=True)
class SimilarityRisk:
    r"""A bilinear similarity loss over all pairs: O(n²d) time and O(nd) memory.

    With S = XMXᵀ and C the derivatives in these scores, zero on the diagonal and for null records,
    ∇L(M) = XᵀCX/(n(n-1)).
    """

    loss: BilinearSimilarity
    records: Records

    def _tiles(self, matrix: Array) -> Iterator[tuple[slice, slice, Array, Mask, Array]]:
        """Yield rows, columns, scores, which pairs are similar, and how often a pair counts.

        The tiles are those on and above the diagonal, where every pair counts for both orders.
        """
        records = self.records
        check_shape(matrix, (records.features,) * 2)
        x, y, n = records.x, records.y, records.n
        weighted = x @ ((matrix + matrix.T) / 2)
        present = np.where(records.null, 0.0, 1.0)
        for top in range(0, n, _TILE):
            rows = slice(top, min(top + _TILE, n))
            for left in range(top, n, _TILE):
                columns = slice(left, min(left + _TILE, n))
                counted = 2 * np.outer(present[rows], present[columns])
                if left == top:
                    counted = np.triu(counted, 1)
                scores = weighted[rows] @ x[columns].T
                yield rows, columns, scores, np.equal.outer(y[rows], y[columns]), counted

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        n = self.records.n
        sums = (
            float(np.sum(counted * self.loss.of_score(scores, similar)))
            for _, _, scores, similar, counted in self._tiles(parameters)
        )
        return math.fsum(sums) / (n * (n - 1))

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient, a symmetric matrix."""
        n, x = self.records.n, self.records.x
        total = add_up(
            x[rows].T @ ((counted * self.loss.slope(scores, similar)) @ x[columns])
            for rows, columns, scores, similar, counted in self._tiles(parameters)
        )
        return np.asarray((total + total.T) / (2 * n * (n - 1)))

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both."""
        return self.value(parameters), self.gradient(parameters)
