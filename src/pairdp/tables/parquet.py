"""Parquet files, read by pyarrow."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._reading import Invalid, read_labels, read_table, uses_null_records
from pairdp.tables.base import BATCH, Array, Batch, Cells, Table, TableError, check_names


class ParquetTable(Table):
    """A Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            from pyarrow import ArrowException, parquet
        except ImportError:
            raise TableError(
                "Parquet files need pyarrow: install it with  pip install 'pairdp[parquet]'"
            ) from None
        try:
            self._file: Any = parquet.ParquetFile(path)
        except (ArrowException, OSError):
            raise TableError(f"{path} is not a readable Parquet file") from None
        self.columns = check_names(path, self._file.schema_arrow.names)

    def count(
        self, label: str | None, *, invalid: Invalid = "error"
    ) -> tuple[int, tuple[Any, ...]]:
        """Return the number of rows, and the labels that occur, sorted."""
        seen: set[Any] = set()
        if label is not None:
            for batch in self.batches([], label, invalid=invalid):
                seen.update(label for label in batch.labels.tolist() if label is not None)
        return int(self._file.metadata.num_rows), tuple(sorted(seen))

    def batches(
        self,
        features: Sequence[str],
        label: str | None,
        size: int = BATCH,
        *,
        invalid: Invalid = "error",
    ) -> Iterator[Batch]:
        """Yield all rows in order, at most ``size`` at a time."""
        wanted = [*features, *([] if label is None else [label])]
        self.check_columns(wanted)
        null = uses_null_records(invalid)
        for part in self._parts(size, wanted):
            if null:
                yield self._readable(part, features, label)
                continue
            table = np.empty((part.num_rows, len(features)))
            for j, name in enumerate(features):
                table[:, j] = self._numbers(name, part)
            if not np.all(np.isfinite(table)):
                raise TableError(f"{self.path} has NaN or infinity: fill in or drop such records")
            yield Batch(table, np.array([]) if label is None else self._labels(label, part))

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
        for part in self._parts(size, list(names)):
            columns = {
                name: _values(part.column(part.schema.get_field_index(name))) for name in names
            }
            yield Cells(columns, np.zeros(part.num_rows, dtype=np.bool_))

    def _readable(self, part: Any, features: Sequence[str], label: str | None) -> Batch:
        """Return a batch whose records are read one by one, NaN and None if they cannot be read.

        Entries are read as stored: in an array, one missing integer would turn all into floats.
        """
        table = np.empty((part.num_rows, len(features)), dtype=object)
        for j, name in enumerate(features):
            column = part.column(part.schema.get_field_index(name))
            self._check_numbers(name, column)
            for i, entry in enumerate(column.to_pylist()):
                table[i, j] = entry
        numbers = read_table(table) if features else np.empty(table.shape)
        if label is None:
            return Batch(numbers, np.array([]))
        column = part.column(part.schema.get_field_index(label))
        self._check_labels(label, column)
        labels = read_labels(column.to_pylist())
        known = [
            isinstance(entry, bool | int | str)
            or (isinstance(entry, float) and math.isfinite(entry))
            for entry in labels
        ]
        labels[~np.array(known, dtype=np.bool_)] = None
        return Batch(numbers, labels)

    def _check_numbers(self, name: str, column: Any) -> None:
        """Raise an error for a column whose type, which is public, is not numeric."""
        from pyarrow import types

        kind = column.type
        if types.is_temporal(kind) or types.is_nested(kind):
            raise TableError(f"{self.path} has no numbers in column {name!r}")

    def _check_labels(self, name: str, column: Any) -> None:
        """Raise an error for a column whose type, which is public, cannot hold labels."""
        from pyarrow import types

        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        view = getattr(types, "is_string_view", types.is_string)  # of newer versions
        text = (types.is_string, types.is_large_string, view)
        known = (types.is_null, types.is_boolean, types.is_integer, types.is_floating, *text)
        if not any(is_kind(kind) for is_kind in known):
            raise TableError(f"{self.path} has labels {name!r} that are neither numbers nor text")

    def _parts(self, size: int, columns: list[str]) -> Iterator[Any]:
        from pyarrow import ArrowException

        try:
            yield from self._file.iter_batches(batch_size=size, columns=columns)
        except (ArrowException, OSError):
            raise TableError(f"{self.path} cannot be read: it is damaged") from None

    def _column(self, name: str, part: Any) -> NDArray[Any]:
        column = part.column(part.schema.get_field_index(name))
        if column.null_count:
            raise TableError(
                f"{self.path} has missing values in column {name!r}: fill in or drop such records"
            )
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values

    def _numbers(self, name: str, part: Any) -> Array:
        values = self._column(name, part)
        try:
            if values.dtype.kind in "mM":  # dates are not numbers
                raise TypeError
            return values.astype(np.float64)
        except (TypeError, ValueError):
            raise TableError(f"{self.path} has no numbers in column {name!r}") from None

    def _labels(self, name: str, part: Any) -> NDArray[Any]:
        labels = self._column(name, part)
        if labels.dtype.kind == "f":
            labels = labels.astype(np.float64)
            if not np.all(np.isfinite(labels)):
                raise TableError(f"{self.path} has NaN or infinity in the labels {name!r}")
        elif labels.dtype.kind not in "iub" and not all(isinstance(x, str) for x in labels):
            raise TableError(f"{self.path} has labels {name!r} that are neither numbers nor text")
        return labels


NOT_A_VALUE = "\ufffd"


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
