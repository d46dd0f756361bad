"""The part of an estimator that knows the schema of its data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid
from pairdp.estimators.fit_warnings import warn_of_calibration
from pairdp.estimators.schema_tables import encoded_blocks, encoded_rows
from pairdp.estimators.validation import validated
from pairdp.schema import Schema

Array = NDArray[np.float64]
GivenSchema = Schema | Mapping[str, Any] | str | os.PathLike[str]
_IN_USE = "_schema_in_use"


class TableInput:
    """A mixin for estimators with the parameters ``schema``, ``data_norm`` and ``invalid``."""

    _encoded_norm: ClassVar[float] = 1.0  # of what is learned from; more for differences of rows

    schema: GivenSchema | None = None
    data_norm: float | None = None
    invalid: Invalid = "error"

    schema_: Schema
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def _schema(self) -> Schema | None:
        """Return the schema that the parameters specify, None if they specify none."""
        if _IN_USE in self.__dict__:
            return self.__dict__[_IN_USE]  # type: ignore[no-any-return]
        if "_session" in self.__dict__:
            return self.__dict__.get("schema_")  # that a stream began with
        if self.schema is None:
            return None
        schema = Schema.of(self.schema)
        self._check_schema(schema)
        if self.data_norm is not None and not 1 <= self.data_norm <= self._encoded_norm:
            raise ValueError("rows that a schema encodes have norm at most 1: leave out data_norm")
        return schema

    def _known_schema(self) -> Schema | None:
        """Return the schema of the fitted model or of the parameters; None if it is wrong."""
        if _IN_USE not in self.__dict__ and "schema_" in self.__dict__:
            return self.schema_
        try:
            return self._schema()
        except (ValueError, TypeError):  # `fit` says what is wrong with it
            return None

    @contextmanager
    def _pinned_schema(self) -> Iterator[Schema | None]:
        """Read the schema once for a fit, so that changing its file meanwhile has no effect."""
        schema = self._schema()
        for fitted in ("schema_", "n_is_counted_"):
            self.__dict__.pop(fitted, None)
        self.__dict__[_IN_USE] = schema
        if schema is not None:
            self._set_schema(schema)
        try:
            yield schema
        finally:
            self.__dict__.pop(_IN_USE, None)

    def _set_schema(self, schema: Schema) -> None:
        """Set the fitted attributes that follow from the schema."""
        self.schema_ = schema
        self.n_features_in_ = len(schema.features)
        self.feature_names_in_ = np.array(schema.features, dtype=object)

    def _check_schema(self, schema: Schema) -> None:
        """Raise an error for a schema whose label is not for this kind of model."""

    def _width(self, n_features: int | None) -> int:
        """Return the number of features of the data; that of the schema if there is one."""
        schema = self._schema()
        if schema is None:
            if n_features is None:
                raise ValueError("n_features is needed: only with a schema it may be left out")
            return n_features
        if n_features not in (None, schema.width):
            raise ValueError(
                f"the schema encodes {schema.width} features, and n_features is {n_features}: "
                "leave it out"
            )
        return schema.width

    @property
    def _norm_is_given(self) -> bool:
        """Whether the norm of rows is known: by the parameter, or by a schema."""
        return self.data_norm is not None or self.schema is not None

    @property
    def _invalid_rows(self) -> Invalid:
        """What to do with rows that cannot be read; those that a schema encoded were checked."""
        return self.invalid if self._schema() is None else "null"

    def _features(self, X: ArrayLike) -> Array:
        """Return the features of records to predict; with a schema, NaN for null records."""
        if hasattr(self, "decision_function"):
            warn_of_calibration()
        schema: Schema | None = self.__dict__.get("schema_")
        if schema is not None:
            return encoded_rows(schema, X, self.invalid)
        rows: Array = validated(self, X, reset=False)
        return rows

    def _scored(self, X: ArrayLike, score: Callable[[Array], Array]) -> Array:
        """Return the scores of records to predict; NaN for null records of a schema.

        The rows that a schema encodes are scored block by block, and never all in memory.
        """
        schema: Schema | None = self.__dict__.get("schema_")
        if schema is None:
            return score(self._features(X))
        if hasattr(self, "decision_function"):
            warn_of_calibration()
        blocks = encoded_blocks(schema, X, self.invalid)
        return np.concatenate([_scores(rows, score) for rows in blocks])


def _scores(rows: Array, score: Callable[[Array], Array]) -> Array:
    """Return the scores of rows, NaN for those that are NaN."""
    null = np.isnan(rows[:, 0])
    if not null.any():
        return score(rows)
    found = np.full(len(rows), np.nan)
    if not null.all():  # a block may consist of null records
        found[~null] = score(rows[~null])
    return found
