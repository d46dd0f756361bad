"""Jobs on real data: fit to a permutation's first n records, judge on the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from pairdp.algorithms import Algorithm, Plan, find_algorithm
from pairdp.algorithms.registry import algorithms
from pairdp.algorithms.task import Calibration
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.estimators import PrivateMetric, PrivateRanker
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.online import OnlineDescent
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.jobs import Job, RunResult, summed_up
from pairdp.studies.protocols import Protocol, Split, prepared, split

Array = NDArray[np.float64]
Goal = Literal["ranking", "metric"]

AUTO = "auto"
EUCLID = "Euclidean 3-NN"
LOGISTIC = "logistic regression"
MEANS = "class-mean difference"
WITHOUT_BURN_IN = " without its burn-in"
NEIGHBOURS = 3


@dataclass(frozen=True)
class Learning(Job):
    """A method on a data set.

    Parameters
    ----------
    goal : {"ranking", "metric"}
        A ranker, judged by AUC, or a metric, judged by the accuracy of 3 nearest neighbours.
    dataset, protocol : str
        Which records, and how they are prepared.
    n : int
        How many to learn from.
    method : str
        A published name, "auto", or a baseline's name.
    epsilon, delta : float
        The budget; ε None is without noise.
    calibration : {"certified", "printed"}
        Whose noise.
    regularization : float
        λ of the papers' problem.
    loss : {"logistic", "hinge"}
        Of the papers' problem.
    objective : bool
        Whether F(w) on the records learnt from is measured too; "auto" must then minimise the loss.
    """

    goal: Goal
    dataset: str
    protocol: Protocol
    n: int
    method: str
    epsilon: float | None = None
    delta: float = 0.0
    calibration: Calibration = "certified"
    regularization: float = 0.0
    loss: Literal["logistic", "hinge"] = "logistic"
    objective: bool = False

    @property
    def budget(self) -> Budget | None:
        """What may be spent."""
        return None if self.epsilon is None else Budget(self.epsilon, self.delta)

    @property
    def problem(self) -> Problem:
        """What the papers minimise on the unit ball."""
        if self.goal == "metric":
            return Problem(LogisticMetric(), PSDFrobeniusBall(1.0), self.regularization)
        loss = LogisticRanking() if self.loss == "logistic" else HingeRanking()
        return Problem(loss, L2Ball(1.0), self.regularization)

    def plan(self, features: int) -> Plan:
        """Return the plan of a method that is planned."""
        if self.method != AUTO:
            return algorithm(self.method).plan(
                self.problem, self.n, features, self.budget, calibration=self.calibration
            )
        loss = self.problem.loss if self.objective else None
        if self.goal == "metric":
            metric = PrivateMetric(self.epsilon, self.delta, loss=loss, data_norm=1.0)  # type: ignore[arg-type]
            return metric.plan(self.n, features)
        ranker = PrivateRanker(self.epsilon, self.delta, loss=loss, threshold=0.0, data_norm=1.0)  # type: ignore[arg-type]
        return ranker.plan(self.n, features)

    def run(self, data: Path | None) -> RunResult:
        """Fit and judge, once for each permutation."""
        records = prepared(self.dataset, self.protocol, data)
        if self.method in _BASELINES:
            baseline = _BASELINES[self.method]
            return RunResult(
                _collect([baseline(split(records, self.n, i)) for i in range(self.runs)])
            )
        try:
            plan = self.plan(records.x.shape[1])
        except ValueError as error:
            return RunResult({}, refused=str(error))
        found, certificate = [], plan.certificate
        for i in range(self.runs):
            part = split(records, self.n, i)
            fit = plan.run(plan.problem.records(part.x, part.y), self.noise(i), progress=False)
            certificate = fit.certificate
            found.append(self._judge(fit.parameters, part))
        return RunResult(_collect(found), summed_up(certificate))

    def _judge(self, parameters: Array, part: Split) -> dict[str, float]:
        if self.goal == "metric":
            found = {"accuracy": accuracy(parameters, part)}
        else:
            found = {"AUC": area(part.x_test @ parameters, part)}
        if self.objective:
            problem = self.problem
            found["objective"] = problem.value(parameters, problem.records(part.x, part.y))
        return found


def algorithm(name: str) -> Algorithm:
    """Return a published algorithm, offline or online, by name."""
    plain = name.removesuffix(WITHOUT_BURN_IN)
    if plain not in algorithms("stream", published=True):
        return find_algorithm(plain)
    online = algorithms("stream", published=True)[plain]
    if name == plain or not isinstance(online, OnlineDescent):
        return online
    return replace(online, burn_in=False)


def area(scores: Array, part: Split) -> float:
    """Return the AUC on held-out records."""
    return float(roc_auc_score(part.y_test > 0, scores))


def accuracy(metric: Array, part: Split) -> float:
    """Return how often 3 nearest neighbours are right about held-out records."""
    values, vectors = np.linalg.eigh(metric)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    judge = KNeighborsClassifier(NEIGHBOURS).fit(part.x @ root, part.y)
    return float(judge.score(part.x_test @ root, part.y_test))


def _euclid(part: Split) -> dict[str, float]:
    return {"accuracy": accuracy(np.eye(part.x.shape[1]), part)}


def _logistic(part: Split) -> dict[str, float]:
    model = LogisticRegression(class_weight="balanced", max_iter=10_000).fit(part.x, part.y)
    return {"AUC": area(model.decision_function(part.x_test), part)}


def _means(part: Split) -> dict[str, float]:
    apart = part.x[part.y > 0].mean(axis=0) - part.x[part.y < 0].mean(axis=0)
    return {"AUC": area(part.x_test @ apart, part)}


_BASELINES: dict[str, Callable[[Split], dict[str, float]]] = {
    EUCLID: _euclid,
    LOGISTIC: _logistic,
    MEANS: _means,
}


def _collect(found: list[dict[str, float]]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(run[name] for run in found) for name in found[0]}
