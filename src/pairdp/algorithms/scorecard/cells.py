"""The columns of a scorecard, and the cell of each record in them.

A scorecard reads encoded rows. For each column it needs the places of its features in a row: a
number is divided into `FINE` equal cells of its public range, which later become fewer bins, and a
category, a flag or a missing number has a cell of its own. The cell of a record depends on its own
row and on public numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, real
from pairdp.storage import Storable

Array = NDArray[np.float64]
Codes = NDArray[np.int16]

BRANCHES, LEVELS = 16, 3
FINE: int = BRANCHES**LEVELS
"""The number of equal cells of a number's range."""
MOST_CATEGORIES: int = FINE - 1
"""The largest number of categories of a column."""
_EDGE = 1e-7
"""A number at the edge of two cells is in the upper one, whatever the rounding of its encoding."""


class Cells(Storable, ABC):
    """The cells of one column: a frozen dataclass."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of cells."""

    @abstractmethod
    def codes(self, rows: Array) -> Codes:
        """Return the cell of each row, from 0 to size - 1."""

    @abstractmethod
    def check(self, features: int) -> None:
        """Raise an error if a place is not among the features of a row."""


@dataclass(frozen=True)
class NumberCells(Cells):
    """The cells of a number: `FINE` equal ones, and one for missing numbers.

    Parameters
    ----------
    place : int
        The place of the number in a row.
    low, high : float
        The ends of its public range; numbers beyond them are in the first or the last cell.
    missing : int, optional
        The place of the indicator of missing numbers, if there is one.
    """

    place: int
    low: float
    high: float
    missing: int | None = None

    def __post_init__(self) -> None:
        _check_place(self.place)
        for end in ("low", "high"):
            keep(self, end, real(end, getattr(self, end)))
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low:g} and {self.high:g}")
        if self.missing is not None:
            _check_place(self.missing)

    @property
    def size(self) -> int:
        """The number of cells."""
        return FINE + (self.missing is not None)

    def codes(self, rows: Array) -> Codes:
        """Return the cell of each row."""
        scale = FINE / (self.high - self.low)
        cells = rows[:, self.place] * scale
        cells += _EDGE - self.low * scale
        found = np.clip(cells, 0, FINE - 1, out=cells).astype(np.int16)
        if self.missing is not None:
            found[rows[:, self.missing] > 0] = FINE
        return found

    def check(self, features: int) -> None:
        """Raise an error if a place is not among the features of a row."""
        _check_within((self.place, *([] if self.missing is None else [self.missing])), features)


@dataclass(frozen=True)
class CategoryCells(Cells):
    """The cells of a category: one for each place, and one for rows that have none of them.

    Parameters
    ----------
    places : tuple of int
        The places of its indicators in a row, which are positive if they are set. A flag that is
        encoded as -1 and 1 has one place.
    """

    places: tuple[int, ...]

    def __post_init__(self) -> None:
        keep(self, "places", tuple(self.places))
        for place in self.places:
            _check_place(place)
        if not self.places:
            raise ValueError("a category has at least 1 place")

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.places) + 1

    def codes(self, rows: Array) -> Codes:
        """Return the cell of each row."""
        found = np.full(len(rows), len(self.places), dtype=np.int16)
        for code, place in reversed(list(enumerate(self.places))):
            found[rows[:, place] > 0] = code
        return found

    @property
    def is_large(self) -> bool:
        """Whether there are too many categories for a scorecard."""
        return len(self.places) > MOST_CATEGORIES

    def check(self, features: int) -> None:
        """Raise an error if a place is not among the features of a row, or there are too many."""
        if self.is_large:
            raise ValueError(
                f"a column has {len(self.places)} categories, and a scorecard takes at most "
                f"{MOST_CATEGORIES}: list fewer, or fit a linear model"
            )
        _check_within(self.places, features)


def _check_place(place: int) -> None:
    integer("place", place, at_least=0)


def _check_within(places: Sequence[int], features: int) -> None:
    if max(places) >= features:
        raise ValueError(
            f"a column of the scorecard is at place {max(places)}, but rows have {features} "
            "features"
        )


def codes_of(columns: Sequence[Cells], rows: Array, out: Codes | None = None) -> Codes:
    """Return the cell of each row in each column, as an array of shape (columns, n)."""
    found = np.empty((len(columns), len(rows)), dtype=np.int16) if out is None else out
    for place, column in enumerate(columns):
        found[place] = column.codes(rows)
    return found
