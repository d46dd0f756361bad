r"""The accuracy and its interval, from a noisy number of right predictions.

Released are D = R - K/2, where R of K predictions are right, and, where null records may occur, γK
(`pairdp.privacy.bounds.record_errors`). Without null records K = n is public.

**Interval** (Clopper and Pearson's method with noise). If the accuracy is p, then R is binomial,
and D - K̂(p - ½) is R - Kp plus the noise of D, less p - ½ times that of K̂. A value of p is kept if
what was released is in neither tail, each of probability 0.02, of this sum. Without null records
the test is exact, up to the grid of the noise, and so the interval holds the accuracy with a
probability of 0.96 for all p and n. With null records, K is replaced by the largest value that is
within 99 % of its noise, and the level of 0.96 leaves room for that where 0.95 is stated.
Predictions for the k records of a unit may be right or wrong together: R is then taken as k times a
binomial number of units, which has the largest variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from pairdp.evaluation.inversion import Interval, inverted
from pairdp.evaluation.ratios import CountNoise, Estimate
from pairdp.evaluation.tails import two_sided_tail

Array = NDArray[np.float64]

TESTED_AT = 0.96
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
    together : int, default=1
        How many records a unit has at most.
    """

    n: int
    centred: float
    known: float | None
    weight: float
    noise: CountNoise
    together: int = 1

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

        def kept(values: Array) -> NDArray[np.bool_]:
            return np.array([self.is_kept(p) for p in values.tolist()])

        return inverted(kept, estimate, _STEPS)

    def is_kept(self, p: float) -> bool:
        """Return whether an accuracy is in the interval."""
        return min(self.tails(p)) >= (1 - TESTED_AT) / 2

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
        off = (self.centred - k * (p - 0.5)) - self.together * (right - mean)
        beyond = self._beyond(np.abs(off), scales) / 2
        chances = _binomial(right.astype(np.float64), total, p)
        more = float(chances @ np.where(off >= 0, beyond, 1 - beyond))
        less = float(chances @ np.where(off >= 0, 1 - beyond, beyond))
        return less, more

    @property
    def _trials(self) -> int:
        """The largest number of units with records that are not null, by its noise."""
        most = float(self.n)
        if self.known is not None:
            most = min((self.known + self.noise.reach * self.noise.scale) / self.weight, most)
        return max(math.ceil(most / self.together), 1)

    def _beyond(self, t: Array, scales: list[float]) -> Array:
        if self.noise.gaussian:
            return two_sided_tail(t, np.full(t.shape, math.hypot(*scales)))
        return two_sided_tail(t, np.zeros(t.shape), *(np.full(t.shape, s) for s in scales))


def _binomial(k: Array, n: int, p: float) -> Array:
    """Return the binomial probabilities of k; to import `scipy.stats` for them takes long."""
    ways = gammaln(n + 1.0) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, p) + xlog1py(n - k, -p)))
