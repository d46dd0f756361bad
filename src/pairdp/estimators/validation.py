"""Checks of data whose errors and warnings reveal no value of the data."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from pairdp._reading import Invalid, equal_to, label_array, null_is_asked, read_labels, read_table

Array = NDArray[np.float64]


def public_shape(X: Any) -> tuple[int, int] | None:
    """Return the shape of an array or table that can be fitted to, without reading any of it."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2 and shape[0] > 1 and shape[1] > 0:
        return shape
    return None


def validated(
    estimator: BaseEstimator,
    X: ArrayLike,
    *y: ArrayLike | None,
    invalid: Invalid = "error",
    **checks: Any,
) -> Any:
    """Return data as scikit-learn's ``validate_data`` checks it, with errors that quote none.

    With ``invalid="null"`` nothing but its shape and its names is checked, and arrays are returned
    as they came; `Records` reads them row by row.
    """
    if null_is_asked(invalid) and not issparse(X):
        return _read(estimator, X, *y, **checks)
    try:
        # scikit-learn adds up the values to see whether one is infinite, and warns of overflow.
        with np.errstate(all="ignore"):
            labels = [label if label is None else label_array(label) for label in y]
            return validate_data(estimator, X, *labels, dtype=np.float64, **checks)
    except TypeError as error:
        if "NA is ambiguous" not in str(error):
            raise
        # scikit-learn compares labels with themselves, which a missing one of pandas refuses.
        raise ValueError(f"Input y contains NA. {_way_out(estimator, checks)}") from None
    except ValueError as error:
        message = str(error)
        if "could not convert" in message:
            message = "X must be a table of numbers, and some of its entries are not"
        if message.startswith("Input X contains"):
            message = f"{message.splitlines()[0]} {_way_out(estimator, checks)}"
        if "Complex data" in message:
            message = "Complex data not supported: X and y must be real"
        raise ValueError(re.sub(r":\narray=.*?\.\n", ". ", message, flags=re.S)) from None


def _way_out(estimator: BaseEstimator, checks: dict[str, Any]) -> str:
    """Return what to do about records that cannot be read."""
    fits = checks.get("reset", True) and hasattr(estimator, "invalid")
    null = ', or give invalid="null", which counts them as null records' if fits else ""
    return f"Fill in or drop such records first{null}."


def checked_array(X: ArrayLike, **checks: Any) -> Array:
    """Return an array as scikit-learn's ``check_array`` does, without warnings on its values."""
    with np.errstate(all="ignore"):
        return np.asarray(check_array(X, dtype=np.float64, **checks))


def products(rows: Array, weights: Array) -> Array:
    """Return Xw, finite for any finite rows, and without a warning that depends on them."""
    with np.errstate(all="ignore"):
        found = np.asarray(rows @ weights)
        beyond = ~np.isfinite(found).reshape(len(rows), -1).all(axis=1)
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
    """Return rows and labels as they came, one label a row."""
    del y_numeric  # targets that are no numbers are those of null records
    shape = np.shape(X) if hasattr(X, "shape") else ()
    features = None if reset else estimator.n_features_in_
    rows: Any = X if len(shape) == 2 and 0 not in shape else read_table(X, features)
    if len(rows) < ensure_min_samples:
        raise ValueError(
            f"Found array with {len(rows)} sample(s) while a minimum of {ensure_min_samples} is "
            f"required by {type(estimator).__name__}."
        )
    # Names and number of columns alone; a list is given as the table that it is.
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
    """Refuse targets that are not classes, without revealing how many classes there are."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", UserWarning)
        try:
            check_classification_targets(y)
        except TypeError:  # labels that cannot be sorted
            raise ValueError("y must hold labels of one kind, such as all strings") from None


def known_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each label whether it is one of the classes; text never equals a number."""
    labels = label_array(y)
    if "O" in (labels.dtype.kind, classes.dtype.kind):
        named = [equal_to(labels, label) for label in classes.tolist()]
        return np.asarray(np.any(named, axis=0), dtype=np.bool_)
    if (labels.dtype.kind in "US") != (classes.dtype.kind in "US"):
        return np.zeros(labels.shape, dtype=bool)  # numpy would compare numbers as text
    return np.isin(labels, classes)


def check_known_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array, refusing those that a model does not know.

    A table of one column is accepted, as `fit` does.
    """
    labels = label_array(np.ravel(y) if np.shape(y)[1:] == (1,) else y)
    if not np.all(known_labels(labels, classes)):
        low, high = classes.tolist()
        raise ValueError(
            f"y has labels that the model does not know: it was fitted to the classes {low!r} and "
            f"{high!r}"
        )
    return labels
