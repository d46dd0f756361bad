"""The two labels of a column; how cells are compared depends on the labels alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column, DistinctCells
from pairdp.tables.base import TableError

_EXACT = 2.0**53  # smaller integers are exact as floats
_TRUTH = {"False": False, "True": True}
Label = int | bool | str


@dataclass(frozen=True)
class TwoLabels:
    """Two labels and how cells are compared with them.

    Attributes
    ----------
    low, high : int, bool or str
        The labels as a model stores them, in sorted order: the second is ranked higher.
    kind : {"number", "truth", "text"}
        Numbers match every cell with an equal number, such as 1, 1.0, +1 or 1e0; booleans match
        booleans and the words False and True; text matches equal text, without leading and
        trailing spaces. The kind follows from the two names alone, so how a cell is read never
        depends on other cells.
    """

    low: Label
    high: Label
    kind: Literal["number", "truth", "text"]

    @staticmethod
    def named(names: Iterable[object]) -> TwoLabels:
        """Return the labels with two given names.

        The labels are numbers if both names are numbers, booleans if they are False and True, and
        otherwise text.

        Examples
        --------
        >>> TwoLabels.named(["1.0", "0"])
        TwoLabels(low=0, high=1, kind='number')
        >>> TwoLabels.named(["1+", "0"])
        TwoLabels(low='0', high='1+', kind='text')
        """
        texts = [str(name).strip() for name in names]
        if any(text.endswith("\0") for text in texts):
            raise TableError("the name of a class must not end in NUL")
        if len(texts) != 2 or "" in texts or texts[0] == texts[1]:
            raise TableError("two different labels are needed, such as 0,1")
        if set(texts) == set(_TRUTH):
            return TwoLabels(False, True, "truth")
        first, second = map(_number, texts)
        if first is None or second is None:
            return TwoLabels(min(texts), max(texts), "text")
        if first == second:
            raise TableError("two different labels are needed, but these are the same number")
        if not (first.is_integer() and second.is_integer()):
            raise TableError("fractions cannot be labels: use integers or text for the two classes")
        smaller, larger = sorted((int(first), int(second)))
        return TwoLabels(smaller, larger, "number")

    @property
    def values(self) -> NDArray[Any]:
        """The labels as an array: low, high."""
        return np.array([self.low, self.high])

    def signs(self, cells: Column) -> NDArray[np.float64]:
        """Return -1 for cells with the lower label, +1 for the higher one, and NaN for others."""
        if isinstance(cells, DistinctCells):
            return self.signs(cells.distinct)[cells.codes]
        # As Python objects: an array of strings would drop NULs at the end of a cell.
        known: dict[object, float] = {None: np.nan}
        texts = [None if cell is None else str(cell) for cell in cells.tolist()]
        for text in set(texts) - {None}:
            known[text] = self._sign(str(text))
        return np.array([known[text] for text in texts])

    def _sign(self, text: str) -> float:
        cell: object = text.strip()
        if self.kind == "number":
            cell = _TRUTH.get(text.strip(), _number(text))  # booleans are 0 and 1
        elif self.kind == "truth":
            cell = _TRUTH.get(text.strip())
        if cell is None:
            return np.nan
        return -1.0 if cell == self.low else 1.0 if cell == self.high else np.nan


def _number(text: str) -> float | None:
    """Return the number in a text, None if it is not a number or not exact as a float."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < _EXACT and "_" not in text else None
