"""Pairs of records, given as arrays or as row numbers, and their differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from pairdp._reading import Invalid, read_table, uses_null_records
from pairdp.clipping import clip_rows
from pairdp.estimators.schema_tables import encoded_rows
from pairdp.estimators.validation import checked_array, validated
from pairdp.schema import Schema

Array = NDArray[np.float64]


def public_pair_shape(pairs: Any, records: Any) -> tuple[int, int] | None:
    """Return the numbers of pairs and of features without reading them; None if not known."""
    shape: tuple[int, ...] = getattr(pairs, "shape", ())
    if records is not None:
        shape = (*shape, *getattr(records, "shape", ())[1:])
    if len(shape) == 3 and shape[0] > 1 and shape[1] == 2 and shape[2] > 0:
        return shape[0], shape[2]
    return None


def pairs_of(
    estimator: BaseEstimator, pairs: ArrayLike, records: ArrayLike | None, invalid: Invalid
) -> Array:
    """Return pairs as an array of shape (n_pairs, 2, n_features), and set the feature names.

    With ``invalid="null"``, records that cannot be read, and row numbers out of range, are NaN.
    """
    if records is None:
        found = _array(pairs, invalid)
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        table = validated(estimator, records, invalid=invalid)
        if uses_null_records(invalid):
            table = read_table(table)
        found = _looked_up(pairs, np.asarray(table), invalid)
    if len(found) < 2:
        raise ValueError(f"at least two pairs are needed, got {len(found)}")
    return found


def encoded_pairs(schema: Schema, pairs: ArrayLike, table: Any, invalid: Invalid) -> Array:
    """Return pairs of encoded records of a table; those of null records are NaN."""
    if table is None:
        raise ValueError(
            "with a schema, pairs are row numbers of a table with named columns: pass the table as "
            "preprocessor"
        )
    return _looked_up(pairs, encoded_rows(schema, table, invalid), invalid)


def looked_up_persons(pairs: ArrayLike, identifiers: NDArray[Any]) -> NDArray[Any]:
    """Return the identifiers of the rows of each pair, None for row numbers out of range."""
    places = row_numbers(pairs)
    known = (places >= 0) & (places < len(identifiers))
    found = np.full(places.shape, None, dtype=object)
    found[known] = identifiers.astype(object)[places[known]]
    return found


def differences(pairs: ArrayLike, n_features: int, norm: float, invalid: Invalid) -> Array:
    """Return x - x' of each pair, clipped to a norm."""
    found = _array(pairs, invalid)
    if found.shape[2] != n_features:
        raise ValueError(f"pairs have {found.shape[2]} features, not {n_features}")
    # Halves do not overflow.
    return 2 * clip_rows(found[:, 0] / 2 - found[:, 1] / 2, norm / 2, invalid)


def _array(pairs: ArrayLike, invalid: Invalid) -> Array:
    if uses_null_records(invalid):
        given = np.asarray(pairs, dtype=None if hasattr(pairs, "dtype") else object)
        _check_shape(given.shape)
        d = given.shape[2]
        return read_table(given.reshape(-1, d), d).reshape(-1, 2, d)
    found = checked_array(pairs, allow_nd=True, input_name="pairs")
    _check_shape(found.shape)
    return found


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 3 or shape[1] != 2 or shape[2] < 1:
        raise ValueError(
            f"pairs must have shape (n_pairs, 2, n_features), got {shape}; pairs of row numbers "
            "have shape (n_pairs, 2) and need preprocessor=records"
        )


def _looked_up(pairs: ArrayLike, records: Array, invalid: Invalid) -> Array:
    places = row_numbers(pairs)
    known = (places >= 0) & (places < len(records))
    if not uses_null_records(invalid) and not known.all():
        raise ValueError(f"pairs has row numbers that preprocessor, of {len(records)} rows, lacks")
    found = records[np.where(known, places, 0)]
    found[~known] = np.nan
    return np.asarray(found)


def row_numbers(pairs: ArrayLike) -> NDArray[Any]:
    """Return row numbers as an array of shape (n_pairs, 2)."""
    places = np.asarray(pairs)
    if places.ndim != 2 or places.shape[1] != 2 or places.dtype.kind not in "iu":
        raise ValueError(
            "with preprocessor, pairs must be row numbers of shape (n_pairs, 2), got shape "
            f"{places.shape} of type {places.dtype}"
        )
    return places


def persons(groups: ArrayLike) -> NDArray[Any]:
    """Return a tuple of the two persons of each pair, not converted to a common type."""
    found = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    if found.ndim != 2 or found.shape[1] != 2:
        raise ValueError(
            f"groups must have the two persons of each pair, of shape (n_pairs, 2), got "
            f"{found.shape}"
        )
    tuples = np.empty(len(found), dtype=object)
    for i, pair in enumerate(found.tolist()):
        tuples[i] = tuple(pair)
    return tuples
