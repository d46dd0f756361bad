"""Huai 2020: the noise of descent on a stream of pairs, and its burn-in."""

from __future__ import annotations

import math

from pairdp.algorithms.task import Task
from pairdp.privacy import Budget


def regularised_lipschitz(task: Task, strong_convexity: float) -> float:
    """Return G, or G + α‖C‖ if a regulariser was added, with ‖C‖ the diameter as in Xue 2021."""
    if task.problem.is_strongly_convex:
        return task.printed_lipschitz
    return task.printed_lipschitz + strong_convexity * task.diameter


def burn_in(smoothness: float, strong_convexity: float) -> float:
    """Return T₁ = max(16L²/α², 7), the number of random points that the algorithms start with."""
    return max(16 * (smoothness / strong_convexity) ** 2, 7.0)


def average_iterate_sensitivity(lipschitz: float, strong_convexity: float, n: int) -> float:
    """Return the sensitivity 8G·ln(n)/(αn) of the average iterate (Algorithms 3 and 4)."""
    return 8 * lipschitz * math.log(n) / (strong_convexity * n)


def model_noise(lipschitz: float, strong_convexity: float, steps: int, budget: Budget) -> float:
    """Return t·σ_t = √(32G²(n-T₁)/(α²ρ)) for the models of n - T₁ steps (Algorithm 1)."""
    log = math.log(1 / budget.delta)
    root = math.sqrt(log + budget.epsilon) - math.sqrt(log)
    return math.sqrt(32 * steps) * lipschitz / (strong_convexity * root)
