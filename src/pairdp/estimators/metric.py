"""PrivateMetric: a private Mahalanobis metric in which similar records are close."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pairdp._reading import Invalid, uses_null_records
from pairdp.algorithms import Algorithm, Fit
from pairdp.algorithms.choice import Choice, choose_metric
from pairdp.constraints import PSDFrobeniusBall
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.fit_warnings import EUCLIDEAN, EuclideanWarning
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.validation import (
    check_labels,
    checked_array,
    finite,
    products,
)
from pairdp.losses import LogisticMetric, MetricLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.privacy import Budget, BudgetLedger
from pairdp.schema import Schema

Array = NDArray[np.float64]
_SAME = 1e-9
_TINY = float(np.finfo(np.float64).tiny)


@stored_in_model_files({"components_": ("d", "d")})
class PrivateMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """A supervised Mahalanobis metric with a privacy guarantee for every training record.

    It learns a positive semidefinite matrix M such that records of the same class are close and
    others far apart, d(x, x')² = (x - x')ᵀM(x - x'), and releases it with noise.

    Parameters
    ----------
    loss : {"logistic", "hinge"} or MetricLoss, default=None
        The loss of a pair. None leaves it to ``algorithm``.
    algorithm : "auto", str or Algorithm, default="auto"
        "auto" chooses from public facts. Otherwise the name of an algorithm, such as "DPGDSC" or
        "scatter", or an object of `pairdp.algorithms`.
    radius : float, default=1.0
        Largest Frobenius norm of M.
    regularization : float, default=None
        λ of the penalty. None chooses it from public facts where one is needed.
    epsilon, delta, data_norm, calibration, schedule, ledger, data_set, \
unit, max_records, random_state, verbose, invalid, schema
        As for `PrivateRanker`.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L with M = LᵀL, the linear map of `transform`.
    n_directions_ : int
        The number of directions that were learned: the smallest rank of M - cI over all numbers c.
        It is 0 if M is a multiple of the identity (the Euclidean metric); `fit` then warns.
    certificate_, plan_, parameter_noise_, n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateRanker : a private linear ranker.

    Notes
    -----
    The methods are those of metric-learn's supervised learners. The *metric* is private. A
    k-nearest-neighbour model in this metric is not: it stores raw records and predicts from them.
    Fit it only to records that may be seen, or keep it where the records are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from pairdp import PrivateMetric
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 600)
    >>> X = rng.normal(size=(600, 4)) / 4 + np.outer(y, [0.5, 0, 0, 0])
    >>> metric = PrivateMetric(epsilon=2.0, data_norm=1.0, random_state=0)
    >>> model = make_pipeline(metric, KNeighborsClassifier(3)).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        loss: str | MetricLoss | None = None,
        algorithm: str | Algorithm = "auto",
        radius: float = 1.0,
        regularization: float | None = None,
        data_norm: float | None = None,
        calibration: str = "certified",
        schedule: str | None = None,
        ledger: BudgetLedger | None = None,
        data_set: str | None = None,
        unit: str | None = None,
        max_records: int | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
        invalid: Invalid = "error",
        schema: GivenSchema | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.algorithm = algorithm
        self.radius = radius
        self.regularization = regularization
        self.data_norm = data_norm
        self.calibration = calibration
        self.schedule = schedule
        self.ledger = ledger
        self.data_set = data_set
        self.unit = unit
        self.max_records = max_records
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid
        self.schema = schema

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    _loss_kind = MetricLoss

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        return choose_metric(n, features, budget, **facts)

    def _constraint(self) -> PSDFrobeniusBall:
        return PSDFrobeniusBall(self.radius)

    def _default_loss(self, algorithm: Algorithm) -> MetricLoss:
        return LogisticMetric()

    def _labels(self, y: NDArray[Any] | None, given: ArrayLike | None) -> None:
        schema = self._schema()
        if schema is not None and schema.response is not None:
            return  # its classes are those of the schema
        if y is not None and not uses_null_records(self.invalid):
            check_labels(y)

    def _check_schema(self, schema: Schema) -> None:
        if schema.target is not None:
            raise ValueError(f"{type(self).__name__} needs a label with classes, not a target")

    def _set_fitted(self, fit: Fit) -> None:
        self.components_ = components_of(fit.parameters)

    @property
    def n_directions_(self) -> int:
        """The number of directions that were learned; a function of the release."""
        check_is_fitted(self, "components_")
        return directions_of(self.components_)

    def _warn_of_release(self) -> None:
        if len(self.components_) > 1 and self.n_directions_ == 0:
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
        checked = checked_array(pairs, allow_nd=True, input_name="pairs")
        d = self.components_.shape[1]
        if checked.ndim != 3 or checked.shape[1:] != (2, d):
            raise ValueError(f"pairs must have shape (n_pairs, 2, {d}), got {checked.shape}")
        halves = products(checked[:, 0] / 2 - checked[:, 1] / 2, self.components_.T)
        largest = np.maximum(np.abs(halves).max(axis=1), _TINY)
        unit = halves / largest[:, None]  # its squares neither overflow nor underflow
        with np.errstate(over="ignore"):
            return finite(np.sqrt(np.einsum("ij,ij->i", unit, unit)) * 2 * largest)

    def pair_score(self, pairs: ArrayLike) -> Array:
        """Return the similarity of each pair: minus its distance."""
        return -self.pair_distance(pairs)

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
        """Return M = LᵀL."""
        check_is_fitted(self, "components_")
        return np.asarray(self.components_.T @ self.components_)


def components_of(matrix: Array) -> Array:
    """Return L with M = LᵀL, with rows sorted by decreasing norm."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(np.sqrt(np.maximum(values[::-1], 0.0))[:, None] * vectors.T[::-1])


def directions_of(components: Array) -> int:
    """Return the smallest rank of LᵀL - cI over c: d minus the largest multiplicity.

    L's rows are orthogonal, so eigenvalues are their squared norms, compared up to rounding.
    """
    values = np.sort(np.einsum("ij,ij->i", components, components))
    close = values[None, :] - values[:, None] <= _SAME * values[-1]
    multiplicities = np.triu(close).sum(axis=1)
    return int(values.size - multiplicities.max())
