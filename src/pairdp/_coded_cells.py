"""Columns of cells in a form that whole columns can be computed with.

Both forms stand for an array of cells, which ``np.asarray`` returns. A function of single cells is
applied to the distinct cells alone, and its results are then placed: this gives the same as one
cell after the other, whatever the other cells are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.integer[Any]]


class _Column:
    """What both forms share with arrays of one dimension."""

    ndim = 1
    dtype = np.dtype(object)

    def __len__(self) -> int:
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int]:
        """The number of cells, as that of an array."""
        return (len(self),)

    def astype(self, dtype: Any) -> NDArray[Any]:
        """Return an array of all cells, converted."""
        return self.__array__().astype(dtype)

    def tolist(self) -> list[Any]:
        """Return all cells."""
        listed: list[Any] = self.__array__().tolist()
        return listed

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())


@dataclass(frozen=True, eq=False, repr=False)
class DistinctCells(_Column):
    """A column as its distinct cells, and which of them each record has.

    Attributes
    ----------
    codes : array of int
        For each record, the place of its cell among the distinct ones.
    distinct : array
        The distinct cells; some may be equal.
    """

    codes: Places
    distinct: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, which: Any) -> DistinctCells:
        return DistinctCells(self.codes[which], self.distinct)

    def compact(self) -> DistinctCells:
        """Return the same column without distinct cells that no record has."""
        used, codes = np.unique(self.codes, return_inverse=True)
        return DistinctCells(codes, self.distinct[used])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        cells = self.distinct[self.codes]
        return cells if dtype is None else cells.astype(dtype)


@dataclass(frozen=True, eq=False, repr=False)
class MixedCells(_Column):
    """A column of numbers, NaN where they are missing, with other cells in a few places.

    Attributes
    ----------
    numbers : array of float or int
        The numbers. What is at the places of other cells does not matter.
    places : array of int
        The places of the other cells, increasing.
    others : DistinctCells
        The other cells.
    """

    numbers: NDArray[Any]
    places: Places
    others: DistinctCells

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: Any) -> MixedCells:
        taken = np.arange(len(self))[which]
        order = np.searchsorted(self.places, taken)
        found = np.zeros(len(taken), dtype=np.bool_)
        known = order < len(self.places)
        found[known] = self.places[order[known]] == taken[known]
        return MixedCells(self.numbers[which], np.flatnonzero(found), self.others[order[found]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        cells = self.numbers.astype(object)
        cells[self.places] = np.asarray(self.others)
        return cells if dtype is None else cells.astype(dtype)


Column = NDArray[Any] | DistinctCells | MixedCells


def joined(parts: Sequence[Column]) -> Column:
    """Return one column with the cells of several, in order."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, DistinctCells) for part in parts):
        return _joined_distinct(parts)
    if any(isinstance(part, MixedCells) for part in parts):
        return _joined_mixed(parts)
    return np.concatenate([np.asarray(part) for part in parts])


def _joined_distinct(parts: Sequence[Any]) -> DistinctCells:
    starts = np.cumsum([0, *(len(part.distinct) for part in parts)])
    codes = [
        part.codes.astype(np.int64) + start for part, start in zip(parts, starts, strict=False)
    ]
    return DistinctCells(np.concatenate(codes), np.concatenate([part.distinct for part in parts]))


def _joined_mixed(parts: Sequence[Any]) -> Column:
    mixed = [part for part in parts if isinstance(part, MixedCells)]
    numbers = [part.numbers if isinstance(part, MixedCells) else part for part in parts]
    if not all(isinstance(part, np.ndarray) and part.dtype.kind == "f" for part in numbers):
        return np.concatenate([np.asarray(part, dtype=object) for part in parts])
    starts = np.cumsum([0, *map(len, parts)])
    places = [
        part.places + start
        for part, start in zip(parts, starts, strict=False)
        if isinstance(part, MixedCells)
    ]
    others = _joined_distinct([part.others for part in mixed])
    return MixedCells(np.concatenate(numbers), np.concatenate(places), others)


def has_pyarrow() -> bool:
    """Return whether pyarrow is installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def plain_values(column: Any) -> NDArray[Any]:
    """Return an array of pyarrow with numbers or truth values, NaN where it has no value.

    Without missing values, numbers are not copied. What pyarrow converts to numpy itself makes it
    import pandas, which takes longer than to read a small table.
    """
    import pyarrow as pa

    if not len(column):
        return np.empty(0, dtype=np.bool_ if pa.types.is_boolean(column.type) else np.float64)
    if column.null_count:
        if not pa.types.is_float64(column.type):
            return np.asarray(column.to_numpy(zero_copy_only=False))
        numbers = np.frombuffer(column.buffers()[1], dtype=np.float64)
        numbers = numbers[column.offset : column.offset + len(column)].copy()
        numbers[plain_values(column.is_null())] = np.nan
        return numbers
    if pa.types.is_boolean(column.type):
        return np.from_dlpack(column.cast(pa.uint8())).view(np.bool_)
    return np.from_dlpack(column)


def arrow_values(values: NDArray[Any]) -> Any:
    """Return numbers or truth values as an array of pyarrow; numbers are not copied.

    What pyarrow converts from numpy itself makes it import pandas.
    """
    import pyarrow as pa

    kind, content = pa.from_numpy_dtype(values.dtype), np.ascontiguousarray(values)
    if values.dtype == np.bool_:
        content = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(content)])


def arrow_texts(texts: Iterable[str]) -> Any:
    """Return texts as an array of pyarrow, without importing pandas as ``pyarrow.array`` does."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    offsets = np.array([0, *accumulate(map(len, encoded))], dtype=np.int32)
    content = map(pa.py_buffer, (offsets, b"".join(encoded)))
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, *content])


def float_values(column: Any) -> Array:
    """Return a column of integers or floats as floats, NaN where it has no value."""
    return np.asarray(plain_values(column), dtype=np.float64)


def holds_numbers(kind: Any) -> bool:
    """Return whether a type is of integers or floats."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def distinct_cells(
    column: Any, values: Callable[[Any], NDArray[Any]]
) -> DistinctCells | NDArray[Any]:
    """Return a column by its distinct values.

    Parameters
    ----------
    column : pyarrow.Array
        The column.
    values : callable
        From an array of pyarrow to an array of cells, one by one. Columns whose values cannot be
        compared, such as lists, are passed to it as they are.
    """
    from pyarrow import ArrowException, types

    if types.is_dictionary(column.type) and len(column.dictionary) > len(column):
        column = column.dictionary_decode()  # without the values that no record has
    if not types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except ArrowException:
            return values(column)
    known = values(column.dictionary)
    distinct = np.empty(len(known) + 1, dtype=object)
    for i, value in enumerate(known):  # one by one: numpy would unpack lists
        distinct[i] = value
    codes = column.indices.fill_null(len(known)) if column.null_count else column.indices
    return DistinctCells(coded_integers(codes), distinct)


def coded_integers(codes: Any) -> NDArray[np.integer[Any]]:
    """Return codes of pyarrow as an array."""
    if not len(codes):
        return np.empty(0, dtype=np.intp)
    return plain_values(codes)
