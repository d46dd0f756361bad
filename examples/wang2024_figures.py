"""Draw docs/wang2024-least-squares.svg and docs/wang2024-logistic.svg: Wang 2024, Figures 1 and 2.

Run with ``python examples/wang2024_figures.py`` after ``pip install 'pairdp[plot]'``.

DP-SGD on one drawn record a step, with noise on its gradient and the average iterate released
(Algorithm 1), for data with less and more noise in their labels: n = 5000, d = 10, T = 1000,
η = 0.01, δ = 1/n², records of norm 1. The claim is that it does better with little noise in the
labels (κ = 0) than with more, at every ε.

What makes the guarantee true. The noise of a step must cover how far one record can move its
gradient, D. For the logistic loss and records of norm 1, D = 2 wherever the weights are, so steps
are free, as in the paper. For least squares the gradient grows with the weights, and on the
paper's unbounded set there is no such D, so no guarantee. Here every step is projected on the ball
of radius 1, which holds w* (of norm 0.63), and targets are clipped to ±0.5, as the paper's are by
construction. Rows are clipped to norm 1, which none exceeds. The noise is certified for these
bounds and for a record that is drawn with probability 1/n at each step; the paper's own formula
asks for more of it.

How the data are read. γ is taken as one number of standard deviation κ for each record. For least
squares, rows whose y is beyond ±0.5 for some κ are drawn anew, so that all settings share their
rows. For the logistic loss, y is the sign of ⟨w*, x⟩ + γ. Errors are means over fresh records of
the same law. Runs of different κ share the draws and the noise, so that their differences are those
of the data.

Two errors are shown for each setting. The first is the paper's, against labels that have noise
themselves: it cannot go below that noise. The second is against the labels without noise, ⟨w*, x⟩
or its sign, and says how well w* was found. The claim holds for both at every ε. By the second, the
difference is 5 to 11 % of the error for least squares and 1 to 3 % for the logistic loss: what
noise for privacy costs is many times what noise in the labels does. For least squares and small ε
(up to 1 for κ = 0, 2.5 for κ = 0.1, 3.5 for κ = 0.15) weights of zero do no worse than DP-SGD.
Standard errors are those of draws and noise; the data set is one and the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

from pairdp import Budget, NoiseSource
from pairdp.algorithms import NoisyGradientDescent, Plan
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses import LeastSquaresPointwise, LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem

mpl.use("svg")
from matplotlib import pyplot as plt

N, D, T, STEP = 5000, 10, 1000, 0.01
DELTA = 1 / N**2
RUNS = 50  # the paper has 500
DRAWN = 1  # records a step
SGD = NoisyGradientDescent("average", T, STEP, DRAWN, name="DP-SGD (Wang 2024, Algorithm 1)")


@dataclass(frozen=True)
class Study:
    """One figure: its data, its problem and what is measured."""

    file: str
    title: str
    measure: str
    truth: np.ndarray
    problem: PointwiseProblem
    kappas: tuple[float, ...]
    epsilons: tuple[float, ...]

    @property
    def is_squares(self) -> bool:
        """Whether targets are numbers."""
        return not self.problem.loss.binary

    def records(self, n: int, seed: int) -> tuple[np.ndarray, dict[float, np.ndarray]]:
        """Return rows of norm 1, and their labels for each κ, from the same random numbers."""
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2 * n, D))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        error = rng.normal(size=2 * n)
        labels = {kappa: x @ self.truth + kappa * error for kappa in self.kappas}
        kept = np.full(2 * n, True)
        if self.is_squares:
            kept = np.all([np.abs(y) <= 0.5 for y in labels.values()], axis=0)
        else:
            labels = {kappa: np.where(y > 0, 1.0, -1.0) for kappa, y in labels.items()}
        return x[kept][:n], {kappa: y[kept][:n] for kappa, y in labels.items()}

    def error(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the mean square error, or the rate of misclassification, of each run."""
        if self.is_squares:
            return np.mean((scores - y) ** 2, axis=1)
        return np.mean(np.where(scores > 0, 1.0, -1.0) != y, axis=1)


SQUARES = Study(
    "wang2024-least-squares.svg",
    "Least squares",
    "mean square error",
    np.array([0.5, 0.3, 0, 0.1, 0.2, 0, 0, 0, 0, 0.1]),
    PointwiseProblem(LeastSquaresPointwise(label_bound=0.5), L2Ball(1.0)),
    (0.0, 0.1, 0.15),
    tuple(np.arange(0.5, 5.6, 0.5)),
)
LOGISTIC = Study(
    "wang2024-logistic.svg",
    "Logistic loss",
    "misclassification rate",
    np.array([5, 3, 0, 0.1, 0.2, 0, 0, 0, 0, 0.1]),
    PointwiseProblem(LogisticPointwise(), Unconstrained()),
    (0.0, 0.4, 0.6),
    tuple(np.arange(1.5, 6.1, 0.5)),
)


