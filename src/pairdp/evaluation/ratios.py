r"""Intervals of a share A/(A + B) from noisy counts, by Fieller's method.

If the share is r, then (1-r)A - rB has mean zero. Its variance is that of sampling, N·r(1-r) for
N = A + B, and its noise is (1-r) times that of A less r times that of B. A value of r is kept if
what was released is not in the tails of their sum. The noise of A is a sum of j independent Laplace
variables, one for each bin; in its place is a normal plus a Laplace variable of scale j^¼b, whose
sum has the same second and fourth moments.

Sampling is taken as normal, which is too narrow where a few records are expected on one side: there
noise that is smaller than a record would not hide this. So intervals assume `CountNoise.assumed`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pairdp.evaluation.inversion import Interval
from pairdp.evaluation.tails import two_sided_tail

Array = NDArray[np.float64]

_STEPS = 1001
_REACH = 2.6
_BOX = 0.99
_LEAST = 0.4


class NoisyCount(NamedTuple):
    """A sum of noisy counts, and over how many bins it goes."""

    value: float
    bins: int


class CountNoise(NamedTuple):
    """The noise of each count: the scale of Laplace noise, or the deviation of Gaussian noise."""

    scale: float
    gaussian: bool

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one count."""
        return self.scale if self.gaussian else math.sqrt(2) * self.scale

    @property
    def reach(self) -> float:
        """How many scales from zero 99 % of the noise is."""
        return float(ndtri((1 + _BOX) / 2)) if self.gaussian else -math.log(1 - _BOX)

    def assumed(self, together: int) -> CountNoise:
        """Return the noise that intervals assume: at least enough to hide one unit.

        If λ records are expected, a Poisson number of them lies in the tails of N(0, λ) plus noise
        of this size with a probability of at most 0.05, whatever λ is.
        """
        least = _LEAST * together * (math.sqrt(2) if self.gaussian else 1.0)
        return self._replace(scale=max(self.scale, least))

    def parts(self, bins: int) -> tuple[float, float]:
        """Return the variance of a normal variable and the scale of a Laplace variable."""
        if self.gaussian:
            return bins * self.scale**2, 0.0
        return 2 * self.scale**2 * (bins - math.sqrt(bins)), bins**0.25 * self.scale


class Estimate(NamedTuple):
    """An estimated number with its interval."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        lower, upper = self.interval
        return f"{self.value:.3f}, 95 % interval {lower:.3f} to {upper:.3f}"


def share_of(
    a: NoisyCount, b: NoisyCount, noise: CountNoise, level: float, together: int = 1
) -> Estimate:
    """Return A/(A + B) with an interval.

    Parameters
    ----------
    a, b : NoisyCount
        A and B, which have no bin in common.
    noise : CountNoise
        The noise of each bin.
    level : float
        The level of the tests that are inverted.
    together : int, default=1
        How many records may depend on each other, which multiplies the variance of sampling.
    """
    noise = noise.assumed(together)
    total = max(a.value + b.value, 0.0)
    most = total + _REACH * noise.deviation * math.sqrt(a.bins + b.bins)
    estimate = min(max(a.value, 0.0) / total, 1.0) if total > 0 else 0.5
    r = np.linspace(0.0, 1.0, _STEPS)
    (normal_a, laplace_a), (normal_b, laplace_b) = noise.parts(a.bins), noise.parts(b.bins)
    variance = (1 - r) ** 2 * normal_a + r**2 * normal_b + together * most * r * (1 - r)
    scales = () if noise.gaussian else ((1 - r) * laplace_a, r * laplace_b)
    t = np.abs((1 - r) * a.value - r * b.value)
    kept = np.flatnonzero(two_sided_tail(t, np.sqrt(variance), *scales) >= 1 - level)
    if kept.size == 0:
        return Estimate(estimate, Interval(estimate, estimate))
    lower, upper = r[max(kept[0] - 1, 0)], r[min(kept[-1] + 1, _STEPS - 1)]
    return Estimate(estimate, Interval(min(float(lower), estimate), max(float(upper), estimate)))
