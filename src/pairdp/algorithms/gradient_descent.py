"""Projected gradient descent with noise on its output: DPGDSC and DPGDC (Xue 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import STEPS, between, integer, keep_given, one_of
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.descent import contraction, descend, known_radius, steps_to_shrink
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.noise_propagation import output_noise
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need, require_bounded, require_step
from pairdp.algorithms.task import Settings, Task
from pairdp.algorithms.theorem import ORDER, ChosenSteps, Theorem
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import MetricTask, RankingTask

Array = NDArray[np.float64]
_MOST_STEPS = 20_000
_NEAR = 1e-7
_CHOICES = sorted({round(10 ** (i / 20)) for i in range(87)})


@dataclass(frozen=True)
class DescentSettings(Settings):
    """Which iterate is released, T and η."""

    output: Literal["last", "average"]
    steps: int
    step_size: float


@dataclass(frozen=True)
class GradientDescent(Algorithm[DescentSettings]):
    r"""Projected gradient descent on all pairs with output perturbation.

    In each step the distance between two neighbouring runs grows by at most η·D_h/n, and a step on
    a convex loss contracts by q = max(|1-ηα|, |1-ηL|). So the distance between last iterates is at
    most η(D_h/n)(1-q^T)/(1-q), that between averages at most the average of this, and neither
    exceeds the diameter of the constraint set (errata, X1 and X2). The noisy point is projected,
    which is post-processing, unless ``schedule="theorem"``: the papers do not project it.

    Parameters
    ----------
    output : {"last", "average"}
        What is released. "last" needs a strongly convex problem.
    steps : int, optional
        T. By default, for the last iterate, the T with the smallest predicted distance to the
        minimiser, noise included; for the average, the T that balances predicted error and noise.
    step_size : float, optional
        η, at most 2/(L+α) with L the smoothness of the risk, which is the default.
    name : str
        Name in certificates.

    Notes
    -----
    Printed noise: Δ = 8G/(αn) for the last iterate (Xue 2021, Algorithm 1) and 4GηT/n for the
    average (Algorithm 4, whose line 6 omits the noise for pure ε; here it is added).

    With ``schedule="theorem"``: T = (L/α)·ln n, of the order of Theorem 1, and η = 2/(L+α) for the
    last iterate; for the average η = 2/L and, as Theorem 4 leaves T open, ηT = (‖C‖/G)·√n (see
    `pairdp.algorithms.printed.xue2021`). L is the smoothness of the risk.
    """

    output: Literal["last", "average"] = "last"
    steps: int | None = None
    step_size: float | None = None
    name: str = "Gradient descent with output noise"

    settings_type = DescentSettings
    is_printed: ClassVar[bool] = True
    has_theorem: ClassVar[bool] = True
    offers_units: ClassVar[bool] = True
    instead: ClassVar[str] = 'use GradientDescent(output="average") or PairwiseSGD'

    def __post_init__(self) -> None:
        one_of("output", self.output, "last", "average")
        keep_given(self, "steps", integer)
        keep_given(self, "step_size", between, *STEPS)

    @property
    def needs(self) -> tuple[Need, ...]:
        """Convexity, smoothness, bounded gradients; strong convexity for the last iterate."""
        strongly = (Need.STRONGLY_CONVEX,) if self.output == "last" else ()
        return (Need.CONVEX, Need.SMOOTH, Need.LIPSCHITZ, *strongly)

    def draft(self, task: Task) -> PlanDraft[DescentSettings]:
        """Decide steps, step size and noise."""
        problem = task.problem
        constants = problem.constants(task.n)
        if self.step_size is not None:
            largest = 2 / (constants.smoothness + constants.strong_convexity)
            require_step(self.name, self.step_size, largest, "2/(L+α)")
        step_size, steps, reasons, departures = (
            self._theorem(task) if task.follows_theorem else self._schedule(task)
        )
        radius = known_radius(problem, step_size, steps)
        inputs = {
            "record_diameter": problem.record_diameter(task.n, radius, step_size, task.features),
            "n": task.n,
            "step_size": step_size,
            "contraction": contraction(step_size, constants.smoothness, constants.strong_convexity),
            "steps": steps,
            **task.diameter_input,
        }
        sensitivity = task.sensitivity(f"{self.output} iterate of gradient descent", **inputs)
        release = output_release(
            f"{self.output} iterate", task, sensitivity, self._printed(task, step_size, steps)
        )
        settings = DescentSettings(self.output, steps, step_size)
        return PlanDraft((release,), settings, reasons, departures=departures)

    def _printed(self, task: Task, step_size: float, steps: int) -> float:
        if not task.is_printed:
            return 0.0
        if self.output == "last":
            strong_convexity = task.problem.regularization
            return printed.xue2021.last_iterate_sensitivity(
                task.printed_lipschitz, strong_convexity, task.n
            )
        return printed.xue2021.average_iterate_sensitivity(
            task.printed_lipschitz, step_size, steps, task.n
        )

    def _theorem(self, task: Task) -> ChosenSteps:
        return self._last_theorem(task) if self.output == "last" else self._average_theorem(task)

    def _last_theorem(self, task: Task) -> ChosenSteps:
        """Return η and T of Theorem 1, with reasons and departures."""
        constants, n = task.problem.constants(task.n), task.n
        smoothness, alpha = constants.smoothness, constants.strong_convexity
        theorem = Theorem(self.name, "Theorem 1 of Xue 2021")
        step_size = theorem.step_size(
            "2/(L+α)",
            2 / (smoothness + alpha),
            self.step_size,
            states="admits η ≤ 2/(L+α), of which the largest is",
            departure=f"{theorem.source} admits every η ≤ 2/(L+α): the largest is taken",
        )
        steps = theorem.steps(
            f"(L/α)·ln n = ({smoothness:.6g}/{alpha:.6g})·ln {n}",
            printed.xue2021.last_iterate_steps(smoothness, alpha, n),
            self.steps,
            states=ORDER,
            departure=theorem.order_of("T", "constant and other logarithmic factors"),
        )
        pair = constants.pair_smoothness
        literal = printed.xue2021.last_iterate_steps(pair, alpha, n)
        theorem.use_risk_smoothness(
            constants,
            f"η = {2 / (pair + alpha):.6g}" if self.step_size is None else "",
            f"T = {literal:.6g}" if self.steps is None else "",
        )
        return theorem.chosen(step_size, steps)

    def _average_theorem(self, task: Task) -> ChosenSteps:
        """Return η and T for Theorem 4, which leaves T open, with reasons and departures."""
        constants, n = task.problem.constants(task.n), task.n
        theorem = Theorem(self.name, "Theorem 4 of Xue 2021")
        require_bounded(self.name, task.problem, "for the diameter in the schedule of Xue 2021")
        diameter, lipschitz = task.diameter, task.printed_lipschitz
        step_size = theorem.step_size(
            "2/L",
            2 / constants.smoothness,
            self.step_size,
            states="admits η ≤ 2/L, of which the largest is",
            departure=f"{theorem.source} admits every η ≤ 2/L: the largest is taken",
        )
        steps = theorem.steps(
            f"(‖C‖/G)·√n/η = ({diameter:.6g}/{lipschitz:.6g})·√{n}/{step_size:.6g}",
            printed.xue2021.average_iterate_steps(diameter, lipschitz, n, step_size),
            self.steps,
            states="leaves T open, and the default here is",
            departure=f"{theorem.source} leaves T open: ηT = (‖C‖/G)·√n is chosen, which minimises "
            "two of the three terms of its bound, ‖w₀-w*‖²/(ηT) + G²ηT/n, with ‖w₀-w*‖ ≤ ‖C‖",
        )
        if self.step_size is None:
            largest = 2 / constants.pair_smoothness
            literal = printed.xue2021.average_iterate_steps(diameter, lipschitz, n, largest)
            theorem.use_risk_smoothness(
                constants,
                f"η = {largest:.6g}",
                f"T = {literal:.6g}" if self.steps is None else "",
            )
        if task.is_printed and task.budget is not None and task.budget.is_pure:
            theorem.departures.append("line 6 of Algorithm 4 omits the noise, which is added")
        return theorem.chosen(step_size, steps)

    def _schedule(self, task: Task) -> ChosenSteps:
        constants = task.problem.constants(task.n)
        largest = 2 / (constants.smoothness + constants.strong_convexity)
        reasons = []
        step_size = self.step_size
        if self.output == "last":
            if step_size is None:
                step_size = largest
                reasons.append("step_size is the largest certified one, 2/(L+α)")
            steps = self.steps
            if steps is None:
                steps, reason = self._last_steps(task, step_size)
                reasons.append(reason)
            return ChosenSteps(step_size, steps, tuple(reasons))
        if self.steps is not None and step_size is not None:
            return ChosenSteps(step_size, self.steps, ())
        travel = self._travel(task)
        balance = "balance predicted error and noise"
        if task.budget is None:
            balance = "have the product 400/L, as there is no noise"
        if self.steps is not None:
            steps = self.steps
            if step_size is None:
                step_size = min(largest, travel / steps)
                reasons.append(f"steps times step_size {balance}")
        elif step_size is not None:
            steps = max(1, min(_MOST_STEPS, round(travel / step_size)))
            reasons.append(f"steps {balance}")
        else:
            steps = max(1, min(_MOST_STEPS, math.ceil(travel / largest)))
            step_size = min(largest, travel / steps)
            reasons.append(f"steps and step_size {balance}")
        return ChosenSteps(step_size, steps, tuple(reasons))

    def _last_steps(self, task: Task, step_size: float) -> tuple[int, str]:
        r"""Return the T with the smallest q^{2T}·far² + E|noise|², and the reason for it."""
        constants = task.problem.constants(task.n)
        q = contraction(step_size, constants.smoothness, constants.strong_convexity)
        center = float(np.linalg.norm(task.problem.center))
        far = min(task.diameter, constants.lipschitz / constants.strong_convexity + center)
        if task.budget is None:
            steps = steps_to_shrink(q, 1 / _NEAR, _MOST_STEPS)
            return steps, f"steps reduce the distance to the minimiser by {q**steps:.1e}"
        sensitivity = step_size * task.records * constants.record_diameter / task.n
        noisy = math.sqrt(task.dimension) / _mu(task)

        def error(steps: int) -> float:
            drift = sensitivity * (steps if q == 1 else (1 - q**steps) / (1 - q))
            return math.hypot(q**steps * far, noisy * min(task.diameter, drift))

        steps = min(_CHOICES, key=error)
        return steps, "steps minimise the predicted distance to the minimiser, noise included"

    def _travel(self, task: Task) -> float:
        r"""Return ηT that balances B²/(2ηT) with the cost of noise, (L/2)·p·σ²(ηT).

        σ = c·ηT with c = D_h/(2n·μ), so (ηT)³ = B²/(2Lpc²). Without noise, 200 steps of size 2/L.
        """
        constants = task.problem.constants(task.n)
        require_bounded(
            self.name, task.problem, "to choose its steps (or give steps and step_size)"
        )
        radius = task.problem.constraint.radius
        if task.budget is None:
            return 200 * 2 / constants.smoothness
        mu = _mu(task)
        per_travel = task.records * constants.record_diameter / (2 * task.n * mu)
        # The cube root comes first, because squares of extreme budgets overflow.
        scale = (radius / math.sqrt(2 * constants.smoothness * task.dimension)) ** (2 / 3)
        return float(min(max(scale / max(per_travel, 1e-300) ** (2 / 3), 1e-100), 1e100))

    def _parameter_noise(self, plan: Plan[DescentSettings], fit: Fit) -> ParameterNoise:
        return output_noise(plan, projected=not plan.task.follows_theorem)

    def check_parts(self, plan: Plan[DescentSettings]) -> None:
        """Raise ValueError if the gradient of the risk is not a sum over parts."""
        plan.problem.check_parts()

    def execute(
        self,
        plan: Plan[DescentSettings],
        records: Records | PartitionedRecords,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the noisy output, projected unless the schedule is that of the theorem."""
        problem = plan.problem
        point = descend(
            problem,
            problem.risk(records),
            problem.constraint.initial(records.features),
            plan.settings.step_size,
            plan.settings.steps,
            progress,
            average=self.output == "average",
        )
        (release,) = plan.certificate.releases
        noisy = add_noise(release.mechanism, point, noise.stream("output noise"))
        return noisy if plan.task.follows_theorem else problem.constraint.project(noisy)


