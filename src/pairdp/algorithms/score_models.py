"""Models whose scores are not ⟨w, x⟩, and what algorithms that learn them declare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.plan import Plan
from pairdp.problem import Problem

Array = NDArray[np.float64]
ModelName = Literal["linear", "additive", "quadratic", "network"]
MODELS: tuple[ModelName, ...] = ("linear", "additive", "quadratic")


class ScoreFunction(Protocol):
    """A function from rows to scores."""

    def scores(self, rows: Array) -> Array:
        """Return the score of each row."""


class ScoreModel(ABC):
    """A mixin for algorithms whose model is a score function of released arrays.

    Its scores are log-odds of the second class, up to noise: 0 is the natural threshold. Estimators
    keep the parameters and the statistics that it names, and model files store them.
    """

    score_statistics: ClassVar[Mapping[str, int]]
    """The statistics that are needed beside the parameters, with their numbers of dimensions."""

    @property
    def is_linear(self) -> bool:
        """Whether the parameters are weights of the features, and there is no score function."""
        return False

    @abstractmethod
    def model_of(self, plan: Plan) -> ModelName:
        """Return the kind of model that a plan learns."""

    @abstractmethod
    def score_function(
        self, plan: Plan, parameters: Array, statistics: Mapping[str, Array]
    ) -> ScoreFunction:
        """Return the score function of released arrays.

        Raises
        ------
        ValueError
            If the arrays do not fit together.
        """

    def own_problem(self, data_norm: float) -> Problem | None:
        """Return the only problem that the algorithm solves; None if it solves given problems."""
        return None


def score_model(algorithm: Any) -> ScoreModel | None:
    """Return an algorithm if its model is a score function; None if it is a vector of weights."""
    if isinstance(algorithm, ScoreModel) and not algorithm.is_linear:
        return algorithm
    return None


def model_of(plan: Plan) -> ModelName:
    """Return the kind of model that a plan learns."""
    found = score_model(plan.algorithm)
    return "linear" if found is None else found.model_of(plan)


def is_asked_for(learned: ModelName, model: str) -> bool:
    """Return whether a kind of model is what ``model`` asks for.

    A quadratic model whose budget is too small for products is additive.
    """
    return model in ("auto", learned) or (model == "quadratic" and learned == "additive")
