"""Projected gradient descent, with bounds on its iterates and its contraction."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.progress import Progress
from pairdp.pairs import Risk
from pairdp.problem import Problem

Array = NDArray[np.float64]


def contraction(step_size: float, smoothness: float, strong_convexity: float) -> float:
    """Return q = max(|1-ηα|, |1-ηL|), the Lipschitz constant of a step on a convex problem.

    On any other it may be up to 1 + ηL, and no bound of this library uses it.
    """
    return max(abs(1 - step_size * strong_convexity), abs(1 - step_size * smoothness))


def known_radius(problem: Problem, step_size: float, steps: int) -> float:
    """Return a bound on all iterates of so many steps from zero, before data is read.

    Each step adds at most ηG, or G/λ in all when the regulariser pulls back to zero
    (errata, G9). The last gradient is taken one step earlier.
    """
    lipschitz = problem.loss.lipschitz(problem.domain())
    pull = problem.regularization
    if np.ndim(problem.center):
        return problem.constraint.radius
    norm = (steps - 1) * step_size * lipschitz
    if 0 < step_size * pull <= 1:
        norm = min(norm, lipschitz / pull)
    return min(problem.constraint.radius, norm)


def descend(
    problem: Problem,
    risk: Risk,
    start: Array,
    step_size: float,
    steps: int,
    progress: Progress,
    *,
    average: bool = False,
) -> Array:
    """Return the last of w_1 … w_T, or their average, of projected gradient descent."""
    point, total = start, np.zeros_like(start)
    for _ in progress.steps(steps, "gradient descent"):
        point = problem.projected_step(point, step_size, risk.gradient(point))
        if average:
            total += point
    return total / steps if average else point


def steps_to_shrink(contraction: float, factor: float, most: int) -> int:
    """Return how many steps that contract shrink a distance by ``factor``."""
    if factor <= 1 or contraction <= 0:
        return 1
    if contraction >= 1:
        return most
    return min(most, max(1, math.ceil(math.log(factor) / -math.log(contraction))))
