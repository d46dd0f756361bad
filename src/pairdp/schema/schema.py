"""Schema: a public description of a table's columns."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pairdp._checks import integer, keep, one_of
from pairdp._files import write_atomically
from pairdp._reading import Invalid
from pairdp._silence import silence
from pairdp.schema.cells import Array, MissingValues
from pairdp.schema.columns import (
    Column,
    IdentifierColumn,
    IgnoredColumn,
    LabelColumn,
    ResponseColumn,
    TargetColumn,
)
from pairdp.schema.encoding import CellCounts, count_cells, encode_response, encode_rows
from pairdp.schema.errors import SchemaError
from pairdp.schema.features import FeatureColumn
from pairdp.schema.layout import Layout
from pairdp.schema.names import Name
from pairdp.schema.reading import parts_in_file, parts_of
from pairdp.storage import Storable


@dataclass(frozen=True, repr=False)
class Schema(Storable):
    """A public description of the columns of a table.

    Everything in it is public and must be known without the data. It turns each record into a row
    of norm at most 1, which depends on the cells of that record alone.

    Parameters
    ----------
    columns : tuple of Column
        The columns, with different names. `Schema.of` reads them from short forms.
    extra : {"ignore", "refuse"}
        What to do with columns of a table that the schema does not name.
    sparse : int or None
        How many flags are yes in a usual record. If it is given, flags are encoded as 0 and 1 and
        count as that many columns together, instead of one each; a record with more is clipped.
    missing_values : tuple of str or number
        Cells that mean "missing" in every column, besides empty ones, such as "?".

    Examples
    --------
    >>> schema = Schema.of({"age": [0, 120], "sex": ["F", "M"], "died": {"label": ["no", "yes"]}})
    >>> schema.feature_names_out
    ('age', 'sex=F', 'sex=M')
    >>> schema.encode({"age": ["60", "120"], "sex": ["M", "F"]}, 2).round(3)
    array([[0.   , 0.   , 0.707],
           [0.707, 0.707, 0.   ]])
    """

    columns: tuple[Column, ...]
    extra: str = "ignore"
    sparse: int | None = None
    missing_values: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        keep(self, "columns", tuple(self.columns))
        one_of("extra", self.extra, "ignore", "refuse")
        if self.sparse is not None:
            integer("sparse", self.sparse)
        keep(self, "missing_values", tuple(self.missing_values))
        MissingValues(self.missing_values)
        if not all(isinstance(column, Column) for column in self.columns):
            raise TypeError("the columns of a schema must be columns: use Schema.of")
        names = [column.name for column in self.columns]
        if twice := _twice(names):
            raise SchemaError(f"the column {twice!r} is described twice")
        if len([c for c in self.columns if isinstance(c, ResponseColumn)]) > 1:
            raise SchemaError("a schema has at most one label or target")
        if not self.features:
            raise SchemaError("the schema describes no feature: give a range, categories or a flag")
        self._check_feature_names()
        self._check_missing_values()

    def __repr__(self) -> str:
        return f"Schema.of({self.to_dict()})"

    def _check_feature_names(self) -> None:
        if twice := _twice(self.feature_names_out):
            raise SchemaError(f"two features would be called {twice!r}: rename a column")

    def _check_missing_values(self) -> None:
        for column in self.columns:
            listed = next(
                (
                    getattr(column, k)
                    for k in ("categories", "classes", "values")
                    if hasattr(column, k)
                ),
                None,
            )
            missing = MissingValues((*self.missing_values, *getattr(column, "missing_values", ())))
            for value in listed or ():
                if missing.has(value) or missing.has_text(str(value)):
                    raise SchemaError(
                        f"{value!r} is a value of the column {column.name!r} and cannot mean "
                        '"missing" in it'
                    )

    @staticmethod
    def of(given: Schema | Mapping[str, Any] | str | os.PathLike[str]) -> Schema:
        """Return the schema that is given as such, in short forms, or as the path of a file.

        Raises
        ------
        SchemaError
            If it is wrong; the message names the line of the file, the column and the reason.
        """
        if isinstance(given, Schema):
            return given
        if isinstance(given, Mapping):
            return Schema(**parts_of(given))
        if isinstance(given, str | os.PathLike):
            return Schema.read(given)
        raise TypeError(
            f"a schema must be a Schema, a dict or the path of a file, got {type(given).__name__}"
        )

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Schema:
        """Return the schema in a JSON file, or in a CSV file of bounds; see `of`."""
        fields = parts_in_file(Path(path))
        try:
            return Schema(**fields)
        except ValueError as error:
            raise SchemaError(f"the schema {path} is not valid: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the short forms as JSON values; `of` returns the same schema from them."""
        columns = {column.name: column.form() for column in self.columns}
        if any(name.startswith(("#", "$")) for name in columns):
            columns = {"$columns": columns}
        options: dict[str, Any] = {}
        if self.extra != "ignore":
            options["$extra"] = self.extra
        if self.sparse is not None:
            options["$sparse"] = self.sparse
        if self.missing_values:
            options["$missing_values"] = list(self.missing_values)
        return columns | options

    def to_json(self) -> str:
        """Return the short forms as JSON text, one column per line."""
        lines = (f"{_json(key)}: {_json(form)}" for key, form in self.to_dict().items())
        return "{" + ",\n ".join(lines) + "}\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a JSON file atomically."""
        write_atomically(Path(path), self.to_json().encode())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the short forms, in hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def feature_columns(self) -> tuple[FeatureColumn, ...]:
        """The columns that are encoded, in order."""
        return tuple(column for column in self.columns if isinstance(column, FeatureColumn))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns that are encoded, in order."""
        return tuple(column.name for column in self.feature_columns)

    @cached_property
    def response(self) -> ResponseColumn | None:
        """The column that is learned: a label or a target, if there is one."""
        return next((c for c in self.columns if isinstance(c, ResponseColumn)), None)

    @property
    def label(self) -> str | None:
        """The name of the label or target; None if there is none."""
        return None if self.response is None else self.response.name

    @property
    def classes(self) -> tuple[Name, ...] | None:
        """The classes of the label, the one that ranks highest last; None without a label."""
        return self.response.classes if isinstance(self.response, LabelColumn) else None

    @property
    def target(self) -> tuple[float, float] | None:
        """The range of the target; None without a target."""
        column = self.response
        return (column.low, column.high) if isinstance(column, TargetColumn) else None

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The names of the identifiers."""
        return tuple(c.name for c in self.columns if isinstance(c, IdentifierColumn))

    @property
    def ignored(self) -> tuple[str, ...]:
        """The names of the ignored columns."""
        return tuple(c.name for c in self.columns if isinstance(c, IgnoredColumn))

    @property
    def width(self) -> int:
        """The number of encoded features."""
        return len(self.feature_names_out)

    @cached_property
    def feature_names_out(self) -> tuple[str, ...]:
        """The names of the encoded features, such as ``age`` and ``sex=F``."""
        return tuple(name for column in self.feature_columns for name in column.feature_names)

    @cached_property
    def layout(self) -> Layout:
        """Where the features of each column are in a row, and how they are scaled."""
        return Layout.of(self.feature_columns, self.sparse, self.missing_values)

    def check_table(self, names: Any) -> None:
        """Raise an error for columns of a table that the schema does not name, if it says so."""
        known = {column.name for column in self.columns}
        more = [str(name) for name in names if name not in known]
        if more and self.extra == "refuse":
            raise SchemaError(
                f"the table has columns that the schema does not name: {', '.join(more[:20])}"
                f'{", …" if len(more) > 20 else ""}; describe them, for instance as "ignore", or '
                'use "$extra": "ignore"'
            )

    def encode(
        self, columns: Mapping[str, Any], n: int, *, invalid: Invalid = "error", start: int = 0
    ) -> Array:
        """Return the rows of n records, of norm at most 1 up to rounding.

        Parameters
        ----------
        columns : mapping of str to array of cells
            At least the feature columns. Cells are numbers, texts, booleans, dates or missing.
        n : int
            The number of records.
        invalid : {"error", "null"}
            What to do with a record that has a cell which the schema has no place for (unreadable,
            an unknown category, or missing where the schema does not say what that means): raise an
            error, or return a row of NaN, which stands for a null record. Where the schema says
            that a missing cell makes a null record, the row is NaN in either case.
        start : int
            The number of records before these, for errors.

        Notes
        -----
        The rows are (w_c b_c)_c / √Σw_c², where b_c, of norm at most 1, is the block of column c
        (`pairdp.schema.features`) and w_c its weight (`pairdp.schema.encoding.shares` has the
        proof, and the rule for sparse flags). A row depends on its own cells and on the schema.
        """
        with silence():  # once, and not for each column
            return encode_rows(self, columns, n, invalid, start)

    def encode_label(self, cells: Any, *, invalid: Invalid = "null", start: int = 0) -> Array:
        """Return labels as numbers, NaN for those that are missing or unknown.

        Two classes become -1 and 1, more classes 0, 1, 2, …, and targets are clipped to their
        range. With ``invalid="error"`` a label that is not a class is an error.
        """
        if self.response is None:
            raise SchemaError("the schema has no label")
        codes = encode_response(self, self.response, cells, invalid, start)
        two = self.classes is not None and len(self.classes) == 2
        return np.asarray(2 * codes - 1 if two else codes)

    def outside(self, columns: Mapping[str, Any]) -> dict[str, CellCounts]:
        """Return how many cells are missing, outside their range, or unknown, by column.

        This looks at the data and is not private: it is for those who hold the data, and must not
        be published.
        """
        return count_cells(self, columns)


def _twice(names: Iterable[str]) -> str | None:
    """Return a name that occurs twice, if there is one."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
