"""Gradient descent with noise at every step: Xue 2021, Kang 2021, Wang 2024, and mini-batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp import algorithms, constraints
from pairdp._checks import STEPS, between, flag, integer, keep_given, one_of
from pairdp.algorithms import noisy_descent_theorems, printed
from pairdp.algorithms.algorithm import WITH_DRAWS, Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.gradient_noise import (
    Batches,
    GradientNoise,
    Output,
    Pairing,
    PrintedRule,
    farthest_point,
    hides_iterates,
    least_error_schedule,
    printed_scale,
)
from pairdp.algorithms.noise import add_noise, noise_to_signal
from pairdp.algorithms.noise_propagation import descent_noise
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.random_points import random_point
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.algorithms.theorem import ChosenSteps
from pairdp.constraints.vectors import shrink_to
from pairdp.losses import PairwiseLoss
from pairdp.privacy import GaussianMechanism, NoiseSource
from pairdp.privacy.mechanisms.repeated_release import RepeatedRelease
from pairdp.problem import Problem
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import LinearTask, MetricTask, RankingTask

Array = NDArray[np.float64]
# The grids of `auto`: batch sizes of rankers with a factor on their noise; batch sizes of metrics;
# batch sizes of linear models, and limits on their steps.
_BATCHES_OF_RANKERS, _COST_OF_BATCHES = 10, 1.25
_BATCH_OF_METRICS = 256
_BATCHES_OF_LINEAR, _FULL_BATCH_UP_TO, _FEWEST_STEPS, _MOST_STEPS = 20, 20_000, 20, 2000


@dataclass(frozen=True)
class NoisyDescentSettings(Settings):
    """Which iterate is released, T, η, b, whether steps are projected, the pairing, and the start.

    The first iterate is zero, or uniform in the ball of ``initial_radius``. The average may omit
    the last iterate; then the last step is not taken.
    """

    output: Output
    steps: int
    step_size: float
    batch_size: int
    projected: bool
    pairing: Literal["disjoint", "ordered"] | None = None
    initial_radius: float | None = None
    omits_last: bool | None = None

    @property
    def taken(self) -> int:
        """The number of steps that the output depends on."""
        return self.steps - 1 if self.omits_last else self.steps


@dataclass(frozen=True)
class NoisyGradientDescent(Algorithm[NoisyDescentSettings]):
    r"""Projected gradient descent with Gaussian noise on every gradient.

    The sensitivity of a gradient is D_h/n, and T of them compose exactly as Gaussians: σ =
    √T·(D_h/n)/μ(ε, δ) suffices for any function of the iterates (errata, X3). This holds for any
    loss, convex or not: each noisy gradient is a release, evaluated at a parameter that earlier
    releases determine. If only the last iterate is released and steps contract, the effect of
    earlier steps decays and less noise may suffice (errata, X5); the smaller noise is used. Steps
    contract only for convex smooth losses, so a loss that is not convex is always accounted for by
    composition, regularised or not.

    With ``batch_size`` b, each step draws b records without replacement and uses all pairs of the
    batch; the sensitivity of that gradient is D_h/b, and sampling amplifies privacy (accounted for
    with privacy loss distributions). This needs neither smoothness nor convexity.

    With ``pairing="disjoint"`` the b = 2m records form m pairs of consecutive draws, and the
    gradient is the mean of ½h(w;z,z') over them, with h(w;z,z') = ∇ℓ(w;z,z') + ∇ℓ(w;z',z). Its
    sensitivity is also D_h/b: a record is in one of the m pairs, whose ½h changes by at most D_h/2,
    and (D_h/2)/m = D_h/b. So disjoint pairs take O(b) time per step and need the same noise as all
    pairs, but have a larger sampling variance. With ``pairing="ordered"`` the gradient is the mean
    of ∇ℓ(w;z,z') over the m pairs, in the order in which they were drawn. Its sensitivity is
    D_o/m = 2D_o/b: the same for a symmetric loss, and twice as large for a one-sided one. (Given
    the b records, their order is random: the gradient is a mixture over orders, in each of which
    it changes by at most that, and a mixture is no easier to distinguish.)

    Single pairs are Wang 2024's Algorithm 2, and for a loss of one record, a batch of one is their
    Algorithm 1. With ``schedule="theorem"`` they are so to the letter: from w_1 = 0, one order of
    each pair as drawn, and the average of w_1 … w_T, which omits w_{T+1}. Then the output depends
    on T - 1 noisy gradients, and certified noise is for these. With ``schedule="tuned"``, gradients
    are the mean of both orders and the average includes the last iterate.

    Long runs with small batches use compiled code if the loss supports it and numba is installed
    (``pip install pairdp[fast]``), with the same result up to rounding; see
    `pairdp.algorithms.kernels`.

    Parameters
    ----------
    output : {"average", "last"}
        What is released: the average of w_0 … w_T, or w_T.
    steps : int, optional
        T; by default the one that minimises the predicted error.
    step_size : float, optional
        η, by default at most 1/L; it minimises the predicted error.
    batch_size : int, optional
        b; all records by default. At least 2 for a pairwise loss, and even for disjoint pairs.
    pairing : {"all", "disjoint", "ordered"}
        The pairs of a batch that are used: all, or those of consecutive draws, with both orders or
        only the order drawn.
    regime : {"general", "low-noise"}, optional
        Which part of the theorems of Wang 2024 chooses T and η if they are not specified: (a), for
        any problem, or (b), for one whose best parameters have zero loss (see
        `pairdp.algorithms.printed.wang2024_steps`). It does so with either schedule. By default
        T and η minimise the predicted error, or with ``schedule="theorem"`` follow part (a).
    projected : bool
        Whether steps are projected. Otherwise the loss must be Lipschitz everywhere.
    printed_rule : {"xue", "kang", "wang"}
        The paper of the printed noise: σ = 4G√(1.25·T·ln(1/δ))/(nε) (Xue 2021, Algorithm 2),
        8G√(T·ln(1/δ))/(nε) (Kang 2021, Theorem 1), or that of Wang 2024 for a batch of one pair
        or one record, where it exists (see `pairdp.algorithms.printed.wang2024`).
    printed_lipschitz : float, optional
        The G that a paper states, for its printed noise: Kang 2021 states 2 for ranking and 1 for
        metric learning, where the correct values are twice and four times as large.
    name : str
        Name in certificates.

    Notes
    -----
    The schedule of the theorems, with L the smoothness of the risk: for "xue" and the average over
    all pairs, T = min{n, n²ε²/(p·ln(1/δ))} and η = ‖C‖/(G√T) ≤ 1/(2L) (Theorem 2; see
    `pairdp.algorithms.printed.xue2021`); for "kang" and the last iterate, T = ln(nε/√p), η = 1/L,
    a random first iterate and no projection (Algorithm 1, Theorem 2 and Remark 2); for "wang" and
    the average of steps on one pair or one record, that of the ``regime`` (Theorems 3, 4, 6, 7).
    """

    output: Output = "average"
    steps: int | None = None
    step_size: float | None = None
    batch_size: int | None = None
    projected: bool = True
    printed_rule: PrintedRule = "xue"
    printed_lipschitz: float | None = None
    name: str = "Gradient descent with gradient noise"
    pairing: Pairing = "all"
    regime: printed.wang2024_steps.Regime | None = None

    settings_type = NoisyDescentSettings
    is_printed: ClassVar[bool] = True
    needs_delta: ClassVar[bool] = True
    why_no_units: ClassVar[str] = WITH_DRAWS

    def __post_init__(self) -> None:
        one_of("output", self.output, "last", "average")
        one_of("printed_rule", self.printed_rule, "xue", "kang", "wang")
        one_of("pairing", self.pairing, "all", "disjoint", "ordered")
        one_of("regime", self.regime, "general", "low-noise", None)
        keep_given(self, "steps", integer)
        keep_given(self, "batch_size", integer)
        keep_given(self, "step_size", between, *STEPS)
        keep_given(self, "printed_lipschitz", between, *STEPS)
        flag("projected", self.projected)

    @property
    def has_theorem(self) -> bool:  # type: ignore[override]
        """Whether it is an algorithm of a paper that states its schedule."""
        if self.printed_rule == "wang":
            return self.output == "average" and self.batch_size in (1, 2)
        if self.batch_size is not None or self.pairing != "all":
            return False
        return (self.printed_rule, self.output) in (("xue", "average"), ("kang", "last"))

    @property
    def offers_units(self) -> bool:  # type: ignore[override]
        """Whether every step uses all records."""
        return self.batch_size is None

    @property
    def needs(self) -> tuple[Need, ...]:
        """Bounded gradients."""
        return (Need.LIPSCHITZ,)

    def draft(self, task: Task) -> PlanDraft[NoisyDescentSettings]:
        """Decide steps, step size and noise."""
        given = task
        # Algorithm 1 of Kang 2021 does not project, and starts at a random point.
        as_kang = task.follows_theorem and self.printed_rule == "kang"
        projected = self.projected and not as_kang
        instead = 'use schedule="tuned"' if as_kang else "set projected=True"
        if not projected:
            task = replace(task, problem=self._without_projection(task.problem, instead))
        problem = task.problem
        # Algorithm 2 of Wang 2024 takes a pair in one order; its average omits the last iterate.
        as_wang = task.follows_theorem and self.printed_rule == "wang"
        one_pair = as_wang and self.batch_size == 2 and isinstance(problem.loss, PairwiseLoss)
        pairing: Pairing = "ordered" if one_pair else self.pairing
        batches = Batches(task, self.batch_size, pairing)
        noise = GradientNoise(task, batches, self.output)
        step_size, steps, reasons, departures = self._schedule(noise)
        if task.follows_theorem and not (projected or as_kang):
            departures = (*departures, "steps are not projected")
        if not projected and problem.is_smooth:
            smoothness = problem.constants(task.n).smoothness
            if step_size * smoothness > 2 * (1 + 1e-12):
                raise ValueError(
                    f"{self.name} without projection diverges for steps above 2/L = "
                    f"{2 / smoothness:.6g}, got {step_size:.6g}: take smaller steps, or {instead}"
                )
        scale = None
        if task.is_printed:
            # The papers' G is that of the constraint set, which steps may leave.
            lipschitz = self.printed_lipschitz or given.printed_lipschitz
            scale = printed_scale(self.printed_rule, lipschitz, batches, steps)
        settings = NoisyDescentSettings(
            self.output,
            steps,
            step_size,
            batches.size,
            projected,
            None if pairing == "all" else pairing,
            given.problem.constraint.radius if as_kang and given.problem.is_bounded else None,
            True if as_wang else None,
        )
        release, more = noise.release(step_size, settings.taken, scale)
        if as_kang:
            departures += self._departures_from_kang(given)
        return PlanDraft((release,), settings, (*reasons, *more), problem, departures)

    def _departures_from_kang(self, task: Task) -> tuple[str, ...]:
        """Return where the first iterate and the printed G depart from Kang 2021."""
        if not task.problem.is_bounded:
            return ("the first iterate is zero, and not random, as the set is unbounded",)
        start = (
            "the paper does not say how the random first iterate is drawn: it is uniform in the "
            "ball of the radius of C"
        )
        if not task.is_printed or self.printed_lipschitz is not None:
            return (start,)
        return (start, "the G of the printed noise is that of C, which iterates may leave")

    def _without_projection(self, problem: Problem, instead: str) -> Problem:
        """Return the problem on unbounded parameters."""
        free = (
            constraints.SymmetricMatrices() if problem.loss.matrix else constraints.Unconstrained()
        )
        problem = replace(problem, constraint=free)
        if not problem.is_lipschitz:
            raise ValueError(
                f"{self.name} without projection needs a loss that is Lipschitz everywhere, "
                f"and {type(problem.loss).__name__} is not: {instead}"
            )
        return problem

    def _schedule(self, noise: GradientNoise) -> ChosenSteps:
        """Return η and T, with the reasons for them."""
        if noise.task.follows_theorem:
            if self.printed_rule == "wang":
                return noisy_descent_theorems.wang2024(
                    self.name, noise.batches, self.regime, self.steps, self.step_size
                )
            of_paper = noisy_descent_theorems.kang2021
            if self.printed_rule == "xue":
                of_paper = noisy_descent_theorems.xue2021
            return of_paper(self.name, noise.task, self.steps, self.step_size)
        if self.steps is not None and self.step_size is not None:
            return ChosenSteps(self.step_size, self.steps, ())
        if self.regime is None:
            found = least_error_schedule(self.name, noise, self.steps, self.step_size)
            return ChosenSteps(*found)
        return printed.wang2024_steps.schedule(noise.task, self.regime, self.steps, self.step_size)

    def noise_to_signal(self, plan: Plan[NoisyDescentSettings]) -> float:
        """Return the ratio of the noise of all gradients to their largest sum."""
        # The sensitivity is that of gradients, which the diameter of the set does not bound.
        (release,) = plan.certificate.releases
        return noise_to_signal(release, plan.task.n)

    def _parameter_noise(self, plan: Plan[NoisyDescentSettings], fit: Fit) -> ParameterNoise:
        settings = plan.settings
        return descent_noise(
            plan,
            settings.step_size,
            settings.taken,
            average=self.output == "average",
            whole=settings.batch_size == plan.task.n and settings.pairing is None,
        )

    def check_parts(self, plan: Plan[NoisyDescentSettings]) -> None:
        """Raise ValueError for mini-batches, or if the gradient is not a sum over parts."""
        if plan.settings.batch_size != plan.task.n or plan.settings.pairing is not None:
            raise ValueError(
                f"{self.name} draws mini-batches from all records, which are in parts: leave out "
                "batch_size and pairing, for steps on all records"
            )
        plan.problem.check_parts()

    def execute(
        self,
        plan: Plan[NoisyDescentSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the average or the last of the noisy iterates."""
        point, total = self._iterates(plan, records, noise, progress)
        return total / (plan.settings.taken + 1) if self.output == "average" else point

    def _iterates(
        self,
        plan: Plan[NoisyDescentSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> tuple[Array, Array]:
        """Return the last iterate and the sum of all iterates, including the first."""
        problem, step_size, steps = plan.problem, plan.settings.step_size, plan.settings.taken
        (release,) = plan.certificate.releases
        mechanism, pairing = release.mechanism, plan.settings.pairing or "all"
        batches = Batches(plan.task, self.batch_size, pairing)
        b, drawn = batches.size, batches.sampling is not None
        if batches.disjoint or (not batches.of_pairs and drawn):
            small = algorithms.kernels.Steps(
                problem,
                records,
                mechanism,
                step_size,
                steps,
                b,
                batches.disjoint,
                pairing == "ordered",
            )
            return algorithms.kernels.take_steps(small, noise, progress)
        generator, draws = noise.stream("gradient noise"), noise.stream("batches")
        # Where iterates are hidden, noise on the grid of gradients would leave their low bits in
        # the last one: the point itself is put on a grid, with the same noise in its units.
        at_point, far = None, 0.0
        if isinstance(mechanism, GaussianMechanism) and hides_iterates(release):
            at_point, far = mechanism.in_units(step_size), farthest_point(problem, step_size)
        releases = RepeatedRelease(at_point or mechanism, plan.task.dimension, steps)
        risk = problem.risk(records)
        point = problem.constraint.initial(records.features)
        if plan.settings.initial_radius is not None:
            ball = constraints.FrobeniusBall if problem.loss.matrix else constraints.L2Ball
            start = ball(plan.settings.initial_radius)
            point = random_point(start, records.features, noise.stream("initial point"))
        total = point.copy()
        for _ in progress.steps(steps, algorithms.kernels.WHAT):
            if drawn:
                rows = draws.choice(records.n, b, replace=False, shuffle=False)
                risk = problem.risk(records.rows(rows))
            gradient = risk.gradient(point)
            if at_point is None:
                noisy = add_noise(releases, gradient, generator)
                point = problem.projected_step(point, step_size, noisy)
            else:
                step = step_size * (gradient + problem.regularizer_gradient(point))
                noisy = shrink_to(add_noise(releases, point - step, generator), far)
                point = problem.constraint.project(noisy)
            total += point
        return point, total


DPGDC2 = register_algorithm(
    "DPGDC2",
    NoisyGradientDescent(output="average", name="DPGDC2 (Xue 2021, Algorithm 2)"),
    is_published=True,
)
"""Gradient descent with gradient noise, average released."""

KANG = register_algorithm(
    "Kang2021",
    NoisyGradientDescent(
        output="last", printed_rule="kang", name="Gradient perturbation (Kang 2021, Algorithm 1)"
    ),
    is_published=True,
)
"""Gradient descent with gradient noise, last iterate released."""

WANG_PAIRWISE = register_algorithm(
    "Wang2024Pairwise",
    NoisyGradientDescent(
        output="average",
        batch_size=2,
        pairing="disjoint",
        regime="general",
        printed_rule="wang",
        name="DP-SGD-pairwise (Wang 2024, Algorithm 2)",
    ),
    is_published=True,
)
"""Steps on one pair with gradient noise, average released."""

WANG_POINTWISE = register_algorithm(
    "Wang2024Pointwise",
    NoisyGradientDescent(
        output="average",
        batch_size=1,
        regime="general",
        printed_rule="wang",
        name="DP-SGD (Wang 2024, Algorithm 1)",
    ),
    "records",
    is_published=True,
)
"""Steps on one record with gradient noise, average released; for losses of one record."""


@register_candidates("ranking", order=40)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    def candidate(
        output: Output, batch: int | None, problem: Problem, steps: int, step_size: float
    ) -> Candidate:
        # Composition multiplies the noise of each of T gradients by √T, so that of their sum times
        # η is ηT times the noise of one; the noise of the average is 1/√3 of that. Few steps act as
        # a regulariser.
        travel = step_size * steps
        noise = task.noise(travel * problem.record_diameter(task.n) / task.n)
        if output == "average":
            noise /= math.sqrt(3)
        effective = (1 if output == "last" else 2) / travel + problem.regularization
        algorithm = NoisyGradientDescent(output, steps, step_size, batch)
        cost = 1.0 if batch is None else _COST_OF_BATCHES
        return task.regularized_candidate(problem, algorithm, effective, noise, cost=cost)

    if task.budget is not None and task.budget.is_pure:
        return
    kinds: list[tuple[Output, int | None]] = []
    if task.all_pairs:
        kinds += [("last", None), ("average", None)]
    if task.n >= 10 * _BATCHES_OF_RANKERS:
        kinds.append(("average", task.batch_size(_BATCHES_OF_RANKERS)))
    for output, batch in kinds:
        yield from best(candidate(output, batch, *descent) for descent in task.descents)


@register_candidates("metric", order=30)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    def effect(problem: Problem, draft: PlanDraft[NoisyDescentSettings]) -> tuple[float, float]:
        steps, step_size = draft.settings.steps, draft.settings.step_size
        # The regulariser makes the noise of earlier steps decay.
        decay = 1 - step_size * problem.regularization
        accumulated = min(float(steps), 1 / max(1 - decay**2, 1e-12))
        return task.noise_of(draft) * step_size * math.sqrt(accumulated), steps * step_size

    kinds: list[tuple[Output, int | None]] = [("last", None), ("average", None)]
    for output, batch in kinds if task.all_pairs else [("last", _BATCH_OF_METRICS)]:
        yield from task.minimized(
            lambda problem, output=output, batch=batch: NoisyGradientDescent(  # type: ignore[misc]
                output, *task.steps(problem), batch_size=batch
            ),
            effect,
        )


@register_candidates("linear", order=20)
def _linear(task: LinearTask) -> Iterator[Candidate]:
    if task.budget is not None and task.budget.is_pure:
        return
    if task.budget is None and task.has_minimizer:
        return  # without noise, the minimiser is best
    problem, noise, radius = task.problem, task.gradient_noise, task.problem.constraint.radius
    in_batches = task.n > _FULL_BATCH_UP_TO and task.unit is None
    batch = task.n // _BATCHES_OF_LINEAR if in_batches else None
    if problem.is_smooth:
        algorithm, error = NoisyGradientDescent(batch_size=batch), radius * noise
    else:
        lipschitz = problem.constants(task.n).lipschitz
        optimal = 4 * (lipschitz / noise) ** 2 if noise > 0 else math.inf
        steps = math.ceil(min(_MOST_STEPS, max(_FEWEST_STEPS, optimal)))
        size = radius / math.sqrt(steps * (lipschitz**2 + steps * noise**2))
        algorithm = NoisyGradientDescent(steps=steps, step_size=size, batch_size=batch)
        error = radius * math.hypot(noise, lipschitz / math.sqrt(steps))
    reason = f"noise on every gradient, predicted excess risk {error:.3g}"
    yield Candidate(problem, algorithm, error, reason)
