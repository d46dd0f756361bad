"""Huai 2020, "Pairwise learning with differential privacy guarantees": Figures 1 to 6."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies import certified_comparison, zero_model
from pairdp.studies.learning import (
    AUTO,
    EUCLID,
    LOGISTIC,
    MEANS,
    ZERO,
    Goal,
    Learning,
    algorithm,
)
from pairdp.studies.protocols import METRIC_PROTOCOLS, PROTOCOLS
from pairdp.studies.regret import exhibit as regret_exhibit
from pairdp.studies.results import Remark, Results
from pairdp.studies.study import PlannedCell, Position, Scale, Study

NAME: Final = "huai2020"
EPSILONS: Final = (0.5, 1.5, 2.5)
_REGULARIZATION = 1e-3  # of the strongly convex problems
_FEW = (40, 50, 60, 70, 80, 90)
_MORE = (50, 100, 150, 200, 250, 300, 350)
_SMALL = ("hepatitis", "cancer_original", "cancer_wdbc")
_LARGE = ("diabetes", "retinopathy")


class _Figure(NamedTuple):
    exhibit: str
    goal: Goal
    method: str
    measure: str
    datasets: tuple[str, ...]
    sizes: tuple[int, ...]
    regularization: float = 0.0


_FIGURES: Final = (
    _Figure("Figure 1", "ranking", "OnPairStrC", "objective", _SMALL, _FEW, _REGULARIZATION),
    _Figure("Figure 2", "ranking", "OnPairC", "objective", _LARGE, _MORE),
    _Figure("Figure 3", "ranking", "OffPairStrC", "objective", _SMALL, _FEW, _REGULARIZATION),
    _Figure("Figure 4", "ranking", "OffPairC", "AUC", _LARGE, _MORE),
    _Figure("Figure 5", "metric", "OnPairC", "objective", _LARGE, _MORE),
    _Figure("Figure 6", "metric", "OffPairC", "accuracy", _LARGE, _MORE),
)


def study(scale: Scale) -> Study:
    """Return what is run of the paper."""
    return Study(
        NAME,
        "Huai et al. 2020: Pairwise learning with differential privacy guarantees",
        (
            *(cell for figure in _FIGURES for cell in _cells(figure, scale)),
            *regret_exhibit.cells(scale),
        ),
        remarks,
        "The text does not give the values of the figures. Cancer may be the original Wisconsin "
        "data set or the diagnostic one: both are run. The objective is the regularised empirical "
        "risk on the n training records; for online algorithms, that of the last model. auto is "
        "not online: it sees all records at once, and minimises the same loss where the objective "
        "is measured. It chooses by a predicted AUC, and not for a small objective. Steps and step "
        'sizes are those of pairdp, also with printed noise, except in series named "the '
        "theorem's schedule\".",
    )


def _cells(figure: _Figure, scale: Scale) -> Iterator[PlannedCell]:
    for protocol in METRIC_PROTOCOLS if figure.goal == "metric" else PROTOCOLS:
        for dataset in figure.datasets:
            for epsilon in scale.points(EPSILONS):
                for n in scale.points(figure.sizes):
                    panel = f"{dataset}, ε = {epsilon:g}"
                    at = Position(figure.exhibit, panel, figure.measure, protocol, "n", n)
                    job = Learning(
                        figure.goal, dataset, protocol, n, figure.method,
                        regularization=figure.regularization,
                        objective=figure.measure == "objective",
                        runs=scale.runs,
                    )  # fmt: skip
                    yield from _series(at, job, replace(job, epsilon=epsilon, delta=1 / n))


def _series(at: Position, without: Learning, private: Learning) -> Iterator[PlannedCell]:
    """Yield all series at a point, from the jobs without and with noise."""
    method = without.method
    yield from at.printed(method, private, has_theorem=algorithm(method).has_theorem)
    yield at.cell(method, "certified", private)
    yield at.cell(f"{method} without noise", "baseline", without)
    yield at.cell(AUTO, "certified", replace(private, method=AUTO))
    if without.objective:
        yield at.cell(ZERO, "baseline", replace(without, method=ZERO))
    else:
        for baseline in (EUCLID,) if without.goal == "metric" else (LOGISTIC, MEANS):
            yield at.cell(baseline, "baseline", replace(without, method=baseline))


def remarks(results: Results) -> Iterator[Remark]:
    """Yield the findings."""
    problem = Problem(LogisticRanking(), L2Ball(1.0), _REGULARIZATION)
    yield _burn_in(problem, _FEW[-1])
    yield _offline_noise(problem, _FEW[-1])
    yield from regret_exhibit.remarks(results, NAME)
    yield from zero_model.remarks(results, NAME)
    yield from certified_comparison.remarks(results, NAME)


def _burn_in(problem: Problem, n: int) -> Remark:
    smoothness = problem.constants(n).pair_smoothness
    alpha = problem.regularization
    burn_in = max(16 * (smoothness / alpha) ** 2, 7)
    shortest = smoothness / alpha + 1
    return Remark(
        NAME,
        "Figures 1 and 3",
        "The printed burn-in is longer than every data set",
        f"Algorithms 1 and 3 first draw T₁ = max(16L²/α², 7) random points.\n"
        f"  logistic loss of pairs on the unit ball: L = {smoothness:g}; α = λ = {alpha:g}\n"
        f"  T₁ = 16 · {smoothness:g}² / {alpha:g}² = {burn_in:.4g}, while n is at most {n}\n"
        "The loop is never entered, and the noise has n - T₁ < 0 under a square root. Even the "
        f"contraction that the burn-in is meant to ensure needs {shortest:.0f} steps. The figures "
        "cannot show the printed algorithms.",
    )


def _offline_noise(problem: Problem, n: int) -> Remark:
    published = algorithm("OffPairStrC")
    lines = []
    for epsilon in EPSILONS:
        budget = Budget(epsilon, 1 / n)
        scales = [
            published.plan(problem, n, 19, budget, calibration=calibration, schedule="tuned")
            .certificate.releases[0]
            .mechanism.scale  # type: ignore[union-attr]
            for calibration in ("printed", "certified")
        ]
        lines.append(f"  ε = {epsilon:g}: printed σ = {scales[0]:.4g}, certified {scales[1]:.4g}")
    return Remark(
        NAME,
        "Figure 3",
        "The printed noise of OffPairStrC is far larger than the set of models",
        f"n = {n}, λ = {problem.regularization:g}, δ = 1/n, weights of norm at most 1:\n"
        + "\n".join(lines),
    )
