"""OnlinePrivateMetric: a private Mahalanobis metric that is learned from a stream."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid, only_known, uses_null_records
from pairdp.estimators.mahalanobis import check_axes
from pairdp.estimators.metric import PrivateMetric
from pairdp.estimators.online import OnlineEstimator
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.validation import known_labels
from pairdp.losses import MetricLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.online import OnlineAlgorithm
from pairdp.privacy import BudgetLedger

Array = NDArray[np.float64]


@stored_in_model_files({"components_": ("k", "d"), "eigenvalues_": ("d",)}, check=check_axes)
class OnlinePrivateMetric(OnlineEstimator, PrivateMetric):
    """A supervised metric learned online, with one privacy guarantee for the whole stream.

    Parameters
    ----------
    loss : {"logistic", "hinge"} or MetricLoss, default=None
        The loss of a pair; logistic by default.
    algorithm : {"auto", "descent", "OnPairStrC", "OnPairC", "OnPairGradient"} or \
OnlineAlgorithm, default="auto"
        As for `OnlinePrivateRanker`; "auto" is "descent".
    radius : float, default=1.0
        Largest Frobenius norm of M.
    epsilon, delta, horizon, buffer, batch_size, average, regularization, data_norm, calibration, \
schedule, ledger, data_set, random_state, verbose, invalid, schema
        As for `OnlinePrivateRanker`.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L with M = LᵀL, computed from released metrics only; see `PrivateMetric`.
    eigenvalues_ : array of shape (n_features,)
        The eigenvalues of M in decreasing order.
    n_directions_ : int
        The number of directions that were learned; see `PrivateMetric`.
    spent_, records_left_, certificate_, plan_, n_features_in_, feature_names_in_
        As for `OnlinePrivateRanker`.

    See Also
    --------
    OnlinePrivateRanker : explains how streams are paused and resumed.
    PrivateMetric : needs less noise, if all records are available at once.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import OnlinePrivateMetric
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 600)
    >>> X = rng.normal(size=(600, 4)) / 4 + np.outer(y, [0.5, 0, 0, 0])
    >>> metric = OnlinePrivateMetric(2.0, horizon=1000, data_norm=1.0, random_state=0)
    >>> metric.partial_fit(X, y).records_left_
    400
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        horizon: int = 10_000,
        loss: str | MetricLoss | None = None,
        algorithm: str | OnlineAlgorithm = "auto",
        buffer: int | None = None,
        batch_size: int | None = None,
        average: bool | Literal["uniform"] | None = None,
        radius: float = 1.0,
        regularization: float | None = None,
        data_norm: float | None = None,
        calibration: str = "certified",
        schedule: str | None = None,
        ledger: BudgetLedger | None = None,
        data_set: str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
        invalid: Invalid = "error",
        schema: GivenSchema | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            loss=loss,
            algorithm=algorithm,
            radius=radius,
            regularization=regularization,
            data_norm=data_norm,
            calibration=calibration,
            ledger=ledger,
            data_set=data_set,
            random_state=random_state,
            verbose=verbose,
            invalid=invalid,
            schema=schema,
        )
        self.schedule = schedule
        self.horizon = horizon
        self.buffer = buffer
        self.batch_size = batch_size
        self.average = average

    def _stream_labels(self, y: NDArray[Any], classes: ArrayLike | None) -> NDArray[Any]:
        self._labels(y, None)
        schema = self._schema()
        if schema is not None and schema.response is not None:
            return np.asarray(self._coded(y, None))
        if classes is None:
            return y
        if uses_null_records(self.invalid):
            return only_known(y, classes)
        if not np.all(known_labels(y, np.asarray(classes))):
            raise ValueError("y has labels that are not in classes")
        return y

    def _set_parameters(self, parameters: Array) -> None:
        self._set_axes(parameters)
