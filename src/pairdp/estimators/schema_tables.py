"""Records of tables with named columns, encoded by a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._arrow_tables import as_labels, as_table
from pairdp._coded_cells import Column
from pairdp._reading import (
    Invalid,
    label_array,
    named_labels,
    read_labels,
    read_targets,
    uses_null_records,
)
from pairdp._sums import BLOCK
from pairdp.schema import Schema, columns_of, row_slices, table_columns

Array = NDArray[np.float64]
_ROWS = 4 * BLOCK
"""Rows of a table in memory that are encoded at a time."""


class TableRecords(NamedTuple):
    """Encoded rows, the labels as they are in the table or in y, and the units if there are any."""

    rows: Array
    labels: Column
    groups: NDArray[Any] | None


def table_length(X: Any) -> int:
    """Return the number of records of a table; an error if it has no named columns."""
    return columns_of(X, ())[1]


def encoded_rows(schema: Schema, X: Any, invalid: Invalid, start: int = 0) -> Array:
    """Return the encoded rows of a table; rows of null records are NaN."""
    table = as_table(X)
    n = table_length(table)
    rows, end = np.empty((n, schema.width)), 0
    for encoded in encoded_blocks(schema, table, invalid, start):
        if len(encoded) == n:
            return encoded
        rows[end : (end := end + len(encoded))] = encoded
    return rows


def encoded_blocks(schema: Schema, X: Any, invalid: Invalid, start: int = 0) -> Iterator[Array]:
    """Yield the encoded rows of a table in blocks; rows of null records are NaN."""
    table = as_table(X)
    schema.check_table(table_columns(table) or ())
    whole = table_length(table) <= _ROWS
    for some in [table] if whole else row_slices(table, schema.features, _ROWS):
        columns, length = columns_of(some, schema.features)
        yield schema.encode(columns, length, invalid=invalid, start=start)
        start += length


def column_of(X: Any, name: str) -> NDArray[Any]:
    """Return one column of a table."""
    return np.asarray(columns_of(X, [name])[0][name])


def response_of(schema: Schema | None, X: Any, y: ArrayLike | None) -> Any:
    """Return y or, if it is None, the column of the table that the schema declares as the label."""
    if y is not None:
        return y
    if schema is None or schema.label is None:
        without = "there is no schema" if schema is None else "the schema has no label"
        raise ValueError(f"y is needed: {without} that would say which column is the label")
    return column_of(X, schema.label)


def known_records(scores: Array, labels: Array, weights: Any = None) -> tuple[Array, Array, Any]:
    """Return scores, labels and weights of the records that have a score and a label, not NaN."""
    if scores.shape != labels.shape:
        raise ValueError(f"y has {labels.size} labels, and there are {scores.size} records")
    used = ~(np.isnan(scores) | np.isnan(labels))
    if used.all():
        return scores, labels, weights
    return scores[used], labels[used], None if weights is None else np.asarray(weights)[used]


def table_records(
    schema: Schema,
    X: Any,
    y: ArrayLike | None,
    unit: str | None,
    *,
    invalid: Invalid,
    numeric: bool,
    start: int = 0,
) -> TableRecords:
    """Return the records of a table.

    Parameters
    ----------
    schema : Schema
        The schema.
    X : table with named columns
        Its cells.
    y : array-like or None
        The labels; None takes the column of the label.
    unit : str or None
        The name of a column with the unit of each record, if there is one.
    invalid : {"error", "null"}
        What to do with records that the schema has no place for.
    numeric : bool
        Whether labels are numbers, for a schema without a label.
    start : int
        The number of records before these, for errors.
    """
    table = as_table(X)
    rows = encoded_rows(schema, table, invalid, start)
    labels = table_labels(schema, table, as_labels(y), invalid=invalid, numeric=numeric)
    if labels.shape != (len(rows),):
        raise ValueError(f"y has {len(labels)} labels, and the table has {len(rows)} records")
    return TableRecords(rows, labels, None if unit is None else column_of(table, unit))


def table_labels(
    schema: Schema, X: Any, y: ArrayLike | None, *, invalid: Invalid, numeric: bool
) -> Column:
    """Return the labels of a table, uncoded.

    Where the schema has no label, those that cannot be read are an error, unless they may be null.
    """
    if y is None and schema.label is not None:
        return columns_of(X, [schema.label])[0][schema.label]
    labels = read_labels(flat_labels(response_of(schema, X, y)))
    if schema.response is not None or uses_null_records(invalid):
        return labels
    labels = label_array(labels)
    unreadable = np.isnan(read_targets(labels)) if numeric else ~named_labels(labels)
    if unreadable.any():
        raise ValueError("y contains labels that are missing or cannot be read")
    return labels


def flat_labels(y: Any) -> Any:
    """Return labels as they are, or the entries of an array with one column."""
    shape = tuple(getattr(y, "shape", ()))
    return np.ravel(y) if len(shape) == 2 and shape[1] == 1 else y


def batches_of(
    schema: Schema, X: Any, y: ArrayLike | None, groups: Any, unit: str | None
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the records of a table in batches: tables, labels and groups.

    Parameters
    ----------
    schema : Schema
        The schema.
    X : table with named columns
        Its cells.
    y : array-like or None
        The labels; None takes the column of the label.
    groups : array-like or None
        The unit of each record. They may have any form, and then all records are one batch.
    unit : str or None
        The name of a column with the unit of each record, if there is one.
    """
    table = as_table(X)
    n = table_length(table)
    labels = None if y is None else read_labels(flat_labels(as_labels(y)))
    if groups is not None or n <= _ROWS:
        yield table, labels, groups
        return
    if labels is not None and labels.shape != (n,):
        raise ValueError(f"y has {len(labels)} labels, and the table has {n} records")
    schema.check_table(table_columns(table) or ())
    of_label = [schema.label] if y is None and schema.label is not None else []
    names = [*schema.features, *of_label, *([] if unit is None else [unit])]
    for place, rows in enumerate(row_slices(table, names, _ROWS)):
        start = place * _ROWS
        yield rows, None if labels is None else labels[start : start + _ROWS], None


def pieces(batches: Any) -> Iterator[tuple[int, Any, Any, Any]]:
    """Yield for each batch the number of records before it, its table, labels and units."""
    start = 0
    for batch in batches:
        if not isinstance(batch, tuple | list) or not 2 <= len(batch) <= 3:
            raise ValueError(
                "a batch must be (X, y) or (X, y, groups); y may be None with a schema"
            )
        x, y, *groups = batch
        x, y = as_table(x), as_labels(y)
        yield start, x, y, groups[0] if groups else None
        start += table_length(x)
