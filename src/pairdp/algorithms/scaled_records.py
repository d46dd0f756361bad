"""Moments of records that are centred, scaled and clipped, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total, compensated, gram
from pairdp.records import Records

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class ScaledRecords:
    """Records that are centred, scaled, and clipped to their bound R again.

    Every method passes over the rows once, in blocks, with compensated summation (`pairdp._sums`).
    The results are statistics of the data: they are not private.

    Parameters
    ----------
    records : Records
        The data; labels are codes 0 … k-1.
    center : array of shape (d,), optional
        The centre that is subtracted. If None, the records are used as they are.
    unit : float or array of shape (d,)
        The divisor of the records, or of each feature, before clipping to R.
    """

    records: Records
    center: Array | None = None
    unit: float | Array = 1.0

    def rows(self, buckets: int | None = None) -> Iterator[tuple[Array, Codes]]:
        """Yield blocks of rows and their classes, or so many buckets, without null records.

        Null records are removed before centring, which would make them nonzero.
        """
        for start in range(0, self.records.n, BLOCK):
            block = self.records.part(slice(start, start + BLOCK))
            some = block.x
            classes = block.y.astype(np.intp) if buckets is None else block.buckets(buckets)
            if block.has_null:
                some, classes = some[~block.null], classes[~block.null]
            if not len(some):
                continue
            if self.center is not None:
                some = (some - self.center) / self.unit
                norms = np.linalg.norm(some, axis=1)
                some *= (self.records.data_norm / np.maximum(self.records.data_norm, norms))[
                    :, None
                ]
            yield some, classes

    def mean(self) -> Array:
        """Return Σx/n."""
        total = Total.zeros(self.records.features)
        for x, _ in self.rows():
            total += x.sum(axis=0)
        return total.high / self.records.n

    def square_norm(self) -> float:
        """Return Σ|x|²/n."""
        total = Total.zeros()
        for x, _ in self.rows():
            # Row by row, so that the rounding error of a row depends on that record only.
            total += np.einsum("ij,ij->i", x, x).sum()
        return float(total.high) / self.records.n

    def moments(self) -> Array:
        """Return Σxxᵀ/n."""
        total = Total.zeros(self.records.features, self.records.features)
        for x, _ in self.rows():
            total += gram(x)
        return np.asarray(total.high / self.records.n)

    def squares(self) -> Array:
        """Return Σx∘x/n, the mean square of each feature."""
        total = Total.zeros(self.records.features)
        for x, _ in self.rows():
            total += np.einsum("ij,ij->j", x, x)
        return total.high / self.records.n

    def bucket_sums(self, count: int) -> Array:
        """Return Σx/n over the records in each of some buckets of classes, one row a bucket.

        See `pairdp.records.Records.buckets`.
        """
        return self._sums(count, count) / self.records.n

    def bucket_counts(self, count: int) -> Array:
        """Return the number of records in each of some buckets of classes."""
        found = np.zeros(count)
        for _, buckets in self.rows(count):
            found += np.bincount(buckets, minlength=count)
        return found

    def class_means(self, mean_norm: float) -> Array:
        """Return Σ(n_c/n)·mmᵀ over the class means m, clipped to a norm."""
        counts = self._counts()
        means = self._sums(counts.size) / np.maximum(counts, 1.0)[:, None]
        means *= (mean_norm / np.maximum(np.linalg.norm(means, axis=1), mean_norm))[:, None]
        return gram(means, counts / self.records.n)

    def within(self) -> Array:
        """Return Σ(x-x')(x-x')ᵀ/(n(n-1)) over ordered pairs of one class.

        The sum over a class is 2n_c·Σxxᵀ - 2ssᵀ with s its sum, so one pass suffices.
        """
        counts, n = self._counts(), self.records.n
        total = Total.zeros(self.records.features, self.records.features)
        for x, classes in self.rows():
            total += gram(x, counts[classes] / n)
        sums = self._sums(counts.size)
        total += gram(sums, np.full(counts.size, -1 / n))
        return np.asarray(2 * total.high / (n - 1))

    def _counts(self) -> Array:
        y, null = self.records.y, self.records.null
        present = y[~null] if self.records.has_null else y
        return np.bincount(present.astype(np.intp)).astype(np.float64)

    def _sums(self, classes: int, buckets: int | None = None) -> Array:
        """Return Σx over the records of each class, or of each of some buckets."""
        high, low = np.zeros((2, classes, self.records.features))
        for x, codes in self.rows(buckets):
            order = np.argsort(codes, kind="stable")
            present, starts = np.unique(codes[order], return_index=True)
            part = np.add.reduceat(x[order], starts, axis=0)
            high[present], low[present] = compensated(high[present], low[present], part)
        return high
