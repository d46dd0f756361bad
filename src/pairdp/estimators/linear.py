"""Private linear classifiers and regressors, with losses of single records."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pairdp._checks import flag, real
from pairdp._reading import Invalid, read_targets, uses_null_records
from pairdp.algorithms import Algorithm, ConditionedDescent, Fit
from pairdp.algorithms.choice import Choice, choose_linear
from pairdp.algorithms.facts import Condition, ConstantFeature, ResponseBounds
from pairdp.algorithms.score_models import score_model
from pairdp.clipping import clip_rows
from pairdp.constraints import L2Ball
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.graded import coded_responses
from pairdp.estimators.held_out import Measured
from pairdp.estimators.schema_tables import flat_labels, known_records, response_of
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.two_classes import TwoClassEstimator
from pairdp.estimators.validation import products
from pairdp.label_coding import check_target_bound
from pairdp.losses import (
    LeastSquaresPointwise,
    LogisticPointwise,
    PointwiseLoss,
)
from pairdp.model_file.registry import stored_in_model_files
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget, BudgetLedger
from pairdp.schema import Schema

Array = NDArray[np.float64]


class LinearModel(PrivateEstimator):
    """A linear model with a loss of single records; an intercept is a constant feature."""

    fit_intercept: bool

    _loss_kind = PointwiseLoss
    _problem_kind = PointwiseProblem

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        facts["loss"] = facts["loss"] or self._default_loss()
        facts["constant"] = self._constant
        return choose_linear(n, features, budget, **facts)

    def _constraint(self) -> L2Ball:
        return L2Ball(self.radius)

    def _default_loss(self, algorithm: Algorithm | None = None) -> PointwiseLoss:
        return LogisticPointwise()

    def _columns(self, n_features: int) -> int:
        return n_features + flag("fit_intercept", self.fit_intercept)

    def _norm(self) -> float:
        norm = self._clipped_to()
        return math.sqrt(2) * norm if self.fit_intercept else norm

    def _rows(self, X: ArrayLike, n_features: int) -> ArrayLike:
        if not self.fit_intercept:
            return X
        norm = self._clipped_to()
        rows = clip_rows(X, norm, self._invalid_rows, n_features)
        return np.column_stack([rows, np.full(len(rows), norm)])

    @property
    def _constant(self) -> float:
        """The value of the constant feature; 0 without an intercept."""
        return self._clipped_to() if self.fit_intercept else 0.0

    def completed(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm, which may need the value of the constant feature."""
        if score_model(algorithm) is not None:
            raise ValueError(
                f"{type(self).__name__} is linear, and the model of {algorithm.name} is not: use "
                'PrivateRanker or PrivateScorecard, or ConditionedDescent("linear")'
            )
        if isinstance(algorithm, ConditionedDescent):
            return replace(algorithm, constant=self._constant)
        return algorithm

    def _conditions(self) -> tuple[Condition, ...]:
        added = (ConstantFeature(self._clipped_to()),) if self.fit_intercept else ()
        return (*super()._conditions(), *added)

    def _parts(self, fit: Fit) -> tuple[Array, float]:
        """Return the weights and the intercept of a release."""
        found = np.array(fit.parameters)
        if not self.fit_intercept:
            return found, 0.0
        return found[:-1].copy(), float(found[-1]) * self._clipped_to()


