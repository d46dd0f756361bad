"""Grids of round numbers, and counts of values between their edges."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_ALMOST = 1e-9  # for quotients of round numbers


def decades(lowest: int, highest: int) -> Array:
    """Return -10^highest … -10^lowest, 0, 10^lowest … 10^highest.

    Examples
    --------
    >>> decades(-1, 1).tolist()
    [-10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0]
    """
    powers = np.array([float(f"1e{k}") for k in range(lowest, highest + 1)])
    return np.concatenate([-powers[::-1], [0.0], powers])


def round_grid(lower: float, upper: float, bins: int) -> Array:
    """Return multiples of a step 1, 2 or 5 times a power of ten, from below lower to above upper.

    The step is the smallest of these with at most ``bins`` steps from lower to upper, so there are
    at most ``bins + 2`` bins.

    Examples
    --------
    >>> round_grid(0, 100, 10).tolist()
    [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    >>> round_grid(0.03, 0.1, 4).tolist()
    [0.02, 0.04, 0.06, 0.08, 0.1]
    """
    finest = (upper - lower) / bins
    exponent = math.floor(math.log10(finest))
    digit = 1
    for digit in (1, 2, 5, 10):
        if digit * 10.0**exponent >= finest * (1 - _ALMOST):
            break
    step = digit * 10.0**exponent
    first, last = math.floor(lower / step + _ALMOST), math.ceil(upper / step - _ALMOST)
    multiples = digit * np.arange(first, max(last, first + 1) + 1, dtype=np.float64)
    # Dividing by a power of ten, which is exact up to 10^22, gives the nearest double.
    return np.asarray(multiples / 10.0**-exponent if exponent < 0 else multiples * 10.0**exponent)


def count_values(values: Array, edges: Array) -> Array:
    """Return how many values are below the edges, in each bin, above the edges, and not finite.

    The edge of a bin that is farther from zero belongs to it, and zero to the bin above it: so the
    numbers 0 to 100 are in the bins from 0 to 100. Every value is counted exactly once.

    Parameters
    ----------
    values : array of shape (n,)
        The values of a column; NaN or infinite for those that are missing or unreadable.
    edges : array of shape (m + 1,)
        Increasing.

    Returns
    -------
    array of shape (m + 3,)

    Examples
    --------
    >>> count_values(np.array([-3.0, -1.0, 0.0, 1.0, 2.0, np.nan]), np.array([-1.0, 0.0, 2.0]))
    array([1., 1., 3., 0., 1.])
    """
    known = values[np.isfinite(values)]
    above = np.searchsorted(edges, known, side="right")
    from_zero = np.searchsorted(edges, known, side="left")
    counts = np.bincount(np.where(known > 0, from_zero, above), minlength=edges.size + 1)
    return np.append(counts, values.size - known.size).astype(np.float64)
