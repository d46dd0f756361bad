"""Output perturbation of the regularised minimiser, with a tolerance that holds for all data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import RECORDS, between, keep
from pairdp.algorithms.accelerated import LIMIT, Rounds, descend_in_rounds, rounds_to_reach
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.descent import known_radius
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.noise_propagation import output_noise
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.pairs import ACCURACY, Risk
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource, pack, unpack
from pairdp.problem import Problem
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import LinearTask, MetricTask, RankingTask

Array = NDArray[np.float64]
_NEWTON_STEPS = 200
_SPECTRAL_STEPS = 200
_MOST_STEPS = 200_000
_ROUNDING, _ROUNDING_PER_FEATURE = 1e-14, 5e-16
_WHAT = "minimising"


@dataclass(frozen=True)
class MinimizerSettings(Settings):
    """tol, and the number of accelerated steps that reach it for all data."""

    tolerance: float
    most_steps: int


@dataclass(frozen=True)
class MinimizerRelease(Algorithm[MinimizerSettings]):
    r"""Output perturbation of the minimiser of a strongly convex problem over its constraint set.

    The distance between minimisers w\* of neighbouring data sets is at most D_h/(αn). Noise is
    added to a point within tol/α of w\* **for every data set**, so its sensitivity is at most
    D_h/(αn) + 2·tol/α. Such a point is found in one of two ways.

    1. A quasi-Newton solver and, where the constraint is active, spectral projected steps propose
       a point; both have a public limit on their steps, and neither is trusted. A proposal is
       accepted only if it passes a test: a projected step from c to p = Π(c - ηg(c)) has v = g(p) +
       (c - ηg(c) - p)/η, and \|v\| + e ≤ tol, where e bounds how far the computed g is from the
       exact ∇F. As (c - ηg(c) - p)/η is normal to the set at p, strong convexity gives α\|p - w\*\|
       ≤ \|v\| + e ≤ tol.
    2. If no proposal passes, accelerated steps from the public start, as many as were planned, end
       within tol/α of w\* by the proof in `pairdp.algorithms.accelerated`; no test is needed.

    Which of the two was used affects no error message, and affects the released point by less than
    the sensitivity that the noise is calibrated to. The running time depends on the data, and the
    guarantee does not cover it; it is bounded in advance, and plans that need more than 200 000
    accelerated steps raise an error, from public facts.

    e is 10⁻¹²·G, the stated accuracy of sums over pairs, and 10⁻¹⁴ + 5·10⁻¹⁶·d of G + L·(the size
    of parameters), for the rounding of steps, which is accounted for as a gradient error: the
    relative error of a projection in d features is at most (6 + 4d)·2⁻⁵³.

    Parameters
    ----------
    tolerance : float, optional
        tol as a fraction of the gradient's sensitivity D_h/n; 0.01 by default, which adds 2 % of
        noise. 24e is added to tol, so that computed gradients can pass the test.
    name : str
        Name in certificates.
    """

    tolerance: float = 0.01
    name: str = "Minimiser with output noise"

    settings_type = MinimizerSettings
    offers_units: ClassVar[bool] = True
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
        sensitivity = task.sensitivity("regularised minimiser", **inputs)
        release = output_release("minimiser", task, sensitivity, sensitivity.value)
        return PlanDraft((release,), MinimizerSettings(goal.tolerance, goal.rounds.total))

    def _record_diameter(self, task: Task) -> float:
        # The minimiser is within G/λ of the centre for all data.
        radius = known_radius(task.problem, 1 / task.problem.regularization, 2)
        return task.problem.record_diameter(task.n, radius)

    def _goal(self, task: Task) -> Goal:
        """Return the accuracy that the point must have, from public facts alone."""
        problem, constants = task.problem, task.problem.constants(task.n)
        convexity, smoothness = constants.strong_convexity, constants.smoothness
        center = float(np.linalg.norm(problem.center))
        # |w* - Π(w₀)| ≤ G/λ, and accelerated iterates stay within twice their initial distance to
        # w*.
        start_distance = constants.lipschitz / convexity + center
        largest_norm = min(problem.constraint.radius, 3 * start_distance)
        size = constants.lipschitz + smoothness * (largest_norm + center)
        rounding = _ROUNDING + _ROUNDING_PER_FEATURE * task.features
        error = ACCURACY * constants.lipschitz + rounding * size
        tolerance = self.tolerance * self._record_diameter(task) / task.n + LIMIT * error
        start_distance = min(start_distance, task.diameter)
        rounds = rounds_to_reach(tolerance / convexity, start_distance, smoothness, convexity)
        return Goal(tolerance + LIMIT * error, error, largest_norm, smoothness, convexity, rounds)

    def _parameter_noise(self, plan: Plan[MinimizerSettings], fit: Fit) -> ParameterNoise:
        return output_noise(plan)

    def check_parts(self, plan: Plan[MinimizerSettings]) -> None:
        """Raise ValueError if the gradient of the risk is not a sum over parts."""
        plan.problem.check_parts()

    def execute(
        self,
        plan: Plan[MinimizerSettings],
        records: Records | PartitionedRecords,
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
    """The accuracy that a point must have, in public numbers.

    Attributes
    ----------
    tolerance : float
        tol.
    error : float
        e, a bound on the error of a computed gradient.
    largest_norm : float
        The largest norm of parameters for which that holds; that of the minimiser is smaller.
    smoothness, convexity : float
        L and α.
    rounds : Rounds
        The rounds that end within tol/α of the minimiser from any starting point.
    """

    tolerance: float
    error: float
    largest_norm: float
    smoothness: float
    convexity: float
    rounds: Rounds


def solve(problem: Problem, risk: Risk, features: int, goal: Goal, progress: Progress) -> Array:
    """Return a point of the set within tol/α of the minimiser, for all data."""
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
    """Return a point that passed the test, or None if none did or the solver failed.

    A failure (such as an overflow in the solver) may depend on the data, so it must not be
    reported; an error with another cause is raised again by the accelerated steps.
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
    """Return the first iterate of spectral projected gradient that passes the test."""
    point, step = start, 1 / goal.smoothness
    gradient = risk.gradient(point) + problem.regularizer_gradient(point)
    for _ in progress.steps(_SPECTRAL_STEPS, _WHAT, counted=False):
        next_point = problem.constraint.project(point - step * gradient)
        next_gradient = risk.gradient(next_point) + problem.regularizer_gradient(next_point)
        step_taken, change = next_point - point, next_gradient - gradient
        # A subgradient of the constrained objective at the projected point, for any step.
        residual = float(np.linalg.norm(change - step_taken / step)) + goal.error
        within = float(np.linalg.norm(next_point)) <= goal.largest_norm * (1 + 1e-9)
        if residual <= goal.tolerance and within:
            return next_point
        point, gradient = next_point, next_gradient
        step = _next_step(goal, step_taken, change)
    return None


