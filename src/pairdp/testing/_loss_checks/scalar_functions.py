"""Checks of losses that are functions of one number.

A ranking loss is a function φ of a score difference; a metric loss is two functions of a squared
distance. One number can be searched on a grid, so these checks are nearly exhaustive and do not
depend on random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.convexity import declared_convex
from pairdp.losses.metric import MetricLoss
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.scalar_slope import ScalarSlope, scalar_slope_of
from pairdp.score_sums.all_pairs import AllPairs
from pairdp.testing._loss_checks.report import Check, problem_check
from pairdp.testing._loss_checks.search_space import Loss, SearchSpace, Subject
from pairdp.testing._loss_checks.structures import structure_problem

Array = NDArray[np.float64]
_FAR = 200.0
_EPS = 64 * float(np.finfo(float).eps)
_TUPLES = 200
_AGREE = 1e-9
_LONG, _SHORT = 1e-4, 1e-5


@dataclass(frozen=True)
class ScalarFunction:
    """A function of one number with its derivative, on an interval."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    low: float
    high: float

    def grid(self) -> Array:
        """Return points of the interval: evenly spaced, and denser around zero."""
        low, high = max(self.low, -_FAR), min(self.high, _FAR)
        even = np.linspace(low, high, 2001)
        dense = np.concatenate([even / 10, even / 100])
        return np.unique(np.concatenate([even, np.clip(dense, low, high)]))

    def derivative_bound(self) -> float:
        """Return the largest |slope| found."""
        return float(np.abs(self.slope(self.grid())).max())

    def curvature(self) -> float:
        """Return the largest difference quotient of the slope, on refined grids."""
        points, largest = self.grid(), 0.0
        for _ in range(4):
            if len(points) < 2:
                break
            slopes = self.slope(points)
            noise = _EPS * (np.abs(slopes[1:]) + np.abs(slopes[:-1]))
            quotients = (np.abs(np.diff(slopes)) - noise) / np.diff(points)
            worst = int(quotients.argmax())
            largest = max(largest, float(quotients[worst]))
            around = points[max(worst - 1, 0)], points[min(worst + 2, len(points) - 1)]
            points = np.unique(np.linspace(*around, 200))
        return largest

    def problem(self, convex: bool) -> str:
        """Return where the slope is not the derivative of the value; empty if nowhere."""
        return self._subgradient_problem() if convex else self._difference_problem()

    def convexity_problem(self) -> str:
        """Return where the function is above a chord and so not convex; empty if nowhere."""
        points = self.grid()
        if len(points) < 3:
            return ""
        values = self.value(points)
        share = (points[1:-1] - points[:-2]) / (points[2:] - points[:-2])
        above = values[1:-1] - share * values[2:] - (1 - share) * values[:-2]
        wrong = above > 1e-12 * np.abs(values).max()
        return f"around {points[1 + int(wrong.argmax())]:.6g}" if wrong.any() else ""

    def _difference_problem(self) -> str:
        """Return where the slope differs from difference quotients, except at kinks."""
        points = self.grid()
        values, slopes = self.value(points), self.slope(points)
        far, near = (
            (self.value(points + h) - self.value(points - h)) / (2 * h) for h in (_LONG, _SHORT)
        )
        size = np.abs(near) + np.abs(slopes)
        smooth = np.abs(far - near) <= 1e-6 * size
        rounding = 1e-14 / _SHORT * np.abs(values)
        wrong = smooth & (np.abs(near - slopes) > 1e-4 * size + rounding)
        return f"at {points[int(wrong.argmax())]:.6g}" if wrong.any() else ""

    def _subgradient_problem(self) -> str:
        """Return where the slope is not a subgradient of the value."""
        points = self.grid()
        values, slopes, steps = self.value(points), self.slope(points), np.diff(points)
        slack = 1e-12 * (np.abs(values).max() + np.abs(slopes).max())
        forward = values[1:] - values[:-1] - slopes[:-1] * steps
        backward = values[:-1] - values[1:] + slopes[1:] * steps
        wrong = (forward < -slack) | (backward < -slack) | (np.diff(slopes) < -slack)
        if not wrong.any():
            return ""
        at = int(wrong.argmax())
        return f"between {points[at]:.6g} and {points[at + 1]:.6g}"


def scalar_function_checks(
    subject: Subject, space: SearchSpace, rng: np.random.Generator, tolerance: float
) -> Iterator[Check]:
    """Yield the checks of losses of a score or of a distance; none for others."""
    loss = subject.loss
    if isinstance(loss, RankingLoss):
        yield from _ranking(loss, space, rng, tolerance)
    elif isinstance(loss, MetricLoss):
        yield from _metric(loss, space, rng, tolerance)
    declared = scalar_slope_of(loss)
    if declared is not None:
        yield problem_check("scalar_slope", space, _scalar_slope_problem(loss, declared, space))


def _scalar_slope_problem(loss: Loss, declared: ScalarSlope, space: SearchSpace) -> str:
    """Say where the slope of one number is not that of an array, or not the gradient's factor."""
    formula, parameters = declared
    scores = np.linspace(-20.0, 20.0, 800)
    for label in space.labels:
        arguments: tuple[float, ...] = parameters
        if isinstance(loss, PointwiseLoss):
            gradients = loss.gradient(np.ones(1), scores[:, None], np.full(scores.size, label))
            arguments, expected = (label, *parameters), gradients[:, 0] / scores
        elif isinstance(loss, RankingLoss):
            expected = loss.slope(scores)
        found = np.array([formula(score, *arguments) for score in scores.tolist()])
        wrong = ~np.isclose(found, expected, rtol=_AGREE, atol=_EPS * np.abs(expected).max())
        if wrong.any():
            return f"at {scores[wrong.argmax()]:.6g} it is {found[wrong.argmax()]:.9g}"
    return ""


