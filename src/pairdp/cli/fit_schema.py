"""What a fit reads of a table that a schema describes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import did_you_mean
from pairdp.cli.common import refuse_options
from pairdp.cli.schema_table import cells_for, check_table, with_starts
from pairdp.model_file import Steps
from pairdp.schema import LabelColumn, Schema, TargetColumn
from pairdp.schema.columns import ResponseColumn
from pairdp.tables import Cells, Table, TableError
from pairdp.tables.threads import in_threads


@dataclass(frozen=True)
class SchemaColumns:
    """Columns that a schema describes.

    Attributes
    ----------
    table : Table
        Their table.
    n : int
        Its number of records.
    schema : Schema
        The description, with a label or target.
    """

    table: Table
    n: int
    schema: Schema

    @classmethod
    def of(cls, table: Table, options: dict[str, Any]) -> SchemaColumns:
        """Return the columns that options describe."""
        refuse_options(
            "the schema describes the features", "bounds", "unscaled", "drop", "data_norm"
        )
        schema = _with_response(Schema.read(options["schema"]), options)
        check_table(schema, table, response=True)
        if (unit := options["unit"]) is not None:
            if unit not in schema.identifiers:
                raise TableError(
                    f'the schema does not declare {unit!r} as an id, such as "patient_id": "id"'
                    + did_you_mean(unit, schema.identifiers)
                )
            table.check_columns([unit])
        n, _ = table.count(None, invalid=options["invalid"])
        return cls(table, n, schema)

    @property
    def names(self) -> list[str]:
        """The columns of the features."""
        return list(self.schema.features)

    @property
    def width(self) -> int:
        """The number of encoded features."""
        return self.schema.width

    @property
    def classes(self) -> NDArray[Any] | None:
        """The two classes of the schema, the higher one last."""
        classes = self.schema.classes
        return np.array(classes) if classes is not None and len(classes) == 2 else None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator that follow from the schema."""
        return {"schema": self.schema}

    def batches(self, model: Any) -> Iterator[Any]:
        """Yield encoded rows, coded labels and, if the model protects a unit, the units."""
        unit = [] if model.unit is None else [model.unit]
        names = [*self.names, str(self.schema.label), *unit]
        read = cells_for(self.schema, self.table, names, invalid=model.invalid)
        with model._pinned_schema():
            yield from in_threads(partial(self._batch, model), with_starts(read))

    def _batch(self, model: Any, piece: tuple[int, Cells]) -> Any:
        start, cells = piece
        try:
            found = model._table_batch(
                self.schema, (start, cells.columns, None, None), self.classes
            )
        except ValueError:
            if model.invalid == "error":  # one that counts the records before this batch
                labels = cells.columns[str(self.schema.label)]
                self.schema.encode_label(labels, invalid="error", start=start)
            raise
        rows, *rest = found
        rows[cells.unreadable] = np.nan  # a null record
        return rows, *rest

    def fitted(self, model: Any) -> Steps:
        """Return the model, which has the schema."""
        return Steps.of(model)


def _with_response(schema: Schema, options: dict[str, Any]) -> Schema:
    """Return the schema with a label or target: its own, or that of the options."""
    label, bounds = options["label"], options["response_bounds"]
    if schema.response is not None:
        if label not in (None, schema.label):
            raise TableError(f"the schema says that {schema.label!r} is the label: drop --label")
        refuse_options("the schema describes the label", "classes", "response_bounds")
        return _checked(schema, options)
    if label is None:
        raise TableError(
            'the schema has no label: add one, such as "died": {"label": ["no", "yes"]}, or give '
            "--label with --classes or --response-bounds"
        )
    if label in schema.features:
        raise TableError(f"the schema says that {label!r} is a feature: it cannot be the label")
    response: ResponseColumn
    if bounds is not None:
        response, options["response_bounds"] = TargetColumn(label, *bounds), None
    elif options["classes"] is not None:
        classes = tuple(name.strip() for name in options["classes"].split(","))
        response, options["classes"] = LabelColumn(label, classes), None
    else:
        raise TableError(f"give --classes A,B for --label {label}, or describe it in the schema")
    rest = tuple(column for column in schema.columns if column.name != label)
    return _checked(replace(schema, columns=(*rest, response)), options)


def _checked(schema: Schema, options: dict[str, Any]) -> Schema:
    """Return the schema if its label is for the task."""
    task, classes = options["task"], schema.classes
    if task == "ranking" and classes is not None and len(classes) != 2:
        raise TableError(
            f"ranking needs a label of two classes, and {schema.label!r} has {len(classes)}: use "
            "--task metric, or a target"
        )
    if task != "ranking" and classes is None:
        raise TableError(f"--task {task} needs a label, and {schema.label!r} is a target")
    if schema.target is not None and options["threshold"] is not None:
        raise TableError("--threshold is for a label of two classes")
    return schema
