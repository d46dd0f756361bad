"""CSV files, plain or gzipped, with column names in the first line."""

from __future__ import annotations

import csv
import gzip
import math
import re
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pairdp._reading import Invalid, read_table, uses_null_records
from pairdp.tables.base import BATCH, Array, Batch, Table, TableError, check_names

Row = list[str]
_LARGEST_INTEGER = 2.0**53  # integers below are exact as floats


class CSVTable(Table):
    """A CSV file.

    Parameters
    ----------
    path : Path
        The file: UTF-8 text with column names in the first line, and commas, semicolons or tabs as
        separators.

    Notes
    -----
    With ``invalid="null"`` every line is one record, so that an unmatched quotation mark does not
    affect the lines after it; a line break between quotation marks ends a record as well. A line
    that is malformed, or whose number of entries differs from the number of columns, cannot be
    read. Bytes that are not UTF-8 are replaced. Empty lines are not records: n, which is public, is
    the number of all other lines.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # The buffer may contain records as well, which are not decoded here.
        with self._open("surrogateescape") as (file, mark):
            (names,) = _next_rows(csv.reader(file, delimiter=mark, strict=True), 1) or [[]]
            "".join(names).encode()  # fails if bytes are not UTF-8
            self.columns = check_names(path, [name.strip() for name in names])

    @contextmanager
    def _open(self, errors: str = "strict") -> Iterator[tuple[Any, str]]:
        """Open the file as lines of text, and detect its separator."""
        try:
            with self._text(errors) as file:
                outside_quotes = re.sub(r'"[^"]*"', "", file.readline())
                file.seek(0)
                yield file, max(",;\t", key=outside_quotes.count)
        except UnicodeError:
            raise TableError(f"{self.path} is not UTF-8 text") from None
        except csv.Error as error:
            raise TableError(f"{self.path} is not a well-formed CSV file: {error}") from None
        except OSError as error:
            reason = error.strerror or "it is damaged"
            raise TableError(f"{self.path} cannot be read: {reason}") from None
        except EOFError:
            raise TableError(f"{self.path} cannot be read: it is truncated") from None
        except zlib.error:
            raise TableError(f"{self.path} cannot be read: it is damaged") from None

    def _text(self, errors: str = "strict") -> Any:
        if self.path.suffix.lower() == ".gz":
            return gzip.open(self.path, "rt", encoding="utf-8-sig", newline="", errors=errors)
        return self.path.open(encoding="utf-8-sig", newline="", errors=errors)

    def count(
        self, label: str | None, *, invalid: Invalid = "error"
    ) -> tuple[int, tuple[Any, ...]]:
        """Return the number of rows, and the labels that occur, sorted."""
        place = None if label is None else self.columns.index(label)
        seen: set[str] = set()
        rows = 0
        if uses_null_records(invalid):
            for row in self._lines():
                rows += 1
                if row is not None and place is not None and row[place].strip():
                    seen.add(row[place].strip())
            return rows, _sorted(seen)
        for batch in self._batches(BATCH):
            if place is not None:
                seen.update(self._labels(batch, place, rows))
            rows += len(batch)
        return rows, _sorted(seen)

    def batches(
        self,
        features: Sequence[str],
        label: str | None,
        size: int = BATCH,
        *,
        invalid: Invalid = "error",
    ) -> Iterator[Batch]:
        """Yield all rows in order, at most ``size`` at a time."""
        places = [self.columns.index(name) for name in features]
        at = None if label is None else self.columns.index(label)
        if uses_null_records(invalid):
            lines = self._lines()
            while read := list(islice(lines, size)):
                yield _readable(read, places, at)
            return
        before = 0
        for rows in self._batches(size):
            numbers = self._numbers(rows, places, before)
            labels = [] if at is None else self._labels(rows, at, before)
            # As objects: an array of strings would drop NULs at the end of a label.
            yield Batch(numbers, np.array(labels, dtype=object))
            before += len(rows)

    def _lines(self) -> Iterator[Row | None]:
        """Yield each line as a record, None if it is malformed."""
        width = len(self.columns)
        with self._open("replace") as (file, mark):
            _next_rows(csv.reader(file, delimiter=mark, strict=True), 1)
            for line in file:
                if not line.strip("\r\n"):  # an empty line is not a record
                    continue
                row = _record(line, mark)
                yield row if row is not None and len(row) == width else None

    def _batches(self, size: int) -> Iterator[list[Row]]:
        width = len(self.columns)
        before = 0
        with self._open() as (file, mark):
            rows = csv.reader(file, delimiter=mark, strict=True)
            _next_rows(rows, 1)
            while batch := _next_rows(rows, size):
                filled = [row for row in batch if row]  # an empty line is not a record
                for i, row in enumerate(filled):
                    if len(row) != width:
                        raise TableError(
                            f"{self.path} has {len(row)} entries in record {before + i + 1}, but "
                            f"{width} columns"
                        )
                before += len(filled)
                if filled:
                    yield filled

    def _labels(self, rows: list[Row], place: int, before: int) -> list[str]:
        labels = [row[place].strip() for row in rows]
        if "" in labels:
            raise TableError(
                f"{self.path} has no label in column {self.columns[place]!r}, record "
                f"{before + labels.index('') + 1}: fill in or drop such records"
            )
        return labels

    def _numbers(self, rows: list[Row], places: list[int], before: int) -> Array:
        table = np.empty((len(rows), len(places)))
        for j, place in enumerate(places):
            try:
                table[:, j] = [float(row[place]) for row in rows]
            except ValueError:
                self._refuse(rows, place, before)
        if not np.all(np.isfinite(table)):
            bad = int(np.argwhere(~np.isfinite(table))[0][0])
            raise TableError(
                f"{self.path} has NaN or infinity in record {before + bad + 1}: fill in or drop "
                "such records first"
            )
        return table

    def _refuse(self, rows: list[Row], place: int, before: int) -> None:
        """Raise an error with the position of the first entry that is not a number."""
        for i, row in enumerate(rows):
            try:
                float(row[place])
            except ValueError:
                kind = "no value" if not row[place].strip() else "an entry that is not a number"
                raise TableError(
                    f"{self.path} has {kind} in column {self.columns[place]!r}, record "
                    f"{before + i + 1}: fill in or drop such records, or leave out the column"
                ) from None


_LOCK = threading.Lock()
_LONGEST_FIELD = 2**31 - 1


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    """Raise the csv module's limit on the length of fields, which is global."""
    with _LOCK:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _next_rows(rows: Iterator[Row], size: int) -> list[Row]:
    with _fields_of_any_length():
        return list(islice(rows, size))


def _record(line: str, mark: str) -> Row | None:
    """Return the entries of one line, None if it is malformed."""
    try:
        with _fields_of_any_length():
            (row,) = csv.reader([line], delimiter=mark, strict=True)
    except (csv.Error, ValueError):
        return None
    return row


def _readable(lines: list[Row | None], places: list[int], at: int | None) -> Batch:
    """Return lines as a batch, with NaN and None where they cannot be read."""
    table = np.empty((len(lines), len(places)), dtype=object)
    labels = np.full(len(lines), None, dtype=object)
    for i, row in enumerate(lines):
        if row is not None:
            table[i] = [row[place] for place in places]
            if at is not None:
                labels[i] = row[at].strip() or None
    numbers = read_table(table) if places else np.empty(table.shape)
    return Batch(numbers, labels if at is not None else np.array([]))


def _sorted(labels: set[str]) -> tuple[Any, ...]:
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
