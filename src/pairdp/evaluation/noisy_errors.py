r"""Mean errors and their intervals, from noisy sums of errors and of their squares.

An error is :math:`a ∈ [0, 1]`, in units of the range of the target. Released are
:math:`U = \sum(a - ½)`, :math:`W = w\sum(a^2 - a)` and, where null records may occur, γK
(`pairdp.privacy.bounds.record_errors`). With m = E a, q = E a² and v = m - q = E a(1 - a):

**Mean absolute error.** U - K(m - ½) has mean zero and variance K(q - m²) = K(m(1 - m) - v).

**Mean squared error.** U + W/w + K(½ - q) has mean zero and variance K(E a⁴ - q²). Of all
distributions with the same m and q, E a⁴ is largest for one at 1 and at x = v/(1 - m): the product
(a - x)²(a - 1)(a + 2x + 1) is a⁴ less a polynomial of degree 2 in a, and at most 0 on [0, 1], so
this polynomial bounds a⁴, and both are equal at x and at 1.

**Intervals.** A value of m, or of q, is kept if what was released is not in the tail, of
probability 1 - level, of a normal variable with this variance plus the noise of the numbers, that
of U and W at least `CountNoise.assumed`. v is
replaced by the smallest value that is within 99 % of its noise, which makes both variances larger:
the bound on E a⁴ is concave in v, as the value of a linear program, and falls from v = 0, where a²
bounds a⁴. Units of k records have k times the variance at most. The intervals are approximate; the
level 0.97 leaves room where 0.95 is stated (`tests/evaluation/test_error_coverage.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.evaluation.inversion import inverted
from pairdp.evaluation.ratios import CountNoise, Estimate
from pairdp.evaluation.tails import two_sided_tail

Array = NDArray[np.float64]

TESTED_AT = 0.97
_OF_SAMPLING = 2.6 / 8
"""99 % of a mean of numbers from 0 to ¼, whose standard deviation is at most ⅛."""


@dataclass(frozen=True)
class NoisyErrors:
    """Released numbers, with their noise, all of which is public.

    Parameters
    ----------
    n : int
        The number of records, null ones included.
    centred, product : float
        The noisy U and W.
    known : float or None
        The noisy γK; None if there are no null records.
    square_weight, count_weight : float
        w and γ.
    noise : CountNoise
        The noise of each number.
    together : int, default=1
        How many records a unit has at most: these may depend on each other.
    """

    n: int
    centred: float
    product: float
    known: float | None
    square_weight: float
    count_weight: float
    noise: CountNoise
    together: int = 1

    @property
    def predicted(self) -> float:
        """K̂, the estimated number of records that are not null, at least 1."""
        if self.known is None:
            return float(self.n)
        return min(max(self.known / self.count_weight, 1.0), float(self.n))

    @property
    def absolute(self) -> Estimate:
        """The mean absolute error, in units of the range."""
        estimate = min(max(0.5 + self.centred / self.predicted, 0.0), 1.0)
        found = inverted(lambda m: self.absolute_tail(m) >= 1 - TESTED_AT, estimate)
        return Estimate(estimate, found)

    @property
    def squared(self) -> Estimate:
        """The mean squared error, in units of the squared range."""
        total = self.centred + self.product / self.square_weight
        estimate = min(max(0.5 + total / self.predicted, 0.0), 1.0)
        found = inverted(lambda q: self.squared_tail(q) >= 1 - TESTED_AT, estimate)
        return Estimate(estimate, found)

    def absolute_tail(self, m: Array) -> Array:
        """Return the probability of what was released, or of what is farther off, for each m."""
        variance = m * (1 - m) - np.minimum(self.least_v, m * (1 - m))
        off = self.centred - self.count * (m - 0.5)
        return self._tail(off, variance, [1.0], np.abs(m - 0.5))

    def squared_tail(self, q: Array) -> Array:
        """Return the probability of what was released, or of what is farther off, for each q."""
        variance = np.maximum(largest_fourth_moment(q, self.least_v) - q**2, 0.0)
        off = self.centred + self.product / self.square_weight + self.count * (0.5 - q)
        return self._tail(off, variance, [1.0, 1 / self.square_weight], np.abs(q - 0.5))

    @property
    def count(self) -> float:
        """K̂ as it was released, which has mean K."""
        return float(self.n) if self.known is None else self.known / self.count_weight

    @property
    def most(self) -> float:
        """The largest value of K that is within 99 % of its noise."""
        if self.known is None:
            return float(self.n)
        reach = self.noise.reach * self.noise.scale / self.count_weight
        return min(max(self.count + reach, 1.0), float(self.n))

    @property
    def least_v(self) -> float:
        """The smallest value of v that is within 99 % of its noise."""
        k = self.predicted
        estimate = -self.product / self.square_weight / k
        reach = self.noise.reach * self.noise.scale / self.square_weight / k
        return max(estimate - reach - _OF_SAMPLING * math.sqrt(self.together / k), 0.0)

    def _tail(self, off: Array, variance: Array, parts: list[float], of_count: Array) -> Array:
        """Return the probability to be so far off, with noise of some parts and of K̂."""
        scale = self.noise.assumed(self.together).scale
        scales = [np.full(off.shape, part * scale) for part in parts]
        if self.known is not None:
            scales.append(of_count * self.noise.scale / self.count_weight)
        normal = self.together * self.most * variance
        if self.noise.gaussian:
            return two_sided_tail(np.abs(off), np.sqrt(normal + sum(s**2 for s in scales)))
        return two_sided_tail(np.abs(off), np.sqrt(normal), *scales)


def largest_fourth_moment(q: Array, v: Array | float) -> Array:
    """Return the largest E a⁴ for a in [0, 1] with E a² = q and E a(1 - a) = v.

    Values of v that are too large for q are replaced by the largest one, √q - q.

    Examples
    --------
    >>> largest_fourth_moment(np.array([0.25]), np.array([0.0])).tolist()   # a is 0 or 1
    [0.25]
    >>> largest_fourth_moment(np.array([0.25]), np.array([0.25])).tolist()  # a is ½
    [0.0625]
    """
    v = np.minimum(v, np.sqrt(q) - q)
    rest = 1 - q - v  # 1 - m
    x = np.where(rest > 0, v / np.where(rest > 0, rest, 1.0), 0.0)
    other = np.where(x < 1, rest / np.where(x < 1, 1 - x, 1.0), 1.0)  # the chance of x
    return np.asarray(1 - other + other * x**4)
