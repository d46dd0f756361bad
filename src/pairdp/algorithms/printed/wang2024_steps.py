r"""Wang 2024: the steps and step sizes of the utility theorems.

With m = √(d·ln(1/δ))/ε, a the Hölder exponent of the gradient (1 for a smooth loss) and a
constant c,

========= ======== =============== ===================================== ==============
regime    gradient T               η                                     theorems
========= ======== =============== ===================================== ==============
general   a ≥ 1/2  n               c·min{n^{-1/2}, 1/m}                  3a, 4a, 6a, 7a
general   a < 1/2  n^{(2-a)/(1+a)} c·min{n^{3(a-1)/(2(1+a))}, 1/m}       4a, 7a
low-noise smooth   n               c/m                                   3b, 6b
low-noise a < 1    n^{2/(1+a)}     c·min{n^{(a²+2a-3)/(2(1+a))}, n/(Tm)} 4b, 7b
========= ======== =============== ===================================== ==============

and η ≤ min{2/L, 1}. "low-noise" means that the best parameters have zero loss.

The theorems do not specify c. With ``schedule="theorem"`` it is 1, as for all constants that a
paper leaves open. With ``schedule="tuned"`` it is B/G, which balances the terms B²/(2ηT) and ηG²/2
of the optimisation error at T = n; for unbounded parameters, B is set to 1. L is that of one pair
or record, because a step uses only that, and the Hölder constant if a < 1. T is rounded to the
nearest integer.

Remark 5 has n^{2/(1+a)} steps in the general regime for a < 1/2; Theorem 7 and the tables of the
paper have n^{(2-a)/(1+a)}, as here.
"""

from __future__ import annotations

import math
from typing import Literal

from pairdp.algorithms.task import Task
from pairdp.algorithms.theorem import ORDER, ChosenSteps, Theorem

Regime = Literal["general", "low-noise"]


def schedule(
    task: Task, regime: Regime, steps: int | None = None, step_size: float | None = None
) -> ChosenSteps:
    """Return T and η of a regime; values that are given are kept.

    Parameters
    ----------
    task : Task
        The problem, n, d and the budget. Without a budget 1/m is infinite.
    regime : {"general", "low-noise"}
        Which part of the theorems.
    steps, step_size : optional
        T and η if they are given.
    """
    a = _exponent(task)
    source = _source(task, regime, a)
    reasons = []
    if steps is None:
        formula, value = _steps(task, regime, a)
        steps = max(1, round(value))
        reasons.append(f"steps = {formula}, by {source}")
    if step_size is None:
        step_size, limited = _step_size(task, regime, a, steps, _constant(task))
        why = ", at most min{2/L, 1}" if limited else ""
        reasons.append(f"step_size follows {source}, with c = {_named(task)}{why}")
    return ChosenSteps(step_size, steps, tuple(reasons))


def theorem_schedule(
    name: str,
    task: Task,
    regime: Regime,
    steps: int | None = None,
    step_size: float | None = None,
) -> ChosenSteps:
    """Return T and η of a regime with c = 1, and where they depart from the theorem.

    Raises
    ------
    ValueError
        If the theorem states too many steps, and none are given.
    """
    a = _exponent(task)
    theorem = Theorem(name, _source(task, regime, a))
    taken = theorem.steps(
        *_steps(task, regime, a), steps, states=ORDER, departure=theorem.order_of("T"), nearest=True
    )
    value, limited = _step_size(task, regime, a, taken, 1.0)
    constant = "the largest that η ≤ min{2/L, 1} admits" if limited else "1"
    size = theorem.step_size(
        f"{_in_words(regime, a)}, at most min{{2/L, 1}},",
        value,
        step_size,
        states=ORDER,
        departure=f"{theorem.source} leaves the constant c of η open: it is {constant}",
    )
    if not task.problem.is_convex:
        theorem.departures.append("the theorem assumes a convex loss, for its bound on the error")
    return theorem.chosen(size, taken)


def _exponent(task: Task) -> float:
    return task.problem.constants(task.n).holder.exponent


def _source(task: Task, regime: Regime, a: float) -> str:
    of_pairs = task.problem.average == "average over pairs"
    number = (6 if a == 1 else 7) if of_pairs else (3 if a == 1 else 4)
    return f"Theorem {number} ({'a' if regime == 'general' else 'b'}) of Wang 2024"


def _in_words(regime: Regime, a: float) -> str:
    """Return the formula of η/c."""
    if regime == "low-noise" and a == 1:
        return "1/m"
    noise = "1/m" if regime == "general" else "n/(Tm)"
    return f"min{{n^{_size_power(regime, a):.3g}, {noise}}}"


def _steps(task: Task, regime: Regime, a: float) -> tuple[str, float]:
    """Return the formula and the value of T, which may not be an integer."""
    power = _steps_power(regime, a)
    formula = "n" if power == 1 else f"n^{power:.3g}"
    return formula, float(task.n**power)


def _steps_power(regime: Regime, a: float) -> float:
    """Return the exponent of n in T."""
    if regime == "low-noise":
        return 2 / (1 + a)
    return 1.0 if a >= 0.5 else (2 - a) / (1 + a)


def _size_power(regime: Regime, a: float) -> float:
    """Return the exponent of n in η."""
    if regime == "low-noise":
        return (a * a + 2 * a - 3) / (2 * (1 + a))
    return -0.5 if a >= 0.5 else 3 * (a - 1) / (2 * (1 + a))


def _step_size(
    task: Task, regime: Regime, a: float, steps: int, constant: float
) -> tuple[float, bool]:
    """Return η, and whether it is limited by min{2/L, 1}."""
    constants = task.problem.constants(task.n)
    bend = constants.pair_smoothness if a == 1 else constants.holder.constant
    limit = min(2 / bend, 1.0) if bend > 0 else 1.0
    wanted = constant * _shrinking(task, regime, a, steps)
    return min(wanted, limit), wanted > limit


def _shrinking(task: Task, regime: Regime, a: float, steps: int) -> float:
    """Return η/c."""
    n, budget = task.n, task.budget
    of_noise = math.inf  # 1/m
    if budget is not None:
        of_noise = budget.epsilon / math.sqrt(task.dimension * math.log(1 / budget.delta))
    if regime == "low-noise":
        if a == 1:
            return of_noise
        of_noise *= n / steps
    return min(float(n ** _size_power(regime, a)), of_noise)


def _constant(task: Task) -> float:
    problem = task.problem
    radius = problem.constraint.radius if problem.is_bounded else 1.0
    return radius / problem.constants(task.n).lipschitz


def _named(task: Task) -> str:
    return "B/G" if task.problem.is_bounded else "1/G"
