"""The columns of a schema that are not features: labels, targets, identifiers, ignored ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pairdp._checks import RECORDS, keep, one_of, real, text
from pairdp.schema.cells import Array, Cell, Cells, MissingValues, Status, numbers
from pairdp.schema.names import MISSING, UNKNOWN, Name, Names
from pairdp.storage import Storable


class Column(Storable, ABC):
    """A column of a table: a frozen dataclass whose first field is its name."""

    name: str

    @abstractmethod
    def form(self) -> Any:
        """Return the short form, as JSON values."""

    def _check_name(self) -> None:
        text("the name of a column", self.name)


@dataclass(frozen=True)
class IdentifierColumn(Column):
    """A column that identifies records, or persons; never a feature."""

    name: str

    def __post_init__(self) -> None:
        self._check_name()

    def form(self) -> str:
        """Return the short form."""
        return "id"


@dataclass(frozen=True)
class IgnoredColumn(Column):
    """A column that is not used, such as text."""

    name: str

    def __post_init__(self) -> None:
        self._check_name()

    def form(self) -> str:
        """Return the short form."""
        return "ignore"


class ResponseColumn(Column):
    """The column that is learned: a label or a target.

    A cell that is missing or cannot be read is an error or makes a null record, as the reader's
    ``invalid`` says; with ``missing="null"`` a missing one always makes a null record.
    """

    missing: str | None
    OPTIONS: ClassVar[frozenset[str]] = frozenset({"missing", "missing_values"})

    @abstractmethod
    def read(self, cells: Cells, missing: MissingValues) -> tuple[Array, Status]:
        """Return coded cells, NaN where they are missing or unknown, and what each cell is."""

    def _check_missing(self) -> None:
        one_of(f"missing of column {self.name!r}", self.missing, None, "null")


@dataclass(frozen=True)
class LabelColumn(ResponseColumn):
    """The label, with its classes in order: the last one ranks highest.

    Parameters
    ----------
    name : str
        Its name.
    classes : tuple of str, int, float or bool
        At least two different names; see `Names` for how cells are compared with them.
    missing : "null" or None
        What a missing cell means.
    missing_values : tuple
        Further cells that are missing.
    """

    name: str
    classes: tuple[Name, ...]
    missing: str | None = None
    missing_values: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        self._check_name()
        self._check_missing()
        MissingValues(self.missing_values)
        keep(self, "classes", Names.of(self.classes).values)
        if len(self.classes) < 2:
            raise ValueError('a label needs at least two classes, such as ["no", "yes"]')

    @cached_property
    def names(self) -> Names:
        """How cells are compared with the classes."""
        return Names.of(self.classes)

    def form(self) -> dict[str, Any]:
        """Return the short form."""
        return {"label": list(self.classes), **response_options(self)}

    def read(self, cells: Cells, missing: MissingValues) -> tuple[Array, Status]:
        """Return the place of each cell among the classes, NaN for other cells."""
        found = self.names.codes(cells, missing)
        status = np.zeros(len(found), dtype=np.int8)
        status[found == MISSING] = Cell.MISSING
        status[found == UNKNOWN] = Cell.UNKNOWN
        return np.where(found < 0, np.nan, found), status


@dataclass(frozen=True)
class TargetColumn(ResponseColumn):
    """A number that is predicted or ranked by, clipped to a public range.

    Parameters
    ----------
    name : str
        Its name.
    low, high : float
        The range.
    missing, missing_values
        As for `LabelColumn`.
    """

    name: str
    low: float
    high: float
    missing: str | None = None
    missing_values: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        self._check_name()
        self._check_missing()
        MissingValues(self.missing_values)
        for end in ("low", "high"):
            keep(self, end, real(f"an end of the range of {self.name!r}", getattr(self, end)))
        check_range(self.low, self.high)

    def form(self) -> dict[str, Any]:
        """Return the short form."""
        return {"target": [plain(self.low), plain(self.high)], **response_options(self)}

    def read(self, cells: Cells, missing: MissingValues) -> tuple[Array, Status]:
        """Return numbers clipped to the range, NaN for other cells."""
        values, status = numbers(cells, missing)
        valid = status == Cell.VALID
        clipped = np.clip(values, self.low, self.high)
        status[valid & (clipped != values)] = Cell.OUTSIDE
        return np.where(valid, clipped, np.nan), status


def check_range(low: float, high: float) -> None:
    """Raise an error for a range that is empty or too large for floats."""
    if not max(abs(low), abs(high)) <= RECORDS[1]:
        raise ValueError(f"the ends of a range must be at most {RECORDS[1]:g} in size")
    if not low < high or high - low < RECORDS[0]:
        raise ValueError(
            f"a range must be [lower, upper] with lower below upper, got [{low:g}, {high:g}]"
        )


def response_options(column: Any) -> dict[str, Any]:
    """Return the options of a label or target that differ from their defaults."""
    options: dict[str, Any] = {}
    if column.missing is not None:
        options["missing"] = column.missing
    if column.missing_values:
        options["missing_values"] = list(column.missing_values)
    return options


def plain(number: float) -> int | float:
    """Return a number as a person writes it: without decimals if it is an integer."""
    return int(number) if number.is_integer() and abs(number) < 2.0**53 else number
