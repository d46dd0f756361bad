"""Reading the cells of one column, each separately.

What a cell becomes depends on that cell and on the schema alone, never on the other cells of its
column: numpy and pandas would turn a column into text because of one word in it, and thereby let
one record change how another is read.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._silence import silence

Array = NDArray[np.float64]
Cells = NDArray[Any]
Status = NDArray[np.int8]
_BLOCK = 1024
_UNREADABLE = Exception  # methods of a cell are called, which may raise anything
_PLAIN = frozenset({str, int, float, bool, type(None)})
_EPOCH = datetime.datetime(1970, 1, 1)
_NO_TIME = np.iinfo(np.int64).min  # how numpy stores a missing time
_WRONG_TIME = _NO_TIME + 1


class Cell(IntEnum):
    """What a cell is for its column.

    ``OUTSIDE`` is a number or date outside its range, which is clipped; ``UNKNOWN`` is a cell that
    cannot be read as its column says: no number, no date, not one of the categories.
    """

    VALID = 0
    MISSING = 1
    OUTSIDE = 2
    UNKNOWN = 3


@dataclass(frozen=True)
class MissingValues:
    """Which cells are missing, besides those that are empty, None, NaN, NaT and NA.

    Parameters
    ----------
    values : tuple of str, int or float
        Further cells that mean "missing", such as "?" or -9. A number, also in text, matches every
        cell with an equal number.
    """

    values: tuple[str | int | float, ...] = ()

    def __post_init__(self) -> None:
        for value in self.values:
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise ValueError(f"missing values must be texts or numbers, got {value!r}")
            number = number_in(value)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{value!r} cannot be a missing value: NaN is one already")

    @cached_property
    def texts(self) -> frozenset[str]:
        """The texts, without leading and trailing spaces."""
        return frozenset(str(value).strip() for value in self.values)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The numbers."""
        found = (number_in(value) for value in self.values)
        return frozenset(number for number in found if number is not None)

    def has_text(self, text: str) -> bool:
        """Return whether a text means "missing"."""
        text = text.strip()
        if not text or text in self.texts:
            return True
        return bool(self.numbers) and number_in(text) in self.numbers

    def has(self, cell: object) -> bool:
        """Return whether a cell is missing."""
        if cell is None:
            return True
        if isinstance(cell, str):
            return self.has_text(plain_text(cell))
        try:
            if bool(cell != cell):
                return True
        except _UNREADABLE:
            return type(cell).__name__ == "NAType"  # that of pandas, which refuses comparison
        return bool(self.numbers) and number_in(cell) in self.numbers


def number_in(cell: Any) -> float | None:
    """Return the number in a cell or text, None if there is none."""
    if isinstance(cell, np.datetime64 | np.timedelta64):  # which numpy would count
        return None
    try:
        return float(cell)
    except _UNREADABLE:
        return None


def plain_text(cell: str) -> str:
    """Return the characters of a text, whose class may have methods of its own."""
    return cell if type(cell) is str else "".join(str.__iter__(cell))


def canonical_text(cell: Any) -> str:
    """Return a cell as text without outer spaces; numbers that are integers have no decimals."""
    if isinstance(cell, float | np.floating) and math.isfinite(cell) and float(cell).is_integer():
        return str(int(cell))
    try:
        return str(cell).strip()
    except _UNREADABLE:
        return ""


def numbers(cells: Cells, missing: MissingValues) -> tuple[Array, Status]:
    """Return the numbers in cells, and what each cell is; the number of a bad cell is 0."""
    with silence():
        values = _numbers(cells, missing)
        if missing.numbers:
            values[np.isin(values, list(missing.numbers))] = np.nan
        status = np.zeros(len(values), dtype=np.int8)
        finite = np.isfinite(values)
        if not finite.all():
            bad = ~finite
            status[bad] = np.where(np.isnan(values[bad]), Cell.MISSING, Cell.UNKNOWN)
            values[bad] = 0.0
    return values, status


