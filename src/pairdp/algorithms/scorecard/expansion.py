r"""The features of a scorecard: functions of the bin of a record in each column.

A feature of column j is a table with a number for each of its bins. The first is the scale of the
column (`column_features`), and the features of one column are uncorrelated by construction. If
columns depend on each other through their scales alone, features other than scales are uncorrelated
with those of other columns too: so second moments of the scales are all that is released for
whitening (`pairdp.algorithms.scorecard.descent`).

Products of two columns, if they are asked for, are of normal scores, or of standardised shapes for
categories. A constant is the last feature. Which blocks are used depends on public numbers and on
the released share of positives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.scorecard.column_features import KNOTS, column_features, factors_of
from pairdp.algorithms.scorecard.evidence import Column
from pairdp.algorithms.scorecard.partition import Edges

Array = NDArray[np.float64]
Bins = NDArray[np.int16]
CONSTANT = 0.5
MOST_PRODUCTS = 30
"""The most columns that there are products of all of."""
_GATES = (("scales", 3.0, 1.0), ("products", 5.0, 1.5), ("second scales", 20.0, 1.0),
          ("hats", 40.0, 1.5), ("categories", 10.0, 1.0))  # fmt: skip
"""Blocks, the number of records (in units of noise) for each feature that they need, and how much
a rare class counts."""


def all_products(columns: int) -> int:
    """Return the number of all products, with squares; for more than 30 columns there are none."""
    return columns * (columns + 1) // 2 if columns <= MOST_PRODUCTS else 0


def scales_unit(columns: int) -> float:
    """Return what second moments of `Expansion.scales` are multiplied by, for scales of size 1."""
    return (1 + CONSTANT**2) * columns


def block_sizes(numbers: int, categories: int, products: int) -> dict[str, int]:
    """Return the number of features of each block.

    Parameters
    ----------
    numbers : int
        How many columns are numbers.
    categories : int
        The number of cells of all other columns together.
    products : int
        The number of products that are asked for.
    """
    return {
        "scales": numbers,
        "products": products,
        "second scales": numbers,
        "hats": len(KNOTS) * numbers,
        "categories": categories,
    }


def chosen_blocks(sizes: dict[str, int], columns: int, signal: float, rarity: float) -> list[str]:
    """Return the blocks that nµ records can pay for.

    Parameters
    ----------
    sizes : dict
        See `block_sizes`.
    columns : int
        The number of columns.
    signal : float
        nµ.
    rarity : float
        4π(1-π), at most 1; 1 gives all blocks that can be chosen for any π.
    """
    taken, blocks = columns + 1, []
    for name, gate, power in _GATES:
        size = sizes[name]
        if size and signal * rarity**power / (taken + size) > gate:
            blocks.append(name)
            taken += size
    return blocks


def most_features(sizes: dict[str, int], columns: int, signal: float) -> int:
    """Return the largest number of features for any share of positives.

    A block that is refused for its rarity leaves room for the later ones, so the sum is over all
    that would be chosen after the shapes alone.
    """
    return (
        columns
        + 1
        + sum(size for name, size in sizes.items()
              if chosen_blocks({**dict.fromkeys(sizes, 0), name: size}, columns, signal, 1.0))
    )  # fmt: skip


@dataclass(frozen=True)
class Expansion:
    """Tables of features by column and bin; functions of released counts.

    Attributes
    ----------
    tables : tuple of arrays of shape (bins, features)
        The features of each column; its scale is the first.
    factors : tuple of arrays of shape (bins,)
        The factors of products; empty without products.
    pairs : tuple of pairs of int
        The columns of the products.
    shape_weights : tuple of arrays of shape (features,)
        The weights of the features of each column that give its weight of evidence.
    shape_parts : tuple of arrays of shape (features,)
        How much of the weight of evidence each feature contains.
    squared_radius : float
        The expected squared norm of a row, at least 1.
    """

    tables: tuple[Array, ...]
    factors: tuple[Array, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    shape_weights: tuple[Array, ...] = ()
    shape_parts: tuple[Array, ...] = ()
    squared_radius: float = 1.0

    @property
    def bins(self) -> tuple[int, ...]:
        """The number of bins of each column."""
        return tuple(len(table) for table in self.tables)

    @property
    def products(self) -> int:
        """The number of products."""
        return len(self.pairs)

    @property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first and the second columns of the products."""
        first, second = np.array(self.pairs, dtype=np.intp).reshape(-1, 2).T
        return first, second

    @property
    def size(self) -> int:
        """The number of features: those of columns, products, and the constant."""
        return sum(int(one.shape[1]) for one in self.tables) + self.products + 1

    @property
    def radius(self) -> float:
        """The root of the expected squared norm of a row."""
        return math.sqrt(self.squared_radius)

    @property
    def scales(self) -> Expansion:
        """The scale of each column alone."""
        tables = tuple(table[:, :1] for table in self.tables)
        return Expansion(tables, squared_radius=1 + CONSTANT**2)  # that of `scales_unit`

    @property
    def scale_places(self) -> NDArray[np.intp]:
        """The place of the scale of each column among all features."""
        return np.cumsum([0, *(table.shape[1] for table in self.tables[:-1])])

    @property
    def squared_sizes(self) -> float:
        """The sum of the squared sizes of all features of columns, or a little more."""
        alone = self.squared_radius - CONSTANT**2 - bool(self.products)
        return alone * len(self.tables)

    @property
    def unit_sizes(self) -> Array:
        """What features are multiplied by, to have their sizes; 1 for products and the constant."""
        sizes = np.full(self.size, math.sqrt(len(self.tables)))
        sizes[self.size - 1 - self.products : -1] = math.sqrt(self.products)
        sizes[-1] = 1 / CONSTANT
        return sizes

    def rows(self, bins: Bins) -> Array:
        """Return the features of records, given their bins of shape (columns, n)."""
        found = np.empty((bins.shape[1], self.size))
        place = 0
        for table, codes in zip(self.tables, bins, strict=True):
            part = found[:, place : place + table.shape[1]]
            np.take(table, codes, axis=0, out=part, mode="clip")  # others use a buffer
            place += table.shape[1]
        if self.factors:
            factors = self.factors_of(bins)
            first, second = self._places
            products = found[:, place:-1]
            np.multiply(factors[:, first], factors[:, second], out=products)
            products *= self._product_scale()
        found[:, -1] = CONSTANT
        return found

    def factors_of(self, bins: Bins) -> Array:
        """Return the factors of products for records, of shape (n, columns)."""
        return np.column_stack([f[codes] for f, codes in zip(self.factors, bins, strict=True)])

    def _product_scale(self) -> float:
        return 1 / math.sqrt(self.products)

    def points(self, weights: Array) -> list[Array]:
        """Return the points of each bin of each column for weights of the features."""
        sizes = np.cumsum([table.shape[1] for table in self.tables])
        parts = np.split(weights[: sizes[-1]], sizes[:-1])
        return [np.asarray(t @ part) for t, part in zip(self.tables, parts, strict=True)]

    def interactions(self, weights: Array) -> Array:
        """Return Q such that products contribute Σ Q_ij·a_i·a_j to a score."""
        columns = len(self.factors)
        matrix = np.zeros((columns, columns))
        if columns:
            start = sum(table.shape[1] for table in self.tables)
            matrix[self._places] = weights[start:-1] * self._product_scale()
        return matrix

    def product_scores(self, bins: Bins, weights: Array) -> Array:
        """Return what products add to the scores of records."""
        factors = self.factors_of(bins)
        return np.asarray(np.einsum("ij,ij->i", factors @ self.interactions(weights), factors))

    def product_sums(self, bins: Bins, coefficients: Array) -> Array:
        """Return Σ c·(products) over records, in blocks as in `pairdp._sums`."""
        total = Total.zeros(len(self.factors), len(self.factors))
        for start in range(0, len(coefficients), BLOCK):
            some = slice(start, start + BLOCK)
            factors = self.factors_of(bins[:, some])
            total += (factors * coefficients[some, None]).T @ factors
        return total.high[self._places] * self._product_scale()

    def sums_of_rows(self, sums: Sequence[Array], products: Array) -> Array:
        """Return Σ c·row over records, from the sums of c by bin and those of products."""
        parts = [table.T @ one for table, one in zip(self.tables, sums, strict=True)]
        return np.concatenate([*parts, products, [CONSTANT * sums[0].sum()]])

    def initial(self, shape_weight: float, constant: float) -> Array:
        """Return the weights that give so many times the sum of all shapes, and a constant."""
        parts = [shape_weight * weights for weights in self.shape_weights]
        return np.concatenate([*parts, np.zeros(self.products), [constant / CONSTANT]])


