"""Batches of exactly one size from batches of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from pairdp._coded_cells import joined
from pairdp.tables.base import Batch, Cells

_Rows = TypeVar("_Rows", Batch, Cells)


def batches_of_size(batches: Iterator[Batch], size: int) -> Iterator[Batch]:
    """Yield the rows of batches in order, ``size`` at a time; only the last batch has fewer."""
    return _of_size(batches, size, _part_of_batch, _joined_batches)


def cells_of_size(batches: Iterator[Cells], size: int) -> Iterator[Cells]:
    """Yield cells of rows in order, ``size`` rows at a time; only the last batch has fewer."""
    return _of_size(batches, size, _part_of_cells, _joined_cells)


def _of_size(
    batches: Iterator[_Rows],
    size: int,
    part: Callable[[_Rows, slice], _Rows],
    join: Callable[[Sequence[_Rows]], _Rows],
) -> Iterator[_Rows]:
    waiting: list[_Rows] = []
    rows = 0
    for batch in batches:
        start = 0
        while rows + batch.rows - start >= size:
            end = start + size - rows
            waiting.append(part(batch, slice(start, end)))
            yield join(waiting)
            waiting, rows, start = [], 0, end
        if start < batch.rows:
            waiting.append(part(batch, slice(start, batch.rows)))
            rows += batch.rows - start
    if waiting:
        yield join(waiting)


def _part_of_batch(batch: Batch, rows: slice) -> Batch:
    labels = batch.labels if not len(batch.labels) else batch.labels[rows]
    return Batch(batch.features[rows], labels)


def _joined_batches(parts: Sequence[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    return Batch(
        np.concatenate([part.features for part in parts]), joined([part.labels for part in parts])
    )


def _part_of_cells(cells: Cells, rows: slice) -> Cells:
    columns = {name: column[rows] for name, column in cells.columns.items()}
    return Cells(columns, cells.unreadable[rows])


def _joined_cells(parts: Sequence[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    names = parts[0].columns
    return Cells(
        {name: joined([part.columns[name] for part in parts]) for name in names},
        np.concatenate([part.unreadable for part in parts]),
    )
