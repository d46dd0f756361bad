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
from pairdp.studies import certified_comparison, zero_model
from pairdp.studies.learning import AUTO, ZERO
from pairdp.studies.population import ExcessRisk, problem_of
from pairdp.studies.results import Remark, Results
from pairdp.studies.study import BY_THEOREM, PlannedCell, Position, Scale, Study

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
        'G" is printed noise for G = 2, where the true constant is about 4. auto minimises the '
        "same loss with the same λ where the excess risk is measured, but chooses algorithm and "
        "steps by a predicted AUC, which depends on the direction of the weights only, while the "
        "excess risk also depends on their length: it is judged by a risk that it does not "
        "optimise. The AUC on the population, where auto also chooses loss and λ, is given "
        "beside it, and so are weights of zero, which need no data.",
    )


def _cells(scale: Scale) -> Iterator[PlannedCell]:
    for measure in ("excess risk", "AUC"):
        for added in scale.points(_REGULARIZATIONS):
            for n in scale.points(_SIZES):
                at = Position(_EXHIBIT, f"synthetic, λ = {added:g}", measure, "", "n", n)
                yield from _series(at, added, n, scale.runs)


def _series(at: Position, added: float, n: int, runs: int) -> Iterator[PlannedCell]:
    """Yield all series at a point."""
    gradient = replace(KANG, steps=steps(n))
    stated = replace(gradient, printed_lipschitz=STATED_G["ranking"])
    for series, algorithm in (("Kang2021", gradient), ("DPGDSC", find_algorithm("DPGDSC"))):
        without = ExcessRisk(algorithm, "logistic", added, n, runs=runs)
        private = replace(without, epsilon=_EPSILON, delta=1 / n**2)
        yield from at.printed(series, private, has_theorem=False)
        if algorithm.has_theorem:
            by_theorem = replace(
                private,
                algorithm=KANG if algorithm is gradient else algorithm,
                calibration="printed",
                schedule="theorem",
            )
            yield at.cell(series + BY_THEOREM, "printed", by_theorem)
        if algorithm is gradient:
            with_stated = replace(private, algorithm=stated)
            yield from at.printed("Kang2021 with the paper's G", with_stated, has_theorem=False)
            yield at.cell("Kang2021 without noise", "baseline", without)
        yield at.cell(series, "certified", private)
    chosen = ExcessRisk(None, "logistic", added, n, _EPSILON, 1 / n**2, runs=runs)
    if at.measure == "AUC":
        yield at.cell(AUTO, "certified", replace(chosen, algorithm=AUTO))
        yield at.cell(f"{AUTO} for this loss and λ", "certified", chosen)
    else:
        yield at.cell(AUTO, "certified", chosen)
    yield at.cell(ZERO, "baseline", ExcessRisk(ZERO, "logistic", added, n, runs=runs))


def _remarks(results: Results) -> Iterator[Remark]:
    yield from (_stated_constant(goal) for goal in ("ranking", "metric"))
    yield from zero_model.remarks(results, NAME)
    yield from certified_comparison.remarks(results, NAME)


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
    plan = stated.plan(problem, n, features, budget, calibration="printed", schedule="tuned")
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
