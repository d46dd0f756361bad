"""Lines of text files, plain or gzipped, as entries of a CSV table."""

from __future__ import annotations

import csv
import gzip
import io
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from pairdp.tables.base import TableError
from pairdp.tables.text_format import SEPARATORS, TextFormat

Row = list[str]
Told = Callable[[int], object]
_AT_ONCE = 1024


class Header(NamedTuple):
    """The first row of a file: the names of its columns.

    Attributes
    ----------
    names : list of str
        The entries.
    separator : str
        The character between cells.
    one_line : bool
        Whether the row is one line: entries in quotation marks may have line breaks.
    """

    names: Row
    separator: str
    one_line: bool


def read_header(path: Path, form: TextFormat) -> Header:
    """Return the first row of a file; other lines are not decoded."""
    with _text(path, form, by_line=form.has_byte_lines) as (file, _):
        lines = _decoded(file, form.codec, "strict") if form.has_byte_lines else file
        mark, lines = _separator(lines, form)
        rows = csv.reader(lines, delimiter=mark, strict=True)
        (names,) = next_rows(rows, 1) or [[]]
        return Header(names, mark, rows.line_num <= 1)


def rows_of(path: Path, form: TextFormat, told: Told) -> Iterator[Row]:
    """Yield all rows after the first; entries in quotation marks may have line breaks.

    Now and then, ``told`` is called with the number of bytes of the file that were read.
    """
    with _text(path, form) as (file, raw):
        mark, lines = _separator(file, form)
        rows = _reader(lines, mark)
        next_rows(rows, 1)
        while some := next_rows(rows, _AT_ONCE):
            told(raw.tell())
            yield from some


def records_of_lines(path: Path, form: TextFormat, told: Told) -> Iterator[Row | None]:
    """Yield every line after the first as a record, None if it is malformed.

    Lines are split in the bytes of the file and decoded one by one, with bytes that are not text
    replaced, so that no line affects how another one is read. ``told`` is as in `rows_of`.
    """
    if not form.has_byte_lines:
        raise TableError(
            f"{path}: in {form.encoding}, one damaged character can affect all lines after it, so "
            "records cannot be read one by one: convert the file to UTF-8"
        )
    with _text(path, form, by_line=True) as (file, raw):
        mark, lines = _separator(_decoded(file, form.codec, "replace"), form)
        next_rows(_reader(lines, mark), 1)
        for number, line in enumerate(file):
            if number % _AT_ONCE == 0:
                told(raw.tell())
            # An empty line is not a record, but bytes that are decoded to nothing are one.
            if line.strip("\r\n"):
                yield record_of(_decode(line, form.codec, "replace"), mark)


def _decoded(lines: Iterator[str], codec: str, errors: str) -> Iterator[str]:
    """Yield lines that were read as Latin-1, which maps bytes to characters one to one."""
    for line in lines:
        yield _decode(line, codec, errors)


def _decode(line: str, codec: str, errors: str) -> str:
    return line.encode("latin-1").decode(codec, errors)


@contextmanager
def _text(
    path: Path, form: TextFormat, *, by_line: bool = False
) -> Iterator[tuple[Iterator[str], BinaryIO]]:
    """Open a file as text; give its bytes too, as they are on disk."""
    codec = "latin-1" if by_line else form.codec
    with reading_errors(path, form), path.open("rb") as raw, open_binary(path, raw) as binary:
        yield io.TextIOWrapper(binary, encoding=codec, newline=""), raw


@contextmanager
def reading_errors(path: Path, form: TextFormat) -> Iterator[None]:
    """Turn whatever is wrong with a file into an error that quotes no value."""
    try:
        yield
    except UnicodeError:
        if form.encoding is not None:
            raise TableError(f"{path} is not {form.encoding} text") from None
        raise TableError(
            f"{path} is not UTF-8 text: give its encoding, such as --encoding latin-1 or utf-16"
        ) from None
    except csv.Error as error:
        raise TableError(f"{path} is not a well-formed CSV file: {error}") from None
    except OSError as error:
        reason = error.strerror or "it is damaged"
        raise TableError(f"{path} cannot be read: {reason}") from None
    except EOFError:
        raise TableError(f"{path} cannot be read: it is truncated") from None
    except zlib.error:
        raise TableError(f"{path} cannot be read: it is damaged") from None


def open_binary(path: Path, raw: BinaryIO) -> BinaryIO:
    """Return the bytes of an open file, decompressed if its name says so."""
    if path.suffix.lower() == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    return raw


def _separator(lines: Iterator[str], form: TextFormat) -> tuple[str, Iterator[str]]:
    """Return the separator of cells, and all lines."""
    first = next(lines, "")
    outside_quotes = re.sub(r'"[^"]*"', "", first)
    return form.separator or max(SEPARATORS, key=outside_quotes.count), chain([first], lines)


def _reader(lines: Iterator[str], mark: str) -> Iterator[Row]:
    return csv.reader(lines, delimiter=mark, strict=True)


def record_of(line: str, mark: str) -> Row | None:
    """Return the entries of one line, None if it is malformed."""
    try:
        with _fields_of_any_length():
            (row,) = csv.reader([line], delimiter=mark, strict=True)
    except (csv.Error, ValueError):
        return None
    return row


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


def next_rows(rows: Iterator[Row], size: int) -> list[Row]:
    """Return the next rows of a reader, at most ``size``."""
    with _fields_of_any_length():
        return list(islice(rows, size))
