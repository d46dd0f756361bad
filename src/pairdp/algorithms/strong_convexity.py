"""Regularisation to strong convexity, for the algorithms of Huai 2020."""

from __future__ import annotations

import math
from dataclasses import replace

from pairdp.algorithms.requirements import (
    require_bounded,
    require_convex,
    require_strongly_convex,
)
from pairdp.algorithms.task import Task
from pairdp.problem import Problem


def regularised(
    name: str, task: Task, strong_convexity: float | None
) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem with strong convexity, and the reason for its α.

    Parameters
    ----------
    name : str
        Name of the algorithm, for error messages.
    task : Task
        The public facts; a problem that is strongly convex is returned unchanged.
    strong_convexity : float, optional
        α for a problem that is not strongly convex; G/(B√n) by default.
    """
    problem = task.problem
    require_convex(name, problem)
    if problem.is_strongly_convex:
        if strong_convexity not in (None, problem.regularization):
            raise ValueError(
                f"the problem is already {problem.regularization:g}-strongly convex: leave "
                "strong_convexity out, or set regularization=0 in the Problem"
            )
        return problem, ()
    if strong_convexity is not None:
        return replace(problem, regularization=strong_convexity), ()
    if not problem.is_bounded:
        require_strongly_convex(name, problem, "give strong_convexity")
    require_bounded(name, problem, "to choose strong_convexity")
    lipschitz = problem.loss.lipschitz(problem.domain())
    alpha = lipschitz / (problem.constraint.radius * math.sqrt(task.n))
    reason = "the problem is regularised to strong convexity G/(B√n)"
    return replace(problem, regularization=alpha), (reason,)
