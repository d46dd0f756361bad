"""What the arithmetic says of Huai 2020's figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from pairdp.algorithms import find_algorithm
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.studies.results import Remark, Results

NAME = "huai2020"


def remarks(results: Results) -> Iterator[Remark]:
    """Yield the findings."""
    yield _burn_in("Figures 1 and 3", 90, 1e-3)
    yield _offline_noise(90)
    yield from _worse_than_nothing(results)


def _burn_in(exhibit: str, n: int, alpha: float) -> Remark:
    problem = Problem(LogisticRanking(), L2Ball(1.0), alpha)
    smoothness = problem.constants(n).pair_smoothness
    burn_in = max(16 * (smoothness / alpha) ** 2, 7)
    shortest = smoothness / alpha + 1
    return Remark(
        NAME,
        exhibit,
        "The printed burn-in is longer than any of the data sets",
        f"Algorithms 1 and 3 first make T₁ = max(16L²/α², 7) random points.\n"
        f"  logistic loss of pairs on the unit ball: L = {smoothness:g}; α = λ = {alpha:g}\n"
        f"  T₁ = 16 · {smoothness:g}² / {alpha:g}² = {burn_in:.4g}, and n = {n} at most\n"
        "So the loop never begins, and its noise has n - T₁ < 0 under a root. Even the "
        f"contraction that T₁ is for needs {shortest:.0f} steps. What the figures show cannot be "
        "the printed algorithms.",
    )


def _offline_noise(n: int) -> Remark:
    problem = Problem(LogisticRanking(), L2Ball(1.0), 1e-3)
    algorithm = find_algorithm("OffPairStrC")
    lines = []
    for epsilon in (0.5, 1.5, 2.5):
        budget = Budget(epsilon, 1 / n)
        scales = [
            algorithm.plan(problem, n, 19, budget, calibration=calibration)
            .certificate.releases[0]
            .mechanism.scale  # type: ignore[union-attr]
            for calibration in ("printed", "certified")
        ]
        lines.append(f"  ε = {epsilon:g}: printed σ = {scales[0]:.4g}, certified {scales[1]:.4g}")
    return Remark(
        NAME,
        "Figure 3",
        "OffPairStrC's printed noise dwarfs the set of models",
        f"n = {n}, λ = 1e-3, δ = 1/n, weights of norm at most 1:\n" + "\n".join(lines),
    )


def _worse_than_nothing(results: Results) -> Iterator[Remark]:
    """Yield how many objectives are above that of weights of zero, which need no data."""
    nothing = math.log(2)
    above: Counter[tuple[str, str, str]] = Counter()
    counts: Counter[tuple[str, str, str]] = Counter()
    for cell in results.cells:
        # The metric loss of a pair at zero is not ln 2.
        ranking = cell.exhibit in ("Figure 1", "Figure 2", "Figure 3")
        private = cell.kind in ("printed", "certified")
        if cell.study == NAME and cell.measure == "objective" and ranking and private:
            counts[cell.exhibit, cell.series, cell.kind] += 1
            above[cell.exhibit, cell.series, cell.kind] += cell.mean > nothing
    for exhibit in dict.fromkeys(key[0] for key in counts):
        lines = [
            f"  {series}, {kind} noise: {above[exhibit, series, kind]} of {total}"
            for (place, series, kind), total in counts.items()
            if place == exhibit
        ]
        yield Remark(
            NAME,
            exhibit,
            "How often noise is worse than no model at all",
            f"Weights of zero have the objective ln 2 = {nothing:.4f} on any data. Mean objectives "
            "above that:\n" + "\n".join(lines),
        )
