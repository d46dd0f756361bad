"""Probabilities of a model with scores, after an evaluation that has paid for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from pairdp.evaluation import Evaluation, ScoreResult

Array = NDArray[np.float64]
NOT_CALIBRATED = (
    "the model has no predict_proba: scores are not probabilities, and to calibrate them uses "
    "labels, which must be paid for. Use evaluation = pairdp.evaluate(model, X, y, epsilon, "
    "roc=True), then model.calibrate(evaluation)"
)
_FEWEST_EDGES = 3


def _is_calibrated(model: Any) -> bool:
    if "calibration_" not in vars(model):
        raise AttributeError(NOT_CALIBRATED)
    return True


class CalibratedMixin:
    """A mixin that turns scores into probabilities by a released calibration."""

    calibration_: ScoreResult
    classes_: NDArray[Any]
    decision_function: Callable[[ArrayLike], Array]

    def calibrate(self, evaluation: Evaluation) -> Self:
        """Use a private evaluation of this model for `predict_proba`.

        It reads no data and costs nothing: the evaluation has paid for it. A new fit removes it.

        Parameters
        ----------
        evaluation : Evaluation
            What `pairdp.evaluate` returned for this model, with ``roc=True``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from pairdp import PrivateRanker, evaluate
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 4000)
        >>> X = (rng.normal(size=(4000, 3)) + y[:, None]) / 5
        >>> model = PrivateRanker(1.0, data_norm=1.0, random_state=0).fit(X[:2000], y[:2000])
        >>> hasattr(model, "predict_proba")
        False
        >>> found = evaluate(model, X[2000:], y[2000:], epsilon=1.0, roc=True, random_state=0)
        >>> model.calibrate(found).predict_proba(X[:1]).shape
        (1, 2)
        """
        check_is_fitted(self)
        check_calibration(self, evaluation)
        self.calibration_ = evaluation  # type: ignore[assignment]
        return self

    @available_if(_is_calibrated)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the two classes, as columns in the order of ``classes_``.

        They follow from scores by `calibrate`. With a schema, those of null records are NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, as for ``decision_function``.
        """
        high = self.calibration_.calibration.probability(self.decision_function(X))
        return np.column_stack([1 - high, high])

    def _separate_calibration(self) -> ScoreResult | None:
        """Return the evaluation that calibrates the model, unless its certificate covers it.

        It covers the evaluation on records that were held out from the fit, ``evaluation_``.
        """
        found: ScoreResult | None = self.__dict__.get("calibration_")
        own = self.__dict__.get("evaluation_")
        covered = found is not None and own is not None and found.numbers() == own.numbers()
        return None if covered else found

    def _forget_calibration(self) -> None:
        """Remove the calibration of scores that have changed."""
        self.__dict__.pop("calibration_", None)


def check_calibration(model: Any, evaluation: object) -> None:
    """Raise an error if an evaluation cannot calibrate a model."""
    from pairdp.evaluation import ScoreResult  # fits do not need it

    if not isinstance(evaluation, ScoreResult) or evaluation.plan.evaluation.items != "records":
        raise TypeError(
            "calibrate needs what pairdp.evaluate returned for the scores of this model, got "
            f"{type(evaluation).__name__}"
        )
    planned = evaluation.plan.evaluation
    if len(planned.edges) < _FEWEST_EDGES:
        raise ValueError("the evaluation has no counts to calibrate by: evaluate with roc=True")
    labels = tuple(str(label) for label in getattr(model, "classes_", np.empty(0)).tolist())
    if planned.classes != labels:
        raise ValueError(
            f"the evaluation is of a model with the classes {' and '.join(planned.classes)}, and "
            f"this one has {' and '.join(labels) or 'none'}"
        )
    evaluation.check_model(model)
