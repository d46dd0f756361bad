"""Epoch gradient descent on disjoint parts: DPEGD (Xue 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import constraints
from pairdp._checks import STEPS, between, keep_given
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import IN_PARTS, Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.descent import contraction, descend, restart_radius
from pairdp.algorithms.noise import add_noise, noise_reach, output_release
from pairdp.algorithms.noise_propagation import restarted_noise
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import require_bounded, require_step
from pairdp.algorithms.task import Settings, Task
from pairdp.algorithms.theorem import ChosenSteps, Theorem
from pairdp.constraints.vectors import shrink_to
from pairdp.losses.trust import is_library_loss
from pairdp.privacy import NoiseSource, Part, Release, Sensitivity
from pairdp.problem import Problem
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import MetricTask, RankingTask

Array = NDArray[np.float64]
_MOST_STEPS = 10**7
_MOST_RECORDS = 20_000  # the limit for `auto`: the time is quadratic in n


def part_sizes(n: int) -> tuple[int, ...]:
    """Return the sizes ⌊n/2⌋, ⌊n/4⌋, … of k = ⌊log₂ n⌋ parts; the last has the rest."""
    count = n.bit_length() - 1
    sizes = [n >> i for i in range(1, count)]
    return (*sizes, n - sum(sizes))


@dataclass(frozen=True)
class EpochSettings(Settings):
    """The number of parts, η, and the steps of all parts."""

    epochs: int
    step_size: float
    steps: int


@dataclass(frozen=True)
class EpochGradientDescent(Algorithm[EpochSettings]):
    r"""Gradient descent on disjoint parts of decreasing size, with decreasing steps and noise.

    Part i has n_i ≈ n/2^i records; T_i = n_i steps of size η_i = 4^{-i}η start from the last noisy
    point, and the average is released with noise. The part of a record is determined by its index,
    so a replaced record affects one part, and the total cost is that of the worst part (parallel
    composition). The average changes by at most η_i·D_h(T_i+1)/(2n_i) if η_1 ≤ 2/L (errata, X4).
    Noisy points are projected, unless ``schedule="theorem"``: the paper does not project them.
    Then D_h of all epochs but the first is that of a larger ball, which contains the points at
    which they start. Noise leaves this ball with a probability below e⁻⁷⁰⁰; such a point is
    projected onto it.

    Parameters
    ----------
    step_size : float, optional
        η; by default the theorem's (diameter/G)·min(4/√n, ε/√(p·ln(1/δ))), at most 8/L.
    name : str
        Name in certificates.

    Notes
    -----
    Printed noise: Δ_i = 4Gη_i (Algorithm 3). The schedule of Theorem 3 is the default step size,
    without the limit: it is refused above 2/L, with L the smoothness of the risk of any part.
    """

    step_size: float | None = None
    name: str = "Epoch gradient descent"

    settings_type = EpochSettings
    is_printed: ClassVar[bool] = True
    uses_positions: ClassVar[bool] = True
    has_theorem: ClassVar[bool] = True
    why_no_units: ClassVar[str] = IN_PARTS

    def __post_init__(self) -> None:
        keep_given(self, "step_size", between, *STEPS)

    def draft(self, task: Task) -> PlanDraft[EpochSettings]:
        """Decide the step size and the noise of each part."""
        problem = task.problem
        if task.n < 4:
            raise ValueError(f"{self.name} needs at least 4 records, got n = {task.n}")
        sizes = part_sizes(task.n)
        if sizes[0] > _MOST_STEPS:
            raise ValueError(
                f"{self.name} passes over n records n times, too often for n = {task.n}: use at "
                f"most {2 * _MOST_STEPS} records, or another algorithm such as GradientDescent"
            )
        # Steps must contract on every part; the risk of a small part has the largest smoothness.
        largest = min(
            2 * 4**i / problem.constants(size).smoothness for i, size in enumerate(sizes, start=1)
        )
        departures: tuple[str, ...] = ()
        if task.follows_theorem:
            step_size, _, reasons, departures = self._theorem(task, sizes)
        else:
            step_size, reasons = self._step_size(task, largest)
        require_step(self.name, step_size, largest, "8/L")
        start = restart_radius(problem, step_size / 4, sum(sizes))
        radius = min(problem.constraint.radius, 2 * start)
        releases: list[Release] = []
        for i, size in enumerate(sizes, start=1):
            eta = step_size / 4**i
            constants = problem.constants(size)
            around = problem
            if task.follows_theorem and releases:
                around = self._around(problem, releases[-1])
                radius = around.constraint.radius
            inputs = {
                "record_diameter": around.record_diameter(size, radius, eta, task.features),
                "n": size,
                "step_size": eta,
                "contraction": contraction(eta, constants.smoothness, constants.strong_convexity),
                "steps": size,
                **task.diameter_input,
            }
            sensitivity = Sensitivity.of("average iterate of gradient descent", **inputs)
            releases.append(
                output_release(
                    f"average of epoch {i}",
                    task,
                    sensitivity,
                    printed.xue2021.epoch_sensitivity(task.printed_lipschitz, eta)
                    if task.is_printed
                    else 0.0,
                    Part(f"part {i}", size),
                )
            )
        settings = EpochSettings(len(sizes), step_size, sum(sizes))
        return PlanDraft(tuple(releases), settings, reasons, departures=departures)

    def _around(self, problem: Problem, release: Release) -> Problem:
        """Return the problem on a ball that contains the set and a noisy point of an epoch."""
        ball = constraints.FrobeniusBall if problem.loss.matrix else constraints.L2Ball
        return replace(problem, constraint=ball(problem.constraint.radius + noise_reach(release)))

    def _theorem(self, task: Task, sizes: Sequence[int]) -> ChosenSteps:
        """Return η of Theorem 3, with reasons and departures."""
        problem, n, p = task.problem, task.n, task.dimension
        require_bounded(self.name, problem, "for the diameter in the schedule of Xue 2021")
        if not is_library_loss(problem.loss):
            raise ValueError(
                f"{self.name} starts epochs at noisy points, which Algorithm 3 does not project, "
                f"and the constants of {type(problem.loss).__name__}, which is not of this "
                'library, are known on the constraint set alone: use schedule="tuned"'
            )
        theorem = Theorem(self.name, "Theorem 3 of Xue 2021")
        lipschitz = task.printed_lipschitz
        formula, noisy = "(‖C‖/G)·4/√n", f"4/√{n}"
        if task.budget is not None:
            pure, epsilon, delta = task.budget.is_pure, task.budget.epsilon, task.budget.delta
            formula = f"(‖C‖/G)·min{{4/√n, {'ε/p' if pure else 'ε/√(p·ln(1/δ))'}}}"
            cost = f"{p}" if pure else f"√({p}·ln(1/{delta:.4g}))"
            noisy = f"min{{{noisy}, {epsilon:.4g}/{cost}}}"
        constants = max(map(problem.constants, sizes), key=lambda found: found.smoothness)
        if self.step_size is None:
            theorem.use_risk_smoothness(
                constants, f"the theorem needs η ≤ 2/L = {2 / constants.pair_smoothness:.6g}"
            )
        step_size = theorem.step_size(
            f"{formula} = ({task.diameter:.6g}/{lipschitz:.6g})·{noisy}",
            printed.xue2021.epoch_step_size(task.diameter, lipschitz, n, p, task.budget),
            self.step_size,
            largest=("2/L", 2 / constants.smoothness),
        )
        if n & (n - 1):
            theorem.departures.append(
                f"the paper assumes n = 2^k, and n = {n}: parts have ⌊n/2^i⌋ records, and the last "
                "one has the rest"
            )
        return theorem.chosen(step_size, sum(sizes))

    def _step_size(self, task: Task, largest: float) -> tuple[float, tuple[str, ...]]:
        if self.step_size is not None:
            return self.step_size, ()
        require_bounded(self.name, task.problem, "to choose its step size (or give step_size)")
        lipschitz = task.problem.loss.lipschitz(task.problem.domain())
        default = printed.xue2021.epoch_step_size(
            task.diameter, lipschitz, task.n, task.dimension, task.budget
        )
        reason = "step_size is the theorem's (diameter/G)·min(4/√n, ε/√(p·ln(1/δ)))"
        if default > largest:
            return largest, (f"{reason}, limited to 8/L",)
        return default, (reason,)

    def _parameter_noise(self, plan: Plan[EpochSettings], fit: Fit) -> ParameterNoise:
        sizes = part_sizes(plan.task.n)
        return restarted_noise(
            plan, [(plan.settings.step_size / 4**i, size) for i, size in enumerate(sizes, 1)]
        )

    def execute(
        self, plan: Plan[EpochSettings], records: Records, noise: NoiseSource, progress: Progress
    ) -> Array:
        """Return the noisy point of the last epoch, projected unless as in the theorem."""
        problem = plan.problem
        point = problem.constraint.initial(records.features)
        start, radius = 0, restart_radius(problem, plan.settings.step_size / 4, plan.task.n)
        for i, release in enumerate(plan.certificate.releases, start=1):
            size = part_sizes(plan.task.n)[i - 1]
            part = records.part(slice(start, start + size))
            start += size
            eta = plan.settings.step_size / 4**i
            average = descend(problem, problem.risk(part), point, eta, size, progress, average=True)
            noisy = add_noise(release.mechanism, average, noise.stream("epoch noise", i))
            if plan.task.follows_theorem:
                point = self._around(problem, release).constraint.project(noisy)
            else:
                point = shrink_to(problem.constraint.project(noisy), radius)
        return noisy if plan.task.follows_theorem else point


DPEGD = register_algorithm(
    "DPEGD", EpochGradientDescent(name="DPEGD (Xue 2021, Algorithm 3)"), is_published=True
)
"""Epoch gradient descent on disjoint parts."""


@register_candidates("ranking", order=60)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    def candidate(problem: Problem) -> Candidate:
        algorithm = EpochGradientDescent()
        draft = task.draft(problem, algorithm)
        # The first part, with half of the records, has most of the effect.
        travel = draft.settings.step_size / 4 * (task.n // 2)
        effective, noise = 2 / travel + problem.regularization, task.noise_of(draft.releases[0])
        return task.regularized_candidate(problem, algorithm, effective, noise, draft)

    if 4 <= task.n <= _MOST_RECORDS:
        yield from best(candidate(problem) for problem in task.problems if task.contracts(problem))


@register_candidates("metric", order=40)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    def effect(problem: Problem, draft: PlanDraft[EpochSettings]) -> tuple[float, float]:
        step_size = draft.settings.step_size
        sizes = part_sizes(task.n)
        travel = sum(step_size / 4**i * size for i, size in enumerate(sizes, start=1))
        return task.noise_of(draft), travel

    if task.all_pairs:
        yield from task.minimized(lambda problem: EpochGradientDescent(), effect)
