"""Kang 2021, "Sharper utility bounds": gradient against output perturbation, T = O(log n)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pairdp.algorithms import find_algorithm
from pairdp.algorithms.noisy_descent import KANG
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.learning import AUTO
from pairdp.studies.population import ExcessRisk, problem_of
from pairdp.studies.results import Remark, Results
from pairdp.studies.study import PlannedCell, Position, Scale, Study

NAME: Final = "kang2021"
_EXHIBIT = "Gradient against output perturbation"
_SIZES = (250, 500, 1000, 2000, 4000)
_REGULARIZATIONS = (0.01, 0.1)
_EPSILON = 1.0
STATED_G: Final = {"ranking": 2.0, "metric": 1.0}
"""The Lipschitz constants that the paper states."""


def steps(n: int) -> int:
    """Return T = ⌈4 ln n⌉."""
    return math.ceil(4 * math.log(n))


def study(scale: Scale) -> Study:
    """Return what is run on the paper's claim."""
    return Study(
        NAME,
        "Kang et al. 2021: Sharper utility bounds for private pairwise learning",
        tuple(_cells(scale)),
        _remarks,
        "The paper has no experiments. Logistic ranking on synthetic records of 10 features, "
        "excess risk with respect to a population of 4000, ε = 1, δ = 1/n². Gradient perturbation "
        "takes T = ⌈4 ln n⌉ steps; output perturbation is DPGDSC of Xue 2021. \"With the paper's "
        'G" is printed noise for G = 2, where the true constant is about 4.',
    )


def _cells(scale: Scale) -> Iterator[PlannedCell]:
    for added in scale.points(_REGULARIZATIONS):
        for n in scale.points(_SIZES):
            at = Position(_EXHIBIT, f"synthetic, λ = {added:g}", "excess risk", "", "n", n)
            gradient = replace(KANG, steps=steps(n))
            stated = replace(gradient, printed_lipschitz=STATED_G["ranking"])
            output = find_algorithm("DPGDSC")
            for series, algorithm in (("Kang2021", gradient), ("DPGDSC", output)):
                without = ExcessRisk(algorithm, "logistic", added, n, runs=scale.runs)
                private = replace(without, epsilon=_EPSILON, delta=1 / n**2)
                printed = replace(private, calibration="printed")
                yield at.cell(series, "printed", printed)
                if series == "Kang2021":
                    with_stated = replace(printed, algorithm=stated)
                    yield at.cell("Kang2021 with the paper's G", "printed", with_stated)
                    yield at.cell("Kang2021 without noise", "baseline", without)
                yield at.cell(series, "certified", private)
            chosen = ExcessRisk(None, "logistic", added, n, _EPSILON, 1 / n**2, runs=scale.runs)
            yield at.cell(AUTO, "certified", chosen)


def _remarks(_: Results) -> Iterator[Remark]:
    yield from (_stated_constant(goal) for goal in ("ranking", "metric"))


def _stated_constant(goal: str) -> Remark:
    """Return what the printed noise guarantees with the paper's own constant."""
    n, features = 1000, 10
    budget = Budget(_EPSILON, 1e-5)
    if goal == "ranking":
        problem = problem_of("logistic", 0.0)
    else:
        problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    kang = replace(KANG, steps=steps(n), step_size=0.1)
    stated = replace(kang, printed_lipschitz=STATED_G[goal])
    plan = stated.plan(problem, n, features, budget, calibration="printed")
    truth = problem.loss.lipschitz(problem.domain())
    verdict = "the claim holds" if plan.claim_is_proved else "the claim is NOT proved"
    return Remark(
        NAME,
        _EXHIBIT,
        f"The paper states G = {STATED_G[goal]:g} for {goal}; the true constant is {truth:.3g}",
        f"n = {n}, T = {steps(n)}, ε = {budget.epsilon:g}, δ = {budget.delta:g}, printed noise "
        f"8G√(T ln(1/δ))/(nε) with G = {STATED_G[goal]:g}:\n"
        f"  σ = {plan.certificate.releases[0].mechanism.scale:.4g}\n"  # type: ignore[union-attr]
        f"  certified at that δ: ε = {plan.true_epsilon:.4g}; {verdict}",
    )
