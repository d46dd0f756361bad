r"""Sums over records, and norms of their rows, from tables by bin instead of rows.

A row of additive features is the concatenation of T_j[b_j] over columns j, with b_j the bin of the
record. So its product with weights is Σ_j p_j[b_j] for points p_j = T_j·w_j; the sum of rows with
coefficients c needs only the sums of c in each bin; and second moments need only the sums of c in
each pair of bins of two columns. For n records and d columns this takes d or d(d-1)/2 lookups a
record, whatever the number of features is.

**Exact sums.** Coefficients are truncated towards zero to multiples of 2^-g with n·2^g ≤ 2⁵³, for
|c| ≤ 1. Then every partial sum is a multiple of 2^-g of size at most n and exact in any order. A
truncated coefficient is a function of its record, and not larger than the one it replaces.

**Norms.** W mixes few features, the scales, and multiplies each other one by a number. The squared
norm of what the others contribute to xW is a sum over columns of numbers by bin, and only the mixed
features of a record are multiplied by their part of W. For D features and u = 2⁻⁵³, the product has
an error of at most 1.01·D^1.5·u·|W||x|, which changes its squared norm by at most
2.1·D^1.5·u·|W|²|x|²; adding up squares adds at most 1.1·D·u of it, and the sums by bin have
relative errors of at most (D + 3)u. With d + 2 of them to be added, none of which is negative,
`squared_norms` is within (4·D^1.5 + 2(d+1)²)u·|W|²|x|² of the true value, for any W.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bins = NDArray[np.int16]
Places = NDArray[np.intp]
BLOCK = 16_384
_LARGEST_GROUP = 16_384
_MOST_BINS = 256


def truncated(coefficients: Array, n: int) -> Array:
    """Return numbers of size at most 1, towards zero, such that any sum of n of them is exact."""
    scale = 2.0 ** (53 - math.ceil(math.log2(max(n, 2))))
    coefficients *= scale
    np.trunc(coefficients, out=coefficients)
    coefficients /= scale
    return coefficients


def blocks(n: int) -> Iterator[slice]:
    """Yield the places of blocks of records."""
    for start in range(0, n, BLOCK):
        yield slice(start, min(start + BLOCK, n))


def worthwhile(sizes: Sequence[int], n: int) -> bool:
    """Return whether tables by pairs of bins are faster than rows, for some numbers of bins."""
    return max(sizes) <= _MOST_BINS and n >= 4 * sum(sizes)


@dataclass(frozen=True, eq=False)
class GroupedBins:
    """The bins of records, with columns in groups of one or two that are looked up together.

    Attributes
    ----------
    groups : tuple of tuple of int
        The columns of each group.
    sizes : tuple of int
        The number of bins of each column.
    codes : array of shape (groups, n)
        The joint bin of each record in each group.
    """

    groups: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    codes: Bins

    @staticmethod
    def of(bins: Bins, sizes: Sequence[int]) -> GroupedBins:
        """Return the bins of shape (columns, n) in groups."""
        groups = tuple(_groups(sizes))
        codes = np.empty((len(groups), bins.shape[1]), dtype=np.int16)
        for row, group in zip(codes, groups, strict=True):
            row[:] = bins[group[0]]
            for column in group[1:]:
                row *= sizes[column]
                row += bins[column]
        return GroupedBins(groups, tuple(sizes), codes)

    def joint(self, tables: Sequence[Array]) -> list[Array]:
        """Return the sums of the tables of each group, by joint bin."""
        found = []
        for first, *others in self.groups:
            table = tables[first]
            for column in others:
                table = np.add.outer(table, tables[column]).ravel()
            found.append(table)
        return found

    def sum_of(self, joint: Sequence[Array], some: slice) -> Array:
        """Return Σ_j p_j[b_j] for some records, from the sums of tables p_j by joint bin."""
        found = np.zeros(some.stop - some.start)
        for table, row in zip(joint, self.codes, strict=True):
            found += table.take(row[some])
        return found

    def sums(self) -> SumsByBin:
        """Return sums of coefficients by bin, to be added to."""
        widths = [math.prod(self.sizes[column] for column in group) for group in self.groups]
        return SumsByBin(self, [np.zeros(width) for width in widths])


@dataclass(frozen=True, eq=False)
class SumsByBin:
    """Sums of coefficients over the records of each joint bin."""

    bins: GroupedBins
    totals: list[Array]

    def add(self, coefficients: Array, some: slice) -> None:
        """Add the truncated coefficients of some records."""
        for total, row in zip(self.totals, self.bins.codes, strict=True):
            total += np.bincount(row[some], weights=coefficients, minlength=total.size)

    def by_column(self) -> list[Array]:
        """Return the sums by bin of each column."""
        found: list[Array] = []
        for group, total in zip(self.bins.groups, self.totals, strict=True):
            if len(group) == 1:
                found.append(total)
                continue
            both = total.reshape([self.bins.sizes[column] for column in group])
            found += [both.sum(axis=1), both.sum(axis=0)]
        return found


def _groups(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    waiting: int | None = None
    for column, size in enumerate(sizes):
        if waiting is not None and sizes[waiting] * size <= _LARGEST_GROUP:
            yield waiting, column
            waiting = None
        else:
            if waiting is not None:
                yield (waiting,)
            waiting = column
    if waiting is not None:
        yield (waiting,)


def _pairs(bins: Bins, some: slice, stride: int) -> Iterator[tuple[int, int, Places]]:
    """Yield two columns and b_j·stride + b_k for some records; the array is used again."""
    codes = bins[:, some].astype(np.intp)
    places = np.empty(codes.shape[1], dtype=np.intp)
    for first in range(len(codes)):
        scaled = codes[first] * stride
        for second in range(first + 1, len(codes)):
            np.add(scaled, codes[second], out=places)
            yield first, second, places


def pair_sums(bins: Bins, sizes: Sequence[int], coefficients: Array) -> Iterator[Array]:
    """Yield the exact sums of truncated coefficients by pair of bins, for columns j < k in order.

    Parameters
    ----------
    bins : array of shape (columns, n)
        The bins of records.
    sizes : sequence of int
        The number of bins of each column.
    coefficients : array of shape (n,)
        As `truncated` returns them.
    """
    stride, columns = max(sizes), len(sizes)
    totals = np.zeros((columns * (columns - 1) // 2, stride * stride))
    for some in blocks(bins.shape[1]):
        part = coefficients[some]
        for total, (_, _, places) in zip(totals, _pairs(bins, some, stride), strict=True):
            total += np.bincount(places, weights=part, minlength=total.size)
    place = 0
    for first in range(columns):
        for second in range(first + 1, columns):
            yield totals[place].reshape(stride, stride)[: sizes[first], : sizes[second]]
            place += 1


def squared_norms(
    bins: GroupedBins, columns: Bins, tables: Sequence[Array], constant: float, matrix: Array
) -> Array:
    """Return |xW|² of the row x of each record.

    Parameters
    ----------
    bins, columns : GroupedBins, array of shape (columns, n)
        The bins of records, in groups and by column.
    tables : sequence of arrays of shape (bins, features)
        The features of each column, by bin.
    constant : float
        The last feature of every row.
    matrix : array of shape (D, D)
        W.
    """
    others = matrix - np.diag(np.diag(matrix))
    is_mixed = np.logical_or(others.any(axis=0), others.any(axis=1))
    mixed = matrix[np.ix_(is_mixed, is_mixed)]
    single = np.where(is_mixed, 0.0, np.diag(matrix))
    ends = np.cumsum([table.shape[1] for table in tables])
    factors = np.split(single[:-1], ends[:-1])
    alone = bins.joint([((t * f) ** 2).sum(axis=1) for t, f in zip(tables, factors, strict=True)])
    features = [
        (column, np.ascontiguousarray(table[:, place]))
        for column, (table, some) in enumerate(
            zip(tables, np.split(is_mixed[:-1], ends[:-1]), strict=True)
        )
        for place in np.flatnonzero(some)
    ]
    found = np.empty(columns.shape[1])
    for some in blocks(columns.shape[1]):
        rows = np.full((len(mixed), some.stop - some.start), constant)
        for row, (column, feature) in zip(rows, features, strict=False):  # the constant is last
            np.take(feature, columns[column, some], out=row, mode="clip")
        inside = rows.T @ mixed
        found[some] = bins.sum_of(alone, some)
        found[some] += np.einsum("ij,ij->i", inside, inside)
    found += (constant * single[-1]) ** 2
    return found