def _mu(task: Task) -> float:
    """Return approximately Δ/σ of one release within the budget."""
    budget = task.budget
    if budget is None:
        return math.inf
    return gdp_mu(budget.epsilon, budget.delta) if not budget.is_pure else budget.epsilon / 3


DPGDSC = register_algorithm(
    "DPGDSC",
    GradientDescent(output="last", name="DPGDSC (Xue 2021, Algorithm 1)"),
    is_published=True,
)
"""Last iterate of gradient descent with output noise, strongly convex."""

DPGDC = register_algorithm(
    "DPGDC",
    GradientDescent(output="average", name="DPGDC (Xue 2021, Algorithm 4)"),
    is_published=True,
)
"""Average iterate of gradient descent with output noise, convex."""


@register_candidates("ranking", order=20)
def _last_ranker(task: RankingTask) -> Iterator[Candidate]:
    yield from best(
        task.regularized_candidate(
            problem,
            GradientDescent("last"),
            problem.regularization,
            task.noise_on_weights(sensitivity),
        )
        for problem, sensitivity in task.regularized
    )


@register_candidates("ranking", order=50)
def _average_ranker(task: RankingTask) -> Iterator[Candidate]:
    def candidate(problem: Problem, steps: int, step_size: float) -> Candidate:
        travel = step_size * steps
        diameter = problem.record_diameter(task.n, known_radius(problem, step_size, steps))
        noise = task.noise_on_weights(travel * diameter / (2 * task.n))
        # Few steps act as a regulariser.
        effective = 2 / travel + problem.regularization
        algorithm = GradientDescent("average", steps, step_size)
        return task.regularized_candidate(problem, algorithm, effective, noise)

    yield from best(candidate(*descent) for descent in task.descents if task.contracts(descent[0]))


@register_candidates("metric", order=20)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    def effect(problem: Problem, draft: PlanDraft[DescentSettings]) -> tuple[float, float]:
        steps, step_size = draft.settings.steps, draft.settings.step_size
        return task.noise_of(draft), steps * step_size

    if task.all_pairs:
        yield from task.minimized(lambda problem: GradientDescent("last"), effect)
        yield from task.minimized(lambda problem: GradientDescent("average"), effect)
