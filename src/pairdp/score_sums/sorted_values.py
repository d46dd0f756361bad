"""Sorted values, to count and sum those above many thresholds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import prefix_sums

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class SortedValues:
    """Counts and sums of the values strictly above each of many thresholds.

    Parameters
    ----------
    ascending : array
        The sorted values.
    """

    def __init__(self, ascending: Array) -> None:
        self._values = ascending

    @property
    def size(self) -> int:
        """Number of values."""
        return int(self._values.size)

    def _ranks(self, thresholds: Array) -> Index:
        return np.searchsorted(self._values, thresholds, side="right")

    def counts_above(self, thresholds: Array) -> Array:
        """Return the number of values above each threshold."""
        return (self.size - self._ranks(thresholds)).astype(np.float64)

    def excess_above(self, thresholds: Array, drop: float, unit: float) -> tuple[Array, Array]:
        """Return Σ (value - threshold - drop) over the values above, as a high and a low part.

        The high part is an integer multiple of ``unit``, so that differences are exact. ``unit``
        must come from `exact_unit`.
        """
        ranks = self._ranks(thresholds + drop)
        counts = (self.size - ranks).astype(np.float64)
        whole, rest = split(thresholds, unit)
        whole_above, rest_above = (_suffix(part) for part in split(self._values, unit))
        whole *= counts
        rest += drop
        rest *= counts
        return whole_above.take(ranks) - whole, rest_above.take(ranks) - rest

    def squares_above(self, thresholds: Array) -> Array:
        """Return Σ (value - threshold)² over the values above each threshold."""
        ranks = self._ranks(thresholds)
        centre = self._values[self.size // 2] if self.size else 0.0
        shifted, distance = self._values - centre, thresholds - centre
        first, second = _suffix(shifted).take(ranks), _suffix(shifted * shifted).take(ranks)
        return np.asarray(second - 2 * distance * first + (self.size - ranks) * distance * distance)

    def squares_within(self, thresholds: Array, width: float) -> Array:
        """Return Σ (value - threshold)² over the values above it by at most ``width``.

        The values are summed relative to the edges of cells of the same width; a window overlaps
        two of them, or three by rounding, so no term exceeds width².
        """
        cells = np.floor(self._values / width)
        local = self._values - cells * width
        first, second = prefix_sums(local), prefix_sums(local * local)
        start, stop = self._ranks(thresholds), self._ranks(thresholds + width)
        cell = np.floor(thresholds / width)
        total = np.zeros(thresholds.size)
        for _ in range(3):
            end = np.clip(np.searchsorted(cells, cell, side="right"), start, stop)
            distance = cell * width - thresholds
            total += second.take(end) - second.take(start)
            total += 2 * distance * (first.take(end) - first.take(start))
            total += (end - start) * distance * distance
            start, cell = end, cell + 1
        return total


def exact_unit(count: int, *arrays: Array) -> float:
    """Return a power of two whose multiples, ``count`` of them up to the entries, sum exactly."""
    largest = max((float(np.abs(values).max(initial=0.0)) for values in arrays), default=0.0)
    if largest == 0:
        return 1.0
    room = 51 - max(count, 1).bit_length()
    return math.ldexp(1.0, max(math.frexp(largest)[1] - room, -1000))


def split(values: Array, unit: float) -> tuple[Array, Array]:
    """Return integer multiples of the unit, and the remainder, exactly."""
    whole = np.rint(values / unit)
    return whole, values - whole * unit


def _suffix(values: Array) -> Array:
    """Return the sums from each index to the end; the last is 0."""
    return prefix_sums(values[::-1])[::-1]
