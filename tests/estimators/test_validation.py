"""Rows to predict are checked as scikit-learn checks them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from pairdp.estimators.validation import validated

ROWS = np.arange(12.0).reshape(4, 3)


class _Fitted(BaseEstimator):
    n_features_in_ = 3


class _Named(_Fitted):
    feature_names_in_ = np.array(["a", "b", "c"], dtype=object)


def _outcome(check: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            found = check(*arguments, **options)
        except ValueError:
            return "refused"
    return found.tolist(), found.dtype, len(warned)


@pytest.mark.parametrize("estimator", [_Fitted(), _Named()])
@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        ROWS.astype(np.float32),
        np.asfortranarray(ROWS),
        ROWS[::2],
        ROWS[:, :2],
        ROWS[0],
        ROWS[:0],
        ROWS[None],
        np.where(ROWS == 5, np.nan, ROWS),
        np.where(ROWS == 5, np.inf, ROWS),
        np.full((4, 3), 1e308),
        ROWS.tolist(),
        np.ma.masked_less(ROWS, 3.0),
    ],
)
def test_rows_to_predict_are_checked_as_by_scikit_learn(estimator: Any, rows: Any) -> None:
    expected = _outcome(validate_data, estimator, rows, reset=False, dtype=np.float64)
    assert _outcome(validated, estimator, rows, reset=False) == expected
