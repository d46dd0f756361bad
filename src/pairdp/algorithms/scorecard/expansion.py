r"""The features of a scorecard: functions of the bin of a record in each column.

A feature of column j is a table with a number for each of its bins. Each block of features is
scaled to about unit expected squared norm under the released counts:

- *shapes*: the weight of evidence of each column;
- *numbers*: the standardised middle of each bin, clipped to ±4;
- *ranks*: normal scores of the bins;
- *hats*: seven hat functions of the normal score, which are a partition of unity;
- *categories*: centred indicators.

Products of two columns, if they are asked for, are of normal scores, or of standardised shapes for
categories. A constant is the last feature. Which blocks are used depends on public numbers and on
the released share of positives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.scorecard.evidence import Column
from pairdp.algorithms.scorecard.partition import Edges

Array = NDArray[np.float64]
Bins = NDArray[np.int16]
CONSTANT = 0.5
_KNOTS = np.array([-2.0, -1.2, -0.6, 0.0, 0.6, 1.2, 2.0])
_TAIL, _LEAST_VARIANCE = 0.004, 0.05
_LARGEST_NUMBER, _LARGEST_RANK, _LARGEST_FACTOR = 4.0, 3.0, 2.5
_MOST_PRODUCTS = 30
_GATES = (("numbers", 5.0, 1.0), ("ranks", 5.0, 1.0), ("products", 5.0, 1.5), ("hats", 10.0, 1.5),
          ("categories", 10.0, 1.0))  # fmt: skip
"""Blocks, the number of records (in units of noise) for each feature that they need, and how much
a rare class counts."""


def all_products(columns: int) -> int:
    """Return the number of all products, with squares; for more than 30 columns there are none."""
    return columns * (columns + 1) // 2 if columns <= _MOST_PRODUCTS else 0


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
        "numbers": numbers,
        "ranks": numbers,
        "products": products,
        "hats": len(_KNOTS) * numbers,
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
        The features of each column.
    factors : tuple of arrays of shape (bins,)
        The factors of products; empty without products.
    blocks : tuple of str
        The blocks that are used.
    pairs : tuple of pairs of int
        The columns of the products.
    """

    tables: tuple[Array, ...]
    factors: tuple[Array, ...]
    blocks: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...] = ()

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
        """The root of about the expected squared norm of a row."""
        return float(np.sqrt(1 + len(self.blocks) + CONSTANT**2))

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

    def correlations(self, moments: Array, columns: Sequence[Column], ridge: float) -> Array:
        """Return correlations of the columns from noisy second moments of clipped rows.

        They are those of normal scores, if these are features, and otherwise of shapes. The ridge
        is added to variances, which shrinks the correlations of what has little of it.
        """
        after_shape = 1 + ("numbers" in self.blocks)
        places, sizes, start = [], [], 0
        for table, column in zip(self.tables, columns, strict=True):
            place = after_shape if column.is_number and "ranks" in self.blocks else 0
            places.append(start + place)
            sizes.append(float(column.shares @ table[:, place] ** 2) / self.radius**2 + ridge)
            start += table.shape[1]
        found = moments[np.ix_(places, places)] / np.sqrt(np.outer(sizes, sizes))
        np.fill_diagonal(found, 1.0)
        return np.asarray(np.clip(found, -1.0, 1.0))

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
        """Return weights with one number for all shapes, and the constant; zero for others."""
        weights = np.zeros(self.size)
        place = 0
        for table in self.tables:
            weights[place] = shape_weight
            place += table.shape[1]
        weights[-1] = constant / CONSTANT
        return weights


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
    scale = max(sum(column.variance for column in columns), 1e-12) ** 0.5
    numbers = max(sum(column.is_number for column in columns), 1)
    spread = sum(
        1 - float(column.shares @ column.shares) for column in columns if not column.is_number
    )
    tables = []
    for column, ends in zip(columns, edges, strict=True):
        parts = [column.shape[:, None] / scale]
        if ends is not None:
            ranks = _ranks(column)
            if "numbers" in blocks:
                parts.append(_standardised(column, ends)[:, None] / np.sqrt(numbers))
            if "ranks" in blocks:
                parts.append(ranks[:, None] / np.sqrt(numbers))
            if "hats" in blocks:
                parts.append(_hats(ranks, column.missing) / np.sqrt(0.55 * numbers))
        else:
            if "categories" in blocks:
                centred = np.eye(len(column.counts)) - column.shares
                parts.append(centred / np.sqrt(max(spread, 1e-9)))
        tables.append(np.hstack(parts))
    with_pairs = "products" in blocks and bool(pairs)
    factors = tuple(factors_of(columns)) if with_pairs else ()
    return Expansion(tuple(tables), factors, tuple(blocks), pairs if with_pairs else ())


def factors_of(columns: Sequence[Column]) -> Iterator[Array]:
    """Yield the factors of products: normal scores of numbers, standardised shapes of others."""
    for column in columns:
        if column.is_number:
            factor = _ranks(column)
        else:
            factor = column.shape / max(column.variance, 1e-6) ** 0.5
        yield np.clip(factor, -_LARGEST_FACTOR, _LARGEST_FACTOR)


def _standardised(column: Column, ends: Edges) -> Array:
    """Return the middles of bins minus their mean, over their standard deviation."""
    middles = (ends[:-1] + ends[1:]) / 2
    widths = np.diff(ends)
    shares = _ordered_shares(column)
    mean = shares @ middles
    deviation = np.sqrt(shares @ ((middles - mean) ** 2 + widths**2 / 12) + 1e-9)
    found = np.clip((middles - mean) / deviation, -_LARGEST_NUMBER, _LARGEST_NUMBER)
    return np.pad(found, (0, column.missing))


def _ranks(column: Column) -> Array:
    """Return standardised normal scores of the bins; 0 for missing numbers."""
    shares = _ordered_shares(column)
    scores = ndtri(np.clip(np.cumsum(shares) - shares / 2, _TAIL, 1 - _TAIL))
    mean = shares @ scores
    deviation = np.sqrt(max(float(shares @ (scores - mean) ** 2), _LEAST_VARIANCE))
    found = np.clip((scores - mean) / deviation, -_LARGEST_RANK, _LARGEST_RANK)
    return np.pad(found, (0, column.missing))


def _ordered_shares(column: Column) -> Array:
    counts = column.counts[: len(column.counts) - column.missing]
    total = float(counts.sum())
    return np.asarray(counts / total if total > 0 else np.full(counts.size, 1 / counts.size))


def _hats(ranks: Array, missing: int) -> Array:
    """Return seven hat functions of the normal scores, centred; 0 for missing numbers."""
    inside = np.clip(ranks, _KNOTS[0], _KNOTS[-1])
    hats = np.array([np.interp(inside, _KNOTS, row) for row in np.eye(len(_KNOTS))]).T
    hats -= 1 / len(_KNOTS)
    if missing:
        hats[-1] = 0.0
    return np.asarray(hats)
