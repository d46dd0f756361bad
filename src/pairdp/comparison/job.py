"""One cell of a comparison: an algorithm at one ε, fitted and scored on every repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from pairdp.algorithms import Fit, Plan
from pairdp.algorithms.score_models import score_model
from pairdp.comparison.records import PublicRecords, SyntheticRecords
from pairdp.estimators import PrivateMetric
from pairdp.studies.jobs import FitJob, Split
from pairdp.studies.learning import BASELINES, EUCLID, LOGISTIC, accuracy, auto_ranker

Array = NDArray[np.float64]
Task = Literal["ranking", "metric"]
MEASURES: dict[Task, str] = {"ranking": "AUC", "metric": "accuracy of 3 nearest neighbours"}
BASELINE: dict[Task, str] = {"ranking": LOGISTIC, "metric": EUCLID}


@dataclass(frozen=True)
class Cell(FitJob):
    """An algorithm, or a baseline, at one ε.

    Parameters
    ----------
    task : {"ranking", "metric"}
    records : SyntheticRecords or PublicRecords
    method : str
        "auto", the name of an algorithm, or that of a baseline.
    epsilon : float or None
        None adds no noise.
    delta : float
    """

    task: Task
    records: SyntheticRecords | PublicRecords
    method: str
    epsilon: float | None
    delta: float

    @property
    def baseline(self) -> Callable[[Split], Array] | None:
        """The baseline of the method's name, if it is one."""
        return BASELINES.get(self.method)

    def split(self, run: int, data: Path | None) -> Split:
        """Return the records of a repeat."""
        return self.records.split(run)

    def plan(self, features: int) -> Plan:
        """Return the plan of the estimator with this algorithm."""
        if self.task == "ranking":
            ranker = auto_ranker(self.epsilon, self.delta, algorithm=self.method, model="auto")
            return ranker.plan(self.records.n, features)
        metric = PrivateMetric(self.epsilon, self.delta, algorithm=self.method, data_norm=1.0)
        return metric.plan(self.records.n, features)

    def model(self, plan: Plan, release: Fit) -> Any:
        """Return the parameters, or the score function of a model that is not linear."""
        found = score_model(plan.algorithm)
        if found is None:
            return release.parameters
        return found.score_function(plan, release.parameters, release.statistics)

    def score(self, parameters: Any, split: Split) -> dict[str, float]:
        """Return the AUC, or the accuracy of nearest neighbours, on the other records."""
        measure = MEASURES[self.task]
        if self.task == "metric":
            return {measure: accuracy(parameters, split)}
        linear = isinstance(parameters, np.ndarray)
        scores = split.x_test @ parameters if linear else parameters.scores(split.x_test)
        return {measure: float(roc_auc_score(split.y_test > 0, scores))}
