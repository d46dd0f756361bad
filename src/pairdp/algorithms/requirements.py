"""The properties that algorithms require of a problem, with errors that say what to change."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import Literal

from pairdp import losses
from pairdp.algorithms.task import Task
from pairdp.losses import PairwiseLoss
from pairdp.problem import Problem

Regularizer = Literal["needed", "theorem", "none"]


class Need(Enum):
    """A property that an algorithm needs of a problem.

    Guarantees that use contraction or non-expansive steps, a minimiser, or the last iterate alone
    need a convex loss. Composition of noisy gradients does not: it needs only the sensitivity of
    the gradient at one parameter.
    """

    CONVEX = "a convex loss"
    SMOOTH = "a smooth loss"
    LIPSCHITZ = "gradients bounded on the constraint set"
    STRONGLY_CONVEX = "a strongly convex problem"


def check_needs(name: str, needs: Iterable[Need], problem: Problem, instead: str) -> None:
    """Raise ValueError if a property is missing, with advice on what to change."""
    for need in needs:
        match need:
            case Need.CONVEX:
                require_convex(name, problem)
            case Need.SMOOTH:
                require_smooth(name, problem, instead)
            case Need.LIPSCHITZ:
                require_lipschitz(name, problem)
            case Need.STRONGLY_CONVEX:
                require_strongly_convex(name, problem, instead)


def require_convex(name: str, problem: Problem) -> None:
    """Raise ValueError for a loss that is not convex, with the algorithms that support it."""
    loss = problem.loss
    if not problem.is_convex:
        named = 'NoisyGradientDescent, "Kang2021"'
        # Labels of a stream are classes.
        if isinstance(loss, PairwiseLoss) and loss.label_bound is None:
            named += ', OnlineDescent(noise="gradients")'
        raise ValueError(
            f"{name} needs a convex loss, and {type(loss).__name__} declares that it is not: use "
            f"an algorithm with noise on every gradient and delta > 0 ({named}), or a convex loss"
        )


def require_smooth(name: str, problem: Problem, instead: str) -> None:
    """Raise ValueError for a loss that is not smooth."""
    if problem.is_smooth:
        if problem.loss.smoothness(problem.domain()) + problem.regularization == 0:
            raise ValueError(
                f"{name} takes steps of about 1/L, and {type(problem.loss).__name__} is linear, "
                "with L = 0: set regularization > 0 in the Problem"
            )
        return
    loss = problem.loss
    if not isinstance(loss, PairwiseLoss):
        instead = "use NoisyGradientDescent with steps and step_size, which needs no smoothness"
    if isinstance(loss, losses.HingeRanking | losses.HingeMetric | losses.HingePointwise):
        hint = (
            f"smooth it with {type(loss).__name__}(width=h), where a step size η needs "
            f"h ≥ η·{_largest_square(problem) / 2:g}; or {instead}"
        )
    else:
        smooth = "LogisticRanking or LogisticMetric"
        if not isinstance(loss, PairwiseLoss):
            smooth = "LogisticPointwise"
        hint = f"use a smooth loss such as {smooth}; or {instead}"
    raise ValueError(f"{name} needs a smooth loss, and {type(loss).__name__} is not smooth: {hint}")


def _largest_square(problem: Problem) -> float:
    """Return L·h of a smoothed hinge: (2kR)² for ranking, 16R⁴/τ² for metrics, R² for records."""
    loss, domain = problem.loss, problem.domain()
    if isinstance(loss, losses.HingePointwise):
        return domain.data_norm**2
    if isinstance(loss, losses.HingeRanking):
        return (loss.scale * domain.widest) ** 2
    return float(domain.widest**4 / loss.temperature**2)  # type: ignore[attr-defined]


def require_lipschitz(name: str, problem: Problem) -> None:
    """Raise ValueError if gradients are unbounded on the constraint set."""
    if not problem.is_lipschitz:
        raise ValueError(
            f"{name} needs bounded gradients, and those of {type(problem.loss).__name__} are "
            "unbounded without a bounded constraint set: use L2Ball(radius) for weights or "
            "PSDFrobeniusBall(radius) for a metric"
        )


def require_strongly_convex(name: str, problem: Problem, instead: str) -> None:
    """Raise ValueError for a problem without regularisation."""
    if not problem.is_strongly_convex:
        raise ValueError(
            f"{name} needs a strongly convex problem: set regularization > 0; or {instead}"
        )


def require_bounded(name: str, problem: Problem, why: str) -> None:
    """Raise ValueError for an unbounded constraint set."""
    if not problem.is_bounded:
        raise ValueError(
            f"{name} needs a bounded constraint set {why}: use L2Ball(radius) for weights or "
            "PSDFrobeniusBall(radius) for a metric"
        )


def require_step(name: str, step_size: float, largest: float, formula: str) -> None:
    """Raise ValueError for a step size that the guarantee does not cover."""
    if step_size > largest * (1 + 1e-12) or not math.isfinite(step_size):
        raise ValueError(
            f"{name} is certified for step sizes up to {formula} = {largest:.6g}, got "
            f"{step_size:.6g}"
        )


def regularised(
    name: str,
    task: Task,
    strong_convexity: float | None,
    regularizer: Regularizer = "needed",
    power: float = 0.5,
) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem with strong convexity, and the reason for its α.

    Parameters
    ----------
    name : str
        Name of the algorithm, for error messages.
    task : Task
        The public facts.
    strong_convexity : float, optional
        α of the regulariser that is added. By default n^-power for "theorem", and G/(B√n) for
        "needed".
    regularizer : {"needed", "theorem", "none"}
        "theorem" adds a regulariser to every problem; "needed" only to one that is not strongly
        convex; "none" refuses such a problem.
    power : float
        The exponent that the theorem states.
    """
    problem = task.problem
    require_convex(name, problem)
    if regularizer == "theorem":
        alpha = task.n**-power if strong_convexity is None else strong_convexity
        added = f"n^(-1/{1 / power:g})" if strong_convexity is None else f"{alpha:g}"
        return replace(problem, regularization=problem.regularization + alpha), (
            f"the regulariser of the theorem is added, with α = {added}",
        )
    if regularizer == "none":
        require_strongly_convex(name, problem, "use an algorithm that adds a regulariser")
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
