"""Rankers of records with a rotated structure: networks beside linear and additive models.

The log-odds of a record are a wave, a product and a fold of directions across all features, plus
a linear term. The test records are further draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from pairdp.algorithms import Fit, Plan
from pairdp.algorithms.neural import NeuralDescent
from pairdp.algorithms.score_models import ScoreFunction, score_model
from pairdp.algorithms.task import Calibration, Schedule
from pairdp.constraints import Unconstrained
from pairdp.estimators import PrivateRanker
from pairdp.losses import LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.jobs import FitJob, Split

Array = NDArray[np.float64]
Method = Literal["pairwise", "reference", "linear", "additive"]
FEATURES, TEST = 12, 5000
_TURN = 2021
"""The seed of the rotation, which is the same in all runs."""


def rotated(n: int, seed: int) -> tuple[Array, Array]:
    """Return n records: rows within the unit ball but for few, and labels -1 and +1."""
    turn = np.linalg.qr(np.random.default_rng(_TURN).normal(size=(FEATURES, FEATURES)))[0]
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, FEATURES))
    z = x @ turn
    wave, product = 2.25 * np.sin(1.5 * z[:, 0]), 1.5 * z[:, 1] * z[:, 2]
    fold = 1.2 * np.abs(z[:, 3]) * np.sign(z[:, 4])
    odds = 1.5 * (wave + product + fold + 0.5 * z[:, 5])
    y = np.where(rng.random(n) < expit(odds), 1.0, -1.0)
    return x / (4 * np.sqrt(FEATURES)), y


@dataclass(frozen=True)
class NetworkLearning(FitJob):
    """The AUC of a ranker over draws of n records.

    Parameters
    ----------
    method : {"pairwise", "reference", "linear", "additive"}
        A network by sums over pairs or by reference slopes, or a model of `PrivateRanker`.
    n : int
        Number of records.
    epsilon, delta : float
        The budget; no noise if ε is None.
    calibration : {"certified", "printed"}
        Whether noise is certified, or follows the formula that the paper prints.
    schedule : {"tuned", "theorem"}
        "theorem" is the paper's algorithm, with plain steps on all parameters; "tuned" standardises
        rows, learns the linear part first, and uses Adam.
    learning_rate : float
        The step size of a network.
    """

    method: Method
    n: int
    epsilon: float | None = None
    delta: float = 0.0
    calibration: Calibration = "certified"
    schedule: Schedule = "tuned"
    learning_rate: float = 0.05

    def split(self, run: int, data: Path | None) -> Split:
        """Return new training and test records."""
        return Split(*rotated(self.n, run), *rotated(TEST, 10**6 + run))

    def plan(self, features: int) -> Plan:
        """Return the plan of the method."""
        if self.method in ("linear", "additive"):
            ranker = PrivateRanker(self.epsilon, self.delta, model=self.method, data_norm=1.0)
            return ranker.plan(self.n, features)
        budget = None if self.epsilon is None else Budget(self.epsilon, self.delta)
        algorithm = NeuralDescent(gradient=self.method, learning_rate=self.learning_rate)  # type: ignore[arg-type]
        problem = Problem(LogisticRanking(), Unconstrained())
        return algorithm.plan(
            problem,
            self.n,
            features,
            budget,
            calibration=self.calibration,
            schedule=self.schedule,
        )

    def model(self, plan: Plan, release: Fit) -> Any:
        """Return the weights of a linear model, or the score function of another."""
        found = score_model(plan.algorithm)
        if found is None:
            return release.parameters
        return found.score_function(plan, release.parameters, release.statistics)

    def score(self, parameters: Array | ScoreFunction, split: Split) -> dict[str, float]:
        """Return the AUC on the test records."""
        rows = split.x_test
        if isinstance(parameters, np.ndarray):
            scores = rows @ parameters
        else:
            scores = parameters.scores(rows)
        return {"AUC": float(roc_auc_score(split.y_test > 0, scores))}
