"""Columns of pyarrow in a form that whole columns can be computed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp.tables.coded_cells import DistinctCells

Array = NDArray[np.float64]


def has_pyarrow() -> bool:
    """Return whether pyarrow is installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def float_values(column: Any) -> Array:
    """Return a column of integers or floats as floats, NaN where it has no value."""
    values: Array = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return values


def holds_numbers(kind: Any) -> bool:
    """Return whether a type is of integers or floats."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def distinct_cells(
    column: Any, values: Callable[[Any], NDArray[Any]]
) -> DistinctCells | NDArray[Any]:
    """Return a column by its distinct values.

    Parameters
    ----------
    column : pyarrow.Array
        The column.
    values : callable
        From an array of pyarrow to an array of cells, one by one. Columns whose values cannot be
        compared, such as lists, are passed to it as they are.
    """
    from pyarrow import ArrowException, types

    if not types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except ArrowException:
            return values(column)
    known = values(column.dictionary)
    distinct = np.empty(len(known) + 1, dtype=object)
    for i, value in enumerate(known):  # one by one: numpy would unpack lists
        distinct[i] = value
    codes = column.indices.fill_null(len(known)) if column.null_count else column.indices
    return DistinctCells(_as_integers(codes), distinct)


def _as_integers(codes: Any) -> NDArray[np.integer[Any]]:
    found: NDArray[np.integer[Any]] = codes.to_numpy(zero_copy_only=False)
    return found
