"""Sums of many rows that keep their digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_BLOCK = 8192


def weighted_rows(x: Array, coefficients: Array) -> Array:
    """Return Xᵀc, block by block: one long sum would lose digits in proportion to its length."""
    parts = [
        x[start : start + _BLOCK].T @ coefficients[start : start + _BLOCK]
        for start in range(0, len(x), _BLOCK)
    ]
    return np.asarray(np.sum(parts, axis=0)) if parts else np.zeros(x.shape[1])