def _numbers(cells: Cells, missing: MissingValues) -> Array:
    """Return numbers, NaN for missing cells and infinity for those that cannot be read."""
    if cells.dtype.kind in "biuf":
        return np.array(cells, dtype=np.float64)
    if cells.dtype.kind in "mM":  # times, which numpy would count
        return np.where(np.isnat(cells), np.nan, np.inf)
    objects = cells.astype(object)
    values = np.empty(len(cells))
    for start in range(0, len(cells), _BLOCK):
        block = objects[start : start + _BLOCK]
        values[start : start + _BLOCK] = _of_block(block, missing)
    return values


def _of_block(block: Cells, missing: MissingValues) -> Any:
    if _PLAIN.issuperset(map(type, block)):
        try:  # the same conversion as cell by cell, of all of them at once
            return block.astype(np.float64)
        except _UNREADABLE:
            pass
    return [_number(cell, missing) for cell in block]


def _number(cell: Any, missing: MissingValues) -> float:
    number = number_in(cell)
    if number is None:
        return math.nan if missing.has(cell) else math.inf
    return number


def instants(
    cells: Cells, missing: MissingValues, form: str | None
) -> tuple[NDArray[np.datetime64], Status]:
    """Return the times in cells, in seconds, and what each cell is.

    Parameters
    ----------
    cells : array
        Dates and times, also as text.
    missing : MissingValues
        Which cells are missing.
    form : str or None
        How dates are written in text, as for ``datetime.strptime``; None for ISO 8601. Times with
        a time zone are converted to UTC, others are taken as they are.
    """
    with silence():
        if cells.dtype.kind == "M":
            seconds = cells.astype("datetime64[s]").astype(np.int64)
        else:
            read = _Memory(lambda text: _seconds_in(text, missing, form))
            found = (_seconds(cell, read, missing) for cell in cells.tolist())
            seconds = np.fromiter(found, np.int64, len(cells))
    status = np.zeros(len(seconds), dtype=np.int8)
    status[seconds == _NO_TIME] = Cell.MISSING
    status[seconds == _WRONG_TIME] = Cell.UNKNOWN
    seconds[status != Cell.VALID] = 0
    return seconds.astype("datetime64[s]"), status


class _Memory(dict[str, int]):
    """What texts were read as, so that equal texts are read once."""

    def __init__(self, read: Callable[[str], int]) -> None:
        self._read = read

    def __missing__(self, text: str) -> int:
        found = self[text] = self._read(text)
        return found


def _seconds(cell: Any, read: _Memory, missing: MissingValues) -> int:
    if isinstance(cell, str):
        return read[plain_text(cell)]
    if missing.has(cell):  # including NaT, which is a datetime
        return _NO_TIME
    try:
        if isinstance(cell, np.datetime64):
            return int(cell.astype("datetime64[s]").astype(np.int64))
        if isinstance(cell, datetime.datetime):
            return _since_epoch(cell)
        if isinstance(cell, datetime.date):
            return (cell - _EPOCH.date()).days * 86_400
    except _UNREADABLE:
        pass
    return _WRONG_TIME


def _seconds_in(text: str, missing: MissingValues, form: str | None) -> int:
    if missing.has_text(text):
        return _NO_TIME
    try:
        return _since_epoch(read_time(text, form))
    except _UNREADABLE:
        return _WRONG_TIME


def read_time(text: str, form: str | None = None) -> datetime.datetime:
    """Return the time in a text; an error if there is none."""
    text = text.strip()
    if form is not None:
        return datetime.datetime.strptime(text, form)
    return datetime.datetime.fromisoformat(text)


def _since_epoch(time: datetime.datetime) -> int:
    if time.tzinfo is not None:
        time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    return (time - _EPOCH) // datetime.timedelta(seconds=1)


def codes(
    cells: Cells, code_of: Callable[[Any], int], code_of_text: Callable[[str], int]
) -> NDArray[np.int64]:
    """Return a code for each cell; equal texts are read once."""
    read = _Memory(code_of_text)
    # As Python objects: an array of strings would drop NULs at the end of a cell.
    listed: list[Any] = cells.tolist()
    found: Iterator[int]
    if {str}.issuperset(map(type, listed)):
        found = map(read.__getitem__, listed)
    else:
        found = (read[cell] if type(cell) is str else code_of(cell) for cell in listed)
    with silence():
        return np.fromiter(found, np.int64, len(cells))
