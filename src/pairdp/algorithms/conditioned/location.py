r"""A private centre and radius of rows, from a noisy mean and noisy counts.

The centre is a noisy mean, with James-Stein shrinkage towards zero. The radius is one that
about four fifths of rows are within, found among R_k = 2R·2^{-k/3}, k = 0 … 31, by a binary search
with five noisy counts of rows within a distance. Everything is a function of released values, so it
may be computed from any records, such as the first ones of a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK

Array = NDArray[np.float64]
COUNTS = 5
"""Number of noisy counts of the search."""
WITHIN = 0.8
"""The share of rows within the radius."""
_PER_DOUBLING = 3
_LONG = 100
"""Numbers of a row from which a centre is not repeated for each row."""


@dataclass(frozen=True, eq=False)
class Location:
    """Where rows are: a function of released values.

    Attributes
    ----------
    centre : array of shape (d,)
        The centre, of norm at most R.
    radius : float
        About `WITHIN` of all rows are within this distance from it.
    """

    centre: Array
    radius: float


def shrunk_centre(noisy: Array, deviation: float, largest: float) -> Array:
    """Return a noisy mean, shrunk by its noise and scaled down to a largest norm."""
    square = float(noisy @ noisy)
    kept = max(0.0, 1 - noisy.size * deviation**2 / square) if square > 0 else 0.0
    length = kept * np.sqrt(square)
    return np.asarray(noisy * (kept * min(1.0, largest / length) if length > 0 else 0.0))


def centred(x: Array, centre: Array) -> Iterator[tuple[slice, Array]]:
    """Yield the places of blocks of rows, and the rows less a centre, always in the same array."""
    found = np.empty((min(BLOCK, len(x)), centre.size))
    # Subtracting a short centre from each row takes longer than subtracting a table.
    repeated = np.tile(centre, (len(found), 1)) if centre.size < _LONG else centre[None]
    for start in range(0, len(x), BLOCK):
        some = slice(start, start + BLOCK)
        rows = x[some]
        yield some, np.subtract(rows, repeated[: len(rows)], out=found[: len(rows)])


def distances(x: Array, centre: Array) -> Array:
    """Return the distances of rows from a centre, in blocks."""
    found = np.empty(len(x))
    for some, away in centred(x, centre):
        np.einsum("ij,ij->i", away, away, out=found[some])
    return np.asarray(np.sqrt(found, out=found))


def common_radius(within: Callable[[float], float], n: int, largest: float) -> float:
    """Return a radius that about `WITHIN` of n rows are within.

    Parameters
    ----------
    within : callable
        The noisy number of rows within a distance. It is called `COUNTS` times.
    n : int
        Number of rows.
    largest : float
        R: all rows are within 2R.
    """

    def radius(k: int) -> float:
        return float(2 * largest * 2.0 ** (-k / _PER_DOUBLING))

    k = 0
    for bit in reversed(range(COUNTS)):
        smaller = k + 2**bit
        if within(radius(smaller)) >= WITHIN * n:
            k = smaller
    return radius(k)
