"""Jobs on the papers' data: fit to n random records, and score on the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from pairdp.algorithms import Algorithm, Plan, find_algorithm
from pairdp.algorithms.task import Calibration, Schedule
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.estimators import PrivateMetric, PrivateRanker
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.jobs import FitJob, Split
from pairdp.studies.protocols import permuted_split, prepared

Array = NDArray[np.float64]
Goal = Literal["ranking", "metric"]

AUTO = "auto"
EUCLID = "Euclidean 3-NN"
LOGISTIC = "logistic regression"
MEANS = "class-mean difference"
ZERO = "zero model"
NEIGHBOURS = 3


@dataclass(frozen=True)
class Learning(FitJob):
    """A method on a data set.

    Parameters
    ----------
    goal : {"ranking", "metric"}
        A ranker, scored by AUC, or a metric, scored by the accuracy of 3 nearest neighbours.
    dataset, protocol : str
        Which records, and how they are prepared: a protocol, or one of `READINGS`.
    n : int
        Number of training records.
    method : str
        A published name, "auto", or the name of a baseline.
    epsilon, delta : float
        The budget; no noise if ε is None.
    calibration : {"certified", "printed"}
        Whether noise is certified, or follows the formula that the paper prints.
    schedule : {"tuned", "theorem"}
        Whether steps, step sizes and the like are chosen, or are those of the paper's theorem.
    regularization : float
        λ of the papers' problem.
    loss : {"logistic", "hinge"}
        The loss of the papers' problem.
    objective : bool
        Whether F(w) on the training records is measured too; "auto" then minimises the same loss.
    """

    goal: Goal
    dataset: str
    protocol: str
    n: int
    method: str
    epsilon: float | None = None
    delta: float = 0.0
    calibration: Calibration = "certified"
    schedule: Schedule = "tuned"
    regularization: float = 0.0
    loss: Literal["logistic", "hinge"] = "logistic"
    objective: bool = False

    @property
    def problem(self) -> Problem:
        """What the papers minimise, on the unit ball."""
        if self.goal == "metric":
            return Problem(LogisticMetric(), PSDFrobeniusBall(1.0), self.regularization)
        loss = LogisticRanking() if self.loss == "logistic" else HingeRanking()
        return Problem(loss, L2Ball(1.0), self.regularization)

    @property
    def baseline(self) -> Callable[[Split], Array] | None:
        """The baseline of the method's name, if it is one."""
        if self.method == ZERO:
            return zero_metric if self.goal == "metric" else zero_weights
        return BASELINES.get(self.method)

    def split(self, run: int, data: Path | None) -> Split:
        """Return the records in the order of a permutation."""
        return permuted_split(prepared(self.dataset, self.protocol, data), self.n, run)

    def plan(self, features: int) -> Plan:
        """Return the plan of the method."""
        if self.method != AUTO:
            budget = None if self.epsilon is None else Budget(self.epsilon, self.delta)
            return algorithm(self.method).plan(
                self.problem,
                self.n,
                features,
                budget,
                calibration=self.calibration,
                schedule=self.schedule,
            )
        loss: Any = self.problem.loss if self.objective else None
        if self.goal == "ranking":
            return auto_ranker(self.epsilon, self.delta, loss=loss).plan(self.n, features)
        return PrivateMetric(self.epsilon, self.delta, loss=loss, data_norm=1.0).plan(
            self.n, features
        )

    def score(self, parameters: Array, split: Split) -> dict[str, float]:
        """Return AUC or accuracy, and the objective if asked for."""
        if self.goal == "metric":
            found = {"accuracy": accuracy(parameters, split)}
        else:
            found = {"AUC": float(roc_auc_score(split.y_test > 0, split.x_test @ parameters))}
        if self.objective:
            problem = self.problem
            found["objective"] = problem.value(parameters, problem.records(split.x, split.y))
        return found


def algorithm(name: str) -> Algorithm:
    """Return a published algorithm, offline or online, by name."""
    return find_algorithm(name)


def auto_ranker(epsilon: float | None, delta: float, **params: Any) -> PrivateRanker:
    """Return the linear ranker behind "auto"; it needs no threshold, as AUC has none."""
    params = {"model": "linear", **params}
    return PrivateRanker(epsilon, delta, threshold=0.0, data_norm=1.0, **params)


def accuracy(metric: Array, split: Split) -> float:
    """Return the test accuracy of 3 nearest neighbours in a metric."""
    values, vectors = np.linalg.eigh(metric)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    classifier = KNeighborsClassifier(NEIGHBOURS).fit(split.x @ root, split.y)
    return float(classifier.score(split.x_test @ root, split.y_test))


def euclidean(split: Split) -> Array:
    """Return the Euclidean metric."""
    return np.eye(split.x.shape[1])


def zero_weights(split: Split) -> Array:
    """Return weights of zero, which need no data."""
    return np.zeros(split.x.shape[1])


def zero_metric(split: Split) -> Array:
    """Return the metric in which all distances are zero."""
    return np.zeros((split.x.shape[1],) * 2)


def _logistic(split: Split) -> Array:
    model = LogisticRegression(class_weight="balanced", max_iter=10_000).fit(split.x, split.y)
    return np.asarray(model.coef_[0])


def _mean_difference(split: Split) -> Array:
    return np.asarray(split.x[split.y > 0].mean(axis=0) - split.x[split.y < 0].mean(axis=0))


BASELINES: dict[str, Callable[[Split], Array]] = {
    EUCLID: euclidean,
    LOGISTIC: _logistic,
    MEANS: _mean_difference,
}
