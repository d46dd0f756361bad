"""Parquet files and directories of them, read by pyarrow."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column, DistinctCells, distinct_cells, float_values, holds_numbers
from pairdp._reading import Invalid, uses_null_records
from pairdp.tables.base import BATCH, Array, Batch, Cells, Table, TableError, check_names
from pairdp.tables.parquet_files import ParquetFiles, Part
from pairdp.tables.rebatching import batches_of_size, cells_of_size

_ROWS = 65_536  # that are decoded at a time


class ParquetTable(Table):
    """A Parquet file, or a directory of Parquet files.

    Parameters
    ----------
    path : Path
        The file, or the directory: all files in it, also in directories such as ``year=2024``
        whose names are columns of text, are one table, in the order of their names.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = ParquetFiles(path)
        self.columns = check_names(path, self._files.names)

    def _bytes(self) -> int:
        return self._files.size

    def count(
        self, label: str | None, *, invalid: Invalid = "error"
    ) -> tuple[int, tuple[Any, ...]]:
        """Return the number of rows, and the labels that occur, sorted."""
        seen: set[Any] = set()
        if label is not None:
            for batch in self.batches([], label, _ROWS, invalid=invalid):
                seen.update(label for label in _occurring(batch.labels) if label is not None)
        return self._files.rows, tuple(sorted(seen))

    def batches(
        self,
        features: Sequence[str],
        label: str | None,
        size: int = BATCH,
        *,
        invalid: Invalid = "error",
    ) -> Iterator[Batch]:
        """Yield all rows in order, ``size`` at a time."""
        wanted = list(dict.fromkeys([*features, *([] if label is None else [label])]))
        self.check_columns(wanted)
        null = uses_null_records(invalid)
        return batches_of_size(self._batches(wanted, features, label, null), size)

    def _batches(
        self, wanted: list[str], features: Sequence[str], label: str | None, null: bool
    ) -> Iterator[Batch]:
        for part, rows in self._parts(wanted):
            table = np.empty((rows, len(features)))
            for j, name in enumerate(features):
                table[:, j] = self._numbers(name, part[name], null)
            finite = np.isfinite(table)
            if not finite.all():
                if not null:
                    raise TableError(
                        f"{self.path} has NaN or infinity: fill in or drop such records"
                    )
                table[~finite.all(axis=1)] = np.nan
            labels: Column = np.array([])
            if label is not None:
                labels = self._labels(label, part[label], null)
            yield Batch(table, labels)

    def cells(
        self,
        names: Sequence[str],
        size: int = BATCH,
        *,
        numbers: Collection[str] = (),
        invalid: Invalid = "error",
    ) -> Iterator[Cells]:
        """Yield all rows in order as values of the columns' types, None if they are missing."""
        uses_null_records(invalid)
        self.check_columns(names)
        for some in cells_of_size(self._cells(names, ()), size):
            columns = {name: np.asarray(some.columns[name], dtype=object) for name in names}
            yield Cells(columns, some.unreadable)

    def coded_cells(
        self,
        names: Sequence[str],
        size: int = BATCH,
        *,
        numbers: Collection[str] = (),
        invalid: Invalid = "error",
    ) -> Iterator[Cells]:
        """Yield all rows in order, with numbers as numbers and other columns by distinct cells."""
        uses_null_records(invalid)
        self.check_columns(names)
        return cells_of_size(self._cells(names, numbers), size)

    def _cells(self, names: Sequence[str], numbers: Collection[str]) -> Iterator[Cells]:
        for part, rows in self._parts(list(dict.fromkeys(names))):
            columns: dict[str, Column] = {}
            for name in names:
                column = part[name]
                if name in numbers and holds_numbers(column.type):
                    columns[name] = float_values(column)
                else:
                    columns[name] = distinct_cells(column, _values)
            yield Cells(columns, np.zeros(rows, dtype=np.bool_))

    def _parts(self, columns: list[str]) -> Iterator[Part]:
        with self._progress() as told:
            yield from self._files.parts(_ROWS, columns, told)

    def _numbers(self, name: str, column: Any, null: bool) -> Array:
        """Return the numbers of a column; those that cannot be read are NaN, or an error."""
        from pyarrow import types

        kind = column.type
        if types.is_temporal(kind) or types.is_nested(kind):  # public, as all types are
            raise TableError(f"{self.path} has no numbers in column {name!r}")
        if column.null_count and not null:
            self._refuse_missing(name)
        if holds_numbers(kind):
            return float_values(column)
        cells = distinct_cells(column, _plain_values)
        if not isinstance(cells, DistinctCells):
            raise TableError(f"{self.path} has no numbers in column {name!r}")
        values = np.array([_number(cell) for cell in cells.distinct])
        wrong = np.array([_is_no_number(cell) for cell in cells.distinct], dtype=np.bool_)
        if not null and wrong[np.unique(cells.codes)].any():
            raise TableError(f"{self.path} has no numbers in column {name!r}")
        return np.asarray(values[cells.codes])

    def _labels(self, name: str, column: Any, null: bool) -> Column:
        """Return labels as they are stored, None for those that are no labels."""
        self._check_labels(name, column)
        if column.null_count and not null:
            self._refuse_missing(name)
        cells = distinct_cells(column, _plain_values)
        if not isinstance(cells, DistinctCells):
            raise TableError(f"{self.path} has labels {name!r} that are neither numbers nor text")
        known = [
            isinstance(cell, bool | int | str) or (isinstance(cell, float) and math.isfinite(cell))
            for cell in cells.distinct
        ]
        unknown = ~np.array(known, dtype=np.bool_)
        if not null and unknown[np.unique(cells.codes)].any():
            raise TableError(f"{self.path} has NaN or infinity in the labels {name!r}")
        cells.distinct[unknown] = None
        return cells

    def _check_labels(self, name: str, column: Any) -> None:
        """Raise an error for a column whose type, which is public, cannot hold labels."""
        from pyarrow import types

        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        view = getattr(types, "is_string_view", types.is_string)  # of newer versions
        text = (types.is_string, types.is_large_string, view)
        known = (types.is_null, types.is_boolean, types.is_integer, types.is_floating, *text)
        if not any(is_kind(kind) for is_kind in known):
            raise TableError(f"{self.path} has labels {name!r} that are neither numbers nor text")

    def _refuse_missing(self, name: str) -> None:
        raise TableError(
            f"{self.path} has missing values in column {name!r}: fill in or drop such records"
        )