@stored_in_model_files({"coef_": (1, "d"), "intercept_": (1,)})
class PrivateLinearClassifier(LinearModel, TwoClassEstimator):
    """A binary linear classifier with a privacy guarantee for every training record.

    It learns weights w by minimising an average loss over records (logistic regression, a support
    vector machine, least squares) and releases them with noise.

    Parameters
    ----------
    loss : {"logistic", "hinge", "rounded_hinge", "q_hinge", "least_squares"} or PointwiseLoss, \
default="logistic"
        The loss of a record. "rounded_hinge" is a hinge whose kink is replaced by a parabola, and
        "q_hinge" a power of it, for others see `PowerHingePointwise`.
    algorithm : "auto", str or Algorithm, default="auto"
        "auto" chooses the algorithm with the smallest predicted error, see `choices`: descent on
        rows that noisy moments have centred and whitened (only if δ > 0, for the logistic and the
        least-squares loss), noise on every gradient (only if δ > 0; in mini-batches for more than
        20 000 records) or noise on the minimiser. Otherwise the name of an algorithm, such as
        "DPGDC", or an object of `pairdp.algorithms`.
    radius : float, default=10.0
        Largest norm of the weights, including the intercept's. Classes that are close together
        relative to their bounds need large weights: if scores stay below the margin of 1 and
        classes are unbalanced, the intercept favours the larger class.
    fit_intercept : bool, default=True
        Whether to learn an intercept, as the weight of a constant feature of value R. Records
        then have norm up to √2·R, which the noise is made for.
    epsilon, delta, regularization, data_norm, classes, calibration, schedule, ledger, \
data_set, unit, max_records, random_state, verbose, invalid, schema
        As for `PrivateRanker`.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        The noisy weights.
    intercept_ : array of shape (1,)
        The noisy intercept; 0 without one.
    classes_, certificate_, plan_, parameter_noise_, n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateRanker : rank one class above the other, by a loss over pairs.
    PrivateLinearRegressor : predict a number.
    BoundsScaler : scale features by public bounds.

    Notes
    -----
    `score` is accuracy. On sensitive data it is not private: do not publish it.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateLinearClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = (rng.normal(size=(2000, 5)) + 2 * y[:, None]) / 10
    >>> model = PrivateLinearClassifier(1.0, data_norm=1.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> model.certificate_.budget
    Budget(epsilon=1.0, delta=1e-06)
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        loss: str | PointwiseLoss = "logistic",
        algorithm: str | Algorithm = "auto",
        radius: float = 10.0,
        regularization: float | None = None,
        data_norm: float | None = None,
        fit_intercept: bool = True,
        classes: ArrayLike | None = None,
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
        self.fit_intercept = fit_intercept
        self.classes = classes
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

    def _set_fitted(self, fit: Fit) -> None:
        weights, intercept = self._parts(fit)
        self.coef_ = weights[None, :]
        self.intercept_ = np.array([intercept])


@stored_in_model_files({"coef_": ("d",), "intercept_": ()})
class PrivateLinearRegressor(RegressorMixin, LinearModel):  # type: ignore[misc]
    """Linear regression with a privacy guarantee for every training record.

    It learns weights w that minimise the mean of (wᵀx - y)², or of another loss of targets, and
    releases them with noise.

    Parameters
    ----------
    target_bound : float, default=1.0
        Every target is clipped to ± this bound. It must not be computed from the data.
    loss : {"least_squares", "q_norm"} or PointwiseLoss, default="least_squares"
        The loss of a record. "q_norm" is |wᵀx - y|^q with q = 1.5, for others see
        `PowerPointwise`. The ``label_bound`` of an object must be ``target_bound``.
    radius : float, default=1.0
        Largest norm of the weights, including the intercept's.
    algorithm, fit_intercept
        As for `PrivateLinearClassifier`.
    epsilon, delta, regularization, data_norm, calibration, schedule, ledger, data_set, \
