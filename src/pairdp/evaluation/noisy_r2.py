r"""R² and its interval, from noisy sums of errors and of targets.

A target is b ∈ [0, 1] in units of its range, with mean m, and an error is a, as in
`pairdp.evaluation.noisy_errors`. Of targets the same numbers are released as of errors, U and W,
which give :math:`L_m = \sum(b - m)^2 = W/w + (1 - 2m)U + K(½ - m + m^2)`. Of errors follows
:math:`Q = \sum a^2`. With ρ = 1 - R² = E a²/Var b, Q - ρL_m has mean zero.

**Interval.** A value of ρ is kept if, for some m of a 99 % interval of m, this difference is not in
the tail, of probability 1 - level, of a normal variable plus the noise of its numbers. L_m changes
only by K(m - m̂)² as m moves away from its estimate. The variance of one term, a² - ρ(b - m)², is at
most E a⁴ + ρ²E(b - m)⁴, since both parts are at least 0. The first is bounded as for the mean
squared error, and the second is at most ρ²·M·Var b = ρ·M·E a², where M = max(m, 1 - m)² ≥ (b - m)².
E a² is replaced by the largest value within 99 %.

R² below 0, of a model that is worse than the mean of the targets, counts as 0: a ρ above 1 is kept
as 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairdp.evaluation.inversion import Interval, inverted
from pairdp.evaluation.noisy_errors import TESTED_AT, NoisyErrors, largest_fourth_moment
from pairdp.evaluation.ratios import Estimate
from pairdp.evaluation.tails import two_sided_tail

Array = NDArray[np.float64]

_OTHERS = 0.01
"""The chance that the mean of the targets, or E a², is outside of what is assumed."""
_MEANS, _SQUARES, _TRIED = 11, 101, 201


@dataclass(frozen=True)
class NoisyR2:
    """Released numbers of errors and of targets, with their noise, all of which is public.

    Parameters
    ----------
    errors, targets : NoisyErrors
        The numbers of errors, and those of targets in their place.
    """

    errors: NoisyErrors
    targets: NoisyErrors

    @property
    def estimate(self) -> Estimate:
        """R², at least 0, with its interval."""
        mean = self.targets.absolute.value
        spread = self._squares(mean)
        missed = self._errors / spread if spread > 0 else 1.0
        missed = min(max(missed, 0.0), 1.0)
        lower, upper = inverted(self.kept, missed)
        return Estimate(1 - missed, Interval(1 - upper, 1 - lower))

    def kept(self, missed: Array) -> NDArray[np.bool_]:
        """Return which values of 1 - R² are not rejected."""
        found = np.zeros(missed.shape, dtype=np.bool_)
        fourth, square = self._largest_moments
        for mean in self._means:
            off = self._errors - missed * self._squares(float(mean))
            largest = max(mean, 1 - mean) ** 2
            variance = fourth + missed * largest * square
            found |= self._tail(off, variance, missed, float(mean)) >= 1 - TESTED_AT
            found |= (missed >= 1) & (off >= 0)
        return found

    @property
    def _errors(self) -> float:
        """Q, as it was released."""
        own = self.errors
        return own.centred + own.product / own.square_weight + own.count / 2

    def _squares(self, mean: float) -> float:
        """Return L for a mean, as it was released."""
        own = self.targets
        of_count = 0.5 - mean + mean**2
        return own.product / own.square_weight + (1 - 2 * mean) * own.centred + of_count * own.count

    @cached_property
    def _means(self) -> Array:
        """Values of m within 99 %."""
        targets = self.targets
        lower, upper = inverted(
            lambda m: targets.absolute_tail(m) >= _OTHERS, targets.absolute.value, _TRIED
        )
        return np.linspace(lower, upper, _MEANS)

    @cached_property
    def _largest_moments(self) -> tuple[float, float]:
        """Return the largest E a⁴ and E a² within 99 %."""
        squared = self.errors
        interval = inverted(
            lambda q: squared.squared_tail(q) >= _OTHERS, squared.squared.value, _TRIED
        )
        values = np.linspace(0.0, interval.upper, _SQUARES)
        return float(largest_fourth_moment(values, squared.least_v).max()), interval.upper

    def _tail(self, off: Array, variance: Array, missed: Array, mean: float) -> Array:
        """Return the probability to be so far off."""
        errors, targets = self.errors, self.targets
        weights = [np.ones(off.shape), np.full(off.shape, 1 / errors.square_weight)]
        weights += [missed * abs(1 - 2 * mean), missed / targets.square_weight]
        if errors.known is not None:
            weights += [
                np.full(off.shape, 0.5 / errors.count_weight),
                missed * (0.5 - mean + mean**2) / targets.count_weight,
            ]
        scales = [weight * errors.noise.scale for weight in weights]
        normal = errors.together * errors.most * variance
        if errors.noise.gaussian:
            return two_sided_tail(np.abs(off), np.sqrt(normal + sum(s**2 for s in scales)))
        return two_sided_tail(np.abs(off), np.sqrt(normal), *scales)
