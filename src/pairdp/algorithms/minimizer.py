"""Output noise on the regularised minimiser, found to a tolerance that holds for all data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pairdp._checks import RECORDS, between, keep
from pairdp.algorithms.accelerated import LIMIT, Rounds, descend_in_rounds, rounds_to_reach
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.descent import known_radius
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.progress import Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.settings import Settings
from pairdp.algorithms.task import Task
from pairdp.pairs import ACCURACY, Risk
from pairdp.privacy import NoiseSource, Sensitivity, pack, unpack
from pairdp.problem import Problem
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import LinearTask, MetricTask, RankingTask

Array = NDArray[np.float64]
_NEWTON_STEPS = 200
_SPECTRAL_STEPS = 200
_MOST_STEPS = 200_000
_ROUNDING, _OF_A_FEATURE = 1e-14, 5e-16
_WHAT = "minimising"


@dataclass(frozen=True)
class MinimizerSettings(Settings):
    """tol, and how many accelerated steps reach it for any data."""

    tolerance: float
    most_steps: int


@dataclass(frozen=True)
class MinimizerRelease(Algorithm[MinimizerSettings]):
    r"""The minimiser of a strongly convex problem over its constraint set, with noise.

    Minimisers w\* of neighbouring data sets are at most D_h/(αn) apart. What gets noise is a point
    within tol/α of w\* **for every data set**, so released points are at most D_h/(αn) + 2·tol/α
    apart. Two ways lead to such a point.

    1. A quasi-Newton solver and, where the constraint is active, spectral projected steps propose
       a point; both have a public limit on their steps, and neither is trusted. A proposal is
       taken only if it passes a test: a projected step from c to p = Π(c - ηg(c)) has
       v = g(p) + (c - ηg(c) - p)/η, and \|v\| + e ≤ tol, where e bounds how far the computed g is
       from the exact ∇F. As (c - ηg(c) - p)/η is normal to the set at p, strong convexity gives
       α\|p - w\*\| ≤ \|v\| + e ≤ tol.
    2. If no proposal passes, accelerated steps from the public start, as many as were planned, end
       within tol/α of w\* by the proof in `pairdp.algorithms.accelerated`: nothing is tested there,
       and nothing can fail.

    So neither an error nor anything that leaves depends on which way was taken, but for points that
    differ by less than the noise is made for. How long it takes depends on the data and is not
    covered, as no timing is; it is bounded in advance, and a plan that would need more than 200 000
    accelerated steps is refused from public facts.

    e is 10⁻¹²·G, the stated accuracy of sums over pairs, and 10⁻¹⁴ + 5·10⁻¹⁶·d of G + L·(the size
    of parameters), for the rounding of steps, whose error counts as one of a gradient: a projection
    in d features is off by up to (6 + 4d)·2⁻⁵³ of what it projects.

    Parameters
    ----------
    tolerance : float, optional
        How much of the gradient's sensitivity D_h/n tol is; 0.01 by default, which costs 2 % of
        noise. 24e is added to it, without which no computed gradient would do.
    name : str
        What certificates call it.
    """

    tolerance: float = 0.01
    name: str = "Minimiser with output noise"

    settings_type = MinimizerSettings
    instead: ClassVar[str] = 'use GradientDescent(output="average") or PairwiseSGD'

    def __post_init__(self) -> None:
        keep(self, "tolerance", between("tolerance", self.tolerance, *RECORDS))

    @property
    def needs(self) -> tuple[Need, ...]:
        """A convex and smooth loss, bounded gradients and a regulariser."""
        return (Need.CONVEX, Need.SMOOTH, Need.LIPSCHITZ, Need.STRONGLY_CONVEX)

    def draft(self, task: Task) -> PlanDraft[MinimizerSettings]:
        """Decide the tolerance, the steps that reach it, and the noise."""
        problem = task.problem
        record_diameter, goal = self._record_diameter(task), self._goal(task)
        if goal.rounds.total > _MOST_STEPS:
            raise ValueError(
                f"{self.name} could need {goal.rounds.total:.2g} steps for its tolerance, and "
                f"takes at most {_MOST_STEPS}: use a larger regularization, or a larger tolerance"
            )
        inputs = {
            "record_diameter": record_diameter,
            "n": task.n,
            "strong_convexity": problem.strong_convexity,
            "tolerance": goal.tolerance,
            **task.diameter_input,
        }
        sensitivity = Sensitivity.of("regularised minimiser", **inputs)
        release = output_release("minimiser", task, sensitivity, sensitivity.value)
        return PlanDraft((release,), MinimizerSettings(goal.tolerance, goal.rounds.total))

    def _record_diameter(self, task: Task) -> float:
        # The minimiser is within G/λ of the centre, whatever the data.
        radius = known_radius(task.problem, 1 / task.problem.regularization, 2)
        return task.problem.record_diameter(task.n, radius)

    def _goal(self, task: Task) -> Goal:
        """Return how near to the minimiser the point must be, from public facts alone."""
        problem, constants = task.problem, task.problem.constants(task.n)
        convexity, smoothness = constants.strong_convexity, constants.smoothness
        center = float(np.linalg.norm(problem.center))
        # |w* - Π(w₀)| ≤ G/λ, and accelerated steps go no further than twice their start.
        start_distance = constants.lipschitz / convexity + center
        largest_norm = min(problem.constraint.radius, 3 * start_distance)
        size = constants.lipschitz + smoothness * (largest_norm + center)
        rounding = _ROUNDING + _OF_A_FEATURE * task.features
        error = ACCURACY * constants.lipschitz + rounding * size
        tolerance = self.tolerance * self._record_diameter(task) / task.n + LIMIT * error
        start_distance = min(start_distance, task.diameter)
        rounds = rounds_to_reach(tolerance / convexity, start_distance, smoothness, convexity)
        return Goal(tolerance + LIMIT * error, error, largest_norm, smoothness, convexity, rounds)

    def execute(
        self,
        plan: Plan[MinimizerSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the noisy minimiser, projected."""
        problem, goal = plan.problem, self._goal(plan.task)
        point = solve(problem, problem.risk(records), records.features, goal, progress)
        (release,) = plan.certificate.releases
        noisy = add_noise(release.mechanism, point, noise.stream("output noise"))
        return problem.constraint.project(noisy)


