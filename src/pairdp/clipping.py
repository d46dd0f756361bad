"""Rows of features, clipped to a public norm.

A guarantee must not rest on a promise about the data, so every row is clipped, and nothing reveals
whether any was: no warning, no count, no attribute.
"""

from __future__ import annotations

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
    if not uses_null_records(invalid):
        rows = _finite_table(x)
        if features is not None and rows.shape[1] != features:
            raise ValueError(f"x has {rows.shape[1]} features, not {features}")
        _clip(rows, data_norm)
        return rows
    rows = read_table(x, features)
    null = np.isnan(rows[:, 0])
    rows[null] = 0.0
    _clip(rows, data_norm)
    rows[null] = np.nan
    return rows


def _finite_table(x: ArrayLike) -> Array:
    """Return a copy of a table of finite numbers, which the caller cannot change later."""
    if np.iscomplexobj(x):
        raise ValueError("x must be a table of real numbers, got complex numbers")
    try:
        with np.errstate(all="ignore"):  # numbers too large for floats become infinite
            values = np.array(x, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("x must be a table of numbers") from None
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"x must be a non-empty table of n rows, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("x contains NaN or infinity: fill in or drop such values first")
    return values


def _clip(x: Array, data_norm: float) -> None:
    """Scale the rows above the norm down to it, in place.

    A norm is computed with a relative error of at most (d/2 + 2)u for d features, u = 2⁻⁵³, and the
    factor and the product add 2u. So clipped rows have norms of at most R(1 + (d/2 + 4)u), which
    is within the slack of every sensitivity for d up to 10⁶. A clipped row is a function of that
    row alone, to the last bit, whatever the rows beside it are: counts of norms rest on that.
    """
    for start in range(0, len(x), _BLOCK):
        rows = x[start : start + _BLOCK]
        # Squares of tiny numbers may underflow; such rows are below every accepted norm.
        if max(float(rows.max()), -float(rows.min())) < _SQUARE_OVERFLOWS:
            norms = _row_norms(rows)
            rows *= (data_norm / np.maximum(norms, data_norm))[:, None]
        else:
            _clip_huge(rows, data_norm)


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
