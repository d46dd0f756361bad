"""CSV files, plain or gzipped, with column names in the first line."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from pairdp._reading import Invalid, read_table, uses_null_records
from pairdp.tables.base import BATCH, Array, Batch, Cells, Table, TableError, check_names
from pairdp.tables.lines import Row, read_header, records_of_lines, rows_of
from pairdp.tables.text_format import TextFormat

_LARGEST_INTEGER = 2.0**53  # integers below are exact as floats


class CSVTable(Table):
    """A CSV file.

    Parameters
    ----------
    path : Path
        The file: text with column names in the first line.
    form : TextFormat
        Its encoding, separator and decimal mark.

    Notes
    -----
    With ``invalid="null"`` every line is one record, so that an unmatched quotation mark does not
    affect the lines after it; a line break between quotation marks ends a record as well. A line
    that is malformed, or whose number of entries differs from the number of columns, cannot be
    read. Bytes that are not text of the encoding are replaced. Empty lines are not records: n,
    which is public, is the number of all other lines.
    """

    def __init__(self, path: Path, form: TextFormat | None = None) -> None:
        self.path = path
        self._form = form or TextFormat()
        self._header = read_header(path, self._form)
        self.columns = check_names(path, [name.strip() for name in self._header.names])

    def count(
        self, label: str | None, *, invalid: Invalid = "error"
    ) -> tuple[int, tuple[Any, ...]]:
        """Return the number of rows, and the labels that occur, sorted."""
        place = None if label is None else self._place(label)
        seen: set[str] = set()
        rows = 0
        if uses_null_records(invalid):
            for row in self._lines():
                rows += 1
                if row is not None and place is not None and row[place].strip():
                    seen.add(self._form.label(row[place].strip()))
            return rows, sorted_labels(seen)
        for batch in self._batches(BATCH):
            if place is not None:
                seen.update(self._labels(batch, place, rows))
            rows += len(batch)
        return rows, sorted_labels(seen)

    def batches(
        self,
        features: Sequence[str],
        label: str | None,
        size: int = BATCH,
        *,
        invalid: Invalid = "error",
    ) -> Iterator[Batch]:
        """Yield all rows in order, at most ``size`` at a time."""
        places = [self._place(name) for name in features]
        at = None if label is None else self._place(label)
        if uses_null_records(invalid):
            lines = self._lines()
            while read := list(islice(lines, size)):
                yield self._readable(read, places, at)
            return
        before = 0
        for rows in self._batches(size):
            numbers = self._numbers(rows, places, before)
            labels = [] if at is None else self._labels(rows, at, before)
            # As objects: an array of strings would drop NULs at the end of a label.
            yield Batch(numbers, np.array(labels, dtype=object))
            before += len(rows)

    def cells(
        self,
        names: Sequence[str],
        size: int = BATCH,
        *,
        numbers: Collection[str] = (),
        invalid: Invalid = "error",
    ) -> Iterator[Cells]:
        """Yield all rows in order as cells of text, None if they are empty."""
        places = {name: self._place(name) for name in names}
        rows: Iterator[list[Row | None]]
        if uses_null_records(invalid):
            lines = self._lines()
            rows = iter(lambda: list(islice(lines, size)), [])
        else:
            rows = (list(batch) for batch in self._batches(size))
        for some in rows:
            columns = {}
            for name, place in places.items():
                texts = [None if row is None else row[place].strip() or None for row in some]
                if name in numbers and self._form.decimal != ".":
                    texts = [None if text is None else self._form.numeral(text) for text in texts]
                columns[name] = np.array([*texts, None], dtype=object)[:-1]
            yield Cells(columns, np.array([row is None for row in some], dtype=np.bool_))

    def _lines(self) -> Iterator[Row | None]:
        """Yield each line as a record, None if it is malformed."""
        width = len(self.columns)
        with self._progress() as told:
            for row in records_of_lines(self.path, self._form, told):
                yield row if row is not None and len(row) == width else None

    def _batches(self, size: int) -> Iterator[list[Row]]:
        before = 0
        with self._progress() as told:
            rows = (row for row in rows_of(self.path, self._form, told) if row)  # not empty lines
            while batch := list(islice(rows, size)):
                self._check_widths(batch, before)
                before += len(batch)
                yield batch

    def _check_widths(self, rows: Sequence[Row], before: int) -> None:
        """Raise an error for the first row that has too few or too many entries."""
        width = len(self.columns)
        for i, row in enumerate(rows, before + 1):
            if len(row) != width:
                raise TableError(
                    f"{self.path} has {len(row)} entries in record {i}, but {width} columns"
                )

    def _labels(self, rows: list[Row], place: int, before: int) -> list[str]:
        labels = [self._form.label(row[place].strip()) for row in rows]
        if "" in labels:
            self._refuse_missing_label(place, before + labels.index("") + 1)
        return labels

    def _refuse_missing_label(self, place: int, record: int) -> NoReturn:
        raise TableError(
            f"{self.path} has no label in column {self.columns[place]!r}, record {record}: fill in "
            "or drop such records"
        )

    def _numbers(self, rows: list[Row], places: list[int], before: int) -> Array:
        table = np.empty((len(rows), len(places)))
        for j, place in enumerate(places):
            try:
                table[:, j] = [float(self._form.numeral(row[place])) for row in rows]
            except ValueError:
                self._refuse(rows, place, before)
        if not np.all(np.isfinite(table)):
            self._refuse_infinite(before + int(np.argwhere(~np.isfinite(table))[0][0]) + 1)
        return table

    def _refuse_infinite(self, record: int) -> NoReturn:
        raise TableError(
            f"{self.path} has NaN or infinity in record {record}: fill in or drop such records "
            "first"
        )

    def _refuse(self, rows: list[Row], place: int, before: int) -> None:
        """Raise an error with the position of the first entry that is not a number."""
        for i, row in enumerate(rows):
            try:
                float(self._form.numeral(row[place]))
            except ValueError:
                self._refuse_entry(place, before + i + 1, empty=not row[place].strip())

    def _refuse_entry(self, place: int, record: int, *, empty: bool) -> NoReturn:
        kind = "no value" if empty else "an entry that is not a number"
        raise TableError(
            f"{self.path} has {kind} in column {self.columns[place]!r}, record {record}: fill in "
            "or drop such records, or leave out the column"
        ) from None

    def _readable(self, lines: list[Row | None], places: list[int], at: int | None) -> Batch:
        """Return lines as a batch, with NaN and None where they cannot be read."""
        table = np.empty((len(lines), len(places)), dtype=object)
        labels = np.full(len(lines), None, dtype=object)
        for i, row in enumerate(lines):
            if row is not None:
                table[i] = [self._form.numeral(row[place]) for place in places]
                if at is not None:
                    labels[i] = self._form.label(row[at].strip()) or None
        numbers = read_table(table) if places else np.empty(table.shape)
        return Batch(numbers, labels if at is not None else np.array([]))


def sorted_labels(labels: set[str]) -> tuple[Any, ...]:
    """Return labels in order: as numbers if all are written as numbers, else as strings."""
    try:
        values = {text: float(text) for text in labels}
    except ValueError:
        return tuple(sorted(labels))
    if not all(map(math.isfinite, values.values())):
        return tuple(sorted(labels))
    if all(
        text == str(int(value)) and abs(value) < _LARGEST_INTEGER for text, value in values.items()
    ):
        return tuple(sorted(map(int, labels)))
    if all(text == str(value) and value.is_integer() for text, value in values.items()):
        return tuple(sorted(values.values()))  # such as 0.0 and 1.0
    return tuple(sorted(labels, key=lambda text: (values[text], text)))