unit, max_records, random_state, verbose, invalid, schema
        As for `PrivateRanker`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The noisy weights.
    intercept_ : float
        The noisy intercept; 0 without one.
    certificate_, plan_, parameter_noise_, n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateLinearClassifier : predict one of two classes.
    BoundsScaler : scale features by public bounds.

    Notes
    -----
    `score` is R², the coefficient of determination. On sensitive data it is not private: do not
    publish it. Scale targets so that they fill ±target_bound.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateLinearRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 3)) / 3
    >>> y = X @ [0.6, -0.3, 0.0] + 0.1
    >>> model = PrivateLinearRegressor(2.0, data_norm=1.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        target_bound: float = 1.0,
        loss: str | PointwiseLoss = "least_squares",
        algorithm: str | Algorithm = "auto",
        radius: float = 1.0,
        regularization: float | None = None,
        data_norm: float | None = None,
        fit_intercept: bool = True,
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
        self.target_bound = target_bound
        self.loss = loss
        self.algorithm = algorithm
        self.radius = radius
        self.regularization = regularization
        self.data_norm = data_norm
        self.fit_intercept = fit_intercept
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

    @property
    def _numeric_targets(self) -> bool:
        return True

    def _given_loss(self) -> PointwiseLoss:
        bound = real("target_bound", self.target_bound)
        if self._target() is not None and bound != 1:
            raise ValueError("the schema gives the range of the target: leave out target_bound")
        check_target_bound(bound)
        found: Any = super()._given_loss() or LeastSquaresPointwise(bound)
        if found.binary:
            raise ValueError(
                f"{type(found).__name__} is a loss of two classes: use a loss of targets such as "
                '"least_squares" or "q_norm"'
            )
        if isinstance(self.loss, str):
            found = replace(found, label_bound=bound)
        if found.label_bound != bound:
            raise ValueError(
                f"the loss has label_bound = {found.label_bound:g}, and target_bound is {bound:g}: "
                "they must be the same"
            )
        given: PointwiseLoss = found
        return given

    def _check_schema(self, schema: Schema) -> None:
        if schema.classes is not None:
            raise ValueError(
                'PrivateLinearRegressor needs a target, {"target": [lower, upper]}, and the schema '
                "has a label with classes"
            )

    def _target(self) -> ResponseBounds | None:
        """Return the range of the target that the schema declares, if there is one."""
        schema = self._schema()
        return None if schema is None or schema.target is None else ResponseBounds(*schema.target)

    def _conditions(self) -> tuple[Condition, ...]:
        target = self._target()
        return (*super()._conditions(), *(() if target is None else (target,)))

    def _measure(self) -> Measured:
        target, bound = self._target(), real("target_bound", self.target_bound)
        return "error", (-bound, bound) if target is None else (target.low, target.high)

    def _decoded(self, labels: NDArray[Any]) -> NDArray[Any]:
        target = self._target()
        return labels if target is None else target.low + self._target_scale * (1 + labels)

    def _coded(self, y: ArrayLike, labels: Any) -> ArrayLike:
        target = self._target()
        coded = super()._coded(y, labels)
        return coded if target is None else coded_responses(coded, target, "null")

    def _set_fitted(self, fit: Fit) -> None:
        self.coef_, self.intercept_ = self._parts(fit)
        target = self._target()
        if target is not None:  # back from [-1, 1] to the range of the target
            half = self._target_scale
            self.coef_ = self.coef_ * half
            self.intercept_ = target.low + half * (1 + self.intercept_)

    @property
    def _target_scale(self) -> float:
        """The factor from learned parameters to weights, which are in units of the target."""
        schema = self._known_schema()
        if schema is None or schema.target is None:
            return 1.0
        low, high = schema.target
        return (high - low) / 2

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R² on the given data, which needs at least two records.

        It is not private: do not publish scores on sensitive data. With a schema, y is by default
        the column of the target, and null records are left out. With ``invalid="null"``, so are
        records with a target that cannot be read.
        """
        predicted, found, sample_weight = known_records(
            self.predict(X), self._known_targets(X, y), sample_weight
        )
        if np.size(found) < 2:
            raise ValueError("R² needs at least two records")
        from sklearn.metrics import r2_score  # which takes long to import

        return float(r2_score(found, predicted, sample_weight=sample_weight))

    def _known_targets(self, X: ArrayLike, y: ArrayLike | None) -> Array:
        """Return targets, by default those of the table, and NaN for null records."""
        schema: Schema | None = self.__dict__.get("schema_")
        found = flat_labels(response_of(schema, X, y))
        if schema is not None and schema.target is not None:
            return schema.encode_label(found, invalid=self.invalid)
        targets = read_targets(found)
        if not uses_null_records(self.invalid) and np.isnan(targets).any():
            raise ValueError("y contains targets that are missing or cannot be read")
        return targets

    def predict(self, X: ArrayLike) -> Array:
        """Return ``⟨coef_, x⟩ + intercept_``; with a schema, NaN for null records.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, scaled as in `fit`. They are not clipped.
        """
        check_is_fitted(self, "coef_")
        return self._scored(X, lambda rows: products(rows, self.coef_) + self.intercept_)
