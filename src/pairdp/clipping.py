"""Rows of features, clipped to a public norm.

A guarantee must not rest on a promise about the data, so every row is clipped, and nothing reveals
whether any was: no warning, no count, no attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import RECORDS, between
from pairdp._reading import Invalid, read_table, uses_null_records

Array = NDArray[np.float64]
_BLOCK = 8192
_SQUARE_OVERFLOWS = 1e150


def check_data_norm(data_norm: object) -> float:
    """Return a bound on the norm of records, within the range of safe arithmetic."""
    return between("data_norm", data_norm, *RECORDS)


def clip_rows(
    x: ArrayLike, data_norm: float, invalid: Invalid = "error", features: int | None = None
) -> Array:
    """Return a copy of a table with the rows above the norm scaled down to it.

    Parameters
    ----------
    x : array-like of shape (n, d)
        The table.
    data_norm : float
        R, as `check_data_norm` returned it.
    invalid : {"error", "null"}
        Whether rows that cannot be read are an error, or all NaN.
    features : int, optional
        The required number of columns.
    """
    return ClippedBlocks(x, data_norm, invalid, features).table()


class ClippedBlocks:
    """The rows of a table, clipped as by `clip_rows`, in blocks that stay in the cache.

    Parameters
    ----------
    x, data_norm, invalid, features
        As of `clip_rows`.

    Attributes
    ----------
    shape : tuple of two int
        The numbers of rows and of features.
    """

    def __init__(
        self,
        x: ArrayLike,
        data_norm: float,
        invalid: Invalid = "error",
        features: int | None = None,
    ) -> None:
        self._null, self._data_norm = uses_null_records(invalid), data_norm
        self._is_own = not _is_plain(x)
        if not self._is_own:
            self._table: NDArray[Any] = np.asarray(x)
        else:
            self._table = read_table(x, features) if self._null else _table(x)
        self.shape: tuple[int, int] = self._table.shape
        if features is not None and self.shape[1] != features:
            raise ValueError(f"x has {self.shape[1]} features, not {features}")

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """Yield the places of blocks and their rows, which are in one array that is used again."""
        rows = np.empty((min(_BLOCK, self.shape[0]), self.shape[1]))
        for some in self._places():
            block = rows[: some.stop - some.start]
            self._read(some, block)
            yield some, block

    def table(self) -> Array:
        """Return all rows. Nobody else has their memory, and blocks cannot be read any more."""
        if not self._is_own:
            rows = np.empty(self.shape)
            for some in self._places():
                self._read(some, rows[some])
            return rows
        rows, self._table = self._table, np.empty((0, 0))
        for some in self._places():
            _clip_block(rows[some], self._data_norm, self._null)
        return rows

    def _places(self) -> Iterator[slice]:
        for start in range(0, self.shape[0], _BLOCK):
            yield slice(start, min(start + _BLOCK, self.shape[0]))

    def _read(self, some: slice, rows: Array) -> None:
        with np.errstate(all="ignore"):  # numbers too large for floats become infinite
            rows[...] = self._table[some]
        _clip_block(rows, self._data_norm, self._null)


def _is_plain(x: object) -> bool:
    """Return whether a table is an array of numbers, which can be converted block by block."""
    return type(x) is np.ndarray and x.ndim == 2 and x.size > 0 and x.dtype.kind in "biuf"


def _table(x: ArrayLike) -> Array:
    """Return a copy of a table of numbers, which the caller cannot change later."""
    if np.iscomplexobj(x):
        raise ValueError("x must be a table of real numbers, got complex numbers")
    try:
        with np.errstate(all="ignore"):
            values = np.array(x, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("x must be a table of numbers") from None
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"x must be a non-empty table of n rows, got shape {values.shape}")
    return values


def _clip_block(rows: Array, data_norm: float, null: bool) -> None:
    """Clip some rows in place; those that are not finite become NaN, or are an error."""
    largest = max(float(rows.max()), -float(rows.min()))  # NaN if one number is
    if math.isfinite(largest):
        _clip(rows, data_norm, largest)
        return
    if not null:
        raise ValueError("x contains NaN or infinity: fill in or drop such values first")
    unreadable = ~np.isfinite(rows).all(axis=1)
    rows[unreadable] = 0.0
    _clip(rows, data_norm, max(float(rows.max()), -float(rows.min())))
    rows[unreadable] = np.nan


def _clip(rows: Array, data_norm: float, largest: float) -> None:
    """Scale the rows above the norm down to it, in place; ``largest`` is their largest entry.

    A norm is computed with a relative error of at most (d/2 + 2)u for d features, u = 2⁻⁵³, and the
    factor and the product add 2u. So clipped rows have norms of at most R(1 + (d/2 + 4)u), which
    is within the slack of every sensitivity for d up to 10⁶. A clipped row is a function of that
    row alone, to the last bit, whatever the rows beside it are: counts of norms rest on that.
    """
    # Squares of tiny numbers may underflow; such rows are below every accepted norm.
    if largest >= _SQUARE_OVERFLOWS:
        _clip_huge(rows, data_norm)
        return
    norms = _row_norms(rows)
    if norms.max() > data_norm:  # otherwise all factors are 1
        rows *= (data_norm / np.maximum(norms, data_norm))[:, None]


def _row_norms(rows: Array) -> Array:
    """Return the norms of rows, each rounded in the same way wherever its row lies."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def _clip_huge(rows: Array, data_norm: float) -> None:
    """Clip rows in place whose squares may overflow."""
    largest = np.abs(rows).max(axis=1)
    huge = largest >= _SQUARE_OVERFLOWS
    # In units of its largest entry, a row has a norm between 1 and √d.
    unit = rows[huge] / largest[huge, None]
    norms = _row_norms(unit)
    rows[huge] = unit * (data_norm / norms)[:, None]
    rest = rows[~huge]
    norms = _row_norms(rest)
    rows[~huge] = rest * (data_norm / np.maximum(norms, data_norm))[:, None]
