"""BoundsScaler: scaling of features to the unit ball by public bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pairdp._reading import Invalid, read_table, uses_null_records
from pairdp.estimators.bounds import read_bounds
from pairdp.estimators.validation import checked_array, finite, validated
from pairdp.model_file.registry import stored_in_model_files

Array = NDArray[np.float64]


def _check_widths(scaler: Any) -> None:
    if not np.all(scaler.half_width_ > 0):
        raise ValueError("half_width_ is not positive")


@stored_in_model_files(
    {"center_": ("d",), "half_width_": ("d",)}, has_certificate=False, check=_check_widths
)
class BoundsScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Scale features to the unit ball by public bounds, never by statistics of the data.

    Each feature is clipped to its bounds and mapped to [-1, 1]; the row is divided by √d:

    .. math::
        z_j = \frac{1}{\sqrt d}\,\mathrm{clip}\Big(\frac{2x_j - l_j - u_j}{u_j - l_j}, -1, 1\Big).

    So rows have norm at most 1: pass ``data_norm=1.0`` to private estimators.

    Parameters
    ----------
    lower, upper : float, array-like of shape (n_features,), or mapping of names, default -1 and 1
        Bounds that are known without looking at the data, such as "age is 0 to 120". One number
        applies to all features. The keys of a mapping (or the index of a pandas Series) are the
        names of a DataFrame's columns.
    invalid : {"error", "null"}, default="error"
        What `transform` does with a row that has NaN, infinity or something that is not a number:
        raise an error, or return a row of NaN, which an estimator with ``invalid="null"`` turns
        into a null record.

    Attributes
    ----------
    center_, half_width_ : array of shape (n_features,)
        The midpoint of each feature's bounds, and half of their distance.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Their names, when X has names that are strings.

    Examples
    --------
    >>> from pairdp import BoundsScaler
    >>> BoundsScaler(lower=[0, 50], upper=[120, 250]).fit_transform([[60, 150], [120, 300]])
    array([[0.        , 0.        ],
           [0.70710678, 0.70710678]])
    """

    def __init__(
        self,
        lower: float | ArrayLike | Mapping[str, float] = -1.0,
        upper: float | ArrayLike | Mapping[str, float] = 1.0,
        *,
        invalid: Invalid = "error",
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.invalid = invalid

    @classmethod
    def from_file(cls, path: str | Path) -> BoundsScaler:
        """Return a scaler with the bounds of a JSON or CSV file; see `read_bounds`."""
        return cls(*read_bounds(path))

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Check the bounds against the shape and the names of X; its values are not used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data with the same number and names of features as the data to transform.
        y : ignored
        """
        validated(self, X, invalid=self.invalid)
        return self._set()

    def fit_columns(self, names: Sequence[str]) -> Self:
        """Check the bounds against the names of columns, without any data.

        Parameters
        ----------
        names : sequence of str
            The names of all features, in order.
        """
        self.feature_names_in_ = np.array(list(names), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self._set()

    def _set(self) -> Self:
        lower, upper = self._bound("lower"), self._bound("upper")
        half_width = upper / 2 - lower / 2
        if not np.all(half_width > 0):
            raise ValueError("each lower bound must be below its upper bound")
        self.center_, self.half_width_ = lower / 2 + upper / 2, half_width
        return self

    def _bound(self, which: str) -> Array:
        given = getattr(self, which)
        if isinstance(given, Mapping) or (hasattr(given, "index") and hasattr(given, "to_dict")):
            given = self._by_name(which, dict(given))
        try:
            bound = np.array(np.broadcast_to(np.asarray(given, np.float64), (self.n_features_in_,)))
        except (TypeError, ValueError):
            raise ValueError(
                f"{which} must be a number, {self.n_features_in_} numbers, or a mapping of names "
                f"to numbers, got {given!r}"
            ) from None
        if not np.all(np.isfinite(bound)):
            raise ValueError(f"{which} must be finite")
        return bound

    def _by_name(self, which: str, given: dict[Any, Any]) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                f"{which} is a mapping of names, but X has no names: pass X as a DataFrame, or "
                f"{which} as a list"
            )
        if missing := [name for name in names if name not in given]:
            raise ValueError(f"{which} lacks {', '.join(map(repr, missing))}")
        if unknown := [name for name in given if name not in set(names)]:
            raise ValueError(f"{which} has {', '.join(map(repr, unknown))}, but X does not")
        return [given[name] for name in names]

    def transform(self, X: ArrayLike) -> Array:
        """Return the rows, scaled to the unit ball."""
        check_is_fitted(self, "center_")
        rows = validated(self, X, reset=False, invalid=self.invalid)
        return self.scale(read_table(rows) if uses_null_records(self.invalid) else rows)

    def scale(self, rows: Array) -> Array:
        """Return the rows, scaled to the unit ball: `transform` without its checks.

        Rows of NaN stay unchanged.
        """
        with np.errstate(over="ignore"):  # clipped anyway
            cut = np.clip((rows - self.center_) / self.half_width_, -1, 1)
        return np.asarray(cut / np.sqrt(self.n_features_in_))

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return rows in their original units."""
        check_is_fitted(self, "center_")
        rows = checked_array(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X must have {self.n_features_in_} features, got {rows.shape[1]}")
        with np.errstate(all="ignore"):
            return finite(rows * (self.half_width_ * np.sqrt(self.n_features_in_)) + self.center_)
