"""PrivateMetric: a private Mahalanobis metric in which similar records are close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid, uses_null_records
from pairdp.algorithms import Algorithm, Fit, Plan
from pairdp.algorithms.choice import Choice, choose_metric
from pairdp.constraints import PSDFrobeniusBall
from pairdp.estimators.axes import check_n_components
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.held_out import Measured
from pairdp.estimators.mahalanobis import MahalanobisMixin, check_axes
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.validation import check_labels
from pairdp.losses import LogisticMetric, MetricLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.privacy import Budget, BudgetLedger
from pairdp.schema import Schema


class ClassLabels:
    """A mixin for estimators of records with labels of any number of classes."""

    invalid: Invalid
    _schema: Callable[[], Schema | None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags

    def _labels(self, y: NDArray[Any] | None, given: ArrayLike | None) -> None:
        schema = self._schema()
        if schema is not None and schema.response is not None:
            return  # its classes are those of the schema
        if y is not None and not uses_null_records(self.invalid):
            check_labels(y)

    def _check_schema(self, schema: Schema) -> None:
        if schema.target is not None:
            raise ValueError(f"{type(self).__name__} needs a label with classes, not a target")


@stored_in_model_files({"components_": ("k", "d"), "eigenvalues_": ("d",)}, check=check_axes)
class PrivateMetric(MahalanobisMixin, ClassLabels, PrivateEstimator):
    """A supervised Mahalanobis metric with a privacy guarantee for every training record.

    It learns a positive semidefinite matrix M such that records of the same class are close and
    others far apart, d(x, x')² = (x - x')ᵀM(x - x'), and releases it with noise.

    Parameters
    ----------
    loss : {"logistic", "hinge"} or MetricLoss, default=None
        The loss of a pair. None leaves it to ``algorithm``.
    algorithm : "auto", str or Algorithm, default="auto"
        "auto" chooses from public facts. Otherwise the name of an algorithm, such as "DPGDSC",
        "fisher" or "scatter", or an object of `pairdp.algorithms`.
    radius : float, default=1.0
        Largest Frobenius norm of M.
    regularization : float, default=None
        λ of the penalty. None chooses it from public facts where one is needed.
    n_components : int, default=None
        The number of axes to keep, those of the largest eigenvalues of M; None keeps all. It is a
        function of the release and costs no privacy.
    epsilon, delta, data_norm, calibration, schedule, ledger, data_set, \
unit, max_records, random_state, verbose, invalid, schema
        As for `PrivateRanker`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The axes, in order of decreasing eigenvalue: L with M = LᵀL (if all are kept), the linear
        map of `transform`. The largest entry of an axis is positive, and axes of equal eigenvalues
        are chosen by a rule, so that the axes are the same on every machine.
    eigenvalues_ : array of shape (n_features,)
        All eigenvalues of the released M in decreasing order, also of axes that are not kept.
    n_directions_ : int
        The number of directions that were learned: the smallest rank of M - cI over all numbers c,
        where M is the released matrix with all axes. It is 0 if M is a multiple of the identity
        (the Euclidean metric); `fit` then warns. More components than this include axes along
        which nothing was learned.
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
    >>> y = rng.integers(0, 3, 4000)
    >>> X = (rng.normal(size=(4000, 12)) + np.outer(y, 2 * np.eye(12)[0])) / 10
    >>> metric = PrivateMetric(epsilon=2.0, data_norm=1.0, random_state=0)
    >>> model = make_pipeline(metric, KNeighborsClassifier(3)).fit(X[:3000], y[:3000])
    >>> plain = KNeighborsClassifier(3).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > plain.score(X[3000:], y[3000:]) + 0.02
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
        n_components: int | None = None,
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
        self.n_components = n_components
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

    _loss_kind = MetricLoss

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        return choose_metric(n, features, budget, **facts)

    def _constraint(self) -> PSDFrobeniusBall:
        return PSDFrobeniusBall(self.radius)

    def _default_loss(self, algorithm: Algorithm) -> MetricLoss:
        return LogisticMetric()

    def _measure(self) -> Measured:
        return "pair_auc", None

    def plan(self, n: int, n_features: int | None = None) -> Plan:
        """Return what `fit` would do with data of this size, without any data.

        Parameters
        ----------
        n, n_features : int
            The public size of the data; a schema determines the number of features.

        Returns
        -------
        Plan
            Printable, with noise, steps and reasons.
        """
        check_n_components(self.n_components, self._width(n_features))
        return super().plan(n, n_features)

    def _set_fitted(self, fit: Fit) -> None:
        self._set_axes(fit.parameters)
