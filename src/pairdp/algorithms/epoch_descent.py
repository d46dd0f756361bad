"""Epoch gradient descent on disjoint parts: DPEGD (Xue 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import STEPS, between, keep_given
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.descent import contraction, descend, restart_radius
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.plan import Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import require_bounded, require_step
from pairdp.algorithms.task import Settings, Task
from pairdp.constraints.vectors import shrink_to
from pairdp.privacy import NoiseSource, Part, Sensitivity
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

    Parameters
    ----------
    step_size : float, optional
        η; by default the theorem's (diameter/G)·min(4/√n, ε/√(p·ln(1/δ))), at most 8/L.
    name : str
        Name in certificates.

    Notes
    -----
    Printed noise: Δ_i = 4Gη_i (Algorithm 3).
    """

    step_size: float | None = None
    name: str = "Epoch gradient descent"

    settings_type = EpochSettings
    is_printed: ClassVar[bool] = True

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
        step_size, reasons = self._step_size(task, largest)
        require_step(self.name, step_size, largest, "8/L")
        start = restart_radius(problem, step_size / 4, sum(sizes))
        radius = min(problem.constraint.radius, 2 * start)
        releases = []
        for i, size in enumerate(sizes, start=1):
            eta = step_size / 4**i
            constants = problem.constants(size)
            inputs = {
                "record_diameter": problem.record_diameter(size, radius, eta, task.features),
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
        return PlanDraft(tuple(releases), settings, reasons)

    def _step_size(self, task: Task, largest: float) -> tuple[float, tuple[str, ...]]:
        if self.step_size is not None:
            return self.step_size, ()
        require_bounded(self.name, task.problem, "to choose its step size (or give step_size)")
        lipschitz = task.problem.loss.lipschitz(task.problem.domain())
        rate = 4 / math.sqrt(task.n)
        if task.budget is not None:
            p, epsilon, delta = task.dimension, task.budget.epsilon, task.budget.delta
            rate = min(rate, epsilon / (p if delta == 0 else math.sqrt(p * math.log(1 / delta))))
        default = task.diameter / lipschitz * rate
        reason = "step_size is the theorem's (diameter/G)·min(4/√n, ε/√(p·ln(1/δ)))"
        if default > largest:
            return largest, (f"{reason}, limited to 8/L",)
        return default, (reason,)

    def execute(
        self, plan: Plan[EpochSettings], records: Records, noise: NoiseSource, progress: Progress
    ) -> Array:
        """Return the noisy point of the last epoch, projected."""
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
            point = shrink_to(problem.constraint.project(noisy), radius)
        return point


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