def weights(plan: Plan, study: Study, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return what each of many runs releases."""
    records = study.problem.records(x, y)
    return np.array(
        [plan.run(records, NoiseSource(seed), progress=False).parameters for seed in range(RUNS)]
    )


def errors(study: Study, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of all runs for each κ: against noisy labels, and against true ones."""
    x, y = study.records(N, seed=0)
    fresh, labels = study.records(N, seed=1)
    best = fresh @ study.truth
    true = best if study.is_squares else np.where(best > 0, 1.0, -1.0)
    scores = {kappa: weights(plan, study, x, y[kappa]) @ fresh.T for kappa in study.kappas}
    noisy = [study.error(scores[kappa], labels[kappa]) for kappa in study.kappas]
    return np.array(noisy), np.array([study.error(scores[kappa], true) for kappa in study.kappas])


def draw(study: Study) -> None:
    """Print the numbers of a figure and draw it."""
    public = errors(study, SGD.plan(study.problem, N, D))
    plans = [SGD.plan(study.problem, N, D, Budget(eps, DELTA)) for eps in study.epsilons]
    scales = [plan.certificate.releases[0].mechanism.scale for plan in plans]
    found = np.array([errors(study, plan) for plan in plans])  # ε, kind of error, κ, run
    print(f"\n{study.title}: {study.measure} of {RUNS} runs, ± is two standard errors")
    if study.is_squares:
        y = study.records(N, seed=1)[1].values()
        print("weights of zero have", *(f"{np.mean(labels**2):.4f}" for labels in y), "for each κ")
    print("ε           ", *(f"{eps:15.1f}" for eps in study.epsilons), "      no noise", sep="")
    print("σ           ", *(f"{scale:15.3f}" for scale in scales), f"{0:14d}", sep="")
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.0))
    for kind, (axes, against) in enumerate(
        zip(panels, ("labels as they are", "labels without noise"), strict=True)
    ):
        print(f"against {against}")
        for place, kappa in enumerate(study.kappas):
            runs, bare = found[:, kind, place], public[kind][place]
            mean, spread = runs.mean(axis=1), 2 * runs.std(axis=1, ddof=1) / np.sqrt(RUNS)
            cells = (f"{m:8.4f} ±{s:.4f}" for m, s in zip(mean, spread, strict=True))
            print(f"  κ = {kappa:<6g}", *cells, f"{bare.mean():14.4f}", sep="")
            (line,) = axes.plot(
                study.epsilons, mean, marker="o", markersize=4, label=f"DP-SGD, κ = {kappa:g}"
            )
            color = line.get_color()
            axes.fill_between(study.epsilons, mean - spread, mean + spread, color=color, alpha=0.15)
            axes.axhline(bare.mean(), color=color, linestyle=":", label=f"SGD, κ = {kappa:g}")
        claim(study, found[:, kind])
        axes.set(xlabel="ε (smaller is more private)", title=f"against {against}")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(study.measure)
    panels[1].legend(frameon=False, fontsize=8)
    figure.suptitle(f"{study.title}, n = {N}, T = {T}, δ = 1/n², {RUNS} runs", fontsize=11)
    figure.tight_layout()
    target = Path(__file__).parents[1] / "docs" / study.file
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)
    print(f"wrote {target.name}")


def claim(study: Study, found: np.ndarray) -> None:
    """Print whether κ = 0 has the least error at every ε, and by how much against its spread."""
    for place, kappa in enumerate(study.kappas[1:], start=1):
        more = found[:, place] - found[:, 0]
        ratio = more.mean(axis=1) / np.maximum(more.std(axis=1, ddof=1) / np.sqrt(RUNS), 1e-300)
        better, sure = int(np.sum(ratio > 0)), int(np.sum(ratio > 2))
        print(
            f"  κ = 0 is better than κ = {kappa:g} at {better} of {len(ratio)} ε, at {sure} by "
            f"more than two standard errors; the difference is {more.mean(axis=1).min():.4f} to "
            f"{more.mean(axis=1).max():.4f}"
        )


def main() -> None:
    """Draw both figures."""
    start = time.perf_counter()
    for study in (SQUARES, LOGISTIC):
        draw(study)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
