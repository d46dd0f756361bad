"""Tables that are read by a schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pairdp._reading import Invalid
from pairdp.schema import NumberColumn, Schema, TargetColumn
from pairdp.tables import Cells, Table


def check_table(schema: Schema, table: Table, *, response: bool) -> None:
    """Raise an error if a table lacks columns of the schema, or has more than it accepts.

    Parameters
    ----------
    schema : Schema
        The description of the columns.
    table : Table
        The table; its columns may be in any order.
    response : bool
        Whether the label or target is needed too.
    """
    wanted = list(schema.features)
    if response and schema.label is not None:
        wanted.append(schema.label)
    table.check_columns(wanted)
    schema.check_table(table.columns)


def cells_for(
    schema: Schema, table: Table, names: Sequence[str], *, invalid: Invalid
) -> Iterator[Cells]:
    """Yield the cells of a table; numbers of the schema with a decimal point."""
    kinds = (NumberColumn, TargetColumn)
    numbers = {column.name for column in schema.columns if isinstance(column, kinds)}
    return table.coded_cells(list(dict.fromkeys(names)), numbers=numbers, invalid=invalid)


def with_starts(batches: Iterable[Cells]) -> Iterator[tuple[int, Cells]]:
    """Yield each batch of cells after the number of records before it."""
    start = 0
    for cells in batches:
        yield start, cells
        start += cells.rows


def encoded(schema: Schema, cells: Cells, start: int, invalid: Invalid) -> NDArray[np.float64]:
    """Return rows of features, all NaN for malformed lines and for null records."""
    rows = schema.encode(cells.columns, cells.rows, invalid=invalid, start=start)
    rows[cells.unreadable] = np.nan
    return rows
