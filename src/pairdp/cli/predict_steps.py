"""Records of a table for a model whose first steps are of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._reading import Invalid, read_targets, uses_null_records
from pairdp.tables import Cells, Table, TableError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class FirstSteps:
    """The steps before a model, which were fitted to a DataFrame.

    Attributes
    ----------
    names : list of str
        The columns that they read.
    text : frozenset of str
        Those that have text; the others have numbers.
    steps : list of transformer
        The steps.
    width : int
        The number of features that they make.
    """

    names: list[str]
    text: frozenset[str]
    steps: list[Any]
    width: int

    @classmethod
    def of(cls, steps: list[Any], names: list[str], width: int) -> FirstSteps:
        """Return the steps of a loaded pipeline."""
        from pairdp.model_file.public_rows import text_features

        is_text = text_features(steps[0], len(names), names)
        return cls(
            names,
            frozenset(name for name, text in zip(names, is_text, strict=True) if text),
            steps,
            width,
        )

    def rows(self, table: Table, *, invalid: Invalid) -> Iterator[Array]:
        """Yield the features of a table's records, all NaN if a record cannot be read."""
        start = 0
        for frame, unreadable, wrong in self.frames(table, invalid=invalid):
            yield self._features(frame, unreadable, wrong, start, invalid)
            start += len(frame)

    def frames(self, table: Table, *, invalid: Invalid) -> Iterator[tuple[Any, Mask, Mask]]:
        """Yield DataFrames of records, which lines are malformed, and which have no numbers."""
        numbers = [name for name in self.names if name not in self.text]
        for cells in table.cells(self.names, numbers=numbers, invalid=invalid):
            frame = _frame({name: self._column(name, cells) for name in self.names})
            yield frame, cells.unreadable, self._no_numbers(cells)

    def _features(
        self, frame: Any, unreadable: Mask, wrong: Mask, start: int, invalid: Invalid
    ) -> Array:
        found = self._transform_what_can_be(frame)
        failed = ~np.isfinite(found).all(axis=1) | wrong
        found[failed | unreadable] = np.nan
        if failed.any() and not uses_null_records(invalid):
            raise TableError(
                f"the steps of the model cannot read record {start + int(np.argmax(failed)) + 1}, "
                "because of a missing cell, an unknown category or a cell that is not a number: "
                "correct it, or use --invalid null"
            )
        return found

    def _column(self, name: str, cells: Cells) -> NDArray[Any]:
        column = cells.columns[name]
        if name not in self.text:
            return read_targets(column)
        return np.array([None if cell is None else str(cell).strip() for cell in column], object)

    def _no_numbers(self, cells: Cells) -> Mask:
        """Return which records have a cell that is neither a number nor missing."""
        wrong = np.zeros(cells.rows, dtype=np.bool_)
        for name in self.names:
            if name not in self.text:
                column = cells.columns[name]
                given = [cell is not None and str(cell) != "nan" for cell in column]
                wrong |= np.array(given, np.bool_) & np.isnan(read_targets(column))
        return wrong

    def _transform_what_can_be(self, frame: Any) -> Array:
        """Return features, NaN for records that a step refuses, which are found by halving."""
        try:
            return self._transform(frame)
        except ValueError:
            if len(frame) == 1:
                return np.full((1, self.width), np.nan)
        half = len(frame) // 2
        parts = (frame.iloc[:half], frame.iloc[half:])
        return np.concatenate([self._transform_what_can_be(part) for part in parts])

    def _transform(self, frame: Any) -> Array:
        rows = frame
        for step in self.steps:
            rows = rows if step is None or isinstance(step, str) else step.transform(rows)
        return np.array(rows.todense() if hasattr(rows, "todense") else rows, np.float64, ndmin=2)


def _frame(columns: dict[str, NDArray[Any]]) -> Any:
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise TableError(
            "the first steps of the model select columns by name, which needs pandas: install it"
        ) from None
    return pandas.DataFrame(columns)
