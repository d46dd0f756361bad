"""The encoding of records by a schema, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairdp._coded_cells import Column, DistinctCells, MixedCells
from pairdp._reading import Invalid, uses_null_records
from pairdp.schema.cells import Array, Cell, MissingValues, Status
from pairdp.schema.columns import ResponseColumn
from pairdp.schema.features import NULL, FeatureColumn, Mask
from pairdp.schema.frames import as_cells
from pairdp.schema.layout import Layout, Place

_BLOCK = 65_536


class CellCounts(NamedTuple):
    """How many cells of a column are missing, outside their range, or cannot be read."""

    rows: int
    missing: int
    outside: int
    unknown: int


def encode_rows(
    schema: Any, cells: Mapping[str, Any], n: int, invalid: Invalid, start: int
) -> Array:
    """Return the encoded rows; see `Schema.encode`."""
    null_allowed = uses_null_records(invalid)
    layout: Layout = schema.layout
    null = np.zeros(n, dtype=np.bool_)
    rows = np.empty((n, len(layout.flags)))
    for place in layout.places:
        column = place.column
        found = as_cells(cells[column.name])
        if found.shape != (n,):
            raise ValueError(f"the column {column.name!r} does not have {n} cells")
        values, status = _read(partial(_scaled, place), found, place.missing)
        rows[:, place.part] = values
        if (status & 1).any():  # some cells are missing or unknown, whose codes are odd
            refused = column.is_refused(status)
            if not null_allowed:
                check_refused(column, status, refused, start)
            null |= refused | column.is_null(status)
    if layout.flags.any():
        _clip_flags(rows, layout.flags, layout.flag_norm)
    if null.any():
        rows[null] = np.nan
    return rows


def _scaled(place: Place, cells: Any, missing: MissingValues) -> tuple[Array, Status]:
    """Return the block of each cell times the factor of its column; sparse flags are 0 and 1."""
    values, status = place.column.encode(cells, missing)
    if place.is_sparse_flag:
        np.maximum(values, 0.0, out=values)
    values *= place.factor
    return values, status


def _read(
    read: Callable[[Any, MissingValues], tuple[Array, Status]],
    cells: Column,
    missing: MissingValues,
) -> tuple[Array, Status]:
    """Return what a function that reads each cell by itself returns for all cells of a column."""
    if isinstance(cells, DistinctCells):
        if len(cells.distinct) > len(cells):
            cells = cells.compact()
        values, status = read(cells.distinct, missing)
        return values.take(cells.codes, axis=0), status.take(cells.codes)
    if isinstance(cells, MixedCells):
        values, status = read(cells.numbers, missing)
        values[cells.places], status[cells.places] = _read(read, cells.others, missing)
        return values, status
    return read(cells, missing)


def _clip_flags(rows: Array, flags: Mask, norm: float) -> None:
    """Clip the part of each row that belongs to flags to a norm, in place."""
    for first in range(0, len(rows), _BLOCK):
        part = rows[first : first + _BLOCK, flags]
        norms = np.sqrt(np.einsum("ij,ij->i", part, part))
        rows[first : first + _BLOCK, flags] = part * (norm / np.maximum(norms, norm))[:, None]


def encode_response(
    schema: Any, column: ResponseColumn, cells: Any, invalid: Invalid, start: int
) -> Array:
    """Return coded labels or clipped targets, NaN for null records."""
    values, status = _read(column.read, as_cells(cells), missing_values(schema, column))
    if not uses_null_records(invalid):
        refused = (status == Cell.UNKNOWN) | ((status == Cell.MISSING) & (column.missing != NULL))
        check_refused(column, status, refused, start)
    return values


def check_refused(column: Any, status: Status, refused: Mask, start: int) -> None:
    """Raise an error for the first refused cell, without its value."""
    if not refused.any():
        return
    row = int(np.argmax(refused))
    if status[row] == Cell.MISSING:
        what = 'is missing, and the schema does not say what that means: add "missing"'
    else:
        what = 'is not as the schema says: if it means "missing", list it in "missing_values"'
    raise ValueError(
        f"the cell of column {column.name!r} in row {row + start} (counted from 0) {what}; or use "
        'invalid="null", which makes such records null records'
    )


def count_cells(schema: Any, cells: Mapping[str, Any]) -> dict[str, CellCounts]:
    """Return what the cells of each feature and of the label are; it looks at the data."""
    counts = {}
    for column in schema.columns:
        if column.name not in cells or not isinstance(column, FeatureColumn | ResponseColumn):
            continue
        found = as_cells(cells[column.name])
        missing = missing_values(schema, column)
        read = column.encode if isinstance(column, FeatureColumn) else column.read
        _, status = _read(read, found, missing)
        of = [int(np.count_nonzero(status == kind)) for kind in list(Cell)[1:]]
        counts[column.name] = CellCounts(len(status), *of)
    return counts


def missing_values(schema: Any, column: Any) -> MissingValues:
    """Return which cells of a column are missing."""
    return MissingValues((*schema.missing_values, *column.missing_values))
