r"""Wang 2024: the steps and step sizes of the utility theorems.

With m = √(d·ln(1/δ))/ε, a the Hölder exponent of the gradient (1 for a smooth loss) and a
constant c,

========= ========== ======================= ==================================== =============
regime    gradient   T                       η                                    theorems
========= ========== ======================= ==================================== =============
general   a ≥ 1/2    n                       c·min{n^{-1/2}, 1/m}                 3a, 4a, 6a, 7a
general   a < 1/2    n^{(2-a)/(1+a)}         c·min{n^{3(a-1)/(2(1+a))}, 1/m}      4a, 7a
low-noise smooth     n                       c/m                                  3b, 6b
low-noise a < 1      n^{2/(1+a)}             c·min{n^{(a²+2a-3)/(2(1+a))}, n/(Tm)} 4b, 7b
========= ========== ======================= ==================================== =============

and η ≤ min{2/L, 1}. "low-noise" means that the best parameters have zero loss.

The theorems do not specify c. Here c = B/G, which balances the terms B²/(2ηT) and ηG²/2 of the
optimisation error at T = n; for unbounded parameters, B is set to 1. L is that of one pair or
record, because a step uses only that, and the Hölder constant if a < 1.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from pairdp.algorithms.task import Task

Regime = Literal["general", "low-noise"]


class Schedule(NamedTuple):
    """Steps, step size, and the reasons for them."""

    steps: int
    step_size: float
    reasons: tuple[str, ...]


def schedule(
    task: Task, regime: Regime, steps: int | None = None, step_size: float | None = None
) -> Schedule:
    """Return T and η of a regime; fixed values are kept.

    Parameters
    ----------
    task : Task
        The problem, n, d and the budget. Without a budget 1/m is infinite.
    regime : {"general", "low-noise"}
        Which part of the theorems.
    steps, step_size : optional
        T and η if they are fixed.
    """
    n, constants = task.n, task.problem.constants(task.n)
    a, bend = constants.holder.exponent, constants.holder.constant
    if a == 1:
        bend = constants.pair_smoothness
    part = "a" if regime == "general" else "b"
    theorems = "Theorems 3 and 6" if a == 1 else "Theorems 4 and 7"
    source = f"{theorems} ({part}) of Wang 2024"
    reasons = []
    if steps is None:
        power = _steps_power(regime, a)
        steps = max(1, round(n**power))
        shown = "n" if power == 1 else f"n^{power:.3g}"
        reasons.append(f"steps = {shown}, by {source}")
    if step_size is None:
        limit = min(2 / bend, 1.0) if bend > 0 else 1.0
        wanted = _constant(task) * _shrinking(task, regime, a, steps)
        step_size = min(wanted, limit)
        why = "" if wanted <= limit else ", at most min{2/L, 1}"
        reasons.append(f"step_size follows {source}, with c = {_named(task)}{why}")
    return Schedule(steps, step_size, tuple(reasons))


def _steps_power(regime: Regime, a: float) -> float:
    """Return the exponent of n in T."""
    if regime == "low-noise":
        return 2 / (1 + a)
    return 1.0 if a >= 0.5 else (2 - a) / (1 + a)


def _shrinking(task: Task, regime: Regime, a: float, steps: int) -> float:
    """Return η/c."""
    n, budget = task.n, task.budget
    of_noise = math.inf  # 1/m
    if budget is not None:
        of_noise = budget.epsilon / math.sqrt(task.dimension * math.log(1 / budget.delta))
    if regime == "general":
        power = -0.5 if a >= 0.5 else 3 * (a - 1) / (2 * (1 + a))
        return min(float(n**power), of_noise)
    if a == 1:
        return of_noise
    power = (a * a + 2 * a - 3) / (2 * (1 + a))
    return min(float(n**power), n / steps * of_noise)


def _constant(task: Task) -> float:
    problem = task.problem
    radius = problem.constraint.radius if problem.is_bounded else 1.0
    return radius / problem.constants(task.n).lipschitz


def _named(task: Task) -> str:
    return "B/G" if task.problem.is_bounded else "1/G"
