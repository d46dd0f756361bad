r"""Symmetric matrices as vectors of the same norm.

The upper triangle of a symmetric d × d matrix, with off-diagonal entries multiplied by √2, is a
vector of dimension d(d+1)/2 whose ℓ2 norm is the Frobenius norm of the matrix. Noise is added to
this vector, so d(d+1)/2, not d or d², is the dimension for metric learning.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer
from pairdp._sums import gram

Array = NDArray[np.float64]
Places = NDArray[np.intp]
_SQRT2 = math.sqrt(2.0)


@lru_cache(maxsize=8)
def _triangle(order: int) -> tuple[Places, Places, Array]:
    """Return the indices of the upper triangle, and the factors of its entries."""
    rows, columns = np.triu_indices(order)
    return rows, columns, np.where(rows == columns, 1.0, _SQRT2)


def packed_dimension(order: int) -> int:
    """Return d(d+1)/2, the dimension of the symmetric d × d matrices."""
    order = integer("order", order)
    return order * (order + 1) // 2


def pack(matrix: ArrayLike) -> Array:
    """Return a symmetric matrix as a vector with the same norm.

    Raises
    ------
    ValueError
        If the argument is not a non-empty square matrix, or not symmetric.
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
        raise ValueError(f"the matrix must be square and not empty, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("the matrix must be finite")
    if not np.allclose(values, values.T, rtol=1e-10, atol=1e-12 * (1 + np.abs(values).max())):
        raise ValueError("the matrix must be symmetric: average it with its transpose first")
    rows, columns, weights = _triangle(values.shape[0])
    return np.asarray(values[rows, columns] * weights)


def pack_gram(rows: Array) -> Array:
    """Return XᵀX as such a vector, without checks, since it is symmetric by construction."""
    places, columns, weights = _triangle(rows.shape[1])
    return np.asarray(gram(rows)[places, columns] * weights)


def unpack(vector: ArrayLike) -> Array:
    """Return the symmetric matrix of a packed vector: the inverse of `pack`."""
    values = np.asarray(vector, dtype=np.float64)
    order = (math.isqrt(8 * values.size + 1) - 1) // 2
    if values.ndim != 1 or values.size == 0 or packed_dimension(order) != values.size:
        raise ValueError(
            f"the vector must have length d(d+1)/2 for some d >= 1, got shape {values.shape}"
        )
    rows, columns, weights = _triangle(order)
    entries = values / weights
    matrix = np.empty((order, order))
    matrix[rows, columns] = entries
    matrix[columns, rows] = entries
    return matrix
