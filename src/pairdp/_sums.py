r"""Sums over records with an error bound that does not depend on the sizes of batches.

A *computed* sum is released, so a certified sensitivity must include the errors of two computed
sums. Adding N terms one after the other may have an error of N·u times their absolute sum,
u = 2⁻⁵³: for batches of one row this exceeds any fixed bound. So sums have two levels.

**Within a block** of at most m = `BLOCK` rows, any order of addition, including that of a matrix
product, has an error of at most m·u/(1 - m·u) times the sum of absolute values, entry by entry.

**Across blocks in memory**, `sum_in_pairs` uses numpy's pairwise summation along the last axis:
leaves of 128 numbers, added in eight interleaved sums, have an error of 19u, and each doubling
adds u. For 2.4·10⁶ blocks, n = 10¹⁰, this is below 40u.

**Across batches**, a `Total` uses compensated summation: it stores the rounding error, which
renormalising keeps below u times the sum. An addition is exact except for the rounding of that
remainder, at most 4u² of the absolute sum S so far. So N additions in any order have an error of
at most 4Nu²·S, plus u·S for reading the sum. For N = 10¹⁰ batches of one row the first is below
10⁻²¹·S.

Together, with n up to `LARGEST_N`, the error of a sum of vectors t_i is at most

.. math:: |Ŝ - S| ≤ (m + 41)u \, Σ|t_i| < 5·10^{-13} \, Σ|t_i|, \qquad m = 4096,

also in the Euclidean norm, since the bound holds entry by entry. `SUMMING` of
`pairdp.privacy.bounds.sensitivity` and `pairdp.pairs.ACCURACY` are 10⁻¹², twice that, which leaves
room for the few roundings of scaling, packing and combining sums. Rounding within the term of one
record is not an error of the sum: the rounded term is a function of that record alone, and its size
is within the slack for clipped rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK = 4096
"""m, the number of rows that are added in any order."""

LARGEST_N = 10**10
"""The largest number of records for which the error of sums is bounded here."""

_ROW = 256


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return fl(a + b) and its rounding error, whose sum is exactly a + b (Knuth 1969)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def compensated(
    high: Array, low: Array, part: Array, rest: Array | float = 0.0
) -> tuple[Array, Array]:
    """Return (high + low) + (part + rest) as a sum and its rounding error."""
    total, left = two_sum(high, part)
    return two_sum(total, low + (left + rest))


@dataclass(frozen=True, eq=False, repr=False)
class Total:
    """A sum with compensated summation of its parts. It is not private.

    Attributes
    ----------
    high : array
        The sum, correctly rounded up to the error given above.
    low : array
        Its rounding error.

    Examples
    --------
    >>> import numpy as np
    >>> total = Total.of(np.array([1.0]))
    >>> for part in (1e-17, 1e-17, -1.0):
    ...     total = total + np.array([part])
    >>> float(total.high[0])
    2e-17
    """

    high: Array
    low: Array

    @classmethod
    def of(cls, part: Array) -> Total:
        """Return a sum of one part."""
        return cls(part, np.zeros_like(part))

    @classmethod
    def zeros(cls, *shape: int) -> Total:
        """Return an empty sum."""
        return cls(np.zeros(shape), np.zeros(shape))

    def __add__(self, other: Total | Array) -> Total:
        if isinstance(other, Total):
            return Total(*compensated(self.high, self.low, other.high, other.low))
        return Total(*compensated(self.high, self.low, other))

    def add(self, part: Array) -> None:
        """Add a part in place, with small arrays in between; contiguous arrays only."""
        high, low, more = self.high.reshape(-1), self.low.reshape(-1), part.reshape(-1)
        for start in range(0, more.size, BLOCK):
            some = slice(start, start + BLOCK)
            high[some], low[some] = compensated(high[some], low[some], more[some])


@dataclass(frozen=True, eq=False, repr=False)
class Totals:
    """Several sums over the same records, such as counts and a `Total`, which are added together.

    Examples
    --------
    >>> both = Totals(1, 2.0) + Totals(3, 0.5)
    >>> list(both)
    [4, 2.5]
    """

    sums: tuple[Any, ...]

    def __init__(self, *sums: Any) -> None:
        object.__setattr__(self, "sums", sums)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sums)

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(a + b for a, b in zip(self.sums, other.sums, strict=True)))


def add_up(parts: Iterable[Array]) -> Array:
    """Return the sum of parts by compensated summation; see `Total`."""
    found: Total | None = None
    for part in parts:
        found = Total.of(np.asarray(part, dtype=np.float64)) if found is None else found + part
    if found is None:
        raise ValueError("there is nothing to add up")
    return found.high


def sum_in_pairs(parts: Sequence[Array]) -> Array:
    """Return the sum of arrays of one shape, by pairwise summation."""
    if len(parts) == 1:
        return parts[0]
    # numpy uses pairwise summation along the last axis only.
    return np.asarray(np.stack(parts, axis=-1).sum(axis=-1))


def gram(rows: Array, weights: Array | None = None) -> Array:
    """Return Σ c·xxᵀ over rows x and their weights c, symmetric to the last bit."""
    parts = []
    for start in range(0, max(len(rows), 1), BLOCK):
        some = rows[start : start + BLOCK]
        left = some if weights is None else some * weights[start : start + BLOCK, None]
        parts.append(left.T @ some)
    total = sum_in_pairs(parts)
    return np.asarray((total + total.T) / 2)


def prefix_sums(values: Array) -> Array:
    r"""Return the prefix sums, starting with 0.

    Rows of 256 numbers are added from left to right, and the sums of rows in the same way. The
    error is at most 256u per level, with five levels for 10¹⁰ numbers, times the sum of absolute
    values.
    """
    sums = np.zeros(values.size + 1)
    if values.size <= _ROW:
        np.cumsum(values, out=sums[1:])
        return sums
    count = -(-values.size // _ROW)
    table = np.zeros((count, _ROW))
    table.ravel()[: values.size] = values
    before = prefix_sums(table.sum(axis=1))
    np.cumsum(table, axis=1, out=table)
    table += before[:-1, None]
    sums[1:] = table.ravel()[: values.size]
    return sums


def weighted_rows(x: Array, coefficients: Array) -> Array:
    """Return Xᵀc by pairwise summation of blocks; see `pairdp._sums` for its error."""
    if not len(x):
        return np.zeros(x.shape[1])
    return sum_in_pairs(list(block_products(x, coefficients)))


def block_products(x: Array, coefficients: Array) -> Iterator[Array]:
    """Yield Xᵀc of each block of rows, to be added with those of other rows by `sum_in_pairs`."""
    full = len(x) - len(x) % BLOCK
    if full:  # in one call
        whole = x[:full].reshape(-1, BLOCK, x.shape[1])
        yield from np.matmul(coefficients[:full].reshape(-1, 1, BLOCK), whole)[:, 0]
    if full < len(x):
        yield coefficients[full:] @ x[full:]
