"""Phased SGD on consecutive pairs: one pass in linear time, noise after each phase."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import pairs
from pairdp._checks import STEPS, between, keep_given
from pairdp.algorithms.algorithm import IN_PARTS, Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, register_candidates
from pairdp.algorithms.descent import restart_radius, step_divergence, step_of_least_error
from pairdp.algorithms.epoch_descent import part_sizes
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.noise_propagation import restarted_noise
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need, require_bounded
from pairdp.algorithms.task import Settings, Task
from pairdp.constraints.vectors import shrink_to
from pairdp.privacy import NoiseSource, Part, Sensitivity
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import RankingTask

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PhasedSettings(Settings):
    """The number of phases, η of the first, and the total number of records."""

    phases: int
    step_size: float
    steps: int


@dataclass(frozen=True)
class PhasedSGD(Algorithm[PhasedSettings]):
    r"""SGD on consecutive pairs, in phases on disjoint parts of halving size.

    Phase i passes once over its n_i ≈ n/2^i records with steps of size η_i = 4^{1-i}η,

    .. math:: w_{t} = Π(w_{t-1} - η_i·g(w_{t-1}; z_t, z_{t-1})),

    g the mean of both orders, and releases the average with noise, from which the next phase
    starts: localisation (Feldman, Koren and Talwar 2020) with the pairing of Yang et al. 2021
    ("Simple stochastic and online gradient descent algorithms for pairwise learning"). In total
    there is one gradient of one pair per record.

    A replaced record is in two consecutive pairs of one part. So, for a convex loss, the
    sensitivity of the average is at most η(G₀·Q + (2 - 1/T)D*), with T = n_i - 1 steps and Q the
    mean of √0 … √(T-1), with D* and G₀ as for `PairwiseSGD`; for smooth losses and η ≤ 2/(L+λ) that
    is η·D_h(1 - 1/(2T)). The total privacy cost is that of the worst part.

    Parameters
    ----------
    step_size : float, optional
        η of the first phase; by default it minimises the sum of B²/(2ηT), ηG²/2 and the cost of
        noise.
    name : str
        Name in certificates.
    """

    step_size: float | None = None
    name: str = "Phased SGD on consecutive pairs"

    settings_type = PhasedSettings
    only_pairs: ClassVar[bool] = True
    uses_positions: ClassVar[bool] = True
    why_no_units: ClassVar[str] = IN_PARTS

    def __post_init__(self) -> None:
        keep_given(self, "step_size", between, *STEPS)

    @property
    def needs(self) -> tuple[Need, ...]:
        """A convex loss and bounded gradients."""
        return (Need.CONVEX, Need.LIPSCHITZ)

    def draft(self, task: Task) -> PlanDraft[PhasedSettings]:
        """Decide the step size and the noise of each phase."""
        if task.n < 4:
            raise ValueError(f"{self.name} needs at least 4 records, got n = {task.n}")
        step_size, reasons = self._step_size(task)
        if step_size * task.problem.regularization > 1:
            raise ValueError(
                f"{self.name} is certified for step sizes up to 1/λ = "
                f"{1 / task.problem.regularization:.6g}, got {step_size:.6g}"
            )
        start = restart_radius(task.problem, step_size, task.n)
        radius = min(task.problem.constraint.radius, 2 * start)
        releases = [
            output_release(
                f"average of phase {i}",
                task,
                self._sensitivity(task, step_size / 4 ** (i - 1), size, radius),
                0.0,
                Part(f"part {i}", size),
            )
            for i, size in enumerate(_parts(task.n), start=1)
        ]
        settings = PhasedSettings(len(releases), step_size, task.n)
        return PlanDraft(tuple(releases), settings, reasons)

    def _sensitivity(self, task: Task, step_size: float, size: int, radius: float) -> Sensitivity:
        divergence = step_divergence(task.problem, step_size)
        inputs = {
            "step_size": step_size,
            "n": size,
            "replaced": divergence.replaced,
            "common": divergence.common,
            # Accounts for the rounding error of each gradient in two runs.
            "rounding": task.problem.gradient_rounding(step_size, task.features, radius),
            **task.diameter_input,
        }
        return Sensitivity.of("average of SGD on consecutive pairs", **inputs)

    def _step_size(self, task: Task) -> tuple[float, tuple[str, ...]]:
        """Return η of the first phase and the reason, for noise of about ηD_h/μ."""
        if self.step_size is not None:
            return self.step_size, ()
        problem = task.problem
        require_bounded(self.name, problem, "to choose its step size (or give step_size)")
        noise = 0.0
        if task.budget is not None:
            tiny = 1e-12 * problem.constraint.radius / problem.loss.lipschitz(problem.domain())
            sensitivity = 2 * step_divergence(problem, tiny).replaced
            if task.budget.is_pure:
                noise = sensitivity * math.sqrt(task.dimension) / task.budget.epsilon
            else:
                noise = sensitivity / gdp_mu(task.budget.epsilon, task.budget.delta)
        return step_of_least_error(problem, _parts(task.n)[0], noise, task.dimension)

    def _parameter_noise(self, plan: Plan[PhasedSettings], fit: Fit) -> ParameterNoise:
        sizes = _parts(plan.task.n)
        return restarted_noise(
            plan, [(plan.settings.step_size / 4**i, size - 1) for i, size in enumerate(sizes)]
        )

    def execute(
        self, plan: Plan[PhasedSettings], records: Records, noise: NoiseSource, progress: Progress
    ) -> Array:
        """Return the noisy point of the last phase, projected."""
        problem, start = plan.problem, 0
        radius = restart_radius(problem, plan.settings.step_size, plan.task.n)
        point = problem.constraint.initial(records.features)
        for i, release in enumerate(plan.certificate.releases, start=1):
            size = _parts(plan.task.n)[i - 1]
            part = records.part(slice(start, start + size))
            start += size
            eta, total = plan.settings.step_size / 4 ** (i - 1), np.zeros_like(point)
            for t in progress.steps(size - 1, f"phase {i}"):
                before = part.part(slice(t, t + 1))
                gradient = pairs.one_against(problem.loss, point, part, t + 1, before)
                point = problem.projected_step(point, eta, gradient)
                total += point
            average = total / (size - 1)
            noisy = add_noise(release.mechanism, average, noise.stream("phase noise", i))
            point = shrink_to(problem.constraint.project(noisy), radius)
        return point


def _parts(n: int) -> tuple[int, ...]:
    """Return the sizes of the parts; the last two are merged, as a part needs two records."""
    sizes = part_sizes(n)
    return sizes if sizes[-1] >= 2 else (*sizes[:-2], sizes[-2] + sizes[-1])


YANG_SIMPLE = register_algorithm(
    "Yang2021Simple",
    PhasedSGD(name="Phased SGD on consecutive pairs (Yang 2021, NeurIPS)"),
    is_published=True,
)
"""SGD on consecutive pairs, in phases on disjoint parts; linear time."""


@register_candidates("ranking", order=70)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    """Yield the only candidate for a pure budget and a loss that is not smooth."""
    problem = task.problems[0]
    pure = task.budget is not None and task.budget.is_pure
    if pure and problem.is_convex and not math.isfinite(problem.constants(task.n).smoothness):
        why = "one pass of SGD, which supports a pure budget and a loss that is not smooth"
        yield Candidate(problem, PhasedSGD(), 1.0, why)
