r"""The best fixed model of a stream, with a proof of how good it is. Not private.

The losses of a stream (Huai 2020, equation 3) are L̂_t(w) = Σ_{i<t} h(w; z_t, z_i)/(t-1), h the mean
of both orders of a pair. Their average over t = 2 … n is one of weighted pairs: the pair of records
i and j has the weight 1/(max(i, j)-1).

Its minimiser is found by projected accelerated gradient steps with a measured smoothness M. A step
from y to w, with G = M(y - w), that stays below its quadratic model proves, for a problem of strong
convexity λ and all v in the set of diameter D,

.. math:: F(w) - F(v) ≤ \min\Big(|G|D + \frac{|G|^2}{2M}, \frac{|G|^2}{2λ} - \frac{|G|^2}{2M}\Big).

A sharp hinge max(r, 0) is rounded first, to max αr - hα²/2 over 0 ≤ α ≤ 1. A tangent of the
rounded risk at y, raised by the average of hα²/2, is still below the sharp one, and that average
is at least F_h(y) - F_{2h}(y), as F_h is convex in h.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.one_against import one_against
from pairdp.losses import HingeMetric, HingeRanking, MetricLoss, PairwiseLoss, RankingLoss
from pairdp.pairs import Risk
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_BLOCK = 256
_MOST_STEPS = 3000
_WIDTHS = (0.1, 0.01, 1e-3, 1e-4)
_STEEPEST = 1e14


class Best(NamedTuple):
    """A model, its value, and how far above the least value that may be."""

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
        The gap that is aimed at. What is reached is proved and returned, and may be larger: for an
        unbounded set without a regulariser, and for a loss that is not convex, nothing is proved
        and the gap is infinite.
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


@dataclass(frozen=True)
class _Objective:
    """A risk with the problem's regulariser."""

    problem: Problem
    risk: Risk

    def _penalty(self, point: Array) -> float:
        shift = point - self.problem.center
        return self.problem.regularization / 2 * float(np.vdot(shift, shift))

    def value(self, point: Array) -> float:
        return self.risk.value(point) + self._penalty(point)

    def value_and_gradient(self, point: Array) -> tuple[float, Array]:
        value, gradient = self.risk.value_and_gradient(point)
        return value + self._penalty(point), gradient + self.problem.pull(point)


class _Found(NamedTuple):
    """A model, its value, a lower bound on all values, and where the tangent that proves it is."""

    parameters: Array
    value: float
    lower: float
    tangent: Array


def _minimise(objective: _Objective, start: Array, features: int, tolerance: float) -> _Found:
    """Return about the minimiser, by accelerated steps that start anew when they go up."""
    problem = objective.problem
    diameter = problem.constraint.diameter(features)
    # A tangent bounds a convex function alone from below.
    provable = problem.is_convex and (math.isfinite(diameter) or problem.is_strongly_convex)
    point, ahead, momentum, bend = start, start, 1.0, 1.0
    value = objective.value(start)
    best = _Found(start, value, -math.inf, start)
    for _ in range(_MOST_STEPS):
        here, gradient = objective.value_and_gradient(ahead)
        # Near the end the two sides below agree to rounding, which must not look like steepness.
        rounding = 1e-15 * (1 + abs(here))
        bend /= 2
        while True:
            following = problem.constraint.project(ahead - gradient / bend)
            moved = following - ahead
            size = float(np.vdot(moved, moved))
            reached = objective.value(following)
            model = here + float(np.vdot(gradient, moved)) + bend / 2 * size
            if reached <= model + rounding or bend > _STEEPEST:
                break
            bend *= 2
        proved = _proved(bend, size, diameter, problem.regularization) + rounding
        if provable and bend <= _STEEPEST and reached - proved > best.lower:
            best = best._replace(lower=reached - proved, tangent=ahead)
        if reached < best.value:
            best = best._replace(parameters=following, value=reached)
        done = best.value - best.lower if provable else bend * math.sqrt(size)
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


def _proved(bend: float, moved_squared: float, diameter: float, strong: float) -> float:
    """Return the bound on F(w) - F(v) of a step; see the module."""
    squared = bend**2 * moved_squared
    if squared == 0:
        return 0.0
    bounded = math.sqrt(squared) * diameter + squared / (2 * bend)
    convex = squared / (2 * strong) - squared / (2 * bend) if strong > 0 else math.inf
    return min(bounded, max(convex, 0.0))


def stream_risk(loss: PairwiseLoss, records: Records) -> Risk:
    """Return the average of L̂_2 … L̂_n, without the regulariser; O(n²d) time."""
    # A subclass with a value or a gradient of its own is taken at its word.
    own = type(loss)
    for base, kind in ((RankingLoss, _RankingStream), (MetricLoss, _MetricStream)):
        if isinstance(loss, base) and own.value is base.value and own.gradient is base.gradient:
            return kind(loss, records)
    return _AnyStream(loss, records)


