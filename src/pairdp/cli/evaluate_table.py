"""What ``pairdp evaluate`` reads of a table: records, labels and units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column, joined
from pairdp._reading import Invalid, uses_null_records
from pairdp.cli.predict_steps import FirstSteps
from pairdp.cli.schema_table import cells_for, check_table
from pairdp.evaluation.kinds import EvaluatedModel
from pairdp.tables import Cells, Table, TableError

Array = NDArray[np.float64]


class EvaluatedRecords(NamedTuple):
    """What the model gives for records, labels as numbers, and the units of rows if there are."""

    outputs: Array
    labels: Array
    groups: list[Any] | None


@dataclass(frozen=True)
class EvaluatedTable:
    """A table with labels, and the model that is evaluated on its records.

    Attributes
    ----------
    table : Table
        The table.
    model : EvaluatedModel
        The model, with the measure.
    names : list of str
        The columns of its features.
    label : str
        The column of the label.
    """

    table: Table
    model: EvaluatedModel
    names: list[str]
    label: str

    @classmethod
    def of(cls, table: Table, model: EvaluatedModel, label: str | None) -> EvaluatedTable:
        """Return the table, after checking that it has all columns."""
        steps, schema = [*model.model.before, model.model.last], model.model.schema
        first = steps[0]
        if not hasattr(first, "feature_names_in_"):
            raise TableError(
                "the model has no names of columns, since it was fitted to an array: fit it to a "
                "DataFrame, or with  pairdp fit"
            )
        names = [str(name) for name in first.feature_names_in_]
        known = None if schema is None else schema.label
        if known is not None and label not in (None, known):
            raise TableError(f"the schema says that {known!r} is the label: drop --label")
        label = label or known
        if label is None:
            raise TableError("give --label NAME, the column of the label: the model has no schema")
        if schema is not None:
            check_table(schema, table, response=False)
        table.check_columns([*names, label])
        return cls(table, model, names, label)

    def read(self, unit: str | None, invalid: Invalid) -> EvaluatedRecords:
        """Return what the model gives, labels and units of all records."""
        others = [self.label, *([] if unit is None else [unit])]
        cells = _joined(self.table.coded_cells(others, invalid=invalid), others)
        labels = self.model.coded_cells(np.asarray(cells[self.label], dtype=object), invalid)
        rows, null = self._rows(invalid)
        outputs = self.model.outputs(rows, invalid)
        outputs[null] = np.nan
        return EvaluatedRecords(outputs, labels, None if unit is None else cells[unit].tolist())

    def _rows(self, invalid: Invalid) -> tuple[Any, NDArray[np.bool_]]:
        """Return the records as the model takes them, and which cannot be read."""
        model = self.model.model
        schema = model.schema
        if schema is not None:
            batches = list(cells_for(schema, self.table, self.names, invalid=invalid))
            unreadable = np.concatenate([cells.unreadable for cells in batches])
            return _joined(iter(batches), self.names), unreadable
        if self._starts_with_scikit_learn:
            first = FirstSteps.of(model.before, self.names, model.last.n_features_in_)
            parts = list(first.frames(self.table, invalid=invalid))
            wrong = np.concatenate([malformed | text for _, malformed, text in parts])
            if wrong.any() and not uses_null_records(invalid):
                raise TableError(
                    f"record {int(np.argmax(wrong)) + 1} has a cell that is not a number: correct "
                    "it, or use --invalid null"
                )
            return _stacked([frame for frame, _, _ in parts]), wrong
        batches_of_numbers = self.table.batches(self.names, None, invalid=invalid)
        found = [batch.features for batch in batches_of_numbers]
        rows = np.concatenate(found)
        return rows, np.asarray(np.isnan(rows).any(axis=1))

    @property
    def _starts_with_scikit_learn(self) -> bool:
        before = self.model.model.before
        return bool(before) and type(before[0]).__module__.startswith("sklearn.")


def _joined(batches: Iterator[Cells], names: Sequence[str]) -> dict[str, Column]:
    """Return the cells of all batches, by column."""
    parts: dict[str, list[Column]] = {name: [] for name in names}
    for cells in batches:
        for name, found in parts.items():
            found.append(cells.columns[name])
    return {name: joined(found) for name, found in parts.items()}


def _stacked(frames: list[Any]) -> Any:
    import pandas as pd  # type: ignore[import-untyped]

    return pd.concat(frames, ignore_index=True)
