"""The logistic metric loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pairdp._roots import brentq
from pairdp.losses._supremum import upper_bound
from pairdp.losses.base import Domain
from pairdp.losses.metric import MetricLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class LogisticMetric(MetricLoss):
    r"""ln(1 + e^{-v}) with v = (1 - M)/τ for similar pairs, (M - 1)/τ for others.

    This is φ(yy'(1 - M)) of Xue 2021, Huai 2020 and Kang 2021, with k = 1/τ. For W positive
    semidefinite, G = 4kR²·max(s(k(4R²B-1)), s(k)) and L = 16k²R⁴·s'(k·max(0, 1-4R²B)). D_o is
    certified by branch and bound; see `_certified_pair_diameter`.
    """

    convex: ClassVar[bool] = True

    def _margin(self, squared: Array, similar: Mask) -> tuple[Array, Array]:
        sign = np.where(similar, 1.0, -1.0) / self.temperature
        return sign, sign * (1 - squared)

    def of_distance(self, squared: Array, similar: Mask) -> Array:
        """Return ln(1 + e^{-v})."""
        return np.logaddexp(0.0, -self._margin(squared, similar)[1])

    def slope(self, squared: Array, similar: Mask) -> Array:
        """Return ± s(-v)/τ."""
        sign, margin = self._margin(squared, similar)
        return np.asarray(sign * expit(-margin))

    def derivative_bound(self, nearest: float, farthest: float) -> tuple[float, float]:
        """Return s((M-1)/τ)/τ at the farthest, s((1-M)/τ)/τ at the nearest."""
        k = 1 / self.temperature
        return float(k * expit(k * (farthest - 1))), float(k * expit(k * (1 - nearest)))

    def curvature(self, nearest: float, farthest: float) -> float:
        """Return the curvature where M is closest to 1."""
        k = 1 / self.temperature
        slope = float(expit(k * max(0.0, 1 - farthest)))
        return k * k * slope * (1 - slope)

    def pair_diameter(self, domain: Domain) -> float:
        """Return a certified bound, within 0.1 % of an attained value."""
        closed_form = super().pair_diameter(domain)
        if math.isinf(domain.radius) or domain.radius == 0:
            return closed_form
        farthest = self.distances(domain)[1]
        if not 1e-6 < farthest < 1e6 or not 1e-3 < self.temperature < 1e3:
            return closed_form
        certified = _certified_pair_diameter(
            farthest, self.temperature, domain.positive_semidefinite
        )
        return min(closed_form, domain.widest**2 * certified)


@lru_cache(maxsize=256)
def _certified_pair_diameter(farthest: float, temperature: float, semidefinite: bool) -> float:
    r"""Return a bound on D_o / (4R²) for 4R²B = ``farthest``, by branch and bound.

    Replacing a record so that a similar pair becomes dissimilar changes the gradient by \|c·aaᵀ +
    e·bbᵀ\|, where c = k·s(k(aᵀWa - 1)), e = k·s(k(1 - bᵀWb)), and a, b are two sides of a triangle
    in a ball of radius R. The proof has three steps:

    1. With angle θ ≤ 90° between a and ±b, there are ψ, χ ≥ 0 with ψ + χ = θ, |a| ≤ 2R·cos ψ and
       |b| ≤ 2R·cos χ. If the triangle is acute, it lies on a circle of radius ρ ≤ R with the
       centre inside, and ψ, χ are the angles to the centre. If the angle at an end is at least 90°,
       the side opposite is the longest, and ψ or χ = 0 suffices. If the angle between a and b is at
       least 90°, then |a|² + |b|² ≤ 4R².
    2. The norm increases in c and e, so the worst W has a large aᵀWa and a small bᵀWb. The
       attainable values of the two form a convex set, whose boundary is attained by maximisers of
       λaᵀWa - μbᵀWb: W = B·uuᵀ with u in the plane of a and b, beyond a, at angles ω to a and θ + ω
       to b (the positive part of λaaᵀ - μbbᵀ has rank one). If W need not be semidefinite, W lies
       in the span of aaᵀ and bbᵀ, whose angle is arccos(cos²θ), and the same argument holds with
       cosines instead of their squares.
    3. So the square of D_o / (4R²) is the largest C² + E² + 2CE·cos²θ, with C = r·c for the worst
       r ≤ cos²ψ and E = t·e for the worst t ≤ cos²χ: shorter sides are allowed. On a box of (ψ, χ,
       ω), C is largest at the smallest ψ and ω, and E at the smallest χ and the largest angle
       between u and b.

    If the pair stays similar, or dissimilar, the gradient changes by at most max(C, E), which is
    the case that the other is zero (see `pairdp.losses.metric`).
    """
    k = 1 / temperature

    def peak(offset: float) -> float:
        return brentq(lambda m: m * expit(m - k * offset) - 1, 1e-9, 1e9)

    peaks = {offset: peak(offset) for offset in (-1.0, 1.0)}

    def longest(most: Array, growth: Array, offset: float) -> Array:
        """Return the largest r·k·s(k(offset + r·growth)) for r <= most."""
        # It increases in r, or has one maximum if the growth is negative.
        worst = np.minimum(most, peaks[offset] / np.maximum(-k * growth, 1e-300))
        return np.asarray(worst * k * expit(k * (offset + worst * growth)))

    def above(low: Array, high: Array) -> Array:
        theta_low = np.minimum(low[0] + low[1], math.pi / 2)
        theta_high = np.minimum(high[0] + high[1], math.pi / 2)
        if semidefinite:
            to_first = np.cos(np.minimum(low[2], math.pi / 2)) ** 2
            to_second = np.cos(np.minimum(high[2] + theta_high, math.pi / 2)) ** 2
        else:
            to_first = np.cos(low[2])
            between = np.arccos(np.cos(theta_high) ** 2)
            to_second = np.cos(np.minimum(high[2] + between, math.pi))
        first = longest(np.cos(low[0]) ** 2, farthest * to_first, -1.0)
        second = longest(np.cos(low[1]) ** 2, -farthest * to_second, 1.0)
        alignment = np.cos(theta_low) ** 2
        return np.asarray(np.sqrt(first**2 + second**2 + 2 * first * second * alignment))

    widest = math.pi / 2 if semidefinite else math.pi
    return upper_bound(above, [(0.0, math.pi / 2), (0.0, math.pi / 2), (0.0, widest)])


register_loss("logistic", LogisticMetric())
