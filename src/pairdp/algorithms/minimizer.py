"""Output noise on the exact regularised minimiser, found by a quasi-Newton solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pairdp._checks import keep, positive
from pairdp.algorithms.base import Algorithm, Draft, Plan
from pairdp.algorithms.descent import contraction, known_radius, steps_to_shrink
from pairdp.algorithms.noise import add_noise, output_release
from pairdp.algorithms.progress import Progress
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Task
from pairdp.pairs import Risk
from pairdp.privacy import NoiseSource, Sensitivity, pack, unpack
from pairdp.problem import Problem, ProblemConstants
from pairdp.records import Records

Array = NDArray[np.float64]
_NEWTON_STEPS = 200
_SPECTRAL_STEPS = 200
_TOO_MANY = 10**7


@dataclass(frozen=True)
class MinimizerRelease(Algorithm):
    r"""The minimiser of a strongly convex problem over its constraint set, with noise.

    Minimisers of neighbouring data sets are at most D_h/(αn) apart. A point whose subgradient of
    the constrained objective has norm at most tol is within tol/α of the minimiser, so
    released points are at most D_h/(αn) + 2·tol/α apart. A quasi-Newton solver gets there in a
    dozen gradients, spectral projected steps when the constraint is active; plain projected
    gradient descent, whose number of steps is bounded in advance, finishes whatever they
    leave. How long that takes depends on the data and is not covered, as no timing is; the
    result is within the tolerance in any case.

    Parameters
    ----------
    tolerance : float, optional
        tol, relative to the gradient's sensitivity D_h/n; 0.01 by default, which costs 2 % of
        noise.
    name : str
        What certificates call it.
    """

    tolerance: float = 0.01
    name: str = "Minimiser with output noise"

    def __post_init__(self) -> None:
        keep(self, "tolerance", positive("tolerance", self.tolerance))

    instead: ClassVar[str] = 'use GradientDescent(output="average") or PairwiseSGD'

    @property
    def needs(self) -> tuple[Need, ...]:
        """Smoothness, bounded gradients and strong convexity."""
        return (Need.SMOOTH, Need.LIPSCHITZ, Need.STRONGLY_CONVEX)

    def draft(self, task: Task) -> Draft:
        """Decide the tolerance and the noise."""
        problem = task.problem
        if task.is_printed:
            raise ValueError(f"{self.name} is in none of the papers: use certified")
        # The minimiser is within G/λ of the centre, whatever the data.
        radius = known_radius(problem, 1 / problem.regularization, 2)
        one_record = problem.one_record(task.n, radius)
        tolerance = self.tolerance * one_record / task.n
        if _most_steps(problem, task.n, task.features, tolerance) > _TOO_MANY:
            raise ValueError(
                f"{self.name} could need more than {_TOO_MANY:.0e} steps for its tolerance: use "
                "a larger regularization, or a larger tolerance"
            )
        inputs = {
            "one_record": one_record,
            "n": task.n,
            "strong_convexity": problem.regularization,
            "tolerance": tolerance,
        }
        if math.isfinite(task.diameter):
            inputs["diameter"] = task.diameter
        sensitivity = Sensitivity.of("regularised minimiser", **inputs)
        release = output_release("minimiser", task, sensitivity, sensitivity.value)
        return Draft((release,), {"tolerance": tolerance})

    def execute(
        self, plan: Plan, records: Records, noise: NoiseSource, progress: Progress
    ) -> Array:
        """Return the noisy minimiser, projected."""
        problem = plan.problem
        tolerance = float(plan.settings["tolerance"])  # type: ignore[arg-type]
        point = solve(problem, problem.risk(records), records, tolerance, progress)
        (release,) = plan.certificate.releases
        noisy = add_noise(release.mechanism, point, noise.stream("output noise"))
        return problem.constraint.project(noisy)


def solve(
    problem: Problem, risk: Risk, records: Records, tolerance: float, progress: Progress
) -> Array:
    """Return a point of the set with a subgradient of norm at most ``tolerance``."""
    point = _quasi_newton(problem, risk, records.features, tolerance / 4, progress)
    constants = problem.constants(records.n)
    step = plain = 1 / constants.smoothness
    most = _most_steps(problem, records.n, records.features, tolerance)
    gradient = risk.gradient(point) + problem.pull(point)
    for i in progress.steps(_SPECTRAL_STEPS + most, "minimising", counted=False):
        following = problem.constraint.project(point - step * gradient)
        ahead = risk.gradient(following) + problem.pull(following)
        moved, turned = following - point, ahead - gradient
        # A subgradient of the constrained objective at the projected point, for any step.
        left = turned - moved / step
        point, gradient = following, ahead
        if np.linalg.norm(left) <= tolerance:
            break
        step = _next_step(constants, moved, turned) if i < _SPECTRAL_STEPS else plain
    return point


def _most_steps(problem: Problem, n: int, features: int, tolerance: float) -> int:
    """Return how many plain steps bring the subgradient below the tolerance from any start."""
    constants = problem.constants(n)
    q = contraction(1 / constants.smoothness, constants.smoothness, constants.strong_convexity)
    far = min(
        problem.constraint.diameter(features),
        2 * constants.lipschitz / constants.strong_convexity,
    )
    return steps_to_shrink(q, 4 * far * constants.smoothness / tolerance, _TOO_MANY) + 1


def _next_step(constants: ProblemConstants, moved: Array, turned: Array) -> float:
    """Return Barzilai and Borwein's step, which lies between 1/L and 1/α."""
    bend = float(np.vdot(moved, turned))
    wanted = float(np.vdot(moved, moved)) / bend if bend > 0 else 0.0
    return min(max(wanted, 1 / constants.smoothness), 1 / constants.strong_convexity)


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
        return value, fold(gradient + problem.pull(point))

    bar = progress.steps(_NEWTON_STEPS, "minimising", counted=False)

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
