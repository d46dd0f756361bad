r"""Yang 2021: the noise on the average of pairwise SGD, and the steps of the utility theorems.

=========== ========= ========== ==========================================
set         T         η          theorems
=========== ========= ========== ==========================================
bounded     n²        n^(-3/2)   2 (without noise), 5 (with noise)
unbounded   n^(4/3)   1/n        3 (without noise); none covers the noise
=========== ========= ========== ==========================================

The theorems state the order of η, with a constant that they do not specify; it is 1 here. n^(4/3)
is rounded to the nearest integer.
"""

from __future__ import annotations

import math

from pairdp.algorithms.task import Task
from pairdp.algorithms.theorem import ORDER, ChosenSteps, Theorem
from pairdp.privacy import Budget


def average_noise(n: int, steps: int, budget: Budget) -> float:
    """Return σ/(ηG) of equation (5), for draws with replacement."""
    often = 3 * (steps * math.log(math.e * steps) * math.log(2 / budget.delta) / n) ** 2
    return math.sqrt(8 * math.log(2.5 / budget.delta) * (steps + often)) / budget.epsilon


def schedule(
    name: str, task: Task, steps: int | None = None, step_size: float | None = None
) -> ChosenSteps:
    """Return η and T of the theorem for a task; values that are given are kept.

    Parameters
    ----------
    name : str
        Name of the algorithm, for error messages.
    task : Task
        The problem, n and the budget.
    steps, step_size : optional
        T and η if they are given.

    Raises
    ------
    ValueError
        If the theorem states too many steps, and none are given.
    """
    n = task.n
    if task.problem.is_bounded:
        theorem = Theorem(name, f"Theorem {2 if task.budget is None else 5} of Yang 2021")
        taken = theorem.steps("n²", n**2, steps)
        size = _of_order(theorem, "n^(-3/2)", n**-1.5, step_size)
        return theorem.chosen(size, taken)
    theorem = Theorem(name, "Theorem 3 of Yang 2021")
    if task.budget is not None:
        theorem.departures.append(
            "Theorem 3 is on the algorithm without noise; Theorem 5, with noise, needs a bounded "
            "set"
        )
    taken = theorem.steps("n^(4/3)", n ** (4 / 3), steps, nearest=True)
    return theorem.chosen(_of_order(theorem, "1/n", 1 / n, step_size), taken)


def _of_order(theorem: Theorem, formula: str, value: float, given: float | None) -> float:
    """Return η, of which the theorems state the order."""
    return theorem.step_size(formula, value, given, states=ORDER, departure=theorem.order_of("η"))
