"""Accurate sums of many rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, sum_in_pairs

Array = NDArray[np.float64]


def weighted_rows(x: Array, coefficients: Array) -> Array:
    """Return Xᵀc by pairwise summation of blocks; see `pairdp._sums` for its error."""
    if not len(x):
        return np.zeros(x.shape[1])
    return sum_in_pairs(
        [
            x[start : start + BLOCK].T @ coefficients[start : start + BLOCK]
            for start in range(0, len(x), BLOCK)
        ]
    )
