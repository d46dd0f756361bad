r"""An estimate of the Polyak–Łojasiewicz constant along a path (Kang 2021, definition 5).

F satisfies the condition with parameter μ > 0 if, for *all* w,

.. math:: |∇F(w)|² ≥ 2μ (F(w) - F^*), \qquad F^* = \min_C F.

Points on a path can refute a value of μ and never prove one: the smallest ratio
\|∇F(w)\|²/(2(F(w) - F\*)) found is at least the true constant, if F\* is exact. F\* is computed and
may be too large for a loss that is not convex, which makes the ratios larger. On a bounded set, at
whose boundary gradients do not vanish, large ratios say little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.algorithms.plan import Progress
from pairdp.diagnostics.minimum import non_private_minimizer, step_to
from pairdp.diagnostics.not_private import NotPrivate
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_RESOLVED = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class NonPrivatePLEstimate(NotPrivate):
    r"""Ratios \|∇F\|²/(2(F - F\*)) along a path: an estimate, NOT a bound, and NOT private.

    Attributes
    ----------
    ratios : array of shape (T,)
        The ratio at every point; NaN where F - F\* is lost in rounding.
    gaps : array of shape (T,)
        F - F\*.
    minimum : float
        F\*, the smallest value found.
    strong_convexity : float
        The α that is known of F. Without an active constraint, the true constant is at least α.
    """

    ratios: Array
    gaps: Array
    minimum: float
    strong_convexity: float

    @property
    def estimate(self) -> float:
        """The smallest ratio. If the condition holds, its constant is at most about this."""
        known = self.ratios[np.isfinite(self.ratios)]
        return float(known.min()) if known.size else math.nan

    def lines(self) -> list[str]:
        """Return the result in words."""
        used = int(np.isfinite(self.ratios).sum())
        return [
            f"ESTIMATE of the Polyak–Łojasiewicz constant: {self.estimate:.4g}",
            f"it is the smallest ratio at {used} of {self.ratios.size} points of a path",
            "if the condition holds for all w, its constant is at most about this",
            "no path shows that the condition holds",
            f"known strong convexity: {self.strong_convexity:.4g}",
        ]


def estimate_pl_constant(
    problem: Problem,
    records: Records,
    path: Sequence[Array] | Array | None = None,
    *,
    steps: int = 100,
    progress: bool | None = None,
) -> NonPrivatePLEstimate:
    """Estimate the Polyak–Łojasiewicz constant of F along a path. NOT private.

    Parameters
    ----------
    problem, records
        A problem with a smooth loss, and its data.
    path : sequence of parameters, optional
        The points; by default those of noise-free projected gradient descent with step size 1/L.
    steps : int
        The number of steps of the default path.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    """
    integer("steps", steps)
    minimizer = non_private_minimizer(problem, records, progress=progress)
    if path is None:
        path = _descent(problem, records, steps)
    points = [np.asarray(point, dtype=np.float64) for point in path]
    if not points:
        raise ValueError("the path must have at least one point")
    values, squares = [], []
    for k in Progress(progress).steps(len(points), "path"):
        values.append(problem.value(points[k], records))
        gradient = problem.gradient(points[k], records)
        squares.append(float(np.vdot(gradient, gradient)))
    minimum = min(problem.value(minimizer, records), *values)
    gaps = np.array(values) - minimum
    resolved = gaps > _RESOLVED * max(abs(minimum), float(gaps.max()))
    ratios = np.full(gaps.size, np.nan)
    ratios[resolved] = np.array(squares)[resolved] / (2 * gaps[resolved])
    return NonPrivatePLEstimate(ratios, gaps, minimum, problem.strong_convexity)


def _descent(problem: Problem, records: Records, steps: int) -> list[Array]:
    step = 1 / problem.constants(max(records.n, 2)).smoothness
    points = [problem.constraint.initial(records.features)]
    for _ in range(steps):
        points.append(step_to(problem, records, points[-1], step))
    return points
