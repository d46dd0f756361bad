"""Moments of records that are centred, scaled and clipped, in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total, compensated, gram
from pairdp.partitioned_records import PartitionedRecords
from pairdp.records import Records

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Scaling:
    """How rows are centred and scaled: a function of released values.

    Attributes
    ----------
    center : array of shape (d,) or None
        The centre that is subtracted. If None, the records are used as they are.
    unit : float or array of shape (d,)
        The divisor of the records, or of each feature, before clipping to R.
    """

    center: Array | None = None
    unit: float | Array = 1.0

    def scaled(self, x: Array) -> Array:
        """Return rows centred and scaled, not clipped."""
        return x if self.center is None else np.asarray((x - self.center) / self.unit)

    def rows(self, records: Records, buckets: int | None = None) -> Iterator[tuple[Array, Codes]]:
        """Yield blocks of rows and their classes, or so many buckets, without null records.

        Null records are removed before centring, which would make them nonzero.
        """
        for start in range(0, records.n, BLOCK):
            block = records.part(slice(start, start + BLOCK))
            some = block.x
            classes = block.y.astype(np.intp) if buckets is None else block.buckets(buckets)
            if block.has_null:
                some, classes = some[~block.null], classes[~block.null]
            if not len(some):
                continue
            if self.center is not None:
                some = self.scaled(some)
                norms = np.linalg.norm(some, axis=1)
                some *= (records.data_norm / np.maximum(records.data_norm, norms))[:, None]
            yield some, classes


@dataclass(frozen=True)
class ScaledRecords:
    """Records that are centred, scaled, and clipped to their bound R again.

    Every method passes over the rows once, in blocks, with compensated summation (`pairdp._sums`).
    The results are statistics of the data: they are not private.

    Parameters
    ----------
    records : Records or PartitionedRecords
        The data; labels are codes 0 … k-1.
    center, unit
        See `Scaling`.
    """

    records: Records | PartitionedRecords
    center: Array | None = None
    unit: float | Array = 1.0

    def total(self, function: Callable[..., Any], *shared: Any) -> Any:
        """Return the sum of ``function(records, scaling, *shared)`` over all parts."""
        return self.records.map_sum(function, Scaling(self.center, self.unit), *shared)

    def mean(self) -> Array:
        """Return Σx/n."""
        return np.asarray(self.total(_sum).high / self.records.n)

    def square_norm(self) -> float:
        """Return Σ|x|²/n."""
        return float(self.total(_square_norms).high) / self.records.n

    def moments(self) -> Array:
        """Return Σxxᵀ/n."""
        return np.asarray(self.total(_moments).high / self.records.n)

    def squares(self) -> Array:
        """Return Σx∘x/n, the mean square of each feature."""
        return np.asarray(self.total(_squares).high / self.records.n)

    def norm_counts(self, count: int) -> Array:
        """Return how many records have a norm in (R, 2R], (R/2, R] and so on, before clipping.

        The first count also has the norms above 2R, and the last one all that are smaller.
        """
        return np.asarray(self.total(_norm_counts, count).high)

    def bucket_sums_and_sizes(self, count: int) -> Array:
        """Return Σx/n over the records in each of some buckets of classes, and Σ|x_j|/n of all.

        One row a bucket, and the mean absolute values of the features in the last row. See
        `pairdp.records.Records.buckets`.
        """
        return np.asarray(self.total(_bucket_sums_and_sizes, count).high / self.records.n)

    def bucket_counts(self, count: int) -> Array:
        """Return the number of records in each of some buckets of classes."""
        return np.asarray(self.total(_bucket_counts, count).high)

    def class_means(self, mean_norm: float) -> Array:
        """Return Σ(n_c/n)·mmᵀ over the class means m, clipped to a norm."""
        counts = self._counts()
        means = self._class_sums(counts.size) / np.maximum(counts, 1.0)[:, None]
        means *= (mean_norm / np.maximum(np.linalg.norm(means, axis=1), mean_norm))[:, None]
        return gram(means, counts / self.records.n)

    def within(self) -> Array:
        """Return Σ(x-x')(x-x')ᵀ/(n(n-1)) over ordered pairs of one class.

        The sum over a class is 2n_c·Σxxᵀ - 2ssᵀ with s its sum, so one pass suffices.
        """
        counts, n = self._counts(), self.records.n
        total = self.total(_weighted_moments, counts / n)
        sums = self._class_sums(counts.size)
        total += gram(sums, np.full(counts.size, -1 / n))
        return np.asarray(2 * total.high / (n - 1))

    def _counts(self) -> Array:
        return np.asarray(self.records.map_sum(_class_counts).counts, dtype=np.float64)

    def _class_sums(self, classes: int) -> Array:
        return np.asarray(self.total(_class_sums, classes).high)


@dataclass(frozen=True)
class _Counts:
    """Numbers of records by class, which can be added though a part has fewer classes."""

    counts: NDArray[np.int64]

    def __add__(self, other: _Counts) -> _Counts:
        found = np.zeros(max(self.counts.size, other.counts.size), dtype=np.int64)
        for one in (self.counts, other.counts):
            found[: one.size] += one
        return _Counts(found)


def _class_counts(records: Records) -> _Counts:
    present = records.y[~records.null] if records.has_null else records.y
    return _Counts(np.bincount(present.astype(np.intp)).astype(np.int64))


def _sum(records: Records, scaling: Scaling) -> Total:
    total = Total.zeros(records.features)
    for x, _ in scaling.rows(records):
        total += x.sum(axis=0)
    return total


def _square_norms(records: Records, scaling: Scaling) -> Total:
    total = Total.zeros()
    for x, _ in scaling.rows(records):
        # Row by row, so that the rounding error of a row depends on that record only.
        total += np.einsum("ij,ij->i", x, x).sum()
    return total


def _moments(records: Records, scaling: Scaling) -> Total:
    total = Total.zeros(records.features, records.features)
    for x, _ in scaling.rows(records):
        total += gram(x)
    return total


def _squares(records: Records, scaling: Scaling) -> Total:
    total = Total.zeros(records.features)
    for x, _ in scaling.rows(records):
        total += np.einsum("ij,ij->j", x, x)
    return total


def _norm_counts(records: Records, scaling: Scaling, count: int) -> Total:
    # Squares are added feature by feature: the rounding of a norm, and with it the count that a
    # record is in, then depends on that record only, and not on where it lies in memory.
    limits = np.sort((records.data_norm * 2.0 ** -np.arange(count - 1)) ** 2)
    total = Total.zeros(count)
    for start in range(0, records.n, BLOCK):
        block = records.part(slice(start, start + BLOCK))
        x = scaling.scaled(block.x[~block.null] if block.has_null else block.x)
        squares = np.zeros(len(x))
        for column in x.T:
            squares += column * column
        places = count - 1 - np.searchsorted(limits, squares)
        total += np.bincount(places, minlength=count).astype(np.float64)
    return total


def _weighted_moments(records: Records, scaling: Scaling, weights: Array) -> Total:
    """Return Σc·xxᵀ with a weight c for each class."""
    total = Total.zeros(records.features, records.features)
    for x, classes in scaling.rows(records):
        total += gram(x, weights[classes])
    return total


def _bucket_sums_and_sizes(records: Records, scaling: Scaling, count: int) -> Total:
    total = Total.zeros(count + 1, records.features)
    for x, buckets in scaling.rows(records, count):
        _add_by_class(total, x, buckets)
        total.high[count], total.low[count] = compensated(
            total.high[count], total.low[count], np.abs(x).sum(axis=0)
        )
    return total


def _bucket_counts(records: Records, scaling: Scaling, count: int) -> Total:
    total = Total.zeros(count)
    for _, buckets in scaling.rows(records, count):
        total += np.bincount(buckets, minlength=count).astype(np.float64)
    return total


def _class_sums(records: Records, scaling: Scaling, classes: int) -> Total:
    total = Total.zeros(classes, records.features)
    for x, codes in scaling.rows(records):
        _add_by_class(total, x, codes)
    return total


def _add_by_class(total: Total, rows: Array, classes: Codes) -> None:
    """Add the sums of rows by class to a total, in place."""
    order = np.argsort(classes, kind="stable")
    present, starts = np.unique(classes[order], return_index=True)
    part = np.add.reduceat(rows[order], starts, axis=0)
    total.high[present], total.low[present] = compensated(
        total.high[present], total.low[present], part
    )
