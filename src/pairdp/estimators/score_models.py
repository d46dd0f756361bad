"""The part of a ranker that is not a linear model: released arrays, and scores that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pairdp.algorithms import Fit, Plan, scorecard
from pairdp.algorithms.score_models import (
    ModelName,
    ScoreModel,
    is_asked_for,
    model_of,
    score_model,
)
from pairdp.estimators.calibrated import NOT_CALIBRATED
from pairdp.estimators.two_classes import TwoClassEstimator

if TYPE_CHECKING:
    from pairdp.estimators.scorecard import PrivateScorecard

Array = NDArray[np.float64]
_LINEAR = ("coef_",)


def arrays_of(model: ScoreRanker) -> Mapping[str, tuple[str | int, ...]]:
    """Return the fitted arrays of a ranker and their shapes, for model files."""
    check_is_fitted(model, "plan_")
    found = score_model(model.plan_.algorithm)
    if found is None:
        return {"coef_": (1, "d"), "intercept_": (1,)}
    statistics = {f"{name}_": ("*",) * axes for name, axes in found.score_statistics.items()}
    return {"parameters_": ("*",), **statistics, "intercept_": (1,)}


def check_arrays(model: ScoreRanker) -> None:
    """Raise ValueError if the arrays of a ranker are inconsistent."""
    if not is_asked_for(model.model_, model.model):
        raise ValueError(f"the model is {model.model_}, and its parameter says {model.model!r}")
    if score_model(model.plan_.algorithm) is not None:
        model._score_function()


class ScoreRanker(TwoClassEstimator):
    """A ranker by ⟨w, x⟩, or by a score function that the algorithm of its plan defines."""

    model: str
    plan_: Plan

    @property
    def model_(self) -> ModelName:
        """The kind of model: "linear", "additive" or "quadratic"."""
        check_is_fitted(self, "plan_")
        return model_of(self.plan_)

    def _set_release(self, plan: Plan, fit: Fit) -> None:
        before = arrays_of(self) if "plan_" in self.__dict__ else {}
        super()._set_release(plan, fit)
        for name in before.keys() - arrays_of(self).keys():  # of another kind of model
            self.__dict__.pop(name, None)

    def _set_model(self, fit: Fit, threshold: float) -> None:
        """Set the arrays of a fit."""
        found = score_model(self.plan_.algorithm)
        if found is None:
            self.coef_ = np.array(fit.parameters)[None, :]
        else:
            self.parameters_ = np.array(fit.parameters)
            for name in found.score_statistics:
                setattr(self, f"{name}_", np.array(fit.statistics[name]))
        self.intercept_ = np.array([0.0 - threshold])

    def _score_function(self) -> Any:
        found: ScoreModel = self.plan_.algorithm  # type: ignore[assignment]
        statistics = {name: getattr(self, f"{name}_") for name in found.score_statistics}
        return found.score_function(self.plan_, self.parameters_, statistics)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores, larger for the second class.

        They are ``⟨coef_, x⟩ + intercept_`` for a linear model; otherwise log-odds of the second
        class, up to noise, minus the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, scaled as in `fit`. They are not clipped. With a schema, a table with named
            columns; scores of null records are NaN.
        """
        check_is_fitted(self, "intercept_")
        if score_model(self.plan_.algorithm) is None:
            return super().decision_function(X)
        scores = self._score_function().scores
        with np.errstate(all="ignore"):  # no warning depends on rows
            return self._scored(X, lambda rows: scores(rows) + self.intercept_[0])

    def to_scorecard(self) -> PrivateScorecard:
        """Return the model as a `PrivateScorecard`, with its tables, figures and exports.

        It has the same points, scores and certificate; nothing is fitted or spent.

        Raises
        ------
        ValueError
            If the model is not a scorecard.
        """
        from pairdp.estimators.scorecard import PrivateScorecard

        check_is_fitted(self, "intercept_")
        algorithm, task = self.plan_.algorithm, self.plan_.task
        if not isinstance(algorithm, scorecard.Scorecard):
            raise ValueError(
                f"a {self.model_} model by {algorithm.name} has no points: use "
                'model="additive" for a scorecard'
            )
        given = self.get_params(deep=False)
        names = PrivateScorecard().get_params(deep=False).keys() & given.keys()
        card = PrivateScorecard(**{name: given[name] for name in names})
        schema = self.__dict__.get("schema_")
        card.set_params(schema=schema, ledger=None)  # a schema may be given as a path
        for name in (
            "schema_", "n_features_in_", "feature_names_in_", "classes_", "calibration_",
            "evaluation_",
        ):  # fmt: skip
            if name in self.__dict__:
                setattr(card, name, self.__dict__[name])
        for name in ("smoothing", "shrinkage", "resolution"):
            setattr(card, name, getattr(algorithm, name))
        card.interactions = algorithm.interactions or algorithm.chosen or False
        if algorithm.pairs:
            columns = card.column_names() if schema is not None else range(task.features)
            card.interactions = [(columns[i], columns[j]) for i, j in algorithm.pairs]
        card.plan_ = replace(self.plan_, reasons=card.plan(task.n, task.features).reasons)
        card.certificate_, card.parameter_noise_ = self.certificate_, self.parameter_noise_
        statistics = {name: getattr(self, f"{name}_") for name in algorithm.score_statistics}
        shifted = np.append(self.parameters_[:-1], self.parameters_[-1] + self.intercept_[0])
        card._set_fitted(Fit(shifted, self.certificate_, statistics))
        for name in ("calibration_", "evaluation_"):  # of the same scores
            if name in card.__dict__:
                found = replace(card.__dict__[name], model=card._released_digest())
                setattr(card, name, found)
        return card

    def weights_frame(self) -> Any:
        """Return the released weights by name, with the noise of each, as a pandas DataFrame.

        An additive model has the points of each bin. See also `PrivateScorecard.table`.

        Raises
        ------
        ValueError
            If scores are not sums of what could be listed.
        """
        check_is_fitted(self, "certificate_")
        listed = hasattr(self, "coef_") or hasattr(self, "bins_")
        if self.model_ == "quadratic" or not listed:
            seen = ", or see to_scorecard()" if hasattr(self, "bins_") else ""
            raise ValueError(
                f"{self.plan_.algorithm.name} ({self.model_}) has no table of weights: fit "
                f'with model="additive" or model="linear"{seen}'
            )
        return super().weights_frame()

    def _no_weights(self, name: str) -> str:
        """Return why there is no array of weights of a linear model."""
        article = "an" if self.model_ == "additive" else "a"
        chose = f'model="{self.model}" {"chose" if self.model == "auto" else "is"}'
        instead = 'use model="linear" for weights, or to_scorecard() for points'
        if not isinstance(self.plan_.algorithm, scorecard.Scorecard):
            chose, instead = f"{self.plan_.algorithm.name} learned", "use a linear algorithm"
        return (
            f"{name} are the weights of a linear model, and {chose} {article} {self.model_} one: "
            f"{instead}"
        )

    if not TYPE_CHECKING:  # where any attribute would exist

        def __getattr__(self, name: str) -> Any:
            """Raise an AttributeError, which says which model has weights or probabilities."""
            if name == "predict_proba":
                raise AttributeError(NOT_CALIBRATED)
            if name in _LINEAR and "plan_" in self.__dict__ and self.model_ != "linear":
                raise AttributeError(self._no_weights(name))
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
