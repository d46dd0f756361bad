"""Sums of values in slots, in place.

`numpy.bincount` allocates its result. Where an allocator returns memory at once, as that of Dask's
workers is set to, this takes longer than what is added up in it.
"""

from __future__ import annotations

import numpy as np

from pairdp.score_sums.base import Array, Index

try:  # the product of a sparse column with a number; twice as fast as numpy.add.at
    from scipy.sparse._sparsetools import csc_matvec as _add_column
except ImportError:
    _add_column = None  # type: ignore[assignment]

_ONE = np.ones(1)


def add_at(sums: Array, slot: Index, values: Array) -> None:
    """Add each value to the sum of its slot, one after the other.

    Slots are not checked: they must be below the number of sums, and not negative.

    Examples
    --------
    >>> sums = np.zeros(3)
    >>> add_at(sums, np.array([2, 0, 2]), np.array([1.0, 2.0, 3.0]))
    >>> sums
    array([2., 0., 4.])
    """
    if _add_column is None:
        np.add.at(sums, slot, values)
    else:
        column = np.array([0, slot.size], dtype=slot.dtype)
        _add_column(sums.size, 1, column, slot, values, _ONE, sums)
