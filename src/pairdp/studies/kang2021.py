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
from pairdp.studies.plan import Place, Scale, Spot, Study
from pairdp.studies.population import ExcessRisk, problem_of
from pairdp.studies.results import Remark, Results

NAME: Final = "kang2021"
_EXHIBIT = "Gradient against output perturbation"
_SIZES = (250, 500, 1000, 2000, 4000)
_REGULARIZATIONS = (0.01, 0.1)
_EPSILON = 1.0
STATED_G: Final = {"ranking": 2.0, "metric": 1.0}
"""The Lipschitz constants that the paper states."""
_READING = (
    "The paper prints no experiments. Logistic ranking on synthetic records of 10 features, excess "
    "risk against a population of 4000, ε = 1, δ = 1/n². Gradient perturbation takes T = ⌈4 ln n⌉ "
    "steps; output perturbation is Xue 2021's DPGDSC. With the paper's G, noise is printed "
    "for G = 2, where the truth is about 4."
)


def steps(n: int) -> int:
    """Return T = ⌈4 ln n⌉."""
    return math.ceil(4 * math.log(n))


def study(scale: Scale) -> Study:
    """Return what is run on the paper's claim."""
    return Study(
        NAME,
        "Kang, Liu, Li and Wang 2021: Sharper utility bounds for private pairwise learning",
        tuple(_places(scale)),
        (),
        _remarks,
        _READING,
    )


def _places(scale: Scale) -> Iterator[Place]:
    for added in scale.points(_REGULARIZATIONS):
        for n in scale.points(_SIZES):
            spot = Spot(_EXHIBIT, f"synthetic, λ = {added:g}", "excess risk", "", "n", n)
            gradient = replace(KANG, steps=steps(n))
            stated = replace(gradient, printed_lipschitz=STATED_G["ranking"])
            output = find_algorithm("DPGDSC")
            for series, algorithm in (("Kang2021", gradient), ("DPGDSC", output)):
                bare = ExcessRisk(algorithm, "logistic", added, n, runs=scale.runs)
                spent = replace(bare, epsilon=_EPSILON, delta=1 / n**2)
                printed = replace(spent, calibration="printed")
                yield spot.place(series, "printed", printed)
                if series == "Kang2021":
                    yield spot.place(
                        "Kang2021 with the paper's G", "printed", replace(printed, algorithm=stated)
                    )
                    yield spot.place("Kang2021 without noise", "baseline", bare)
                yield spot.place(series, "certified", spent)
            chosen = ExcessRisk(None, "logistic", added, n, _EPSILON, 1 / n**2, runs=scale.runs)
            yield spot.place(AUTO, "certified", chosen)


def _remarks(results: Results) -> Iterator[Remark]:
    yield from (_stated_constant(goal) for goal in ("ranking", "metric"))


def _stated_constant(goal: str) -> Remark:
    """Return what the printed noise gives with the paper's own constant."""
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
        f"The paper's constant for {goal}: G = {STATED_G[goal]:g}, and the truth is {truth:.3g}",
        f"n = {n}, T = {steps(n)}, ε = {budget.epsilon:g}, δ = {budget.delta:g}, printed noise "
        f"8G√(T ln(1/δ))/(nε) with G = {STATED_G[goal]:g}:\n"
        f"  σ = {plan.certificate.releases[0].mechanism.scale:.4g}\n"  # type: ignore[union-attr]
        f"  certified at that δ: ε = {plan.true_epsilon:.4g}; {verdict}",
    )
