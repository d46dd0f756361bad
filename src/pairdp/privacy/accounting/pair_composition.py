"""The privacy curve of independent steps, from their dominating pairs."""

from __future__ import annotations

import math

import numpy as np

from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.convolution import (
    ComposedLoss,
    LogDelta,
    Real,
    Tilt,
    transform_slack,
)
from pairdp.privacy.accounting.discretization import GridTooFineError, discretize
from pairdp.privacy.accounting.tilting import CoarseLoss, Steps

_MOST_WIDENINGS = 60
_ROUNDING = 2e-3
_MARGIN = 3.0
_LOG_TRUNCATION = 12.0
_SMALLEST_LOG_DELTA = -750.0


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
        self._coarse = CoarseLoss(self._steps, _SMALLEST_LOG_DELTA - self._log_count)
        self._composed: dict[tuple[float, float], ComposedLoss] = {}

    def rough_log_delta(self, epsilon: float) -> float:
        """Return an approximation of log δ(ε), quickly and without a guarantee."""
        return self._rough(epsilon)[0]

    def _rough(self, epsilon: float) -> tuple[float, float]:
        """Return an approximation of log δ(ε), and its slope if a single step dominates.

        It is the larger of the normal approximation and the δ of a single large loss.
        """
        _, mean, variance = self._coarse.cumulants(0.0)
        normal = gaussian.log_delta(epsilon, math.sqrt(max(variance, 2 * mean)))
        rough, slope = max(normal, _SMALLEST_LOG_DELTA), 0.0
        for pair, count in self._steps:
            p_tail, q_tail = pair.tails(np.array([epsilon]))
            covered = math.exp(min(epsilon, 700.0)) * float(q_tail[0])
            single = float(p_tail[0]) - covered
            if single > 0 and math.log(count) + math.log(single) > rough:
                rough, slope = math.log(count) + math.log(single), covered / single
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
            A log δ below which the bound need not be sharp, which saves time.
        """
        rough, slope = self._rough(epsilon)
        if rough < enough:
            rough, slope = enough, 0.0
        while True:
            # Truncated mass counts as an infinite loss: keep it far below δ.
            log_tail = -8.0 * math.ceil((_LOG_TRUNCATION - rough) / 8.0)
            bound = self._with_tail(epsilon, log_tail, slope, refine, enough)
            if (
                log_tail < bound - _LOG_TRUNCATION / 2
                or rough <= _SMALLEST_LOG_DELTA
                or bound <= enough
            ):
                return bound
            rough = max(_SMALLEST_LOG_DELTA, 2 * rough - _LOG_TRUNCATION)

    def _with_tail(
        self, epsilon: float, log_tail: float, slope: float, refine: float, enough: float
    ) -> float:
        coarse = CoarseLoss(self._steps, log_tail - self._log_count)
        saddle = coarse.saddle_point(epsilon)
        if enough > -math.inf:
            saddle = coarse.smallest_tilt(epsilon, saddle, enough - _MARGIN)
        width = coarse.width(saddle, slope) / refine
        slack = transform_slack(coarse.nonzero(width))
        ceiling = log_tail + _LOG_TRUNCATION + math.log(_ROUNDING / slack)
        smallest = coarse.smallest_tilt(epsilon, saddle, ceiling)
        # If rounding dominates a tiny δ: tilt more, then use extended precision.
        attempts: list[tuple[float, Real]] = [(smallest, np.float64)]
        attempts += [(saddle, np.float64)] if saddle > smallest else []
        attempts += [(smallest, np.longdouble)]
        bounds = []
        for theta, real in attempts:
            found = self._bound(epsilon, width, log_tail, coarse.tilt(theta), real)
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
                    (discretize(pair, width, log_tail - self._log_count), count)
                    for pair, count in self._steps
                ]
            )
        return self._composed[key]
