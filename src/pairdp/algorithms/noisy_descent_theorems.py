"""The schedules that papers state for noise on every gradient: Xue 2021, Kang 2021, Wang 2024."""

from __future__ import annotations

import math

from pairdp.algorithms import printed
from pairdp.algorithms.gradient_noise import Batches
from pairdp.algorithms.requirements import require_bounded, require_smooth
from pairdp.algorithms.task import Task
from pairdp.algorithms.theorem import ORDER, ChosenSteps, Theorem


def xue2021(name: str, task: Task, steps: int | None, step_size: float | None) -> ChosenSteps:
    """Return η and T of Algorithm 2, DPGDC2 (Theorem 2).

    Parameters
    ----------
    name : str
        Name of the algorithm, for error messages.
    task : Task
        The public facts.
    steps, step_size : optional
        T and η that replace those of the theorem.
    """
    problem, n, p = task.problem, task.n, task.dimension
    theorem = Theorem(name, "Theorem 2 of Xue 2021")
    if not problem.is_convex:
        theorem.departures.append("Theorem 2 assumes a convex loss, for its bound on the error")
    if steps is not None and step_size is not None:
        return theorem.both_given(step_size, steps)
    formula = "n, without noise,"
    if task.budget is not None:
        epsilon, delta = task.budget.epsilon, task.budget.delta
        formula = (
            f"min{{n, n²ε²/(p·ln(1/δ))}} = min{{{n}, ({n}·{epsilon:.4g})²/({p}·ln(1/{delta:.4g}))}}"
        )
    value = printed.xue2021.gradient_noise_steps(n, p, task.budget)
    steps = theorem.steps(formula, value, steps, at_least=1.0)
    require_bounded(name, problem, "for the diameter in the schedule of Xue 2021")
    lipschitz, diameter = task.printed_lipschitz, task.diameter
    constants = problem.constants(n)
    if step_size is None:
        require_smooth(name, problem, "give step_size; the guarantee does not need smoothness")
        theorem.use_risk_smoothness(
            constants, f"the proof needs η ≤ 1/(2L) = {1 / (2 * constants.pair_smoothness):.6g}"
        )
    root = math.sqrt(steps)
    step_size = theorem.step_size(
        f"‖C‖/(G√T) = {diameter:.6g}/({lipschitz:.6g}·√{steps})",
        printed.xue2021.gradient_noise_step_size(diameter, lipschitz, steps),
        step_size,
        largest=("1/(2L)", 1 / (2 * constants.smoothness)),
        states="prints η inverted, and the default here is",
        departure=f"{theorem.source} prints the step size inverted, G/(‖C‖√T) = "
        f"{lipschitz / (diameter * root):.6g}, and its proof has ‖C‖²/(G√T) = "
        f"{diameter**2 / (lipschitz * root):.6g}: ‖C‖/(G√T) is taken, which gives their bound",
    )
    return theorem.chosen(step_size, steps)


def kang2021(name: str, task: Task, steps: int | None, step_size: float | None) -> ChosenSteps:
    """Return η and T of Algorithm 1 (Theorem 2 and Remark 2); the parameters as for `xue2021`."""
    problem, n, p = task.problem, task.n, task.dimension
    theorem = Theorem(name, "Theorem 2 with Remark 2 of Kang 2021")
    if not problem.is_strongly_convex:
        theorem.departures.append(
            "Theorem 2 assumes a Polyak-Łojasiewicz condition, for its bound on the error, and "
            "none is known for this problem"
        )
    if steps is not None and step_size is not None:
        return theorem.both_given(step_size, steps)
    epsilon = math.inf if task.budget is None else task.budget.epsilon
    value = printed.kang2021.steps(n, p, task.budget)
    steps = theorem.steps(
        f"ln(nε/√p) = ln({n}·{epsilon:.4g}/√{p})",
        value,
        steps,
        at_least=1.0,
        states=ORDER,
        departure=theorem.order_of("T"),
    )
    constants = problem.constants(n)
    if step_size is None:
        require_smooth(name, problem, "give step_size; the guarantee does not need smoothness")
        theorem.use_risk_smoothness(constants, f"η = {1 / constants.pair_smoothness:.6g}")
    smoothness = constants.smoothness
    step_size = theorem.step_size(f"1/L = 1/{smoothness:.6g}", 1 / smoothness, step_size)
    return theorem.chosen(step_size, steps)


def wang2024(
    name: str,
    batches: Batches,
    regime: printed.wang2024_steps.Regime | None,
    steps: int | None,
    step_size: float | None,
) -> ChosenSteps:
    """Return η and T of Algorithms 1 and 2 (Theorems 3, 4, 6 and 7).

    Parameters
    ----------
    name, steps, step_size
        As for `xue2021`.
    batches : Batches
        The records of a step: one, or one pair.
    regime : {"general", "low-noise"}, optional
        Part (a), the default, or (b) of the theorems.
    """
    drawn = 2 if batches.of_pairs else 1
    if batches.size != drawn:
        raise ValueError(
            f"{name} draws batches of {batches.size}, and the theorems of Wang 2024 for this loss "
            f'are on batch_size={drawn}: use that, or schedule="tuned"'
        )
    chosen = printed.wang2024_steps.theorem_schedule(
        name, batches.task, regime or "general", steps, step_size
    )
    if chosen.steps < 2:
        raise ValueError(
            f"{name} averages w_1 … w_T from w_1 = 0, so T = 1 does not learn: use at least 2 "
            'steps, or schedule="tuned"'
        )
    return chosen
