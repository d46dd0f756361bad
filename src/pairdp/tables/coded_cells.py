"""Columns of cells in a form that whole columns can be computed with.

Both forms stand for an array of cells, which ``np.asarray`` returns. A function of single cells is
applied to the distinct cells alone, and its results are then placed: this gives the same as one
cell after the other, whatever the other cells are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
        return list(self.__array__())

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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        cells = self.distinct[self.codes]
        return cells if dtype is None else cells.astype(dtype)


@dataclass(frozen=True, eq=False, repr=False)
class MixedCells(_Column):
    """A column of numbers, NaN where they are missing, with other cells in a few places.

    Attributes
    ----------
    numbers : array of float
        The numbers; NaN at the places of other cells.
    places : array of int
        The places of the other cells, increasing.
    others : DistinctCells
        The other cells.
    """

    numbers: Array
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
