"""PrivateEmbedding: coordinates by a small network, in which similar records are close."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Fit
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.neural import EmbeddingDescent
from pairdp.algorithms.neural.embedding_function import EmbeddingFunction
from pairdp.constraints import PSDFrobeniusBall
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.fit_warnings import NoSignalWarning
from pairdp.estimators.held_out import Measured
from pairdp.estimators.mahalanobis import PairScores, checked_pairs
from pairdp.estimators.metric import ClassLabels
from pairdp.estimators.table_input import GivenSchema
from pairdp.losses import LogisticMetric, MetricLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.privacy import Budget, BudgetLedger

Array = NDArray[np.float64]
_NO_CLASSES = (
    "no two classes stood out from the noise, so that nothing was learned: use a larger epsilon or "
    "more records"
)


def _check_arrays(model: Any) -> None:
    model._embedding()


@stored_in_model_files(
    {
        "parameters_": ("*",),
        "centre_": ("d",),
        "scales_": ("d",),
        "class_points_": ("*", "*"),
    },
    check=_check_arrays,
)
class PrivateEmbedding(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    PairScores,
    ClassLabels,
    PrivateEstimator,
):
    """Coordinates in which records of one class are close, by a small network.

    It pays where classes are curved, so that no linear map separates them, and records are many:
    tens of thousands at ε = 1. Where classes differ in their means, `PrivateMetric` is better.

    Parameters
    ----------
    epsilon, delta
        As for `PrivateRanker`; δ must be above 0.
    n_components : int, default=4
        The largest number of coordinates. K classes have K - 1 of them, if these are fewer.
    hidden : sequence of int, default=(48, 16)
        The widths of the layers.
    n_steps : int, default=150
        Number of noisy gradients.
    gradient : {"reference", "pairwise"}, default="reference"
        "reference" compares each record with a public point for each class; "pairwise" is a
        contrastive loss over all pairs of records, with far more noise for its signal.
    learning_rate : float, default=0.05
        The step size.
    data_norm, ledger, data_set, unit, max_records, random_state, verbose, invalid, schema
        As for `PrivateMetric`.

    Attributes
    ----------
    parameters_ : array
        The parameters of the network.
    centre_, scales_ : arrays of shape (n_features,)
        The noisy centre and scales by which rows are standardised.
    class_points_ : array of shape (n_classes, k)
        The point that records of each class are drawn to. The number of classes is that of noisy
        counts.
    certificate_, plan_, schema_, n_features_in_, feature_names_in_
        As for `PrivateMetric`.

    See Also
    --------
    PrivateMetric : a linear map of the records.

    Notes
    -----
    The *embedding* is private. A k-nearest-neighbour model of embedded records is not: it stores
    them and predicts from them. Fit it only to records that may be seen.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateEmbedding
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8000, 4)) / 4
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> embedding = PrivateEmbedding(4.0, data_norm=1.0, n_steps=60, random_state=0).fit(X, y)
    >>> e = embedding.transform(X)
    >>> right = np.mean((e[:, 0] > 0) == (y > 0))
    >>> bool(max(right, 1 - right) > 0.8)  # the two classes are apart
    True
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        n_components: int = 4,
        hidden: tuple[int, ...] = (48, 16),
        n_steps: int = 150,
        gradient: Literal["reference", "pairwise"] = "reference",
        learning_rate: float = 0.05,
        data_norm: float | None = None,
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
        self.n_components = n_components
        self.hidden = hidden
        self.n_steps = n_steps
        self.gradient = gradient
        self.learning_rate = learning_rate
        self.data_norm = data_norm
        self.ledger = ledger
        self.data_set = data_set
        self.unit = unit
        self.max_records = max_records
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid
        self.schema = schema

    _loss_kind = MetricLoss

    def _algorithm(self, n: int) -> Algorithm:
        return EmbeddingDescent(
            hidden=self.hidden,
            components=self.n_components,
            steps=self.n_steps,
            gradient=self.gradient,
            learning_rate=self.learning_rate,
        )

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        raise ValueError("an embedding is fitted by one algorithm: use plan to see what it does")

    def _constraint(self) -> PSDFrobeniusBall:
        return PSDFrobeniusBall(1.0)

    def _default_loss(self, algorithm: Algorithm) -> MetricLoss:
        return LogisticMetric()

    def _measure(self) -> Measured:
        return "pair_auc", None

    def _set_fitted(self, fit: Fit) -> None:
        self.parameters_ = np.array(fit.parameters)
        self.centre_ = np.array(fit.statistics["centre"])
        self.scales_ = np.array(fit.statistics["scales"])
        self.class_points_ = np.array(fit.statistics["points"])

    def _warn_of_release(self) -> None:
        """Warn if the noisy counts showed no two classes."""
        if len(self.class_points_) < 2:
            warnings.warn(_NO_CLASSES, NoSignalWarning, stacklevel=3)

    @property
    def _n_features_out(self) -> int:
        return max(int(self.class_points_.shape[1]), 1)

    def _embedding(self) -> EmbeddingFunction:
        algorithm: EmbeddingDescent = self.plan_.algorithm  # type: ignore[assignment]
        network = algorithm.network(self.plan_.task.features, self._n_features_out)
        return EmbeddingFunction(network, self.centre_, self.scales_, self.parameters_)

    def weights_frame(self) -> Any:
        """Raise an error: the parameters of a network are not weights of features."""
        raise ValueError("a network has no table of weights: fit a PrivateMetric")

    def transform(self, X: ArrayLike) -> Array:
        """Return embeddings, of shape (n_samples, k); NaN for null records of a schema.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table with a schema
            Records, scaled as in `fit`.
        """
        check_is_fitted(self, "parameters_")
        return self._embedded(self._features(X))

    def _embedded(self, rows: Array) -> Array:
        null = np.isnan(rows).any(axis=1)
        found = np.full((len(rows), self._n_features_out), np.nan)
        with np.errstate(all="ignore"):  # no warning depends on rows
            found[~null] = self._embedding().embedded(rows[~null])
        return found

    def pair_distance(self, pairs: ArrayLike) -> Array:
        """Return the distance of the embeddings of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            Pairs of records; with a schema, of encoded ones (`SchemaEncoder`).
        """
        check_is_fitted(self, "parameters_")
        checked = checked_pairs(pairs, self.centre_.size)
        apart = self._embedded(checked[:, 0]) - self._embedded(checked[:, 1])
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", apart, apart)))

    def get_metric(self) -> Callable[..., float]:
        """Return a function of two records that gives the distance of their embeddings.

        It does not change if the estimator is fitted again. With ``squared=True`` it returns the
        squared distance.
        """
        check_is_fitted(self, "parameters_")
        embedding = self._embedding()

        def metric(u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
            with np.errstate(all="ignore"):
                both = np.array([np.ravel(u), np.ravel(v)], dtype=np.float64)
                first, second = embedding.embedded(both)
                found = float((first - second) @ (first - second))
            return found if squared else found**0.5

        return metric
