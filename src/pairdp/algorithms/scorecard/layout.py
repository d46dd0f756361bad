"""The columns of a scorecard for rows that a schema encodes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pairdp.algorithms.scorecard.cells import CategoryCells, Cells, NumberCells
from pairdp.schema import DateColumn, FlagColumn, NumberColumn, Schema
from pairdp.schema.features import FeatureColumn
from pairdp.schema.layout import shares


def columns_of_schema(schema: Schema) -> tuple[tuple[str, Cells], ...]:
    """Return the columns by name; a part of a date, such as the month, is one of its own."""
    factors, _ = shares(schema.feature_columns, schema.sparse)
    found: list[tuple[str, Cells]] = []
    place = 0
    for column, factor in zip(schema.feature_columns, factors.tolist(), strict=True):
        found += _cells(column, place, factor)
        place += len(column.feature_names)
    return tuple(found)


def _cells(column: FeatureColumn, place: int, factor: float) -> Iterator[tuple[str, Cells]]:
    end = place + len(column.feature_names)
    missing = end - 1 if column.has_indicator else None
    if isinstance(column, NumberColumn):
        yield column.name, NumberCells(place, -factor, factor, missing)
    elif isinstance(column, DateColumn):
        size = factor / math.sqrt(1 + len(column.parts))
        yield column.name, NumberCells(place, -size, size, missing)
        start = place + 1
        for part, width in column.part_sizes:
            yield f"{column.name} ({part})", CategoryCells(tuple(range(start, start + width)))
            start += width
    elif isinstance(column, FlagColumn):
        yield column.name, CategoryCells((place, *([] if missing is None else [missing])))
    else:
        yield column.name, CategoryCells(tuple(range(place, end)))
