"""The data set of ``pairdp audit --data``, as rows and labels for a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.cli.predict_rows import steps_of_encoded_rows
from pairdp.cli.schema_table import cells_for, check_table, encoded
from pairdp.schema import Schema
from pairdp.tables import Table, TableError, TwoLabels, open_table

if TYPE_CHECKING:
    from pairdp.algorithms import Plan


class AuditData(NamedTuple):
    """The records of a table: features, scaled if there are bounds, and labels as they stand."""

    rows: NDArray[np.float64]
    labels: NDArray[Any]

    def coded_for(self, plan: Plan) -> AuditData:
        """Return the records with the labels -1 and +1 if the problem has two classes."""
        if not plan.problem.loss.binary:
            return self
        found = sorted({str(label) for label in self.labels.tolist()})
        if len(found) != 2:
            raise TableError(f"the label column must have two labels, and has {len(found)}")
        return self._replace(labels=TwoLabels.named(found).signs(self.labels))


def read_data(path: Path, label: str | None, bounds: Path | None) -> AuditData:
    """Return the records of a table.

    Parameters
    ----------
    path : Path
        The table.
    label : str
        The name of its label column.
    bounds : Path, optional
        A file with the bounds of the features. Without it, all other columns are features.
    """
    from pairdp.estimators import BoundsScaler, read_bounds

    table = open_table(path)
    if bounds is None:
        return _read(table, [name for name in table.columns if name != label], label)
    limits = read_bounds(bounds)
    found = _read(table, list(limits.lower), label)
    scaler = BoundsScaler(*limits).fit_columns(list(limits.lower))
    return found._replace(rows=scaler.scale(found.rows))


def read_data_for(steps: list[Any], path: Path, label: str | None, n: int) -> AuditData:
    """Return the first n records of a table, prepared as for a model with these steps."""
    if not hasattr(steps[0], "feature_names_in_"):
        raise TableError("the model has no names of columns, since it was fitted to an array")
    table = open_table(path)
    schema: Schema | None = getattr(steps[0], "schema_", None)
    if schema is None:
        names = [str(name) for name in steps[0].feature_names_in_]
        rows, labels = _read(table, names, label)
    else:
        rows, labels = _read_by(schema, table, label)
        steps = steps_of_encoded_rows(steps)
    if len(rows) < n:
        raise TableError(f"the plan is for {n} records, and {path} has {len(rows)}")
    rows = rows[:n]
    for step in steps[:-1]:
        vars(step).pop("feature_names_in_", None)  # rows come as an array, in this order
        rows = step.transform(rows)
    return AuditData(rows, labels[:n])


def read_data_by(schema: Path, path: Path, label: str | None) -> AuditData:
    """Return the records of a table that the schema in a file describes, without null records."""
    return _read_by(Schema.read(schema), open_table(path), label)


def _read_by(schema: Schema, table: Table, label: str | None) -> AuditData:
    """Return the records of a table that a schema describes, without null records."""
    if label not in (None, schema.label):
        raise TableError(f"the schema says that {schema.label!r} is the label")
    if schema.label is None:
        raise TableError("the schema has no label")
    check_table(schema, table, response=True)
    names = [*schema.features, schema.label]
    rows, labels, start = [], [], 0
    for cells in cells_for(schema, table, names, invalid="error"):
        rows.append(encoded(schema, cells, start, "error"))
        response = cells.columns[schema.label]
        labels.append(schema.encode_label(response, invalid="error", start=start))
        start += cells.rows
    if not rows:
        raise TableError(f"{table.path} has no records")
    found, signs = np.concatenate(rows), np.concatenate(labels)
    read = ~(np.isnan(found).any(axis=1) | np.isnan(signs))
    return AuditData(found[read], signs[read])


def _read(table: Table, names: list[str], label: str | None) -> AuditData:
    if label is None:
        raise TableError("the data needs --label, the name of the label column")
    table.check_columns([label, *names])
    batches = list(table.batches(names, label))
    if not batches:
        raise TableError(f"{table.path} has no records")
    rows = np.concatenate([batch.features for batch in batches])
    return AuditData(rows, np.concatenate([batch.labels for batch in batches]))