def _ranking(
    loss: RankingLoss, space: SearchSpace, rng: np.random.Generator, tolerance: float
) -> Iterator[Check]:
    margin_bound = loss.margin_bound(space.domain)
    within = ScalarFunction(loss.phi, loss.slope, -margin_bound, margin_bound)
    wide = ScalarFunction(loss.phi, loss.slope, -max(margin_bound, 50.0), max(margin_bound, 50.0))
    yield problem_check("phi and slope", space, _ranking_problem(loss, space, rng))
    convex = declared_convex(loss)
    yield problem_check("slope of phi", space, wide.problem(convex))
    if convex:
        yield problem_check("convex phi", space, wide.convexity_problem())
    yield _bound(
        "derivative_bound",
        space,
        loss.derivative_bound(margin_bound),
        within.derivative_bound(),
        tolerance,
    )
    yield _bound("curvature", space, loss.curvature(margin_bound), within.curvature(), tolerance)
    if loss.decreasing:
        slopes = loss.slope(wide.grid())
        where = wide.grid()[slopes.argmax()]
        rises = f"the slope at {where:.6g} is {slopes.max():.6g}: declare decreasing = False"
        yield problem_check("decreasing", space, rises if slopes.max() > 0 else "")
    structure = loss.structure()
    if not isinstance(structure, AllPairs):
        yield problem_check("structure", space, structure_problem(loss.phi, loss.slope, structure))


def _ranking_problem(loss: RankingLoss, space: SearchSpace, rng: np.random.Generator) -> str:
    w = space.moderate.random_parameters(rng)
    x, y = space.random_records(rng, _TUPLES, 2)
    apart, turn = x[:, 0] - x[:, 1], np.sign(y[:, 0] - y[:, 1])
    counted = np.ones(len(y), dtype=bool) if loss.form == "two-sided" else turn > 0
    u = loss.scale * turn * (apart @ w)
    values = np.where(counted, loss.phi(u), 0.0)
    slopes = np.where(counted, loss.scale * turn * loss.slope(u), 0.0)
    arguments = (w, x[:, 0], y[:, 0], x[:, 1], y[:, 1])
    return _disagreement(
        loss.value(*arguments), values, loss.gradient(*arguments), slopes[:, None] * apart
    )


def _metric(
    loss: MetricLoss, space: SearchSpace, rng: np.random.Generator, tolerance: float
) -> Iterator[Check]:
    nearest, farthest = loss.distances(space.domain)
    yield problem_check("distance and slope", space, _metric_problem(loss, space, rng))
    declared, convex = loss.derivative_bound(nearest, farthest), declared_convex(loss)
    for similar, derivative_bound in zip((True, False), declared, strict=True):
        line = _distance_function(loss, similar, nearest, farthest)
        kind = "similar" if similar else "dissimilar"
        yield problem_check(f"slope of {kind}", space, line.problem(convex))
        if convex:
            yield problem_check(f"convex for {kind}", space, line.convexity_problem())
        slopes = line.slope(line.grid()) * (1 if similar else -1)
        wrong_way = f"a slope of {kind} pairs is {'below' if similar else 'above'} zero"
        yield problem_check(f"sign of {kind}", space, wrong_way if slopes.min() < 0 else "")
        yield _bound(
            f"derivative_bound of {kind}",
            space,
            derivative_bound,
            line.derivative_bound(),
            tolerance,
        )
        curvature = loss.curvature(nearest, farthest)
        yield _bound("curvature", space, curvature, line.curvature(), tolerance)


def _distance_function(loss: MetricLoss, similar: bool, low: float, high: float) -> ScalarFunction:
    def mask(squared: Array) -> NDArray[np.bool_]:
        return np.full(squared.shape, similar)

    return ScalarFunction(
        lambda squared: loss.of_distance(squared, mask(squared)),
        lambda squared: loss.slope(squared, mask(squared)),
        low,
        high,
    )


def _metric_problem(loss: MetricLoss, space: SearchSpace, rng: np.random.Generator) -> str:
    w = space.moderate.random_parameters(rng)
    x, y = space.random_records(rng, _TUPLES, 2)
    apart, similar = x[:, 0] - x[:, 1], y[:, 0] == y[:, 1]
    squared = ((apart @ w) * apart).sum(axis=1)
    squares = apart[:, :, None] * apart[:, None, :]
    arguments = (w, x[:, 0], y[:, 0], x[:, 1], y[:, 1])
    return _disagreement(
        loss.value(*arguments),
        loss.of_distance(squared, similar),
        loss.gradient(*arguments),
        loss.slope(squared, similar)[:, None, None] * squares,
    )


def _disagreement(values: Array, expected: Array, gradients: Array, built: Array) -> str:
    if not np.allclose(values, expected, rtol=_AGREE, atol=_AGREE * np.abs(expected).max()):
        return "the value of a pair is not the function of its one number"
    # At a kink either one-sided slope is valid, so a few pairs may differ.
    close = np.isclose(gradients, built, rtol=_AGREE, atol=_AGREE * np.abs(built).max())
    if (~close.reshape(len(values), -1).all(axis=1)).mean() > 0.02:
        return "the gradient of a pair is not its slope times the derivative of its one number"
    return ""


def _bound(name: str, space: SearchSpace, declared: float, found: float, tolerance: float) -> Check:
    passed = not math.isnan(declared) and found <= declared * (1 + tolerance)
    return Check(name, passed, str(space), declared, found)
