"""The choice of the grid width and of the tilt of privacy losses.

Nothing here affects correctness: every grid and every tilt gives a valid upper bound on δ. They
determine how tight the bound is and how long it takes to compute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.accounting.convolution import Tilt
from pairdp.privacy.accounting.dominating_pairs import DominatingPair

Array = NDArray[np.float64]
Steps = Sequence[tuple[DominatingPair, int]]

_GRID_SHAPE = np.geomspace(1e-9, 1.0, 800)
# No δ above 1e-300 needs a larger product of tilt and ε.
_LARGEST_TILT = 2000.0
_ACCURACY = 4e-3
_WIDEST = 1 / 16
_WINDOW_TILTS = tuple(2.0**k for k in range(-3, 5))


class CoarseLoss:
    """Each pair's loss at a few hundred points with log masses: enough for its moments."""

    def __init__(self, steps: Steps, log_tail: float) -> None:
        self.parts = [(*self._points(pair, log_tail), count) for pair, count in steps]

    @staticmethod
    def _points(pair: DominatingPair, log_tail: float) -> tuple[Array, Array]:
        largest = max(pair.loss_bound(log_tail), 1e-9)
        edges = np.concatenate([[0.0], largest * _GRID_SHAPE])
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

    def saddle_point(self, epsilon: float) -> float:
        """Return the tilt θ ≥ 0 whose tilted mean is about ε, or 0 if the mean exceeds ε."""
        if self.cumulants(0.0)[1] >= epsilon:
            return 0.0
        low, high, theta = 0.0, math.inf, 1.0
        for _ in range(100):
            _, mean, variance = self.cumulants(theta)
            if abs(mean - epsilon) <= 0.05 * math.sqrt(variance):
                break
            low, high = (theta, high) if mean < epsilon else (low, theta)
            newton = theta + (epsilon - mean) / max(variance, 1e-300)
            # Newton's method overshoots where one rare large loss dominates.
            if not low < newton < min(high, 4 * theta):
                newton = 4 * theta if math.isinf(high) else (low + high) / 2
            theta = min(newton, _LARGEST_TILT / max(epsilon, 1e-6))
            if theta == low:
                break
        return theta

    def smallest_tilt(self, epsilon: float, largest: float, ceiling: float) -> float:
        """Return the smallest tilt up to ``largest`` whose Chernoff bound is below ``ceiling``.

        Where single large losses dominate, a smaller tilt needs a smaller window.
        """
        low, high = 0.0, largest
        for _ in range(14):
            middle = (low + high) / 2
            if self.cumulants(middle)[0] - middle * epsilon <= ceiling:
                high = middle
            else:
                low = middle
        return high

    def nonzero(self, width: float) -> float:
        """Return the expected number of steps whose loss is not rounded to zero."""
        return sum(
            count * float(weights @ np.minimum(np.abs(losses) / width, 1.0))
            for losses, weights, count, _ in self._tilted(0.0)
        )

    def width(self, theta: float, slope: float) -> float:
        """Return a grid width whose rounding changes log δ by about `_ACCURACY`."""
        tilted = self._tilted(theta)
        variance = max(self.cumulants(0.0)[2], self.cumulants(theta)[2])
        # Added variance changes log δ through the tilt; near δ = 1, through its share of the total.
        curvature = max(theta * (theta + 1), 1 / max(variance, 1e-300)) / 2

        def effect(width: float) -> float:
            # A loss l below the width is split between 0 and width: variance l (width - l).
            return curvature * sum(
                count * float(weights @ np.minimum(np.abs(losses) * width, width**2 / 6))
                for losses, weights, count, _ in tilted
            )

        # Between two points δ is the chord of a curve that decreases about like exp(-θε).
        width = min(_WIDEST, math.sqrt(8 * _ACCURACY) / (1 + max(theta, slope)))
        while effect(width) > _ACCURACY:
            width /= math.sqrt(2)
        return width

    def tilt(self, theta: float) -> Tilt:
        """Return the tilts that give the smallest window by the Chernoff bound."""
        log_moment, mean, variance = self.cumulants(theta)
        scale = math.sqrt(max(variance, 1e-18))
        # The scale of the window is set by the bulk of the losses or by a single large one.
        steps = [f / scale for f in _WINDOW_TILTS] + [f * (1 + theta) / 4 for f in _WINDOW_TILTS]
        up = [(self.cumulants(theta + s)[0] - log_moment + 37) / s - mean for s in steps]
        down = [(self.cumulants(theta - s)[0] - log_moment + 37) / s + mean for s in steps]
        return Tilt(theta, steps[int(np.argmin(up))], steps[int(np.argmin(down))])
