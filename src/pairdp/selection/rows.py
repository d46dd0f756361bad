"""Rows of tables of any kind, at given places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp.estimators import PrivateEstimator
from pairdp.schema import Schema, columns_of

Places = NDArray[np.intp]


def rows_at(values: Any, places: Places) -> Any:
    """Return the records, or the labels, at some places."""
    if isinstance(values, Mapping):
        return {name: rows_at(column, places) for name, column in values.items()}
    if hasattr(values, "iloc"):
        return values.iloc[places]
    if hasattr(values, "take") and hasattr(values, "num_rows"):
        return values.take(places)  # a table of pyarrow
    if hasattr(values, "shape"):
        return values[places]
    return [values[place] for place in places.tolist()]


def units_of(estimator: PrivateEstimator, X: Any, groups: ArrayLike | None) -> Any:
    """Return the unit of each record: as given, or from the column that the schema declares."""
    unit = estimator._unit()
    if groups is None and unit is not None and estimator.schema is not None:
        schema = Schema.of(estimator.schema)
        if unit.name in schema.identifiers:
            return columns_of(X, [unit.name])[0][unit.name]
    estimator._checked_groups(groups)
    return groups