NOT_A_VALUE = "\ufffd"


def _occurring(labels: Any) -> NDArray[Any]:
    found: NDArray[Any] = labels.distinct[np.unique(labels.codes)]
    return found


def _is_no_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return True
    return False


def _number(cell: Any) -> float:
    return math.nan if _is_no_number(cell) else float(cell)


def _plain_values(column: Any) -> NDArray[Any]:
    """Return the values of a column as they are."""
    values = np.empty(len(column), dtype=object)
    for i, value in enumerate(column.to_pylist()):
        values[i] = value
    return values


def _values(column: Any) -> NDArray[Any]:
    """Return the values of a column.

    One that Python cannot represent, such as a date after the year 9999, becomes the replacement
    character, which is neither a number nor a date.
    """
    from pyarrow import timestamp, types

    if types.is_timestamp(column.type) and column.type.unit == "ns":
        # Python's dates have microseconds; without this, one cell would be an error.
        column = column.cast(timestamp("us", column.type.tz), safe=False)
    values = np.empty(len(column), dtype=object)
    try:
        found = column.to_pylist()
    except (ValueError, OverflowError):
        found = [_value(cell) for cell in column]
    for i, value in enumerate(found):  # one by one: numpy would unpack lists
        values[i] = value.strip() or None if isinstance(value, str) else value
    return values


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return NOT_A_VALUE
