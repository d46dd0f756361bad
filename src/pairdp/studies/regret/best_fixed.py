r"""The model of least risk in a set, with a bound on its suboptimality. Not private.

The minimiser is found by projected accelerated gradient steps with backtracking, at smoothness M. A
step from y to w, with G = M(y - w), whose value stays below its quadratic model proves, for a
problem of strong convexity λ and all v in the set of diameter D,

.. math:: F(w) - F(v) ≤ \min\Big(|G|D + \frac{|G|^2}{2M}, \frac{|G|^2}{2λ} - \frac{|G|^2}{2M}\Big).

A sharp hinge max(r, 0) is rounded first, to max αr - hα²/2 over 0 ≤ α ≤ 1. A tangent of the
rounded risk at y, raised by the average of hα²/2, is still below the sharp one, and that average
is at least F_h(y) - F_{2h}(y), as F_h is convex in h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.losses import HingeMetric, HingeRanking, PairwiseLoss
from pairdp.pairs import Risk
from pairdp.problem import Problem

Array = NDArray[np.float64]
_MOST_STEPS = 3000
_WIDTHS = (0.1, 0.01, 1e-3, 1e-4)
_MOST_SMOOTHNESS = 1e14


class Best(NamedTuple):
    """A model, its value, and a bound on how far that is above the least value."""

    parameters: Array
    value: float
    gap: float


def best_fixed(
    problem: Problem, features: int, risk: Callable[[PairwiseLoss], Risk], tolerance: float
) -> Best:
    """Return the model of least risk in the set, regulariser included.

    Parameters
    ----------
    problem : Problem
        Its set, regulariser and loss.
    features : int
        Number of features.
    risk : callable
        Returns the average of a loss to be minimised.
    tolerance : float
        The gap to aim at. The gap that is proved is returned, and may be larger; on an unbounded
        set without a regulariser, and for a loss that is not convex, it is infinite.
    """
    loss = problem.loss
    start = problem.constraint.project(problem.constraint.initial(features) + problem.center)
    if not isinstance(loss, HingeRanking | HingeMetric) or loss.width > 0:
        found = _minimise(_Objective(problem, risk(loss)), start, features, tolerance)
        return Best(found.parameters, found.value, max(found.value - found.lower, 0.0))
    sharp = _Objective(problem, risk(loss))
    best, lower = Best(start, sharp.value(start), math.inf), -math.inf
    for width in _WIDTHS:
        rounded = _Objective(problem, risk(replace(loss, width=width)))
        wider = _Objective(problem, risk(replace(loss, width=2 * width)))
        found = _minimise(rounded, best.parameters, features, tolerance / 2)
        raised = rounded.value(found.tangent) - wider.value(found.tangent)
        lower = max(lower, found.lower + raised)
        value = sharp.value(found.parameters)
        if value <= best.value:
            best = Best(found.parameters, value, math.inf)
        best = best._replace(gap=max(best.value - lower, 0.0))
        if best.gap <= tolerance:
            break
    return best


def penalty(problem: Problem, point: Array) -> float:
    """Return the regulariser, λ/2·|w - w₀|²."""
    shift = point - problem.center
    return problem.regularization / 2 * float(np.vdot(shift, shift))


@dataclass(frozen=True)
class _Objective:
    """A risk with the problem's regulariser."""

    problem: Problem
    risk: Risk

    def value(self, point: Array) -> float:
        return self.risk.value(point) + penalty(self.problem, point)

    def value_and_gradient(self, point: Array) -> tuple[float, Array]:
        value, gradient = self.risk.value_and_gradient(point)
        added = self.problem.regularizer_gradient(point)
        return value + penalty(self.problem, point), gradient + added


class _Found(NamedTuple):
    """A model, its value, a lower bound on all values, and the point whose tangent proves it."""

    parameters: Array
    value: float
    lower: float
    tangent: Array


def _minimise(objective: _Objective, start: Array, features: int, tolerance: float) -> _Found:
    """Return about the minimiser, by accelerated steps that restart when the value increases."""
    problem = objective.problem
    diameter = problem.constraint.diameter(features)
    # A tangent is a lower bound only for convex functions.
    provable = problem.is_convex and (math.isfinite(diameter) or problem.is_strongly_convex)
    point, ahead, momentum, smoothness = start, start, 1.0, 1.0
    value = objective.value(start)
    best = _Found(start, value, -math.inf, start)
    for _ in range(_MOST_STEPS):
        here, gradient = objective.value_and_gradient(ahead)
        # Near the minimum both sides below agree up to rounding, which is no lack of smoothness.
        rounding = 1e-15 * (1 + abs(here))
        smoothness /= 2
        while True:
            following = problem.constraint.project(ahead - gradient / smoothness)
            moved = following - ahead
            size = float(np.vdot(moved, moved))
            reached = objective.value(following)
            model = here + float(np.vdot(gradient, moved)) + smoothness / 2 * size
            if reached <= model + rounding or smoothness > _MOST_SMOOTHNESS:
                break
            smoothness *= 2
        proved = _proved(smoothness, size, diameter, problem.regularization) + rounding
        if provable and smoothness <= _MOST_SMOOTHNESS and reached - proved > best.lower:
            best = best._replace(lower=reached - proved, tangent=ahead)
        if reached < best.value:
            best = best._replace(parameters=following, value=reached)
        done = best.value - best.lower if provable else smoothness * math.sqrt(size)
        if done <= tolerance or size == 0:
            break
        if reached > value:
            point = ahead = best.parameters
            value, momentum = best.value, 1.0
            continue
        grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / grown * (following - point)
        point, value, momentum = following, reached, grown
    return best


def _proved(smoothness: float, moved_squared: float, diameter: float, strong: float) -> float:
    """Return the bound on F(w) - F(v) of a step; see the module."""
    squared = smoothness**2 * moved_squared
    if squared == 0:
        return 0.0
    bounded = math.sqrt(squared) * diameter + squared / (2 * smoothness)
    convex = squared / (2 * strong) - squared / (2 * smoothness) if strong > 0 else math.inf
    return min(bounded, max(convex, 0.0))