class Goal(NamedTuple):
    """How near to the minimiser a point must be, in public numbers.

    Attributes
    ----------
    tolerance : float
        tol.
    error : float
        e, how far a computed gradient may be from the exact one.
    largest_norm : float
        How large parameters may be for that to hold; the minimiser is well within.
    smoothness, convexity : float
        L and α.
    rounds : Rounds
        What brings any start of the algorithm within tol/α of the minimiser.
    """

    tolerance: float
    error: float
    largest_norm: float
    smoothness: float
    convexity: float
    rounds: Rounds


def solve(problem: Problem, risk: Risk, features: int, goal: Goal, progress: Progress) -> Array:
    """Return a point of the set within tol/α of the minimiser, for any records."""
    point = _proposed(problem, risk, features, goal, progress)
    if point is not None:
        return point
    point = problem.constraint.initial(features)
    steps = descend_in_rounds(problem, risk, point, goal.smoothness, goal.rounds)
    for _ in progress.steps(goal.rounds.total, _WHAT, counted=False):
        point = next(steps)
    return point


def _proposed(
    problem: Problem, risk: Risk, features: int, goal: Goal, progress: Progress
) -> Array | None:
    """Return a point that passed the test of tol, None if none did or anything went wrong.

    What goes wrong may depend on the data (a solver that leaves the range of floats, say), so it
    must not be heard of; an error that has another cause comes up again in the accelerated steps.
    """
    try:
        with np.errstate(all="ignore"):
            start = _quasi_newton(problem, risk, features, goal.tolerance / 4, progress)
            return _spectral(problem, risk, start, goal, progress)
    except (ArithmeticError, ValueError):
        return None


def _spectral(
    problem: Problem, risk: Risk, start: Array, goal: Goal, progress: Progress
) -> Array | None:
    """Return the first point of some spectral projected steps that passes the test."""
    point, step = start, 1 / goal.smoothness
    gradient = risk.gradient(point) + problem.regularizer_gradient(point)
    for _ in progress.steps(_SPECTRAL_STEPS, _WHAT, counted=False):
        following = problem.constraint.project(point - step * gradient)
        ahead = risk.gradient(following) + problem.regularizer_gradient(following)
        moved, change = following - point, ahead - gradient
        # A subgradient of the constrained objective at the projected point, for any step.
        left = float(np.linalg.norm(change - moved / step)) + goal.error
        within = float(np.linalg.norm(following)) <= goal.largest_norm * (1 + 1e-9)
        if left <= goal.tolerance and within:
            return following
        point, gradient = following, ahead
        step = _next_step(goal, moved, change)
    return None


def _next_step(goal: Goal, moved: Array, change: Array) -> float:
    """Return Barzilai and Borwein's step, which lies between 1/L and 1/α."""
    curvature = float(np.vdot(moved, change))
    wanted = float(np.vdot(moved, moved)) / curvature if curvature > 0 else 0.0
    return min(max(wanted, 1 / goal.smoothness), 1 / goal.convexity)


def _quasi_newton(
    problem: Problem, risk: Risk, features: int, tolerance: float, progress: Progress
) -> Array:
    """Return about the minimiser: unconstrained if it is in the set, else on its edge."""
    start = problem.constraint.initial(features)

    def unfold(flat: Array) -> Array:
        return unpack(flat) if problem.loss.matrix else flat

    def fold(value: Array) -> Array:
        return pack(value) if problem.loss.matrix else value

    def objective(flat: Array) -> tuple[float, Array]:
        point = unfold(flat)
        shift = point - problem.center
        value, gradient = risk.value_and_gradient(point)
        value += problem.regularization / 2 * float(np.vdot(shift, shift))
        return value, fold(gradient + problem.regularizer_gradient(point))

    bar = progress.steps(_NEWTON_STEPS, _WHAT, counted=False)

    def one_more(xk: NDArray[Any]) -> None:
        next(bar, None)

    found = minimize(
        objective,
        fold(start),
        jac=True,
        method="L-BFGS-B",
        callback=one_more,
        options={"maxiter": _NEWTON_STEPS, "gtol": tolerance / math.sqrt(start.size), "ftol": 0.0},
    )
    bar.close()
    return problem.constraint.project(unfold(found.x))


register_algorithm("minimizer", MinimizerRelease())


@register_candidates("ranking", order=10)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    yield from best(
        task.regularized_candidate(
            problem, MinimizerRelease(), problem.regularization, task.noise(moved)
        )
        for problem, moved in task.regularized
    )


@register_candidates("metric", order=10)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    if task.all_pairs:
        yield from task.minimized(
            lambda problem: MinimizerRelease(),
            lambda problem, draft: (task.noise_of(draft), math.inf),
        )


@register_candidates("linear", order=10)
def _linear(task: LinearTask) -> Iterator[Candidate]:
    if not task.has_minimizer:
        return
    pull = task.balanced()
    noise, bias = task.noise / pull, pull * task.problem.constraint.radius**2 / 2
    error = bias + task.problem.constants(task.n).smoothness * noise**2 / 2
    reason = f"noise on the minimiser, predicted excess risk {error:.3g}"
    problem = replace(task.problem, regularization=pull)
    yield Candidate(problem, MinimizerRelease(), error, reason)
