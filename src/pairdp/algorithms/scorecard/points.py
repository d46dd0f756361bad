"""A fitted scorecard: the points of each bin, and the scores of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import FINE, Cells, NumberCells, codes_of
from pairdp.algorithms.scorecard.partition import bin_of_cells

Array = NDArray[np.float64]
_BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class Points:
    """The points of each bin of each column.

    Attributes
    ----------
    columns : tuple of Cells
        The columns.
    edges : tuple of array
        The ends of the bins of numbers, in fine cells; empty for categories.
    points : tuple of array
        The points of the bins of each column.
    intercept : float
        What is added to every score.
    factors : tuple of array
        The factors of products by bin; empty without products.
    interactions : array of shape (columns, columns) or (0, 0)
        Q: products add Σ Q_ij·a_i·a_j to a score.
    """

    columns: tuple[Cells, ...]
    edges: tuple[NDArray[np.int64], ...]
    points: tuple[Array, ...]
    intercept: float
    factors: tuple[Array, ...]
    interactions: Array

    @staticmethod
    def of(
        columns: Sequence[Cells],
        sizes: Array,
        edges: Array,
        points: Array,
        intercept: float,
        factors: Array,
        interactions: Array,
    ) -> Points:
        """Return a scorecard from the arrays that a run releases.

        Raises
        ------
        ValueError
            If they do not fit together.
        """
        if len(sizes) != len(columns):
            raise ValueError("there is not one number of bins for each column")
        bins = [int(size) for size in sizes]
        if any(size < 1 or size != given for size, given in zip(bins, sizes, strict=True)):
            raise ValueError("the numbers of bins are not positive integers")
        ends, place = [], 0
        for column, size in zip(columns, bins, strict=True):
            count = 0
            if isinstance(column, NumberCells):
                count = size - (column.size - FINE) + 1
            elif size != column.size:
                raise ValueError("a category does not have one bin for each cell")
            found = edges[place : place + count].astype(np.int64)
            place += count
            if count and (
                count < 2
                or found.size != count
                or found[0] != 0
                or found[-1] != FINE
                or not np.all(np.diff(found) > 0)
            ):
                raise ValueError("the ends of bins are not increasing over the range")
            ends.append(found)
        if place != edges.size or points.size != sum(bins):
            raise ValueError("the numbers of ends or points are not those of the bins")
        with_products = interactions.size > 0
        if with_products and interactions.shape != (len(columns), len(columns)):
            raise ValueError("the interactions are not a matrix of the columns")
        if factors.size != (sum(bins) if with_products else 0):
            raise ValueError("the number of factors is not that of the bins")
        splits = np.cumsum(bins)[:-1]
        return Points(
            tuple(columns),
            tuple(ends),
            tuple(np.split(points, splits)),
            float(intercept),
            tuple(np.split(factors, splits)) if with_products else (),
            interactions,
        )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of columns that products are of."""
        return [(int(i), int(j)) for i, j in np.argwhere(self.interactions != 0)]

    def of_pairs(self, rows: Array) -> Array:
        """Return what the product of each pair adds to the score of each row."""
        bins = self.bins(rows)
        a = [factor[codes] for factor, codes in zip(self.factors, bins, strict=False)]
        found = [self.interactions[i, j] * a[i] * a[j] for i, j in self.pairs]
        return np.column_stack(found) if found else np.zeros((len(rows), 0))

    def bins(self, rows: Array) -> NDArray[np.int64]:
        """Return the bin of each row in each column, of shape (columns, n)."""
        codes = codes_of(self.columns, rows)
        found = codes.astype(np.int64)
        for place, (column, ends) in enumerate(zip(self.columns, self.edges, strict=True)):
            if ends.size:
                found[place] = bin_of_cells(ends, column.size - FINE)[codes[place]]
        return found

    def of_columns(self, rows: Array) -> Array:
        """Return the points of each row in each column, of shape (n, columns)."""
        bins = self.bins(rows)
        return np.column_stack([p[codes] for p, codes in zip(self.points, bins, strict=True)])

    def scores(self, rows: Array) -> Array:
        """Return the scores of rows."""
        found = np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            some = slice(start, start + _BLOCK)
            bins = self.bins(rows[some])
            total = np.full(bins.shape[1], self.intercept)
            for points, codes in zip(self.points, bins, strict=True):
                total += points[codes]
            if self.factors:
                a = np.column_stack([f[c] for f, c in zip(self.factors, bins, strict=True)])
                total += np.einsum("ij,ij->i", a @ self.interactions, a)
            found[some] = total
        return found
