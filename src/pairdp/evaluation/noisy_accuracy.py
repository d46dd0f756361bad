r"""The accuracy and its interval, from a noisy number of right predictions.

Released are D = R - K/2, where R of K predictions are right, and, where null records may occur, γK
(`pairdp.privacy.bounds.record_errors`). Without null records K = n is public.

**Interval** (Clopper and Pearson's method with noise). If the accuracy is p, then R is binomial,
and D - K̂(p - ½) is R - Kp plus the noise of D, less p - ½ times that of K̂. A value of p is kept if
what was released is in neither tail, each of half the probability, of this sum. Without null
records the test is exact, up to the grid of the noise, and so the interval holds the accuracy with
the stated probability for all p and n. With null records, K is replaced by the largest value that
is within 99 % of its noise, and the level 0.96 leaves room for that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from pairdp.evaluation.inversion import LEVEL, Interval, inverted
from pairdp.evaluation.ratios import CountNoise, Estimate
from pairdp.evaluation.tails import two_sided_tail

Array = NDArray[np.float64]

_WITH_NULL = 0.96
_STEPS = 101
_DEVIATIONS, _MORE = 9.0, 40.0


@dataclass(frozen=True)
class NoisyAccuracy:
    """Released numbers, with their noise, all of which is public.

    Parameters
    ----------
    n : int
        The number of records, null ones included.
    centred : float
        The noisy D.
    known : float or None
        The noisy γK; None if there are no null records.
    weight : float
        γ.
    noise : CountNoise
        The noise of each number.
    """

    n: int
    centred: float
    known: float | None
    weight: float
    noise: CountNoise

    @property
    def predicted(self) -> float:
        """K̂, the estimated number of records that are not null, at least 1."""
        if self.known is None:
            return float(self.n)
        return min(max(self.known / self.weight, 1.0), float(self.n))

    @property
    def accuracy(self) -> Estimate:
        """The share of right predictions, with its interval."""
        estimate = min(max(0.5 + self.centred / self.predicted, 0.0), 1.0)
        return Estimate(estimate, self.interval(estimate))

    def interval(self, estimate: float) -> Interval:
        """Return the interval of the accuracy."""
        level = LEVEL if self.known is None else _WITH_NULL

        def kept(values: Array) -> NDArray[np.bool_]:
            return np.array([min(self.tails(p)) >= (1 - level) / 2 for p in values.tolist()])

        return inverted(kept, estimate, _STEPS)

    def tails(self, p: float) -> tuple[float, float]:
        """Return the probabilities of what was released or less, and of that or more."""
        total, k = self._trials, self.predicted
        scales = [self.noise.scale]
        if self.known is not None:
            scales.append(abs(p - 0.5) * self.noise.scale / self.weight)
            k = self.known / self.weight
        mean = total * p
        reach = _DEVIATIONS * math.sqrt(mean * (1 - p)) + _MORE
        right = np.arange(max(0, math.floor(mean - reach)), min(total, math.ceil(mean + reach)) + 1)
        off = (self.centred - k * (p - 0.5)) - (right - mean)
        beyond = self._beyond(np.abs(off), scales) / 2
        chances = binom.pmf(right, total, p)
        more = float(chances @ np.where(off >= 0, beyond, 1 - beyond))
        less = float(chances @ np.where(off >= 0, 1 - beyond, beyond))
        return less, more

    @property
    def _trials(self) -> int:
        """The largest number of records that are not null, by its noise."""
        if self.known is None:
            return self.n
        most = (self.known + self.noise.reach * self.noise.scale) / self.weight
        return min(max(math.ceil(most), 1), self.n)

    def _beyond(self, t: Array, scales: list[float]) -> Array:
        if self.noise.gaussian:
            return two_sided_tail(t, np.full(t.shape, math.hypot(*scales)))
        return two_sided_tail(t, np.zeros(t.shape), *(np.full(t.shape, s) for s in scales))
