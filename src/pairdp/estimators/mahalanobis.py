"""The methods of a fitted Mahalanobis metric, with the names and signs of metric-learn."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pairdp.estimators.axes import axes_of, check_n_components, directions_of
from pairdp.estimators.fit_warnings import EUCLIDEAN, EuclideanWarning
from pairdp.estimators.validation import checked_array, finite, products

Array = NDArray[np.float64]
_TINY = float(np.finfo(np.float64).tiny)


class PairScores(ABC):
    """Scores of pairs by their distance."""

    @abstractmethod
    def pair_distance(self, pairs: ArrayLike) -> Array:
        """Return the distance of each pair."""

    def pair_score(self, pairs: ArrayLike) -> Array:
        """Return the similarity of each pair: minus its distance, so larger is more similar."""
        return -self.pair_distance(pairs)

    def score_pairs(self, pairs: ArrayLike) -> Array:
        """Return the distance of each pair, so *smaller* is more similar.

        This is what metric-learn's method of this name returns, which it deprecates for its
        ambiguous sign: use `pair_distance` or `pair_score` in new code.
        """
        return self.pair_distance(pairs)


def checked_pairs(pairs: ArrayLike, d: int) -> Array:
    """Return pairs of records of d features as an array; an error if they are not."""
    checked = checked_array(pairs, allow_nd=True, input_name="pairs")
    if checked.ndim != 3 or checked.shape[1:] != (2, d):
        raise ValueError(f"pairs must have shape (n_pairs, 2, {d}), got {checked.shape}")
    return checked


class MahalanobisMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PairScores):  # type: ignore[misc]
    """A metric d(x, x')² = |L(x - x')|² with axes L, which are functions of a released matrix."""

    n_components: int | None = None
    components_: Array
    eigenvalues_: Array
    _features: Callable[[ArrayLike], Array]

    def _set_axes(self, matrix: Array) -> None:
        """Set the axes of a released matrix, as many as are kept."""
        self.eigenvalues_, components = axes_of(matrix)
        self.components_ = components[: check_n_components(self.n_components, len(components))]

    @property
    def n_directions_(self) -> int:
        """The number of directions that were learned; a function of the release."""
        check_is_fitted(self, "components_")
        return directions_of(self.eigenvalues_)

    def _warn_of_release(self) -> None:
        """Warn if the released metric is the Euclidean one."""
        if len(self.eigenvalues_) > 1 and self.n_directions_ == 0:
            warnings.warn(EUCLIDEAN, EuclideanWarning, stacklevel=3)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def transform(self, X: ArrayLike) -> Array:
        """Return XLᵀ, whose Euclidean distances are those of the metric."""
        check_is_fitted(self, "components_")
        return products(self._features(X), self.components_.T)

    def pair_distance(self, pairs: ArrayLike) -> Array:
        """Return the distance of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of records; with a schema, of encoded ones (`SchemaEncoder`).
        """
        check_is_fitted(self, "components_")
        checked = checked_pairs(pairs, self.components_.shape[1])
        halves = products(checked[:, 0] / 2 - checked[:, 1] / 2, self.components_.T)
        largest = np.maximum(np.abs(halves).max(axis=1), _TINY)
        unit = halves / largest[:, None]  # its squares neither overflow nor underflow
        with np.errstate(over="ignore"):
            return finite(np.sqrt(np.einsum("ij,ij->i", unit, unit)) * 2 * largest)

    def get_metric(self) -> Callable[..., float]:
        """Return a function of two records that gives their distance.

        It does not change if the estimator is fitted again, and can be passed as ``metric`` to
        scikit-learn's estimators. With ``squared=True`` it returns the squared distance.
        """
        check_is_fitted(self, "components_")
        components = self.components_.copy()

        def metric(u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
            with np.errstate(all="ignore"):
                apart = components @ (np.ravel(u) - np.ravel(v))
                found = float(apart @ apart)
            return found if squared else found**0.5

        return metric

    def get_mahalanobis_matrix(self) -> Array:
        """Return M = LᵀL of the axes that are kept."""
        check_is_fitted(self, "components_")
        return np.asarray(self.components_.T @ self.components_)


def check_axes(model: Any) -> None:
    """Raise ValueError for a model whose axes do not fit its parameters and eigenvalues."""
    kept = check_n_components(model.n_components, model.components_.shape[1])
    values, components = model.eigenvalues_, model.components_
    if len(components) != kept:
        raise ValueError(f"components_ has {len(components)} axes, not {kept}")
    if np.any(values < 0) or np.any(np.diff(values) > 0):
        raise ValueError("eigenvalues_ are negative or not in decreasing order")
    products = components @ components.T
    if not np.allclose(products, np.diag(values[:kept]), rtol=1e-6, atol=1e-9 * values[0]):
        raise ValueError("components_ are not the axes of eigenvalues_")