def step_loss(loss: PairwiseLoss, parameters: Array, records: Records, t: int) -> float:
    """Return the average loss of the record at place t with the t before it, both orders.

    Pairs with a null record have the loss zero.
    """
    if records.null[t]:
        return 0.0
    x, y = records.x[:t], records.evaluable[:t]
    mine = np.broadcast_to(records.x[t], x.shape), np.broadcast_to(records.y[t], y.shape)
    values = loss.value(parameters, *mine, x, y)
    if not loss.symmetric:
        values = (values + loss.value(parameters, x, y, *mine)) / 2
    return float(np.mean(np.where(records.null[:t], 0.0, values)))


@dataclass(frozen=True)
class _Stream(ABC):
    """The average losses of a stream of records."""

    loss: PairwiseLoss
    records: Records

    @abstractmethod
    def value(self, parameters: Array) -> float:
        """Return the average loss."""

    @abstractmethod
    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return the average loss and its gradient."""

    def gradient(self, parameters: Array) -> Array:
        return self.value_and_gradient(parameters)[1]


class _AnyStream(_Stream):
    """One record after the other."""

    def value(self, parameters: Array) -> float:
        steps = range(1, self.records.n)
        losses = [step_loss(self.loss, parameters, self.records, t) for t in steps]
        return math.fsum(losses) / len(losses)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        total = np.zeros_like(parameters)
        for t in range(1, self.records.n):
            earlier = self.records.part(slice(0, t))
            total += one_against(self.loss, parameters, self.records, t, earlier) / t
        return self.value(parameters), total / (self.records.n - 1)


class _RankingStream(_Stream):
    """Positives against negatives: the only pairs with a gradient."""

    loss: RankingLoss

    def _blocks(self, parameters: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield some positives, u of their pairs and the weights, which count the orders too."""
        up, down = self._places()
        scores = self.loss.scale * (self.records.x @ parameters)
        share = self.loss.orders / 2 / (self.records.n - 1)
        for start in range(0, up.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            u = scores[up[rows], None] - scores[down]
            yield rows, u, share / np.maximum(up[rows, None], down)

    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.nonzero(self.records.y > 0)[0], np.nonzero(self.records.y < 0)[0]

    def _constant(self) -> float:
        """Return what pairs of equal labels add: φ(0) in the two-sided form."""
        if not self.loss.symmetric:
            return 0.0
        # With labels 0 of null records, yy' is 1 for equal ones and y²y'² for any that count.
        y, earlier = self.records.y, np.arange(1, self.records.n)
        signed = y[1:] * np.cumsum(y)[:-1] / earlier
        counted = y[1:] ** 2 * np.cumsum(y**2)[:-1] / earlier
        return float(np.mean(counted + signed) / 2) * float(self.loss.phi(np.zeros(1))[0])

    def value(self, parameters: Array) -> float:
        parts = [float(np.vdot(w, self.loss.phi(u))) for _, u, w in self._blocks(parameters)]
        return math.fsum(parts) + self._constant()

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        up, down = self._places()
        pulls, total = np.zeros(self.records.n), self._constant()
        for rows, u, weights in self._blocks(parameters):
            total += float(np.vdot(weights, self.loss.phi(u)))
            weights *= self.loss.slope(u)
            pulls[up[rows]] += weights.sum(axis=1)
            pulls[down] -= weights.sum(axis=0)
        return total, self.loss.scale * (self.records.x.T @ pulls)


class _MetricStream(_Stream):
    """Distances of some records to all before them, by matrix products."""

    loss: MetricLoss

    def _blocks(
        self, parameters: Array
    ) -> Iterator[tuple[slice, slice, Array, NDArray[np.bool_], Array]]:
        """Yield rows and columns with their squared distances, likeness, and weights."""
        x, y, n, null = self.records.x, self.records.y, self.records.n, self.records.null
        weighted = x @ ((parameters + parameters.T) / 2)
        norms = np.einsum("ij,ij->i", weighted, x)
        for start in range(1, n, _BLOCK):
            rows = slice(start, min(start + _BLOCK, n))
            columns = slice(0, rows.stop)
            squared = norms[rows, None] + norms[columns] - 2 * weighted[rows] @ x[columns].T
            places = np.arange(rows.start, rows.stop)[:, None]
            earlier = np.arange(rows.stop) < places
            earlier &= ~(null[rows, None] | null[columns])
            weights = np.where(earlier, 1 / (places * (n - 1)), 0.0)
            yield rows, columns, squared, y[rows, None] == y[columns], weights

    def value(self, parameters: Array) -> float:
        return math.fsum(
            float(np.vdot(weights, self.loss.of_distance(squared, alike)))
            for _, _, squared, alike, weights in self._blocks(parameters)
        )

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        x, total = self.records.x, 0.0
        sums, crossed = np.zeros(self.records.n), np.zeros_like(parameters)
        for rows, columns, squared, alike, weights in self._blocks(parameters):
            total += float(np.vdot(weights, self.loss.of_distance(squared, alike)))
            weights *= self.loss.slope(squared, alike)
            sums[rows] += weights.sum(axis=1)
            sums[columns] += weights.sum(axis=0)
            crossed += x[rows].T @ (weights @ x[columns])
        return total, (x.T * sums) @ x - crossed - crossed.T
