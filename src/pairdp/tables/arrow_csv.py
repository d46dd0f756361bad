"""CSV files that pyarrow reads in blocks, with the results of `CSVTable`."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column, DistinctCells, MixedCells
from pairdp._reading import Invalid, uses_null_records
from pairdp.tables.arrow_text import Parsed, TextParser
from pairdp.tables.base import BATCH, Array, Batch, Cells
from pairdp.tables.blocks import BLOCK, blocks_of
from pairdp.tables.delimited import CSVTable, sorted_labels
from pairdp.tables.line_structure import number_of_lines, quotes_are_regular
from pairdp.tables.lines import Row, next_rows, reading_errors
from pairdp.tables.rebatching import batches_of_size, cells_of_size
from pairdp.tables.threads import WORKERS, in_threads, working_ahead

Raw = tuple[bytes, "Future[Parsed | None]"]


class ArrowCSVTable(CSVTable):
    """A CSV file whose lines are read in blocks, by several threads.

    Each record is read as `CSVTable` reads it: blocks in which pyarrow could find other cells are
    read line by line. Batches have exactly ``size`` rows, except for the last one: which records
    are added up together must not depend on how long their lines are.
    """

    block_size: int = BLOCK  # bytes

    @property
    def can_read(self) -> bool:
        """Whether the file is written so that it can be read in blocks."""
        return self._header.one_line and TextParser.can_read(self._form, self._header.separator)

    def count(
        self, label: str | None, *, invalid: Invalid = "error"
    ) -> tuple[int, tuple[Any, ...]]:
        """Return the number of rows, and the labels that occur, sorted."""
        places = [] if label is None else [self._place(label)]
        seen: set[str] = set()
        rows = 0
        null = uses_null_records(invalid)
        if label is None and (lines := self._number_of_lines(null)) is not None:
            return lines, ()
        for parsed in self._parsed(places, (), null):
            for place in places:
                labels = self._labels_of(parsed.columns[place])
                if not null:
                    self._check_given(labels, place, rows)
                occurring = labels.distinct[np.unique(labels.codes)]
                seen.update(text for text in occurring if text is not None)
            rows += len(parsed)
        return rows, sorted_labels(seen)

    def batches(
        self,
        features: Sequence[str],
        label: str | None,
        size: int = BATCH,
        *,
        invalid: Invalid = "error",
    ) -> Iterator[Batch]:
        """Yield all rows in order, ``size`` at a time."""
        places = [self._place(name) for name in features]
        at = None if label is None else self._place(label)
        null = uses_null_records(invalid)
        # A column may be both; its label is then its text.
        numbers = [place for place in places if place != at]
        wanted = list(dict.fromkeys([*places, *([] if at is None else [at])]))
        found = self._parsed(wanted, numbers, null, strip=False)
        return batches_of_size(self._as_batches(found, places, at, null), size)

    def _as_batches(
        self, found: Iterator[Parsed], places: list[int], at: int | None, null: bool
    ) -> Iterator[Batch]:
        before = 0
        for parsed in found:
            rows = np.empty((len(parsed), len(places)))
            for j, place in enumerate(places):
                values, wrong = _values(parsed.columns[place], self._form.numeral)
                if not null and wrong.any():
                    self._refuse_cell(parsed.columns[place], place, before, wrong)
                rows[:, j] = values
            finite = np.isfinite(rows)
            if not finite.all():
                bad = ~finite.all(axis=1)
                if not null:
                    self._refuse_infinite(before + int(np.argmax(bad)) + 1)
                rows[bad] = np.nan
            labels: Any = np.array([])
            if at is not None:
                labels = self._labels_of(parsed.columns[at])
                if not null:
                    self._check_given(labels, at, before)
            yield Batch(rows, labels)
            before += len(parsed)

    def cells(
        self,
        names: Sequence[str],
        size: int = BATCH,
        *,
        numbers: Collection[str] = (),
        invalid: Invalid = "error",
    ) -> Iterator[Cells]:
        """Yield all rows in order as cells of text, None if they are empty."""
        swapped = [name for name in names if name in numbers and self._form.decimal != "."]
        for some in self._coded(names, size, (), invalid):
            columns = {}
            for name, column in some.columns.items():
                if name in swapped and isinstance(column, DistinctCells):
                    column = _changed(column, self._form.numeral)
                columns[name] = np.asarray(column, dtype=object)
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
        return self._coded(names, size, numbers, invalid)

    def _coded(
        self, names: Sequence[str], size: int, numbers: Collection[str], invalid: Invalid
    ) -> Iterator[Cells]:
        places = {name: self._place(name) for name in names}
        of_numbers = [place for name, place in places.items() if name in numbers]
        found = self._parsed(list(places.values()), of_numbers, uses_null_records(invalid))
        coded = (
            Cells({name: parsed.columns[at] for name, at in places.items()}, parsed.unreadable)
            for parsed in found
        )
        return cells_of_size(coded, size)

    def _number_of_lines(self, null: bool) -> int | None:
        """Return the number of lines that are not empty; None if some rows have several lines.

        What is in the lines is not checked.
        """
        mark = ord(self._header.separator)

        def lines_in(block: bytes) -> int | None:
            if not null and b'"' in block:
                feeds = block.replace(b"\r\n", b"\n") if b"\r" in block else block
                if not quotes_are_regular(feeds, mark):
                    return None
            return number_of_lines(block)

        lines = 0
        with self._progress() as told, closing(self._blocks(told)) as blocks:
            for found in in_threads(lines_in, blocks):
                if found is None:
                    return None
                lines += found
        return lines

    def _labels_of(self, column: Column) -> DistinctCells:
        """Return labels, None if they are empty."""
        return _changed(column, self._form.label)

    def _check_given(self, labels: DistinctCells, place: int, before: int) -> None:
        missing = np.array([text is None for text in labels.distinct], dtype=np.bool_)
        gone = missing[labels.codes]
        if gone.any():
            self._refuse_missing_label(place, before + int(np.argmax(gone)) + 1)

    def _refuse_cell(
        self, column: Column, place: int, before: int, wrong: NDArray[np.bool_]
    ) -> None:
        row = int(np.argmax(wrong))
        cell = np.asarray(column[row : row + 1], dtype=object)[0]
        empty = not cell.strip() if isinstance(cell, str) else True  # None or NaN
        self._refuse_entry(place, before + row + 1, empty=empty)

    def _parsed(
        self, places: Sequence[int], numbers: Collection[int], null: bool, *, strip: bool = True
    ) -> Iterator[Parsed]:
        """Yield the rows of all blocks, in order; threads read some blocks ahead."""
        parser = TextParser(
            self._form, self._header.separator, len(self.columns), places, numbers, null, strip
        )
        before = 0
        with (
            self._progress() as told,
            closing(self._blocks(told)) as blocks,
            working_ahead(WORKERS) as pool,
        ):
            ahead: deque[Raw] = deque()

            def fill() -> bool:
                while len(ahead) <= WORKERS and (block := next(blocks, None)) is not None:
                    ahead.append((block, pool.submit(parser.parse, block)))
                return bool(ahead)

            while fill():
                block, future = ahead.popleft()
                parsed = future.result()
                if parsed is None:
                    rows = self._rows(block, ahead, fill)
                    self._check_widths(rows, before)
                    parsed = parser.of_rows(rows)
                if len(parsed):
                    yield parsed
                before += len(parsed)

    def _blocks(self, told: Callable[[int], object]) -> Generator[bytes, None, None]:
        return blocks_of(self.path, self._form, told, self.block_size)

    def _rows(self, block: bytes, ahead: deque[Raw], fill: Callable[[], bool]) -> list[Row]:
        """Return the rows of a block that may have line breaks within quotation marks.

        A row that the block begins is completed by the following ones.
        """
        codec = "utf-8" if self._form.codec == "utf-8-sig" else self._form.codec
        pending: Iterator[str] = iter(())
        at_end = True

        def lines() -> Iterator[str]:
            nonlocal pending, at_end
            content = block
            while True:
                text = io.StringIO(content.decode(codec), newline="")
                listed = text.readlines()
                for i, line in enumerate(listed, 1):
                    at_end = i == len(listed)
                    yield line
                if not fill():
                    return
                content, unused = ahead.popleft()
                unused.cancel()

        with reading_errors(self.path, self._form):
            reader = csv.reader(lines(), delimiter=self._header.separator, strict=True)
            rows: list[Row] = []
            at_end = False
            while not at_end and (some := next_rows(reader, 1)):
                rows += filter(None, some)
        return rows


def _changed(column: Any, change: Callable[[str], str]) -> DistinctCells:
    """Return texts changed one by one, None if they are missing."""
    cells = np.empty(len(column.distinct), dtype=object)
    cells[:] = [None if text is None else change(text) for text in column.distinct]
    return DistinctCells(column.codes, cells)


def _values(column: Column, numeral: Callable[[str], str]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the numbers in a column, and which cells are none; those are NaN."""
    if isinstance(column, DistinctCells):
        return _values_of(_changed(column, numeral))
    if isinstance(column, MixedCells):
        values = column.numbers.copy()
        wrong = np.isnan(values)
        values[column.places], wrong[column.places] = _values_of(column.others)
        return values, wrong
    return column, np.isnan(column)  # none is NaN, but those that are empty


def _values_of(cells: DistinctCells) -> tuple[Array, NDArray[np.bool_]]:
    values = np.full(len(cells.distinct), np.nan)
    wrong = np.ones(len(values), dtype=np.bool_)
    for i, text in enumerate(cells.distinct):
        try:
            values[i] = float(text)
            wrong[i] = False
        except (TypeError, ValueError):
            pass
    return values[cells.codes], wrong[cells.codes]
