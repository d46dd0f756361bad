"""The output of ``pairdp predict``: columns of predictions, written as lines of CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column, DistinctCells, has_pyarrow
from pairdp.cli.arrow_lines import arrow_lines, written_by_arrow


@dataclass(frozen=True)
class Output:
    """Some records of the output, column by column.

    Attributes
    ----------
    kept : sequence of column
        Cells that are copied from the table.
    predicted : sequence of column
        Predictions, whose values do not matter for null records.
    null : array of bool
        Which records have empty predictions.
    """

    kept: Sequence[Column]
    predicted: Sequence[Column]
    null: NDArray[np.bool_]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each record, None if they are empty."""
        columns = [list(map(_plain, column)) for column in self.kept]
        columns += [self._values(column) for column in self.predicted]
        return zip(*columns, strict=True)

    def text(self) -> str:
        """Return lines of CSV, as ``csv.writer`` writes `rows`."""
        columns = [_written(column) for column in self.kept]
        columns += [self._emptied(_written(column)) for column in self.predicted]
        if len(columns) == 1:  # an empty line would not be a record
            columns = [[text or '""' for text in columns[0]]]
        lines = map(",".join, zip(*columns, strict=True))
        return "\n".join([*lines, ""])

    def lines(self) -> bytes:
        """Return `text`, encoded; written by pyarrow if it is installed."""
        if not has_pyarrow() or len(self.kept) + len(self.predicted) == 1:
            return self.text().encode()
        kept = [written_by_arrow(column, written_cell, None) for column in self.kept]
        found = [written_by_arrow(column, written_cell, self.null) for column in self.predicted]
        return arrow_lines([*kept, *found])

    def _values(self, column: Column) -> list[Any]:
        values: list[Any] = column.tolist()
        for place in np.flatnonzero(self.null).tolist():
            values[place] = None
        return values

    def _emptied(self, texts: list[str]) -> list[str]:
        for place in np.flatnonzero(self.null).tolist():
            texts[place] = ""
        return texts


def _plain(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, bool | int | float | str) else str(cell)


def _written(column: Column) -> list[str]:
    """Return cells as ``csv.writer`` writes them."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return list(map(repr, column.tolist()))
    if isinstance(column, DistinctCells):
        texts = np.empty(len(column.distinct), dtype=object)
        texts[:] = [written_cell(cell) for cell in column.distinct]
        listed: list[str] = texts[column.codes].tolist()
        return listed
    cells = column.tolist()
    if isinstance(column, np.ndarray) and column.dtype != object:  # equal cells are written equally
        written = {cell: written_cell(cell) for cell in set(cells)}
        return list(map(written.__getitem__, cells))
    return list(map(written_cell, cells))


def written_cell(cell: Any) -> str:
    """Return one cell as ``csv.writer`` writes it among others."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow([_plain(cell), None])
    return text.getvalue()[:-2]
