"""Choosing grid and tilt: a coarse look at privacy losses before they are convolved.

Nothing here decides correctness: every grid and every tilt gives a valid upper
bound on δ. They decide how sharp the bound is and how long it takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.convolution import (
    ComposedLoss,
    GridTooFineError,
    LogDelta,
    Real,
    Tilt,
    on_grid,
    transform_slack,
)
from pairdp.privacy.accounting.dominating_pairs import DominatingPair

Array = NDArray[np.float64]
Steps = Sequence[tuple[DominatingPair, int]]

_SHAPE = np.geomspace(1e-9, 1.0, 800)
# At this product of tilt and ε no δ above 1e-300 needs more.
_STEEPEST = 2000.0
_ACCURACY = 4e-3
_WIDEST = 1 / 16
_MOST_WIDENINGS = 60
_ROUNDING = 2e-3
_CLEARLY = 3.0
_DROPPED = 12.0
_WINDOW_TILTS = tuple(2.0**k for k in range(-3, 5))
_FARTHEST = -750.0


class _Probe:
    """A few hundred losses of each pair with their log masses: enough for moments."""

    def __init__(self, steps: Steps, log_tail: float) -> None:
        self.parts = [(*self._look(pair, log_tail), count) for pair, count in steps]

    @staticmethod
    def _look(pair: DominatingPair, log_tail: float) -> tuple[Array, Array]:
        reach = max(pair.reach(log_tail), 1e-9)
        edges = np.concatenate([[0.0], reach * _SHAPE])
        p_tail, q_tail = pair.tails(edges)
        middle = np.sqrt(edges[1:] * np.maximum(edges[:-1], edges[1] / 2))
        losses = np.concatenate([-middle[::-1], [0.0], middle])
        masses = np.concatenate([-np.diff(q_tail)[::-1], [0.0], -np.diff(p_tail)])
        masses[len(middle)] = max(0.0, 1.0 - float(masses.sum()) - float(p_tail[-1]))
        with np.errstate(divide="ignore"):
            return losses, np.log(np.maximum(masses, 0.0))

    def _tilted(self, theta: float) -> list[tuple[Array, Array, int, float]]:
        tilted = []
        for losses, log_masses, count in self.parts:
            exponents = theta * losses + log_masses
            shift = float(exponents.max())
            weights = np.exp(exponents - shift)
            total = float(weights.sum())
            tilted.append((losses, weights / total, count, math.log(total) + shift))
        return tilted

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """Return the log moment of the composed loss, and the tilted mean and variance."""
        log_moment = mean = variance = 0.0
        for losses, weights, count, log_total in self._tilted(theta):
            centre = float(weights @ losses)
            log_moment += count * log_total
            mean += count * centre
            variance += count * float(weights @ (losses - centre) ** 2)
        return log_moment, mean, variance

    def saddle(self, epsilon: float) -> float:
        """Return the tilt θ ≥ 0 whose tilted mean is about ε, or 0 when the mean is above."""
        if self.cumulants(0.0)[1] >= epsilon:
            return 0.0
        low, high, theta = 0.0, math.inf, 1.0
        for _ in range(100):
            _, mean, variance = self.cumulants(theta)
            if abs(mean - epsilon) <= 0.05 * math.sqrt(variance):
                break
            low, high = (theta, high) if mean < epsilon else (low, theta)
            newton = theta + (epsilon - mean) / max(variance, 1e-300)
            # Newton overshoots wildly where one rare large loss takes over.
            if not low < newton < min(high, 4 * theta):
                newton = 4 * theta if math.isinf(high) else (low + high) / 2
            theta = min(newton, _STEEPEST / max(epsilon, 1e-6))
            if theta == low:
                break
        return theta

    def gentlest(self, epsilon: float, derivative_bound: float, ceiling: float) -> float:
        """Return the smallest tilt whose Chernoff bound is below ``ceiling``, up to a steepest.

        Less tilt makes a narrower law where single large losses are what matters.
        """
        low, high = 0.0, derivative_bound
        for _ in range(14):
            middle = (low + high) / 2
            if self.cumulants(middle)[0] - middle * epsilon <= ceiling:
                high = middle
            else:
                low = middle
        return high

    def moves(self, width: float) -> float:
        """Return the expected number of steps whose loss is not rounded to zero."""
        return sum(
            count * float(weights @ np.minimum(np.abs(losses) / width, 1.0))
            for losses, weights, count, _ in self._tilted(0.0)
        )

    def width(self, theta: float, slope: float) -> float:
        """Return a grid width whose rounding changes log δ by about `_ACCURACY`."""
        tilted = self._tilted(theta)
        variance = max(self.cumulants(0.0)[2], self.cumulants(theta)[2])
        # By the tilt, log δ answers to added variance; near its top, to its share of variance.
        curvature = max(theta * (theta + 1), 1 / max(variance, 1e-300)) / 2

        def effect(width: float) -> float:
            # A loss l below the width is split between 0 and width: variance l (width - l).
            return curvature * sum(
                count * float(weights @ np.minimum(np.abs(losses) * width, width**2 / 6))
                for losses, weights, count, _ in tilted
            )

        # Between two points δ is the chord of a curve that falls about like exp(-θε).
        width = min(_WIDEST, math.sqrt(8 * _ACCURACY) / (1 + max(theta, slope)))
        while effect(width) > _ACCURACY:
            width /= math.sqrt(2)
        return width

    def tilt(self, theta: float) -> Tilt:
        """Return the window tilts that Chernoff's bound likes best."""
        log_moment, mean, variance = self.cumulants(theta)
        scale = math.sqrt(max(variance, 1e-18))
        # Either the spread of the bulk or a single large loss sets the scale of the window.
        steps = [f / scale for f in _WINDOW_TILTS] + [f * (1 + theta) / 4 for f in _WINDOW_TILTS]
        up = [(self.cumulants(theta + s)[0] - log_moment + 37) / s - mean for s in steps]
        down = [(self.cumulants(theta - s)[0] - log_moment + 37) / s + mean for s in steps]
        return Tilt(theta, steps[int(np.argmin(up))], steps[int(np.argmin(down))])


