"""Lines of CSV from columns, by pyarrow, as Python writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column, DistinctCells, arrow_texts, arrow_values

Mask = NDArray[np.bool_]
_SMALLEST, _LARGEST = 1e-4, 1e9
"""Between these, pyarrow writes fractions as ``repr`` does; others have another form."""


def arrow_lines(columns: Sequence[Any]) -> bytes:
    """Return the lines of columns of texts, of which there is at least one.

    Parameters
    ----------
    columns : sequence of pyarrow.StringArray
        The cells as they are written; see `written_by_arrow`.
    """
    from pyarrow import compute

    comma, line_break, nothing = arrow_texts([",", "\n", ""])
    parts = [part for column in columns for part in (column, comma)][:-1]
    lines = compute.binary_join_element_wise(*parts, line_break, nothing)
    offsets = np.frombuffer(lines.buffers()[1], np.int32)
    return bytes(memoryview(lines.buffers()[2])[: offsets[len(lines)]]) if len(lines) else b""


def written_by_arrow(column: Column, written: Callable[[Any], str], empty: Mask | None) -> Any:
    """Return the texts of cells.

    Parameters
    ----------
    column : column
        The cells.
    written : callable
        From a cell that is not a float to its text.
    empty : array of bool or None
        Which cells are written as empty ones.
    """
    from pyarrow import compute

    texts = _texts(column, written)
    if empty is None or not empty.any():
        return texts
    (nothing,) = arrow_texts([""])
    return compute.if_else(arrow_values(empty), nothing, texts)


def _texts(column: Column, written: Callable[[Any], str]) -> Any:
    if isinstance(column, np.ndarray) and column.dtype == np.float64:
        return _floats(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuU":  # equal cells are equal text
        distinct, codes = np.unique(column, return_inverse=True)
        column = DistinctCells(codes, np.array(distinct.tolist(), dtype=object))
    if isinstance(column, DistinctCells):
        return arrow_texts(map(written, column.distinct)).take(arrow_values(column.codes))
    return arrow_texts(map(written, column.tolist()))


def _floats(column: NDArray[np.float64]) -> Any:
    """Return numbers as ``repr`` writes them."""
    import pyarrow as pa
    from pyarrow import compute

    texts = compute.cast(arrow_values(column), pa.string())
    size = np.abs(column)
    other = ~((size >= _SMALLEST) & (size < _LARGEST) & (np.floor(column) != column))
    if not other.any():
        return texts
    return compute.replace_with_mask(
        texts, arrow_values(other), arrow_texts(map(repr, column[other].tolist()))
    )
