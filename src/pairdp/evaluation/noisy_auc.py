r"""The AUC and its interval, from noisy T, h and γZ (`pairdp.privacy.bounds.centred_auc`).

**Estimate.** T = g·(θ - ½), where θ is the AUC and g = w(m)PQ a function of the numbers of records
of the classes. These follow from h and γZ: m̂ is where h(m̂) is the noisy h, and Ẑ = (noisy γZ)/γ.

**Interval** (Fieller's method: tests of all values of θ are inverted, so that the noise of the
denominator is covered where it is as large as the denominator itself). θ is kept if

.. math:: |\tilde T - ĝ(θ - ½)|

is not in the tail, of probability 1 - level, of N(0, s²) + L + L₂ + L₃. Here L is the noise of T,
at least `CountNoise.assumed`; L₂ and L₃ are the noise of h and γZ times |θ - ½| and the largest
slopes of g in the box of m and Z that holds 99 % of the noise; and s² is the largest value in that
box of g²·θ(1-θ)/min(P, Q), which bounds the variance that the sampling of records gives to T
(Birnbaum and Klose 1957). The interval is for the AUC of the population that the records are drawn
from. It is approximate; the level 0.96 leaves room for that where 0.95 is stated
(`tests/evaluation/test_coverage.py`).

The bound on the variance is attained if each record of the smaller class is above all or below all
of the other: without another release about the scores, it cannot be smaller. Records of one unit
may be equal, so that units of k records have k times the variance at most, which is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.evaluation.inversion import Interval, inverted
from pairdp.evaluation.ratios import CountNoise
from pairdp.evaluation.tails import two_sided_tail
from pairdp.privacy.bounds.centred_auc import CentredAUC

Array = NDArray[np.float64]

_TESTED_AT = 0.96
_STEPS = 33


class _Box(NamedTuple):
    """Where g is, how fast it changes with h and with Z, and s² without θ(1-θ)."""

    g: float
    by_height: float
    by_null: float
    variance: float


@dataclass(frozen=True)
class NoisyAUC:
    """Released numbers, with their noise, all of which is public.

    Parameters
    ----------
    auc : CentredAUC
        The functions of the release.
    t, height : float
        The noisy T and h.
    null : float or None
        The noisy γZ; None if there are no null records.
    scale : float
        The scale of Laplace noise, or the standard deviation of Gaussian noise.
    gaussian : bool
        Whether the noise is Gaussian.
    together : int, default=1
        How many records a unit has at most: these may depend on each other.
    """

    auc: CentredAUC
    t: float
    height: float
    null: float | None
    scale: float
    gaussian: bool = False
    together: int = 1

    @property
    def _null_scale(self) -> float:
        return self.scale / float(self.auc.null_weight)

    @property
    def null_records(self) -> float:
        """Ẑ, the estimated number of null records."""
        if self.null is None:
            return 0.0
        return min(max(self.null / float(self.auc.null_weight), 0.0), self.auc.n - 2.0)

    @property
    def positives(self) -> float:
        """P̂, the estimated number of positive records, at least 1."""
        null = self.null_records
        most = self.auc.n - null - 1.0
        position = float(self.auc.positions(np.array([self.height]))[0])
        return min(max(position - null / 2, 1.0), most)

    @property
    def estimate(self) -> float:
        """The estimated AUC."""
        return min(max(0.5 + self.t / max(self._box.g, 1e-300), 0.0), 1.0)

    def interval(self) -> Interval:
        """Return the interval of θ; all of [0, 1] if the noise hides everything."""
        return inverted(lambda theta: self.tail(theta) >= 1 - _TESTED_AT, self.estimate)

    def tail(self, theta: Array) -> Array:
        """Return the probability of what was released, or of what is farther off, for each θ."""
        box, off = self._box, np.abs(theta - 0.5)
        t = np.abs(self.t - box.g * (theta - 0.5))
        sampling = np.sqrt(box.variance * theta * (1 - theta))
        of_t = CountNoise(self.scale, self.gaussian).assumed(self.together).scale
        noise = [np.full(theta.shape, of_t), off * box.by_height * self.scale]
        if self.null is not None:
            noise.append(off * box.by_null * self._null_scale)
        if self.gaussian:
            deviation = np.sqrt(sampling**2 + sum(part**2 for part in noise))
            return two_sided_tail(t, np.asarray(deviation))
        return two_sided_tail(t, sampling, *noise)

    @cached_property
    def _box(self) -> _Box:
        """Evaluate g over the box of m and Z that holds 99 % of the noise."""
        n = float(self.auc.n)
        reach = CountNoise(self.scale, self.gaussian).reach
        around = self.height + np.array([-reach, reach]) * self.scale
        low, high = np.clip(self.auc.positions(around), 1.0, n - 1).tolist()
        m = np.linspace(low, high, _STEPS)
        null = np.zeros(1)
        if self.null is not None:
            near = self.null_records + np.linspace(-1, 1, _STEPS) * reach * self._null_scale
            null = np.unique(np.clip(near, 0.0, n - 2))
        g, smaller = self._g(m[:, None], null[None, :])
        heights = self.auc.heights(m)
        by_height = _largest_slope(g, heights)
        by_null = _largest_slope(g.T, null)
        variance = self.together * g**2 / np.maximum(smaller, 0.5)
        centre, _ = self._g(
            np.array([self.positives + self.null_records / 2]), np.array([self.null_records])
        )
        return _Box(float(centre[0]), by_height, by_null, float(variance.max()))

    def _g(self, m: Array, null: Array) -> tuple[Array, Array]:
        """Return g, and the size of the smaller class, for m and Z."""
        positives = np.maximum(m - null / 2, 0.0)
        negatives = np.maximum(self.auc.n - m - null / 2, 0.0)
        g = self.auc.weights(m) * positives * negatives
        return np.asarray(g), np.minimum(positives, negatives)


def _largest_slope(values: Array, at: Array) -> float:
    """Return the largest slope of values along their first axis."""
    steps = np.diff(at)
    if steps.size == 0 or not np.any(steps > 0):
        return 0.0
    rises = np.abs(np.diff(values, axis=0))[steps > 0]
    return float((rises / steps[steps > 0][:, None]).max())