def expand(
    columns: Sequence[Column],
    edges: Sequence[Edges | None],
    blocks: Sequence[str],
    pairs: tuple[tuple[int, int], ...] = (),
) -> Expansion:
    """Return the tables of features for some blocks.

    Parameters
    ----------
    columns : sequence of Column
        The columns with their counts and shapes.
    edges : sequence of array or None
        The ends of the bins of numbers, in fine cells.
    blocks : sequence of str
        The blocks besides the shapes.
    pairs : tuple of pairs of int
        The columns of the products.
    """
    mean = max(float(np.mean([column.variance for column in columns])), 1e-12)
    found = [column_features(c, ends, blocks, mean) for c, ends in zip(columns, edges, strict=True)]
    root = math.sqrt(len(columns))
    with_pairs = "products" in blocks and bool(pairs)
    expected = sum(
        float(column.shares @ (one.table**2).sum(axis=1))
        for column, one in zip(columns, found, strict=True)
    )
    return Expansion(
        tuple(one.table / root for one in found),
        tuple(factors_of(columns)) if with_pairs else (),
        pairs if with_pairs else (),
        tuple(root * one.weights for one in found),
        tuple(one.parts / root for one in found),
        # Not less than 1, so that no coefficient of a row is larger (`tabled`).
        max(expected / len(columns) + with_pairs + CONSTANT**2, 1.0),
    )
