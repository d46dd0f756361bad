"""Offline descent that processes records one by one: OffPairStrC, OffPairC (Huai 2020)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import pairs
from pairdp._checks import STEPS, between, keep_given
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.descent import regularized_radius
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.plan import Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import regularised
from pairdp.algorithms.task import Settings, Task
from pairdp.privacy import NoiseSource, Sensitivity
from pairdp.privacy.bounds.stream_schedule import stream_steps
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import MetricTask, RankingTask

Array = NDArray[np.float64]
_MOST_RECORDS = 20_000  # the limit for `auto`: the time is quadratic in n


@dataclass(frozen=True)
class StreamDescentSettings(Settings):
    """α, the number of steps, and L."""

    strong_convexity: float
    steps: int
    smoothness: float


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
        α. A problem that is not strongly convex is regularised to be α-strongly convex; by default
        α = G/(B√n).
    name : str
        Name in certificates.

    Notes
    -----
    Printed noise: Δ = 8G·ln(n)/(αn), textbook Gaussian (Algorithms 3 and 4). The paper has no
    version for pure ε; here it uses K-norm noise, and with "printed" Laplace noise, as in the
    comparison of Xue 2021. One pass over all pairs takes O(n²d) time.
    """

    strong_convexity: float | None = None
    name: str = "Descent on a stream of pairs, averaged"

    settings_type = StreamDescentSettings
    is_printed: ClassVar[bool] = True
    only_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        keep_given(self, "strong_convexity", between, *STEPS)

    def draft(self, task: Task) -> PlanDraft[StreamDescentSettings]:
        """Decide the regulariser and the noise."""
        problem, reasons = regularised(self.name, task, self.strong_convexity)
        alpha = problem.regularization
        lipschitz = printed.huai2020.regularised_lipschitz(task, alpha) if task.is_printed else 0.0
        task = replace(task, problem=problem)
        smoothness = problem.loss.smoothness(problem.domain()) + alpha
        inputs = {
            # The last step is the smallest.
            "record_diameter": problem.record_diameter(
                task.n,
                regularized_radius(problem),
                step_size=min(2 / (alpha * task.n), 2 / (smoothness + alpha)),
                features=task.features,
            ),
            "n": task.n,
            "strong_convexity": alpha,
            "smoothness": smoothness,
            **task.diameter_input,
        }
        sensitivity = Sensitivity.of("average iterate of descent on a stream of pairs", **inputs)
        stated = 0.0
        if task.is_printed:
            stated = printed.huai2020.average_iterate_sensitivity(lipschitz, alpha, task.n)
        release = output_release("average iterate", task, sensitivity, stated)
        settings = StreamDescentSettings(alpha, task.n - 1, smoothness)
        if task.is_printed:
            burn_in = printed.huai2020.burn_in(smoothness, alpha)
            reasons += (
                f"the paper's random burn-in is omitted: it takes {burn_in:.4g} of {task.n} steps",
                "steps are min(2/(αt), 2/(L+α)), not the paper's 2(t-1)/((t-2)αt)",
            )
        return PlanDraft((release,), settings, reasons, problem)

    def execute(
        self,
        plan: Plan[StreamDescentSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the noisy average, projected."""
        problem = plan.problem
        point = problem.constraint.initial(records.features)
        total = np.zeros_like(point)
        etas = stream_steps(records.n, problem.regularization, plan.settings.smoothness)
        for i in progress.steps(etas.size, "stream descent"):
            earlier = records.part(slice(0, i + 1))
            gradient = pairs.one_against(problem.loss, point, records, i + 1, earlier) / (i + 1)
            point = problem.projected_step(point, etas[i], gradient)
            total += point
        (release,) = plan.certificate.releases
        noisy = add_noise(release.mechanism, total / etas.size, noise.stream("output noise"))
        return problem.constraint.project(noisy)


OFFPAIRSTRC = register_algorithm(
    "OffPairStrC",
    StreamGradientDescent(name="OffPairStrC (Huai 2020, Algorithm 3)"),
    is_published=True,
)
"""Offline pairwise GIGA, strongly convex."""

OFFPAIRC = register_algorithm(
    "OffPairC", StreamGradientDescent(name="OffPairC (Huai 2020, Algorithm 4)"), is_published=True
)
"""Offline pairwise GIGA, regularised to strong convexity."""


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
            task.noise(min(worst * sensitivity, 2 * task.ball.radius)),
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