def _next_step(goal: Goal, step_taken: Array, change: Array) -> float:
    """Return the Barzilai-Borwein step, limited to the interval from 1/L to 1/α."""
    curvature = float(np.vdot(step_taken, change))
    ratio = float(np.vdot(step_taken, step_taken)) / curvature if curvature > 0 else 0.0
    return min(max(ratio, 1 / goal.smoothness), 1 / goal.convexity)


def _quasi_newton(
    problem: Problem, risk: Risk, features: int, tolerance: float, progress: Progress
) -> Array:
    """Return the projection of an approximate unconstrained minimiser."""
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

    def advance_bar(xk: NDArray[Any]) -> None:
        next(bar, None)

    from scipy.optimize import minimize  # which takes long to import

    found = minimize(
        objective,
        fold(start),
        jac=True,
        method="L-BFGS-B",
        callback=advance_bar,
        options={"maxiter": _NEWTON_STEPS, "gtol": tolerance / math.sqrt(start.size), "ftol": 0.0},
    )
    bar.close()
    return problem.constraint.project(unfold(found.x))


register_algorithm("minimizer", MinimizerRelease())


@register_candidates("ranking", order=10)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    yield from best(
        task.regularized_candidate(
            problem, MinimizerRelease(), problem.regularization, task.noise_on_weights(sensitivity)
        )
        for problem, sensitivity in task.regularized
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
    strength = task.balanced()
    noise, bias = task.gradient_noise / strength, strength * task.problem.constraint.radius**2 / 2
    error = bias + task.problem.constants(task.n).smoothness * noise**2 / 2
    reason = f"noise on the minimiser, predicted excess risk {error:.3g}"
    problem = replace(task.problem, regularization=strength)
    yield Candidate(problem, MinimizerRelease(), error, reason)
