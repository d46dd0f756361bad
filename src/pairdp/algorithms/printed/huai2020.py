"""Huai 2020: the noise of descent on a stream of pairs, and the schedule of its theorems."""

from __future__ import annotations

import math
from collections.abc import Callable

from pairdp._sums import LARGEST_N
from pairdp.algorithms.requirements import Regularizer
from pairdp.algorithms.task import Task
from pairdp.privacy import Budget
from pairdp.problem import Problem

OFFLINE_POWER = 0.5
"""α = O(n^-1/2) of the regulariser of Algorithm 4 (Theorem 5)."""

ONLINE_POWER = 0.25
"""α = O(n^-1/4) of the regulariser of Algorithm 2 (Theorem 3)."""


def regularised_lipschitz(task: Task, added: float) -> float:
    """Return G + α‖C‖ for a regulariser α that was added, ‖C‖ the diameter as in Xue 2021."""
    return task.printed_lipschitz + (added * task.diameter if added else 0.0)


def burn_in(smoothness: float, strong_convexity: float) -> float:
    """Return T₁ = max(16L²/α², 7), the number of random points that the algorithms start with."""
    return max(16 * (smoothness / strong_convexity) ** 2, 7.0)


def theorem_burn_in(n: int, solved: Callable[[int], Problem]) -> int:
    """Return T₁ as a number of records.

    Parameters
    ----------
    n : int
        Number of records.
    solved : callable
        From a number of records to the problem with the regulariser of the theorem.

    Raises
    ------
    ValueError
        If no record is left after the burn-in, with the arithmetic.
    """

    def random_points(records: int) -> int:
        return math.ceil(burn_in(*_curvature(solved(records))))

    points = random_points(n)
    if points < n:
        return points
    smoothness, alpha = _curvature(solved(n))
    shortest = _shortest(random_points)
    enough = (
        f"it is shorter for at least {shortest} records"
        if shortest
        else f"no n up to {LARGEST_N:.0e} is enough, as α decreases with n"
    )
    raise ValueError(
        f"the theorem's burn-in T₁ = max(16L²/α², 7) = {burn_in(smoothness, alpha):.4g} with L = "
        f"{smoothness:.4g} and α = {alpha:.4g} is at least as long as the {n} records: every model "
        f'would be a random point ({enough}). Use schedule="tuned", which needs no burn-in, or a '
        "stronger regularisation"
    )


def _shortest(random_points: Callable[[int], int]) -> int | None:
    """Return the least n above its T₁, by bisection: T₁/n decreases with n. None if none is."""
    low, high = 2, LARGEST_N
    if random_points(high) >= high:
        return None
    while low < high:
        middle = (low + high) // 2
        if random_points(middle) < middle:
            high = middle
        else:
            low = middle + 1
    return low


def _curvature(problem: Problem) -> tuple[float, float]:
    """Return L and α of a regularised problem."""
    alpha = problem.regularization
    return problem.loss.smoothness(problem.domain()) + alpha, alpha


def departures(
    task: Task,
    problem: Problem,
    regularizer: Regularizer,
    strong_convexity: float | None,
    power: float,
) -> tuple[str, ...]:
    """Return where descent with the schedule of the theorems departs from the paper.

    Parameters
    ----------
    task : Task
        The public facts.
    problem : Problem
        The problem that is solved.
    regularizer, strong_convexity, power
        As for `pairdp.algorithms.requirements.regularised`.
    """
    drawn = "uniform in the ball of the radius of C, and projected onto C"
    found = [f"the paper does not say how random points of C are drawn: they are {drawn}"]
    exact = burn_in(*_curvature(problem))
    if exact != math.ceil(exact):
        found.append(f"T₁ = {exact:.6g} is rounded up to {math.ceil(exact)}")
    order = f"the theorem states α = O(n^(-1/{1 / power:g}))"
    if regularizer == "theorem" and strong_convexity is None:
        found.append(f"{order}: the constant is taken as 1")
    elif regularizer == "theorem":
        found.append(f"strong_convexity = {strong_convexity:g} is given, where {order}")
    elif problem != task.problem:
        found.append("the regulariser is not that of the theorem")
    if not problem.loss.symmetric:
        found.append("the loss of a pair is the mean of both orders, not ℓ(w; z_t, z_i) alone")
    if task.budget is not None and task.budget.is_pure:
        found.append("the paper has no noise for pure ε")
    return tuple(found)


def average_iterate_sensitivity(lipschitz: float, strong_convexity: float, n: int) -> float:
    """Return the sensitivity 8G·ln(n)/(αn) of the average iterate (Algorithms 3 and 4)."""
    return 8 * lipschitz * math.log(n) / (strong_convexity * n)


def model_noise(lipschitz: float, strong_convexity: float, steps: int, budget: Budget) -> float:
    """Return t·σ_t = √(32G²(n-T₁)/(α²ρ)) for the models of n - T₁ steps (Algorithm 1)."""
    log = math.log(1 / budget.delta)
    root = math.sqrt(log + budget.epsilon) - math.sqrt(log)
    return math.sqrt(32 * steps) * lipschitz / (strong_convexity * root)
