"""The columns of a schema that are features: numbers, categories, flags and dates.

Each kind turns a cell into a block of numbers of norm at most 1:

- a number becomes z = 2(x - l)/(u - l) - 1 in [-1, 1], with x clipped to the range [l, u], or the
  same of logarithms;
- a category becomes one 1 among zeros;
- a flag becomes -1 or 1, or 0 or 1 where the schema declares that flags are sparse;
- a date becomes z of the number of units since the beginning of its range and, for each part such
  as the month, one 1 among zeros; with p parts, everything is divided by √(1 + p), so that the
  block has norm at most 1;
- with its own indicator, a missing cell is zero in all of these and 1 in one more feature, in which
  all other cells are zero.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import between, keep
from pairdp.schema.cells import Array, Cell, Cells, MissingValues, Status
from pairdp.schema.columns import Column, plain
from pairdp.schema.names import Name

INDICATOR, NULL = "indicator", "null"
Mask = NDArray[np.bool_]


class Block(NamedTuple):
    """The features of one column: numbers, and what each cell was."""

    values: Array
    status: Status


class FeatureColumn(Column):
    """A column that is encoded as one or more features; see `Block`.

    All kinds have the fields ``missing`` (None, "indicator", "null" or a fixed value),
    ``missing_values`` (further cells that are missing) and ``weight``, the public share of the
    norm that the column gets.
    """

    missing: Any
    missing_values: tuple[Name, ...]
    weight: float

    @abstractmethod
    def encode(self, cells: Cells, missing: MissingValues) -> Block:
        """Return the block of each cell."""

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""

    def is_null(self, status: Status) -> Mask:
        """Return which cells make a null record, as the schema says."""
        return np.equal(status, Cell.MISSING) & np.bool_(self.missing == NULL)

    def is_refused(self, status: Status) -> Mask:
        """Return which cells the schema has no place for: an error, or a null record."""
        undecided = np.equal(status, Cell.MISSING) & np.bool_(self.missing is None)
        return np.equal(status, Cell.UNKNOWN) | undecided

    @property
    def has_indicator(self) -> bool:
        """Whether missing cells have their own feature."""
        return bool(self.missing == INDICATOR)

    def _check(self) -> None:
        self._check_name()
        keep(self, "weight", between("weight", self.weight, 1e-6, 1e6, "use a usual size"))
        keep(self, "missing_values", tuple(self.missing_values))
        MissingValues(self.missing_values)

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.missing is not None:
            number = isinstance(self.missing, float)
            options["missing"] = plain(self.missing) if number else self.missing
        if self.missing_values:
            options["missing_values"] = list(self.missing_values)
        if self.weight != 1:
            options["weight"] = plain(self.weight)
        return options

    def _indicator_name(self) -> tuple[str, ...]:
        return (f"{self.name} (missing)",) if self.has_indicator else ()

    def _with_indicator(self, values: Array, status: Status) -> Array:
        """Return a block in which missing cells are zero, with their indicator if there is one."""
        if not self.has_indicator:
            return values
        gone = status == Cell.MISSING
        values[gone] = 0.0
        return np.column_stack([values, gone.astype(np.float64)])
