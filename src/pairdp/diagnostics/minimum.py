"""The minimiser of a problem without noise, which diagnostics refer to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pairdp.algorithms.plan import Progress
from pairdp.diagnostics.curvature import packed
from pairdp.privacy import unpack
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_TOLERANCE = 1e-10
_NEWTON_STEPS, _PROJECTED_STEPS = 1000, 5000


def non_private_minimizer(
    problem: Problem, records: Records, *, progress: bool | None = None
) -> Array:
    """Return the minimiser of F over the constraint set. It has no noise and is NOT private.

    A quasi-Newton solver is followed by accelerated projected steps, until a projected step moves
    by less than 1e-10·G/L. A problem that is not strongly convex may stop earlier, and one that is
    not convex may end in a local minimum.

    Parameters
    ----------
    problem : Problem
        The problem, with a smooth loss.
    records : Records
        The data, from ``problem.records(x, y)``.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal, if it takes more than two seconds.
    """
    constants = problem.constants(max(records.n, 2))
    if not np.isfinite(constants.smoothness):
        raise ValueError(
            f"{type(problem.loss).__name__} is not smooth on this set: use a smooth loss, such as "
            "the logistic one or a hinge with a width"
        )
    step = 1 / constants.smoothness
    start = problem.constraint.initial(records.features)
    scale = max(float(np.linalg.norm(problem.gradient(start, records))), 1e-12)
    shown = Progress(progress)
    point = problem.constraint.project(_quasi_newton(problem, records, start, scale, shown))
    return _projected(problem, records, point, step, _TOLERANCE * scale * step, shown)


def step_to(problem: Problem, records: Records, point: Array, step: float) -> Array:
    """Return the end of a projected gradient step."""
    return problem.constraint.project(point - step * problem.gradient(point, records))


def _quasi_newton(
    problem: Problem, records: Records, start: Array, scale: float, progress: Progress
) -> Array:
    """Return the minimiser without the constraint, approximately."""

    def unfold(flat: Array) -> Array:
        return unpack(flat) if start.ndim == 2 else flat

    risk = problem.risk(records)

    def objective(flat: Array) -> tuple[float, Array]:
        point = unfold(flat)
        value, gradient = risk.value_and_gradient(point)
        slope = problem.regularizer_gradient(point)
        value += float(np.vdot(slope, point - problem.center)) / 2
        return value, packed(gradient + slope)

    bar = progress.steps(_NEWTON_STEPS, "minimising", counted=False)

    def advance_bar(xk: NDArray[Any]) -> None:
        next(bar, None)

    found = minimize(
        objective,
        packed(start),
        jac=True,
        method="L-BFGS-B",
        callback=advance_bar,
        options={"maxiter": _NEWTON_STEPS, "gtol": _TOLERANCE * scale, "ftol": 0.0},
    )
    bar.close()
    return unfold(found.x)


def _projected(
    problem: Problem, records: Records, start: Array, step: float, enough: float, progress: Progress
) -> Array:
    """Return the end of accelerated projected steps, restarted where they go back."""
    point, ahead, t = start, start, 1.0
    for _ in progress.steps(_PROJECTED_STEPS, "minimising", counted=False):
        reached = step_to(problem, records, ahead, step)
        moved = reached - point
        if float(np.linalg.norm(reached - ahead)) <= enough:
            return reached
        if float(np.vdot(ahead - reached, moved)) > 0:  # the momentum points uphill
            t = 1.0
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead, point, t = reached + (t - 1) / following * moved, reached, following
    return point
