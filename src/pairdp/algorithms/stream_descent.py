"""Offline descent that processes records one by one: OffPairStrC, OffPairC (Huai 2020)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import pairs
from pairdp._checks import STEPS, between, keep_given, one_of
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.descent import regularized_radius
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.noise_propagation import output_noise
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.random_points import random_point
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import (
    Need,
    Regularizer,
    regularised,
    require_bounded,
    require_strongly_convex,
)
from pairdp.algorithms.task import Settings, Task
from pairdp.privacy import NoiseSource
from pairdp.privacy.bounds.stream_schedule import printed_steps, stream_steps
from pairdp.problem import Problem
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import MetricTask, RankingTask

Array = NDArray[np.float64]
_MOST_RECORDS = 20_000  # the limit for `auto`: the time is quadratic in n


@dataclass(frozen=True)
class StreamDescentSettings(Settings):
    """α, the number of steps, L, and the number of random points before the first step."""

    strong_convexity: float
    steps: int
    smoothness: float
    burn_in: int | None = None


@dataclass(frozen=True)
class StreamGradientDescent(Algorithm[StreamDescentSettings]):
    r"""Pairwise GIGA: step t descends on the average loss of record t with all earlier ones.

    w_t = Π(w_{t-1} - η_t·∇[1/(t-1)·Σ_{j<t} (ℓ(w;z_t,z_j)+ℓ(w;z_j,z_t))/2 + λ/2|w|²]), and the
    average of w_2 … w_n is released with noise. Steps are min(2/(αt), 2/(L+α)): the cap makes each
    step a contraction, so the paper's random burn-in, which is longer than the data in its
    experiments, is not needed. Replacing the record of step k changes w_k by d_k = η_k·D and later
    iterates by d_t = (1-η_tα)d_{t-1} + η_t·D/(t-1), never by more than the diameter; the
    sensitivity is the average of d_t for the worst k (errata, H1 and H3).

    Parameters
    ----------
    strong_convexity : float, optional
        α of the regulariser that is added; by default G/(B√n), and 1/√n for "theorem".
    regularizer : {"needed", "theorem", "none"}
        Whether a regulariser is added: to a problem that is not strongly convex; to every problem,
        as in Algorithm 4; or to none, so that such a problem is refused, as in Algorithm 3.
    name : str
        Name in certificates.

    Notes
    -----
    Printed noise: Δ = 8G·ln(n)/(αn), textbook Gaussian (Algorithms 3 and 4). The paper has no
    version for pure ε; here it uses K-norm noise, and with "printed" Laplace noise, as in the
    comparison of Xue 2021. One pass over all pairs takes O(n²d) time.

    ``schedule="theorem"``: T₁ = max(16L²/α², 7) random points w_1 … w_T₁, then steps
    η_t = (t-1)/(t-2)·2/(αt), and the average of w_1 … w_n. Random points depend on no record, so
    the sensitivity is the sum of d_t over t > T₁, divided by n.
    """

    strong_convexity: float | None = None
    regularizer: Regularizer = "needed"
    name: str = "Descent on a stream of pairs, averaged"

    settings_type = StreamDescentSettings
    is_printed: ClassVar[bool] = True
    uses_positions: ClassVar[bool] = True
    has_theorem: ClassVar[bool] = True
    only_pairs: ClassVar[bool] = True
    offers_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        keep_given(self, "strong_convexity", between, *STEPS)
        one_of("regularizer", self.regularizer, "needed", "theorem", "none")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Convex, smooth and Lipschitz; strongly convex if no regulariser is added."""
        strongly = (Need.STRONGLY_CONVEX,) if self.regularizer == "none" else ()
        return (*super().needs, *strongly)

    def check(self, task: Task) -> None:
        """Raise ValueError if the task lacks what the algorithm needs."""
        if self.regularizer == "none" and task.problem.is_convex:
            require_strongly_convex(
                self.name, task.problem, "use OffPairC, which adds a regulariser"
            )
        super().check(task)

    def draft(self, task: Task) -> PlanDraft[StreamDescentSettings]:
        """Decide the regulariser and the noise."""
        problem, reasons = self._regularised(task)
        alpha = problem.regularization
        lipschitz = 0.0
        if task.is_printed:
            added = alpha - task.problem.regularization
            lipschitz = printed.huai2020.regularised_lipschitz(task, added)
        smoothness = problem.loss.smoothness(problem.domain()) + alpha
        departures: tuple[str, ...] = ()
        settings = StreamDescentSettings(alpha, task.n - 1, smoothness)
        last_step = min(2 / (alpha * task.n), 2 / (smoothness + alpha))  # the smallest
        burn_in: dict[str, int] = {}
        radius: float | None = regularized_radius(problem)  # starting at zero
        if task.follows_theorem:
            require_bounded(self.name, problem, "to draw random points in it")
            random = printed.huai2020.theorem_burn_in(
                task.n, lambda n: self._regularised(replace(task, n=n))[0]
            )
            settings = replace(settings, steps=task.n - random, burn_in=random)
            burn_in, radius = {"burn_in": random}, None
            departures = printed.huai2020.departures(
                task,
                problem,
                self.regularizer,
                self.strong_convexity,
                printed.huai2020.OFFLINE_POWER,
            )
        elif task.is_printed:
            omitted = printed.huai2020.burn_in(smoothness, alpha)
            reasons += (
                f"the paper's random burn-in is omitted: it takes {omitted:.4g} of {task.n} steps",
                "steps are min(2/(αt), 2/(L+α)), not the paper's 2(t-1)/((t-2)αt)",
            )
        task = replace(task, problem=problem)
        inputs = {
            # Errors of two computed gradients at every step.
            "record_diameter": problem.record_diameter(
                2 * task.n, radius, step_size=last_step, features=task.features
            ),
            "n": task.n,
            "strong_convexity": alpha,
            "smoothness": smoothness,
            **task.diameter_input,
            **burn_in,
        }
        sensitivity = task.sensitivity("average iterate of descent on a stream of pairs", **inputs)
        stated = 0.0
        if task.is_printed:
            stated = printed.huai2020.average_iterate_sensitivity(lipschitz, alpha, task.n)
        release = output_release("average iterate", task, sensitivity, stated)
        return PlanDraft((release,), settings, reasons, problem, departures)

    def _regularised(self, task: Task) -> tuple[Problem, tuple[str, ...]]:
        power = printed.huai2020.OFFLINE_POWER
        return regularised(self.name, task, self.strong_convexity, self.regularizer, power)

    def _parameter_noise(self, plan: Plan[StreamDescentSettings], fit: Fit) -> ParameterNoise:
        return output_noise(plan)

    def execute(
        self,
        plan: Plan[StreamDescentSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the noisy average, projected."""
        problem, n, burn_in = plan.problem, records.n, plan.settings.burn_in or 0
        point = problem.constraint.initial(records.features)
        total = np.zeros_like(point)
        if burn_in:
            draws = noise.stream("random points")
            for _ in range(burn_in):
                point = random_point(problem.constraint, records.features, draws)
                total += point
        etas = self._step_sizes(plan)
        for i, eta in zip(progress.steps(etas.size, "stream descent"), etas, strict=True):
            own = n - etas.size + i
            earlier = records.part(slice(0, own))
            gradient = pairs.one_against(problem.loss, point, records, own, earlier) / own
            point = problem.projected_step(point, eta, gradient)
            total += point
        (release,) = plan.certificate.releases
        average = total / (burn_in + etas.size)
        noisy = add_noise(release.mechanism, average, noise.stream("output noise"))
        return problem.constraint.project(noisy)

    @staticmethod
    def _step_sizes(plan: Plan[StreamDescentSettings]) -> Array:
        settings, n = plan.settings, plan.task.n
        if settings.burn_in is None:
            return stream_steps(n, settings.strong_convexity, settings.smoothness)
        late = np.arange(settings.burn_in + 1, n + 1, dtype=np.float64)
        return printed_steps(late, settings.strong_convexity)


OFFPAIRSTRC = register_algorithm(
    "OffPairStrC",
    StreamGradientDescent(regularizer="none", name="OffPairStrC (Huai 2020, Algorithm 3)"),
    is_published=True,
)
"""Offline pairwise GIGA, strongly convex."""

OFFPAIRC = register_algorithm(
    "OffPairC",
    StreamGradientDescent(regularizer="theorem", name="OffPairC (Huai 2020, Algorithm 4)"),
    is_published=True,
)
"""Offline pairwise GIGA for convex problems, with a regulariser of α = 1/√n."""


@register_candidates("ranking", order=30)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    if task.n > _MOST_RECORDS:
        return
    # At the worst position, a record changes the average about ln(n)/2 times as much as the
    # minimiser.
    worst = max(1.0, math.log(task.n) / 2)
    yield from best(
        task.regularized_candidate(
            problem,
            StreamGradientDescent(),
            problem.regularization,
            task.noise_on_weights(worst * sensitivity),
        )
        for problem, sensitivity in task.regularized
    )


@register_candidates("metric", order=50)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    if task.all_pairs:
        yield from task.minimized(
            lambda problem: StreamGradientDescent(),
            lambda problem, draft: (task.noise_of(draft), math.inf),
        )
