"""SchemaEncoder: tables with named columns as features in the unit ball."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from pairdp._reading import Invalid
from pairdp.estimators.schema_tables import encoded_rows
from pairdp.estimators.table_input import GivenSchema
from pairdp.model_file.registry import stored_in_model_files
from pairdp.schema import Schema

Array = NDArray[np.float64]


@stored_in_model_files({}, has_certificate=False)
class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode tables by a public schema; nothing is learned from the data.

    Rows have norm at most 1: pass ``data_norm=1.0`` to private estimators, or pass them the schema
    itself, so that their certificates state how rows were prepared.

    Parameters
    ----------
    schema : Schema, dict or path
        The public description of the columns; see `pairdp.Schema`.
    invalid : {"error", "null"}, default="error"
        What to do with a record that has a cell which the schema has no place for: raise an error,
        or return a row of NaN, which an estimator with ``invalid="null"`` turns into a null record.

    Attributes
    ----------
    schema_ : Schema
        The schema.
    n_features_in_ : int
        Number of columns that are encoded.
    feature_names_in_ : array of shape (n_features,)
        Their names.

    Examples
    --------
    >>> from pairdp import SchemaEncoder
    >>> encoder = SchemaEncoder({"age": [0, 120], "sex": ["F", "M"]})
    >>> encoder.fit_transform({"age": [60, 120], "sex": ["M", "F"]}).round(3)
    array([[0.   , 0.   , 0.707],
           [0.707, 0.707, 0.   ]])
    >>> encoder.get_feature_names_out()
    array(['age', 'sex=F', 'sex=M'], dtype=object)
    """

    def __init__(self, schema: GivenSchema | None = None, *, invalid: Invalid = "error") -> None:
        self.schema = schema
        self.invalid = invalid

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _given(self) -> Schema:
        """Return the schema: that of `fit`, or of the parameter."""
        if "schema_" in self.__dict__:
            return self.schema_
        if self.schema is None:
            raise ValueError("SchemaEncoder needs a schema: a Schema, a dict or a path")
        return Schema.of(self.schema)

    def fit(self, X: Any = None, y: object = None) -> Self:
        """Read the schema; X is not used.

        Parameters
        ----------
        X, y : ignored
        """
        self.__dict__.pop("schema_", None)
        self.schema_ = self._given()
        self.n_features_in_ = len(self.schema_.features)
        self.feature_names_in_ = np.array(self.schema_.features, dtype=object)
        return self

    def transform(self, X: Any) -> Array:
        """Return the encoded rows of a table.

        Parameters
        ----------
        X : table with named columns
            A DataFrame of pandas or polars, a table of pyarrow, a dict of columns, a structured
            array or a list of dicts. Columns may be in any order; the schema says whether others
            than its own are ignored or refused.
        """
        return encoded_rows(self._given(), X, self.invalid)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the encoded features, such as ``age`` and ``sex=F``.

        Parameters
        ----------
        input_features : ignored
        """
        return np.array(self._given().feature_names_out, dtype=object)