class PairComposition:
    """The privacy curve of independent steps given by their dominating pairs.

    Parameters
    ----------
    steps : sequence of (DominatingPair, int)
        Each pair with the number of its repeats.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = list(steps)
        count = sum(count for _, count in steps)
        self._log_count = math.log(count)
        self._far = _Probe(self._steps, _FARTHEST - self._log_count)
        self._composed: dict[tuple[float, float], ComposedLoss] = {}

    def rough_log_delta(self, epsilon: float) -> float:
        """Return about log δ(ε), in a millisecond and without promise."""
        return self._rough(epsilon)[0]

    def _rough(self, epsilon: float) -> tuple[float, float]:
        """Return about log δ(ε), and how steeply it falls where one step alone is to blame.

        It is the larger of the normal limit and of a single large loss.
        """
        _, mean, variance = self._far.cumulants(0.0)
        normal = gaussian.log_delta(epsilon, math.sqrt(max(variance, 2 * mean)))
        rough, slope = max(normal, _FARTHEST), 0.0
        for pair, count in self._steps:
            p_tail, q_tail = pair.tails(np.array([epsilon]))
            paid = math.exp(min(epsilon, 700.0)) * float(q_tail[0])
            single = float(p_tail[0]) - paid
            if single > 0 and math.log(count) + math.log(single) > rough:
                rough, slope = math.log(count) + math.log(single), paid / single
        return min(0.0, rough), slope

    def log_delta(self, epsilon: float, refine: float = 1.0, enough: float = -math.inf) -> float:
        """Return an upper bound on log δ(ε), for ε ≥ 0.

        Parameters
        ----------
        epsilon : float
            Privacy parameter.
        refine : float
            Divides the width of the grid: larger is sharper and slower.
        enough : float
            A log δ below which the bound need not be sharp, which saves much work.
        """
        rough, slope = self._rough(epsilon)
        if rough < enough:
            rough, slope = enough, 0.0
        while True:
            # Truncated mass counts as an infinite loss: keep it far below the answer.
            log_tail = -8.0 * math.ceil((_DROPPED - rough) / 8.0)
            bound = self._with_tail(epsilon, log_tail, slope, refine, enough)
            if log_tail < bound - _DROPPED / 2 or rough <= _FARTHEST or bound <= enough:
                return bound
            rough = max(_FARTHEST, 2 * rough - _DROPPED)

    def _with_tail(
        self, epsilon: float, log_tail: float, slope: float, refine: float, enough: float
    ) -> float:
        probe = _Probe(self._steps, log_tail - self._log_count)
        saddle = probe.saddle(epsilon)
        if enough > -math.inf:
            saddle = probe.gentlest(epsilon, saddle, enough - _CLEARLY)
        width = probe.width(saddle, slope) / refine
        slack = transform_slack(probe.moves(width))
        ceiling = log_tail + _DROPPED + math.log(_ROUNDING / slack)
        gentlest = probe.gentlest(epsilon, saddle, ceiling)
        # Rounding drowns some tiny δ: then tilt more, then take more digits.
        attempts: list[tuple[float, Real]] = [(gentlest, np.float64)]
        attempts += [(saddle, np.float64)] if saddle > gentlest else []
        attempts += [(gentlest, np.longdouble)]
        bounds = []
        for theta, real in attempts:
            found = self._bound(epsilon, width, log_tail, probe.tilt(theta), real)
            bounds.append(found.bound)
            if found.rounding < 2 * _ROUNDING or found.bound <= enough:
                break
        return min(bounds)

    def _bound(
        self, epsilon: float, width: float, log_tail: float, tilt: Tilt, real: Real
    ) -> LogDelta:
        for _ in range(_MOST_WIDENINGS):
            try:
                return self._at(width, log_tail).log_delta(epsilon, tilt, real)
            except GridTooFineError:
                width *= 2
        return LogDelta(0.0, 0.0)

    def _at(self, width: float, log_tail: float) -> ComposedLoss:
        key = (width, log_tail)
        if key not in self._composed:
            self._composed[key] = ComposedLoss(
                [
                    (on_grid(pair, width, log_tail - self._log_count), count)
                    for pair, count in self._steps
                ]
            )
        return self._composed[key]
