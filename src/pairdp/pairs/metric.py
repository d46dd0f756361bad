r"""Exact averages over all pairs for losses of a Mahalanobis distance, by matrix products.

With q_i = x_iᵀWx_i, the squared distances M_ij = q_i + q_j - 2x_iᵀWx_j of a strip of pairs are one
matrix product, of rows (-2Wx_i, q_i, 1) with rows (x_j, 1, q_j). With c_ij the slope of the loss at
M_ij and r_i = Σ_j c_ij, the gradients of all ordered pairs sum to

.. math:: Σ c_{ij} (x_i - x_j)(x_i - x_j)ᵀ = 2 (Xᵀ \mathrm{diag}(r) X - XᵀCX).

C is symmetric, so only j ≥ i (rounded down to blocks) are computed. Strips have ``block`` rows and
up to 16 times as many columns: few and large products, which use all cores. The loss is evaluated
on square tiles of a strip, which fit in cache. No larger array of pairs is allocated: the memory is
O(nd + 16 block²), the time O(n²d).

Records are neither sorted by class nor centred, although this would be faster and more accurate,
and null records keep their positions, with slopes set to zero. M_ij depends on two records and
their positions only, so replacing one record does not change the slopes of other pairs, not even by
rounding. At the kink of a hinge, rounding determines the slope; if it changed for all pairs, the
sensitivity would exceed D_h/n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp._sums import Total, compensated, gram
from pairdp.losses.metric import MetricLoss

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BLOCK = 256
"""Side of a tile: 0.5 MB per array, of which a loss may allocate a few. A strip has 8 MB."""
_TILES_A_STRIP = 16


def metric_value(
    loss: MetricLoss,
    matrix: Array,
    x: Array,
    y: Array,
    *,
    null: Mask | None = None,
    block: int = BLOCK,
) -> float:
    """Return the average loss over all n(n-1) ordered pairs of different records.

    Parameters
    ----------
    loss : MetricLoss
        A loss of the squared distance, which may be slightly negative by rounding.
    matrix : array of shape (d, d)
        W; only its symmetric part is used, which need not be positive semidefinite.
    x : array of shape (n, d)
        The records, at least two.
    y : array of shape (n,)
        Their classes; records of equal labels are similar.
    null : array of bool of shape (n,), optional
        Which records are null: their pairs are counted, with value and gradient zero.
    block : int
        Side of a tile of pairs. One array of 16 block² numbers and a few of block² are allocated
        besides copies of x.
    """
    pairs = _Pairs(matrix, x, y, null, block)
    total = sum(float(tile.values(loss).sum()) for strip in pairs.strips() for tile in strip)
    return 2 * total / pairs.ordered


def metric_gradient(
    loss: MetricLoss,
    matrix: Array,
    x: Array,
    y: Array,
    *,
    null: Mask | None = None,
    block: int = BLOCK,
) -> Array:
    """Return the average gradient over all ordered pairs, symmetric; see `metric_value`."""
    pairs = _Pairs(matrix, x, y, null, block)
    gradient = _GradientSum(pairs.padded)
    for strip in pairs.strips():
        for tile in strip:
            tile.squared[...] = tile.slopes(loss)
        gradient.add(strip)
    return gradient.total() / pairs.ordered


def metric_value_and_gradient(
    loss: MetricLoss,
    matrix: Array,
    x: Array,
    y: Array,
    *,
    null: Mask | None = None,
    block: int = BLOCK,
) -> tuple[float, Array]:
    """Return `metric_value` and `metric_gradient`, with the distances computed once."""
    pairs = _Pairs(matrix, x, y, null, block)
    gradient, total = _GradientSum(pairs.padded), 0.0
    for strip in pairs.strips():
        for tile in strip:
            total += float(tile.values(loss).sum())
            tile.squared[...] = tile.slopes(loss)
        gradient.add(strip)
    return 2 * total / pairs.ordered, gradient.total() / pairs.ordered


@dataclass(frozen=True)
class _Tile:
    """Pairs of some rows and columns, on or above the diagonal of the matrix of all pairs."""

    squared: Array
    similar: Mask
    null: tuple[Mask, Mask] | None
    on_diagonal: bool

    def values(self, loss: MetricLoss) -> Array:
        """Return the losses, with each unordered pair once."""
        return self._once(loss.of_distance(self.squared, self.similar))

    def slopes(self, loss: MetricLoss) -> Array:
        """Return the slopes, with each unordered pair once."""
        return self._once(loss.slope(self.squared, self.similar))

    def _once(self, values: Array) -> Array:
        if self.null is not None:
            rows, columns = self.null
            values = np.where(rows[:, None] | columns, 0.0, values)
        # A tile on the diagonal contains both orders of its pairs, and pairs of equal records.
        if not self.on_diagonal:
            return values
        return np.where(np.eye(len(values), dtype=np.bool_), 0.0, values / 2)


@dataclass(frozen=True)
class _Strip:
    """Pairs of a block of rows with many columns, as tiles."""

    table: Array
    rows: slice
    columns: slice
    labels: NDArray[np.generic]
    null: Mask | None
    block: int

    def __iter__(self) -> Iterator[_Tile]:
        first, second = self.labels[self.rows, None], self.labels[self.columns]
        for start in range(0, len(second), self.block):
            part = slice(start, start + self.block)
            on_diagonal = self.columns.start + start == self.rows.start
            null = None
            if self.null is not None:
                null = self.null[self.rows], self.null[self.columns][part]
            yield _Tile(self.table[:, part], np.equal(first, second[part]), null, on_diagonal)


class _Pairs:
    """The matrix of all pairs, as strips that share one buffer."""

    def __init__(self, matrix: Array, x: Array, y: Array, null: Mask | None, block: int) -> None:
        self._block, self._null = integer("block", block), null
        records, self._labels = _checked_records(x, y)
        self._n = len(records)
        weighted = records @ _symmetric(matrix, records.shape[1])
        norms = np.einsum("ij,ij->i", weighted, records)[:, None]
        ones = np.ones_like(norms)
        self._left = np.hstack([-2 * weighted, norms, ones])
        self._right = np.hstack([records, ones, norms])

    @property
    def ordered(self) -> int:
        """Number of ordered pairs, n(n-1)."""
        return self._n * (self._n - 1)

    @property
    def padded(self) -> Array:
        """The records, with a last column of ones."""
        return self._right[:, :-1]

    def strips(self) -> Iterator[_Strip]:
        """Iterate over the strips; each is overwritten by the next one."""
        n, width = self._n, _TILES_A_STRIP * self._block
        buffer = np.empty(min(self._block, n) * min(width, n))
        for top in range(0, n, self._block):
            rows = slice(top, min(top + self._block, n))
            for start in range(top, n, width):
                columns = slice(start, min(start + width, n))
                shape = (rows.stop - top, columns.stop - start)
                table = buffer[: shape[0] * shape[1]].reshape(shape)
                np.matmul(self._left[rows], self._right[columns].T, out=table)
                yield _Strip(table, rows, columns, self._labels, self._null, self._block)


class _GradientSum:
    """Sum of c_ij (x_i - x_j)(x_i - x_j)ᵀ over strips of slopes."""

    def __init__(self, padded: Array) -> None:
        self._padded, self._records = padded, padded[:, :-1]
        self._row_sums, self._row_rests = np.zeros((2, len(padded)))
        self._product = Total.zeros(*(self._records.shape[1],) * 2)

    def add(self, slopes: _Strip) -> None:
        """Add both orders of the pairs of a strip."""
        weighted = slopes.table @ self._padded[slopes.columns]
        self._product += self._records[slopes.rows].T @ weighted[:, :-1]
        self._add_to_rows(slopes.rows, weighted[:, -1])
        self._add_to_rows(slopes.columns, slopes.table.sum(axis=0))

    def _add_to_rows(self, some: slice, part: Array) -> None:
        self._row_sums[some], self._row_rests[some] = compensated(
            self._row_sums[some], self._row_rests[some], part
        )

    def total(self) -> Array:
        """Return 2(Xᵀ diag(r) X - XᵀCX)."""
        half = gram(self._records, self._row_sums) - 2 * self._product.high
        return np.asarray(half + half.T)


def _checked_records(x: Array, y: Array) -> tuple[Array, NDArray[np.generic]]:
    records, labels = np.asarray(x, dtype=np.float64), np.asarray(y)
    if records.ndim != 2 or labels.shape != records.shape[:1] or len(records) < 2:
        raise ValueError(
            "x must have shape (n, d) with n at least 2, and y shape (n,), "
            f"got {records.shape} and {labels.shape}"
        )
    return records, labels


def _symmetric(matrix: Array, d: int) -> Array:
    weights = np.asarray(matrix, dtype=np.float64)
    if weights.shape != (d, d):
        raise ValueError(f"the matrix must have shape {(d, d)}, got {weights.shape}")
    return (weights + weights.T) / 2
