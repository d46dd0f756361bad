"""Checks of data whose errors and warnings tell nothing of the data's values."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data


def validated(estimator: BaseEstimator, X: ArrayLike, *y: ArrayLike | None, **checks: Any) -> Any:
    """Return data as scikit-learn's ``validate_data`` checks it, with errors that quote none."""
    try:
        return validate_data(estimator, X, *y, dtype=np.float64, **checks)
    except ValueError as error:
        message = str(error)
        if "could not convert" in message:
            message = "X must be a table of numbers, and some of its entries are not"
        if "Complex data" in message:
            message = "Complex data not supported: X and y must be real"
        raise ValueError(re.sub(r":\narray=.*?\.\n", ". ", message, flags=re.S)) from None


def check_labels(y: ArrayLike) -> None:
    """Refuse targets that are no classes, without a word on how many classes there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            check_classification_targets(y)
        except TypeError:  # labels that cannot be sorted
            raise ValueError("y must hold labels of one kind, such as all strings") from None


def known_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each label whether it is one of the classes; text never equals a number."""
    labels = np.asarray(y)
    if "O" in (labels.dtype.kind, classes.dtype.kind):
        accepted = classes.tolist()
        return np.array([label in accepted for label in labels.tolist()], dtype=bool)
    if (labels.dtype.kind in "US") != (classes.dtype.kind in "US"):
        return np.zeros(labels.shape, dtype=bool)  # numpy would compare numbers as text
    return np.isin(labels, classes)


def check_known_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array, refusing those that a model does not know."""
    if not np.all(known_labels(y, classes)):
        low, high = classes.tolist()
        raise ValueError(
            f"y has labels that the model does not know: it was fitted to the classes {low!r} and "
            f"{high!r}"
        )
    return np.asarray(y)
