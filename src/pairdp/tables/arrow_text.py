"""Blocks of lines, read by pyarrow with the results of the reader of single lines.

pyarrow never decides what a column contains: its type is given, a line that it could read in
another way is rewritten first, and a number that it cannot read is read again as text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import (
    Column,
    DistinctCells,
    MixedCells,
    arrow_texts,
    arrow_values,
    coded_integers,
    float_values,
    has_pyarrow,
    plain_values,
)
from pairdp.tables.line_structure import lines_of, quotes_are_regular
from pairdp.tables.lines import Row, record_of
from pairdp.tables.text_format import TextFormat

Mask = NDArray[np.bool_]
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUMBER = r"^[+-]?(?:[0-9]+{0}?[0-9]*|{0}[0-9]+)(?:[eE][+-]?[0-9]+)?$"


@dataclass(frozen=True)
class Parsed:
    """The rows of a block.

    Attributes
    ----------
    columns : dict of int to column
        By place: float64 or `MixedCells` if numbers were wanted, and else `DistinctCells` of text
        without outer spaces, None if it is empty.
    unreadable : array of bool
        Rows that have no cells, since their line is malformed.
    """

    columns: dict[int, Column]
    unreadable: Mask

    def __len__(self) -> int:
        return len(self.unreadable)


@dataclass(frozen=True)
class TextParser:
    """How blocks of a file are read.

    Parameters
    ----------
    form : TextFormat
        Encoding and decimal mark; see `can_read`.
    mark : str
        The character between cells.
    width : int
        The number of columns.
    places : sequence of int
        The columns that are wanted.
    numbers : collection of int
        Those of them that are read as numbers.
    null : bool
        Whether a malformed line becomes an unreadable row. Otherwise `parse` returns None for a
        block with such a line, since it may continue in the next block.
    strip : bool
        Whether cells of numbers that are no usual numbers are stripped of outer spaces: Python
        strips more characters from a text than ``float`` does.
    """

    form: TextFormat
    mark: str
    width: int
    places: Sequence[int]
    numbers: Collection[int]
    null: bool
    strip: bool = True
    _as_text: set[int] = field(default_factory=set)  # numbers that are not always numbers

    @staticmethod
    def can_read(form: TextFormat, mark: str) -> bool:
        """Return whether lines of this form can be read in blocks."""
        return (
            has_pyarrow() and mark.isascii() and (form.codec == "utf-8-sig" or form.is_single_byte)
        )

    def parse(self, block: bytes) -> Parsed | None:
        """Return the rows of a block of whole lines."""
        content = self._as_utf8(block)
        if content is None:
            return self.of_rows(self._rows(block)) if self.null else None
        quoted = b'"' in content
        if not quoted or quotes_are_regular(content, ord(self.mark)):
            found = self._read(content, quoted)
            if found is not None:
                return Parsed(found, np.zeros(_length(found), dtype=np.bool_))
        rewritten = self._with_regular_lines(content)
        if rewritten is None:
            return None
        content, unreadable = rewritten
        found = self._read(content, quoted=True)
        if found is None or _length(found) != len(unreadable):
            return self.of_rows(self._rows(block)) if self.null else None
        return Parsed(found, unreadable)

    def _as_utf8(self, block: bytes) -> bytes | None:
        """Return a block as UTF-8 with line feeds only; None if lines must be decoded singly."""
        if not block.isascii():
            codec = "utf-8" if self.form.codec == "utf-8-sig" else self.form.codec
            try:
                text = block.decode(codec, "replace" if self.null else "strict")
            except UnicodeError:
                return None
            block = text.encode()
            if _BYTE_ORDER_MARK in block:  # one at the beginning of a line is no part of it
                return None
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return block

    def _rows(self, block: bytes) -> list[Row | None]:
        """Return the rows of lines that are read one by one."""
        lines = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        texts = (line.decode(self.form.codec, "replace") for line in lines if line)
        return [self._right(record_of(text, self.mark)) for text in texts]

    def _right(self, row: Row | None) -> Row | None:
        return row if row is not None and len(row) == self.width else None

    def _with_regular_lines(self, block: bytes) -> tuple[bytes, Mask] | None:
        """Return a block whose irregular lines are written anew, and which are malformed."""
        lines = lines_of(block, ord(self.mark), self.width)
        unreadable = np.zeros(len(lines.starts), dtype=np.bool_)
        pieces, done = [], 0
        empty = [""] * self.width
        for i in np.flatnonzero(~lines.regular).tolist():
            start, end = int(lines.starts[i]), int(lines.ends[i])
            row = self._right(record_of(block[start:end].decode(), self.mark))
            if row is None and not self.null:
                return None
            unreadable[i] = row is None
            pieces += [block[done:start], self._line(empty if row is None else row)]
            done = end
        return b"".join([*pieces, block[done:]]), unreadable

    def _line(self, row: Row) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self.mark, quoting=csv.QUOTE_ALL, lineterminator="").writerow(
            row
        )
        return text.getvalue().encode()

    def _read(self, block: bytes, quoted: bool) -> dict[int, Column] | None:
        """Return the wanted columns; None if pyarrow finds other rows than lines."""
        as_floats = set(self.numbers) - self._as_text
        table = self._table(block, quoted, as_floats)
        if table is None and as_floats:
            table = self._table(block, quoted, as_floats := set())
        if table is None:
            return None
        found: dict[int, Column] = {}
        for place in self.places:
            column = _one(table.column(str(place)))
            if place not in self.numbers:
                found[place] = _distinct(column)
                continue
            numbers: Column | None = None
            numbers = _floats(column) if place in as_floats else None
            if numbers is None:  # a NaN, which can be written in ways that are no numbers
                if place in as_floats:
                    (column,) = self._table(block, quoted, set()).column(str(place)).chunks
                numbers = self._numbers(column)
                if isinstance(numbers, MixedCells):
                    self._as_text.add(place)
            found[place] = numbers
        if not self.places:
            found[-1] = np.empty(table.num_rows)
        return found

    def _table(self, block: bytes, quoted: bool, as_floats: Collection[int]) -> Any:
        """Return the wanted columns as pyarrow reads them, None if it cannot."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        places = self.places or [0]
        types = {}
        for place in places:
            text = pa.string() if place in self.numbers else pa.dictionary(pa.int32(), pa.string())
            types[str(place)] = pa.float64() if place in as_floats else text
        try:
            return arrow_csv.read_csv(
                pa.py_buffer(block),
                arrow_csv.ReadOptions(
                    column_names=list(map(str, range(self.width))),
                    block_size=max(len(block) + 1, 1024),
                    use_threads=False,
                ),
                arrow_csv.ParseOptions(delimiter=self.mark, quote_char='"' if quoted else False),
                arrow_csv.ConvertOptions(
                    include_columns=list(types),
                    column_types=types,
                    null_values=[""],
                    strings_can_be_null=False,
                    decimal_point=self.form.decimal,
                    check_utf8=False,
                ),
            )
        except pa.ArrowException:
            return None

    def _numbers(self, column: Any) -> Column:
        """Return the numbers in texts, and the texts that have another form."""
        import pyarrow as pa
        from pyarrow import compute

        texts = compute.ascii_trim(column, " \t")
        nothing = pa.scalar(None, pa.string())
        decimal = self.form.decimal
        if decimal == ".":
            try:
                given = compute.if_else(compute.equal(texts, ""), nothing, texts)
                found = _floats(compute.cast(given, pa.float64()))
                if found is not None:
                    return found
            except pa.ArrowInvalid:
                pass  # some cells are no numbers
        usual = compute.match_substring_regex(texts, _NUMBER.format("\\" + decimal))
        usual_texts = compute.if_else(usual, texts, nothing)
        if decimal != ".":
            usual_texts = compute.replace_substring(usual_texts, decimal, ".")
        others = ~_mask(compute.equal(texts, ""))
        try:
            numbers = float_values(compute.cast(usual_texts, pa.float64()))
            others &= ~_mask(usual)
        except pa.ArrowInvalid:  # some version refuses a number: Python reads all of them
            numbers = np.full(len(texts), np.nan)
        places = np.flatnonzero(others)
        if not len(places):
            return numbers
        rest = texts.filter(arrow_values(others)).dictionary_encode()
        return MixedCells(numbers, places, _distinct(rest, self.form.numeral, self.strip))

    def of_rows(self, rows: Sequence[Row | None]) -> Parsed:
        """Return rows that were read in another way."""
        found: dict[int, Column] = {}
        for place in self.places:
            texts = arrow_texts("" if row is None else row[place] for row in rows)
            number = place in self.numbers
            found[place] = self._numbers(texts) if number else _distinct(texts.dictionary_encode())
        return Parsed(found, np.array([row is None for row in rows], dtype=np.bool_))


def _length(columns: dict[int, Column]) -> int:
    return len(next(iter(columns.values())))


def _one(column: Any) -> Any:
    """Return a column as one array; a table without rows may have no chunk."""
    chunks = column.chunks
    return chunks[0] if len(chunks) == 1 else column.combine_chunks()


def _mask(column: Any) -> Mask:
    return plain_values(column)


def _floats(column: Any) -> NDArray[np.float64] | None:
    """Return numbers with NaN for empty cells; None if another cell is NaN too."""
    values = float_values(column)
    return values if np.count_nonzero(np.isnan(values)) == column.null_count else None


def _distinct(column: Any, change: Callable[[str], str] = str, strip: bool = True) -> DistinctCells:
    """Return texts without outer spaces, or with them, changed; None if nothing is left."""
    texts = column.dictionary.to_pylist()
    cells = np.empty(len(texts), dtype=object)
    cells[:] = [change(text.strip() if strip else text) or None for text in texts]
    return DistinctCells(coded_integers(column.indices), cells)
