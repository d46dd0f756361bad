"""Wang 2024, "Differentially private SGD with low noise": Figures 1 and 2.

DP-SGD on one random record per step (Algorithm 1), for data with little and much label noise. The
noise of a step must cover the sensitivity of its gradient. For the logistic loss that is bounded
for all weights, so steps are unconstrained, as in the paper. For least squares it grows with the
weights, and is unbounded on the paper's unbounded set: here steps are projected onto the ball of
radius 1, which contains w* (of norm 0.63), and targets are clipped to ±0.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from pairdp.algorithms import Plan
from pairdp.algorithms.noisy_descent import WANG_POINTWISE
from pairdp.algorithms.task import Calibration
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses import LeastSquaresPointwise, LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget
from pairdp.studies import zero_model
from pairdp.studies.jobs import FitJob, Job, RunResult, Split
from pairdp.studies.learning import LOGISTIC, ZERO, zero_weights
from pairdp.studies.results import Remark, Results
from pairdp.studies.study import PlannedCell, Position, Scale, Study

Array = NDArray[np.float64]
Setting = Literal["least squares", "logistic"]
NAME: Final = "wang2024"
N, D, STEPS, STEP_SIZE = 5000, 10, 1000, 0.01
DELTA: Final = 1 / N**2
SGD: Final = replace(WANG_POINTWISE, steps=STEPS, step_size=STEP_SIZE)


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
    """Return rows of norm 1, and their labels for each κ from the same random numbers."""
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
class LowNoise(FitJob):
    """DP-SGD with a budget, on labels with noise of standard deviation κ."""

    setting: Setting
    kappa: float
    epsilon: float | None = None
    calibration: Calibration = "certified"
    is_zero: bool = False

    @property
    def baseline(self) -> Callable[[Split], Array] | None:
        """Weights of zero, if they are asked for."""
        return zero_weights if self.is_zero else None

    def split(self, run: int, data: Path | None) -> Split:
        """Return the same records in every run."""
        return _split(self.setting, self.kappa)

    def plan(self, features: int) -> Plan:
        """Return the plan of DP-SGD."""
        budget = None if self.epsilon is None else Budget(self.epsilon, DELTA)
        problem = FIGURES[self.setting].problem
        return SGD.plan(
            problem,
            N,
            features,
            budget,
            calibration=self.calibration,
            schedule="theorem",  # Algorithm 1 to the letter, with the T and η of the figures
        )

    def score(self, parameters: Array, split: Split) -> dict[str, float]:
        """Return the errors of a model."""
        return _errors(self.setting, split.x_test @ parameters, split)


@dataclass(frozen=True)
class Logistic(Job):
    """Balanced logistic regression, not private, on labels with noise of deviation κ."""

    kappa: float

    def run(self, data: Path | None) -> RunResult:
        """Fit once: nothing is random, so every run is the same."""
        split = _split("logistic", self.kappa)
        model = LogisticRegression(class_weight="balanced", max_iter=10_000).fit(split.x, split.y)
        errors = _errors("logistic", model.decision_function(split.x_test), split)
        return RunResult({name: (error,) * self.runs for name, error in errors.items()})


def _split(setting: Setting, kappa: float) -> Split:
    (x, y), (x_test, y_test) = records(setting, 0), records(setting, 1)
    return Split(x, y[kappa], x_test, y_test[kappa])


def _errors(setting: Setting, scores: Array, split: Split) -> dict[str, float]:
    """Return the errors with respect to the labels as they are, and without their noise."""
    figure = FIGURES[setting]
    best = split.x_test @ np.array(figure.truth)
    squares = setting == "least squares"

    def error(y: Array) -> float:
        wrong = (scores - y) ** 2 if squares else np.where(scores > 0, 1.0, -1.0) != y
        return float(np.mean(wrong))

    true = best if squares else np.where(best > 0, 1.0, -1.0)
    return {figure.measure: error(split.y_test), f"{figure.measure}, {TRUE_LABELS}": error(true)}


def study(scale: Scale) -> Study:
    """Return what is run of the paper."""
    return Study(
        NAME,
        "Wang et al. 2024: Private stochastic gradient descent with low noise",
        tuple(cell for setting in FIGURES for cell in _cells(setting, scale)),
        _remarks,
        f"n = {N}, d = {D}, T = {STEPS}, η = {STEP_SIZE}, δ = 1/n², rows of norm 1. γ is one "
        "number of standard deviation κ for each record. For least squares, rows whose target is "
        "outside ±0.5 for some κ are drawn again, steps are projected onto the unit ball, and "
        "targets are clipped. For the logistic loss, y is the sign of ⟨w*, x⟩ + γ. There is one "
        "data set; runs differ in random draws and noise, and there are as many as permutations, "
        "where the paper has 500. Errors are on new records, with respect to the noisy labels "
        "(as in the paper) and to the labels without noise. The zero model predicts 0, or always "
        "the class -1, and needs no data; the paper does not compare with it.",
    )


def _cells(setting: Setting, scale: Scale) -> Iterator[PlannedCell]:
    figure = FIGURES[setting]
    for measure in (figure.measure, f"{figure.measure}, {TRUE_LABELS}"):
        for epsilon in scale.points(figure.epsilons):
            at = Position(figure.exhibit, setting, measure, "", "ε", epsilon)
            for kappa in figure.kappas:
                without = LowNoise(setting, kappa, runs=scale.runs)
                private = replace(without, epsilon=epsilon)
                series = f"DP-SGD, κ = {kappa:g}"
                yield at.cell(series, "printed", replace(private, calibration="printed"))
                yield at.cell(series, "certified", private)
                yield at.cell(f"SGD without noise, κ = {kappa:g}", "baseline", without)
                zero = replace(without, is_zero=True)
                yield at.cell(f"{ZERO}, κ = {kappa:g}", "baseline", zero)
                if setting == "logistic":
                    fitted = Logistic(kappa, runs=scale.runs)
                    yield at.cell(f"{LOGISTIC}, κ = {kappa:g}", "baseline", fitted)


def _remarks(results: Results) -> Iterator[Remark]:
    """Yield whether less label noise gives less error at every ε."""
    lines = []
    for kind in ("printed", "certified"):
        means: dict[tuple[str, float], dict[str, float]] = {}
        for cell in results.cells:
            if cell.study == NAME and cell.kind == kind:
                at = (f"{cell.panel}, {cell.measure}", cell.x)
                means.setdefault(at, {})[cell.series] = cell.mean
        for panel in sorted({panel for panel, _ in means}):
            points = [found for (where, _), found in means.items() if where == panel]
            best = sum(min(found, key=lambda s: found[s]).endswith("κ = 0") for found in points)
            lines.append(f"  {panel}, {kind} noise: at {best} of {len(points)} ε")
    if lines:
        yield Remark(
            NAME,
            "Figures 1 and 2",
            "Where κ = 0, no label noise, has the smallest mean error",
            "The paper claims that it has at every ε:\n" + "\n".join(lines),
        )
    yield from zero_model.remarks(results, NAME)
