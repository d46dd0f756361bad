"""Averages over all ordered pairs of different records: slow and obviously right."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp.losses import PairwiseLoss

Array = NDArray[np.float64]


def average_value(loss: PairwiseLoss, parameters: Array, X: ArrayLike, y: ArrayLike) -> float:
    """Return the mean loss over all (i, j) with i != j."""
    return float(_average(loss.value, parameters, X, y))


def average_gradient(loss: PairwiseLoss, parameters: Array, X: ArrayLike, y: ArrayLike) -> Array:
    """Return the mean gradient over all (i, j) with i != j."""
    return _average(loss.gradient, parameters, X, y)


def _average(of_pairs, parameters: Array, X: ArrayLike, y: ArrayLike) -> Array:
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(X)
    total = 0.0
    for i in range(n):
        others = np.array([j for j in range(n) if j != i])
        first_x, first_y = X[[i] * (n - 1)], y[[i] * (n - 1)]
        total = total + of_pairs(parameters, first_x, first_y, X[others], y[others]).sum(axis=0)
    return np.asarray(total / (n * (n - 1)))
