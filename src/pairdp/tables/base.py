"""The interface of tables on disk: columns, number of rows, and rows in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import did_you_mean
from pairdp._coded_cells import Column
from pairdp._reading import Invalid

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
BATCH = 16_384


class TableError(ValueError):
    """A table cannot be read. The message says where and what to do, and quotes no value."""


class Batch(NamedTuple):
    """Some rows: features as numbers, and labels (empty if no label column was requested).

    With ``invalid="null"`` a row that cannot be read is all NaN, and a missing label is None.
    """

    features: Array
    labels: Column

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.features)


class Cells(NamedTuple):
    """Cells of some rows as they are in the file.

    Attributes
    ----------
    columns : dict of str to array of object
        By name: text in a CSV file, and values of the column's type in a Parquet file; None if a
        cell is empty. Some are in other forms, see `Table.coded_cells`.
    unreadable : array of bool
        Rows that have no cells, since their line is malformed; only with ``invalid="null"``.
    """

    columns: Mapping[str, Column]
    unreadable: Mask

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.unreadable)


ShowProgress = Callable[[int], AbstractContextManager[Callable[[int], object]]]


def no_progress(total: int) -> AbstractContextManager[Callable[[int], object]]:
    """Show nothing."""
    return nullcontext(lambda done: None)


class Table(ABC):
    """A table in one file.

    A record that cannot be read is an error that says where it is or, with ``invalid="null"``, is
    returned as NaN or None and does not affect any other. Names and types of columns are public, so
    they may cause an error in either case.

    Attributes
    ----------
    path : Path
        The file.
    columns : tuple of str
        Names of its columns. A name that occurs twice is an error only where it is asked for.
    show_progress : callable
        From the number of bytes of the table to a context, whose value is called with the number
        of bytes that were read so far; shows nothing by default.
    """

    path: Path
    columns: tuple[str, ...]
    show_progress: ShowProgress = staticmethod(no_progress)

    @abstractmethod
    def count(
        self, label: str | None, *, invalid: Invalid = "error"
    ) -> tuple[int, tuple[Any, ...]]:
        """Return the number of rows, and the labels that occur, sorted."""

    @abstractmethod
    def batches(
        self,
        features: Sequence[str],
        label: str | None,
        size: int = BATCH,
        *,
        invalid: Invalid = "error",
    ) -> Iterator[Batch]:
        """Yield all rows in order, at most ``size`` at a time."""

    @abstractmethod
    def cells(
        self,
        names: Sequence[str],
        size: int = BATCH,
        *,
        numbers: Collection[str] = (),
        invalid: Invalid = "error",
    ) -> Iterator[Cells]:
        """Yield the cells of all rows in order, at most ``size`` rows at a time.

        Which rows are in one batch may depend on the columns that are read.

        Parameters
        ----------
        names : sequence of str
            The columns to read.
        size : int
            The largest number of rows of a batch.
        numbers : collection of str
            Columns whose text is numbers, written with the table's decimal mark; they are returned
            with a decimal point.
        invalid : {"error", "null"}
            What to do with a malformed line. What a cell contains is never an error here.
        """

    def coded_cells(
        self,
        names: Sequence[str],
        size: int = BATCH,
        *,
        numbers: Collection[str] = (),
        invalid: Invalid = "error",
    ) -> Iterator[Cells]:
        """Yield the cells of all rows as `cells` does, in a form that is fast to compute with.

        Columns of numbers may be arrays of floats, NaN where a cell is missing, or `MixedCells`;
        other columns may be `DistinctCells`. What each cell stands for is the same.
        """
        return self.cells(names, size, numbers=numbers, invalid=invalid)

    @contextmanager
    def _progress(self) -> Iterator[Callable[[int], object]]:
        """Give a function that shows how many bytes of the table were read."""
        with self.show_progress(self._bytes()) as told:
            yield told

    def _bytes(self) -> int:
        return self.path.stat().st_size

    def check_columns(self, wanted: Sequence[str]) -> None:
        """Raise an error for names that are not columns, or of two columns."""
        if missing := [name for name in wanted if name not in self.columns]:
            known = ", ".join(self.columns[:20]) + (", …" if len(self.columns) > 20 else "")
            raise TableError(
                f"{self.path} has no column {', '.join(map(repr, missing))}; it has {known}"
                + did_you_mean(missing[0], self.columns)
            )
        if twice := sorted(name for name in set(wanted) if self.columns.count(name) > 1):
            raise TableError(f"{self.path} has the column {twice[0]!r} twice: rename one")

    def _place(self, name: str) -> int:
        self.check_columns([name])
        return self.columns.index(name)


def check_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return column names after checking that they are names."""
    if not names:
        raise TableError(f"{path} is empty: its first line must name the columns")
    if 2 * sum(map(_is_data, names)) > len(names):
        raise TableError(f"{path} has numbers in its first line, which must name the columns")
    return tuple(names)


def _is_data(name: str) -> bool:
    """Return whether a name is a number, other than the index of a column."""
    try:
        float(name)
    except ValueError:
        return False
    return not name.isdigit()
