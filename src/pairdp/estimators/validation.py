"""Validation of data, with errors and warnings that reveal no value of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from pairdp._arrow_tables import as_labels, as_table
from pairdp._reading import (
    Invalid,
    equal_to,
    label_array,
    read_labels,
    read_table,
    uses_null_records,
)

Array = NDArray[np.float64]
_NUMBERS = "biuf"


def public_shape(X: Any) -> tuple[int, int] | None:
    """Return the shape of data that can be fitted, without reading it; None if it has none."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2 and shape[0] > 1 and shape[1] > 0:
        return shape
    return None


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Restore the attributes of an estimator if an error is raised."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def validated(
    estimator: BaseEstimator,
    X: ArrayLike,
    *y: ArrayLike | None,
    invalid: Invalid = "error",
    **checks: Any,
) -> Any:
    """Validate data by scikit-learn's ``validate_data``, with errors that quote no value.

    With ``invalid="null"`` only shape and names are checked, and arrays are returned unchanged;
    `Records` reads them row by row.
    """
    table = as_table(X)
    y = tuple(as_labels(labels) for labels in y)
    if uses_null_records(invalid) and not issparse(table):
        return _read(estimator, table, *y, **checks)
    if not y and checks == {"reset": False} and _is_plain(estimator, table):
        return table
    try:
        # scikit-learn sums the values to detect infinities, which may warn of overflow.
        with np.errstate(all="ignore"):
            labels = [label if label is None else label_array(label) for label in y]
            return validate_data(estimator, table, *labels, dtype=np.float64, **checks)
    except TypeError as error:
        if "NA is ambiguous" not in str(error):
            raise
        # scikit-learn compares labels with themselves, which pandas' missing value does not allow.
        raise ValueError(f"Input y contains NA. {_way_out(estimator, checks)}") from None
    except ValueError as error:
        message = str(error)
        if "could not convert" in message:
            message = (
                "X must be a table of numbers, but some of its entries are not numbers; for tables "
                "with words, dates and gaps, describe the columns in schema= (pairdp.Schema)"
            )
        if message.startswith("Input X contains"):
            message = f"{message.splitlines()[0]} {_way_out(estimator, checks)}"
        if "Complex data" in message:
            message = "Complex data not supported: X and y must be real"
        raise ValueError(re.sub(r":\narray=.*?\.\n", ". ", message, flags=re.S)) from None


def _is_plain(estimator: Any, table: Any) -> bool:
    """Return whether rows to predict are an array that scikit-learn would return as it is."""
    if type(table) is not np.ndarray or table.dtype != np.float64 or not table.size:
        return False
    if hasattr(estimator, "feature_names_in_") or table.shape[1:] != (estimator.n_features_in_,):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(table.sum()))


def _way_out(estimator: BaseEstimator, checks: dict[str, Any]) -> str:
    """Return what to do about records that cannot be read."""
    fits = checks.get("reset", True) and hasattr(estimator, "invalid")
    null = ', or pass invalid="null", which makes them null records' if fits else ""
    return f"Fill in or drop such records first{null}."


def checked_array(X: ArrayLike, **checks: Any) -> Array:
    """Return an array checked by scikit-learn's ``check_array``, without warnings on its values."""
    with np.errstate(all="ignore"):
        return np.asarray(check_array(X, dtype=np.float64, **checks))


def products(rows: Array, weights: Array) -> Array:
    """Return Xw, which is finite for all finite rows, without warnings that depend on them."""
    with np.errstate(all="ignore"):
        found = np.asarray(rows @ weights)
        beyond = ~np.isfinite(found).all(axis=tuple(range(1, found.ndim)))
        if beyond.any():
            largest = np.abs(rows[beyond]).max(axis=1, keepdims=True)
            in_units = (rows[beyond] / largest) @ weights
            found[beyond] = in_units * largest.reshape(-1, *[1] * (found.ndim - 1))
        return finite(found)


def finite(values: Array) -> Array:
    """Return values with infinite ones replaced by the largest finite number of their sign."""
    largest = np.finfo(np.float64).max
    return np.clip(values, -largest, largest)


def _read(
    estimator: Any,
    X: ArrayLike,
    *y: ArrayLike | None,
    reset: bool = True,
    ensure_min_samples: int = 1,
    y_numeric: bool = False,
) -> Any:
    """Return rows and labels unchanged, after checking their shapes."""
    del y_numeric  # targets that are not numbers make null records
    shape = np.shape(X) if hasattr(X, "shape") else ()
    features = None if reset else estimator.n_features_in_
    rows: Any = X if len(shape) == 2 and 0 not in shape else read_table(X, features)
    if len(rows) < ensure_min_samples:
        raise ValueError(
            f"Found array with {len(rows)} sample(s) while a minimum of {ensure_min_samples} is "
            f"required by {type(estimator).__name__}."
        )
    # Checks only the names and the number of columns.
    validate_data(estimator, rows, reset=reset, skip_check_array=True)
    if not y:
        return rows
    if y[0] is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None"
        )
    shape = getattr(y[0], "shape", ())
    column = len(shape) == 2 and shape[1] == 1
    labels = read_labels(np.ravel(y[0]) if column else y[0])
    if len(labels) != len(rows):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{[len(rows), len(labels)]}"
        )
    return rows, labels


def check_labels(y: ArrayLike) -> None:
    """Raise an error for targets that are not classes, without revealing the number of classes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", UserWarning)
        try:
            check_classification_targets(y)
        except TypeError:  # labels that cannot be sorted
            raise ValueError("y must have labels of one type, such as all strings") from None


def known_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each label is one of the classes; strings never equal numbers."""
    labels = label_array(y)
    if "O" in (labels.dtype.kind, classes.dtype.kind):
        named = [equal_to(labels, label) for label in classes.tolist()]
        return np.asarray(np.any(named, axis=0), dtype=np.bool_)
    if labels.dtype.kind in _NUMBERS and classes.dtype.kind in _NUMBERS:
        return np.asarray(np.any([labels == one for one in classes], axis=0), dtype=np.bool_)
    if (labels.dtype.kind in "US") != (classes.dtype.kind in "US"):
        return np.zeros(labels.shape, dtype=bool)  # numpy would compare numbers as strings
    return np.isin(labels, classes)


def check_known_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array; an error if the model does not know one of them.

    An array with one column is accepted, as by `fit`.
    """
    labels = label_array(np.ravel(y) if np.shape(y)[1:] == (1,) else y)
    if not np.all(known_labels(labels, classes)):
        low, high = classes.tolist()
        raise ValueError(
            f"y has labels that the model does not know: it was fitted to the classes {low!r} and "
            f"{high!r}"
        )
    return labels
