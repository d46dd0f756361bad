"""Wang 2024, "Differentially private SGD with low noise": Figures 1 and 2.

DP-SGD on one drawn record a step (Algorithm 1), for data with less and more noise in their
labels. The noise of a step must cover how far one record can move its gradient. For the logistic
loss that is bounded wherever the weights are, so steps are free, as in the paper. For least squares
it grows with the weights, and on the paper's unbounded set there is no bound: steps are projected
on the ball of radius 1, which holds w* (of norm 0.63), and targets are clipped to ±0.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from pairdp.algorithms.noisy_descent import WANG_POINTWISE
from pairdp.algorithms.task import Calibration
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses import LeastSquaresPointwise, LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget
from pairdp.studies.jobs import Job, RunResult, summed_up
from pairdp.studies.learning import LOGISTIC
from pairdp.studies.plan import Place, Scale, Spot, Study
from pairdp.studies.wang2024_remarks import remarks

Array = NDArray[np.float64]
Setting = Literal["least squares", "logistic"]
Errors = tuple[float, ...]
NAME: Final = "wang2024"
N, D, STEPS, STEP_SIZE = 5000, 10, 1000, 0.01
DELTA: Final = 1 / N**2
SGD: Final = replace(WANG_POINTWISE, steps=STEPS, step_size=STEP_SIZE)
_READING = (
    f"n = {N}, d = {D}, T = {STEPS}, η = {STEP_SIZE}, δ = 1/n², rows of norm 1. γ is one number of "
    "standard deviation κ for each record. For least squares, rows whose target is beyond ±0.5 for "
    "some κ are drawn anew, steps are projected on the unit ball and targets clipped. For the "
    "logistic loss y is the sign of ⟨w*, x⟩ + γ. The data set is one; runs differ in draws and "
    "noise, and are as many as there are permutations, where the paper has 500. Errors are on "
    "fresh records, against labels as they are (the paper's) and against "
    "labels without noise."
)


class _Figure(NamedTuple):
    exhibit: str
    measure: str
    problem: PointwiseProblem
    truth: tuple[float, ...]
    kappas: tuple[float, ...]
    epsilons: tuple[float, ...]


FIGURES: Final[dict[Setting, _Figure]] = {
    "least squares": _Figure(
        "Figure 1",
        "mean square error",
        PointwiseProblem(LeastSquaresPointwise(label_bound=0.5), L2Ball(1.0)),
        (0.5, 0.3, 0, 0.1, 0.2, 0, 0, 0, 0, 0.1),
        (0.0, 0.1, 0.15),
        tuple(0.5 * i for i in range(1, 12)),
    ),
    "logistic": _Figure(
        "Figure 2",
        "misclassification rate",
        PointwiseProblem(LogisticPointwise(), Unconstrained()),
        (5, 3, 0, 0.1, 0.2, 0, 0, 0, 0, 0.1),
        (0.0, 0.4, 0.6),
        tuple(0.5 * i for i in range(3, 13)),
    ),
}
TRUE_LABELS = "labels without noise"


@lru_cache(maxsize=8)
def records(setting: Setting, seed: int) -> tuple[Array, dict[float, Array]]:
    """Return rows of norm 1, and their labels for each κ, from the same random numbers."""
    figure = FIGURES[setting]
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * N, D))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    error = rng.normal(size=2 * N)
    scores = x @ np.array(figure.truth)
    labels = {kappa: scores + kappa * error for kappa in figure.kappas}
    if setting == "least squares":
        kept = np.all([np.abs(y) <= 0.5 for y in labels.values()], axis=0)
    else:
        labels = {kappa: np.where(y > 0, 1.0, -1.0) for kappa, y in labels.items()}
        kept = np.full(2 * N, True)
    return x[kept][:N], {kappa: y[kept][:N] for kappa, y in labels.items()}


@dataclass(frozen=True)
class LowNoise(Job):
    """DP-SGD with a budget, on labels with noise of standard deviation κ."""

    setting: Setting
    kappa: float
    epsilon: float | None = None
    calibration: Calibration = "certified"

    def run(self, data: Path | None) -> RunResult:
        """Run it several times on the same records, and judge on fresh ones."""
        figure = FIGURES[self.setting]
        budget = None if self.epsilon is None else Budget(self.epsilon, DELTA)
        try:
            plan = SGD.plan(figure.problem, N, D, budget, calibration=self.calibration)
        except ValueError as error:
            return RunResult({}, refused=str(error))
        x, y = records(self.setting, 0)
        fresh, noisy = records(self.setting, 1)
        learnt = figure.problem.records(x, y[self.kappa])
        fits = [plan.run(learnt, self.noise(i), progress=False) for i in range(self.runs)]
        scores = np.array([fit.parameters for fit in fits]) @ fresh.T
        values = _judged(self.setting, scores, fresh, noisy[self.kappa])
        return RunResult(values, summed_up(fits[-1].certificate))


@dataclass(frozen=True)
class Logistic(Job):
    """Balanced logistic regression, not private, on labels with noise of deviation κ."""

    kappa: float

    def run(self, data: Path | None) -> RunResult:
        """Fit once: there are no draws, and every run is the same."""
        x, y = records("logistic", 0)
        fresh, noisy = records("logistic", 1)
        model = LogisticRegression(class_weight="balanced", max_iter=10_000)
        scores = model.fit(x, y[self.kappa]).decision_function(fresh)
        repeated = np.tile(scores, (self.runs, 1))
        return RunResult(_judged("logistic", repeated, fresh, noisy[self.kappa]))


def _judged(setting: Setting, scores: Array, fresh: Array, noisy: Array) -> dict[str, Errors]:
    """Return the errors of each run: against labels as they are, and without their noise."""
    figure = FIGURES[setting]
    best = fresh @ np.array(figure.truth)
    squares = setting == "least squares"

    def errors(y: Array) -> Errors:
        found = (scores - y) ** 2 if squares else np.where(scores > 0, 1.0, -1.0) != y
        return tuple(float(each) for each in np.mean(found, axis=1))

    true = best if squares else np.where(best > 0, 1.0, -1.0)
    return {figure.measure: errors(noisy), f"{figure.measure}, {TRUE_LABELS}": errors(true)}


def study(scale: Scale) -> Study:
    """Return what is run of the paper."""
    return Study(
        NAME,
        "Wang, Lei, Ying and Zhou 2024: Differentially private SGD with low noise",
        tuple(place for setting in FIGURES for place in _places(setting, scale)),
        (),
        remarks,
        _READING,
    )


def _places(setting: Setting, scale: Scale) -> Iterator[Place]:
    figure = FIGURES[setting]
    for measure in (figure.measure, f"{figure.measure}, {TRUE_LABELS}"):
        for epsilon in scale.points(figure.epsilons):
            spot = Spot(figure.exhibit, setting, measure, "", "ε", epsilon)
            for kappa in figure.kappas:
                bare = LowNoise(setting, kappa, runs=scale.runs)
                spent = replace(bare, epsilon=epsilon)
                series = f"DP-SGD, κ = {kappa:g}"
                yield spot.place(series, "printed", replace(spent, calibration="printed"))
                yield spot.place(series, "certified", spent)
                yield spot.place(f"SGD without noise, κ = {kappa:g}", "baseline", bare)
                if setting == "logistic":
                    fitted = Logistic(kappa, runs=scale.runs)
                    yield spot.place(f"{LOGISTIC}, κ = {kappa:g}", "baseline", fitted)
