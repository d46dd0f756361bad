r"""Losses of a given pair of records, as one record of the data: a difference and a label.

If the data is a list of pairs (similar or dissimilar), a pair is one record: a = x - x' with
|a| ≤ R, and a label of +1 (similar) or -1. With M = aᵀWa, its loss is that of a `MetricLoss`, whose
gradient is c·aaᵀ with 0 ≤ c ≤ S₊ if the pair is similar and -S₋ ≤ c ≤ 0 if it is not. So

- G = R²·max(S₊, S₋) and L = R⁴·sup \|second derivative\|;
- a pair is replaced by any other one, so a and a' need not have a record in common. If the label
  stays, \|c·aaᵀ - c'·a'a'ᵀ\|² = c²|a|⁴ + c'²|a'|⁴ - 2cc'(aᵀa')² ≤ 2S²R⁴, and if it changes the norm
  is at most (S₊ + S₋)R². Hence D ≤ R²·max(√2·S₊, √2·S₋, S₊ + S₋) ≤ 2G;
- a null record removes a gradient of at most G ≤ D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pairdp._roots import brentq
from pairdp._sums import gram
from pairdp.losses._supremum import upper_bound
from pairdp.losses.base import Domain, Holder
from pairdp.losses.convexity import declared_convex
from pairdp.losses.hinge_metric import HingeMetric
from pairdp.losses.logistic_metric import LogisticMetric
from pairdp.losses.metric import MetricLoss
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairMetricLoss(PointwiseLoss):
    """A metric loss of one given pair: of the difference a of its records and its label ±1.

    Parameters
    ----------
    metric : MetricLoss
        The function of the squared distance aᵀWa.

    Examples
    --------
    >>> loss, domain = PairMetricLoss(), Domain(1.0, 1.0, positive_semidefinite=True)
    >>> round(loss.lipschitz(domain), 3), round(loss.record_diameter(domain), 3)
    (0.731, 1.053)
    """

    metric: MetricLoss = field(default_factory=LogisticMetric)

    matrix: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.metric, MetricLoss):
            raise TypeError(f"metric must be a MetricLoss, got {self.metric!r}")

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the metric loss is declared convex."""
        return declared_convex(self.metric)

    @property
    def width(self) -> float:
        """The width on which the kink of the metric loss is smoothed; 0 if it is not."""
        return float(getattr(self.metric, "width", 0.0))

    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return the loss of each pair, given by its difference."""
        return self.metric.of_distance(_squared(parameters, x), y > 0)

    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return slope · aaᵀ for each pair."""
        slopes = self.metric.slope(_squared(parameters, x), y > 0)
        # The outer product comes first, so that the matrix is exactly symmetric.
        return np.asarray(slopes[:, None, None] * (x[:, :, None] * x[:, None, :]))

    def gradient_sum(self, parameters: Array, x: Array, y: Array, weights: Array) -> Array:
        """Return Σ weight · slope · aaᵀ, as one matrix product."""
        return gram(x, weights * self.metric.slope(_squared(parameters, x), y > 0))

    def lipschitz(self, domain: Domain) -> float:
        """Return R² · max(S₊, S₋)."""
        return self.metric.lipschitz(_of_records(domain))

    def smoothness(self, domain: Domain) -> float:
        """Return R⁴ · sup |second derivative|."""
        return self.metric.smoothness(_of_records(domain))

    def holder(self, domain: Domain) -> Holder:
        """Return the Hölder continuity of the metric loss."""
        return self.metric.holder(_of_records(domain))

    def record_diameter(self, domain: Domain) -> float:
        """Return the bound above or, for the logistic loss, a certified one within 0.1 %."""
        inner, square = _of_records(domain), domain.data_norm**2
        similar, dissimilar = self.metric.derivative_bound(*self.metric.distances(inner))
        closed = square * max(math.sqrt(2) * max(similar, dissimilar), similar + dissimilar)
        farthest = square * domain.radius if domain.radius else 0.0
        if (
            type(self.metric) is LogisticMetric
            and domain.positive_semidefinite
            and 1e-6 < farthest < 1e6
            and 1e-3 < self.metric.temperature < 1e3
        ):
            certified = _certified_diameter(farthest, self.metric.temperature)
            return min(closed, square * max(certified, math.sqrt(2) * dissimilar))
        return closed


def _of_records(domain: Domain) -> Domain:
    """Return the domain of two records whose differences have norm at most R."""
    return replace(domain, data_norm=domain.data_norm / 2)


def _squared(parameters: Array, x: Array) -> Array:
    return np.asarray(np.sum((x @ parameters) * x, axis=1))


@lru_cache(maxsize=256)
def _certified_diameter(farthest: float, temperature: float) -> float:
    r"""Return a bound on D/R² for R²B = ``farthest``, except for two dissimilar pairs.

    *A similar pair a becomes a dissimilar one b* at an angle θ ≤ 90° to ±a: the gradient changes by
    \|C·ââᵀ + E·b̂b̂ᵀ\| with C = k|a|²·s(k(aᵀWa - 1)) and E = k|b|²·s(k(1 - bᵀWb)), which increases in
    both. As in `LogisticMetric`, the worst W is B·uuᵀ with u at the angles ω to a and θ + ω to b.
    The worst |a| is R; the worst |b| may be smaller.

    *A similar pair a becomes a similar one b.* The change \|C·ââᵀ - E·b̂b̂ᵀ\| is convex in C and E,
    so each is zero or as large as possible, which is the case |a| = |b| = R. In the plane of ââᵀ
    and b̂b̂ᵀ, whose angle is β ≤ 90°, the worst W has norm B and lies between them, at the angles φ
    and ψ with φ + ψ = β: aᵀWa = R²B·cos φ and bᵀWb = R²B·cos ψ. That W is semidefinite is not
    used.
    """
    k = 1 / temperature
    peak = float(brentq(lambda m: m * expit(m - k) - 1, 1e-9, 1e9))

    def changed(low: Array, high: Array) -> Array:
        theta, omega = low
        to_second = np.cos(np.minimum(high[0] + high[1], math.pi / 2)) ** 2
        first = k * expit(k * (farthest * np.cos(omega) ** 2 - 1))
        growth = farthest * to_second
        length = np.minimum(1.0, peak / np.maximum(k * growth, 1e-300))
        second = length * k * expit(k * (1 - length * growth))
        return np.asarray(np.sqrt(first**2 + second**2 + 2 * first * second * np.cos(theta) ** 2))

    def similar(low: Array, high: Array) -> Array:
        first, second = (k * expit(k * (farthest * np.cos(angle) - 1)) for angle in low)
        cosine = np.cos(np.minimum(high[0] + high[1], math.pi / 2))
        both = np.sqrt(first**2 + second**2 - 2 * first * second * cosine)
        return np.asarray(np.maximum(both, np.maximum(first, second)))

    quarter = (0.0, math.pi / 2)
    return max(upper_bound(above, [quarter, quarter]) for above in (changed, similar))


register_loss("logistic", PairMetricLoss(LogisticMetric()))
register_loss("hinge", PairMetricLoss(HingeMetric()))
