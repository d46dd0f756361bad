"""The pointwise logistic loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pairdp.losses._supremum import upper_bound
from pairdp.losses.base import Domain, check_temperature
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogisticPointwise(PointwiseLoss):
    r"""ln(1 + e^{-y·wᵀx/τ}) for labels ±1: G = (R/τ)·s(RB/τ), L = R²/(4τ²).

    Parameters
    ----------
    temperature : float
        τ, the divisor of scores.
    """

    convex: ClassVar[bool] = True
    temperature: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", check_temperature(self.temperature))

    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return ln(1 + e^{-y·wᵀx/τ})."""
        return np.logaddexp(0.0, -y * (x @ parameters) / self.temperature)

    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return -y·s(-y·wᵀx/τ)·x/τ."""
        slopes = expit(-y * (x @ parameters) / self.temperature)
        return np.asarray((-y * slopes / self.temperature)[:, None] * x)

    @staticmethod
    def scalar_slope(score: float, y: float, temperature: float) -> float:
        """Return -y·s(-y·score/τ)/τ."""
        u = y * score / temperature
        if u >= 0:
            small = math.exp(-u)
            return -y * small / (1 + small) / temperature
        return -y / (1 + math.exp(u)) / temperature

    def _margin_bound(self, domain: Domain) -> float:
        return domain.data_norm * domain.radius / self.temperature if domain.radius else 0.0

    def lipschitz(self, domain: Domain) -> float:
        """Return (R/τ)·s(RB/τ)."""
        return domain.data_norm / self.temperature * float(expit(self._margin_bound(domain)))

    def smoothness(self, domain: Domain) -> float:
        """Return R²/(4τ²)."""
        return (domain.data_norm / self.temperature) ** 2 / 4

    def record_diameter(self, domain: Domain) -> float:
        """Return a certified bound, within 0.1 % of an attained value."""
        margin_bound = self._margin_bound(domain)
        if not 1e-6 < margin_bound < 1e6:
            return super().record_diameter(domain)
        certified = domain.data_norm / self.temperature * _certified_record_diameter(margin_bound)
        return min(super().record_diameter(domain), certified)


_PEAK = 1.2784645427610738
"""Where m·s(-m) is largest: the root of m·s(m) = 1."""


@lru_cache(maxsize=256)
def _certified_record_diameter(margin_bound: float) -> float:
    r"""Return a bound on D·τ/R for RB/τ = ``margin_bound``, by branch and bound.

    With v = yx, the gradient is -s(-wᵀv/τ)·v/τ. Let v and v' make the angles α and β with -w, and
    let b = R|w|/τ. In a given direction, the norm of a gradient times τ/R is at most the largest
    ρ·s(ρb·cos α) for ρ ≤ 1. The norm of a difference is convex in both norms, so it is largest if
    each is zero or largest, and increases in the angle between them, which is at most α + β.
    """

    def above(low: Array, high: Array) -> Array:
        first = _longest(np.cos(low[0]), low[2], high[2])
        second = _longest(np.cos(low[1]), low[2], high[2])
        cosine = np.cos(np.minimum(high[0] + high[1], math.pi))
        both = np.sqrt(np.maximum(first**2 + second**2 - 2 * first * second * cosine, 0.0))
        # For an acute angle the difference may be largest if one norm is zero.
        return np.asarray(np.maximum(both, np.maximum(first, second)))

    return upper_bound(above, [(0.0, math.pi), (0.0, math.pi), (0.0, margin_bound)])


def _longest(cosine: Array, least: Array, most: Array) -> Array:
    """Return the largest ρ·s(ρb·cosine) for ρ <= 1 and b between ``least`` and ``most``."""
    against = np.maximum(-cosine * least, 1e-300)
    peak = np.minimum(against, _PEAK)
    decreasing = np.where(against > _PEAK, peak / against, 1.0) * expit(-peak)
    return np.asarray(np.where(cosine >= 0, expit(most * cosine), decreasing))


register_loss("logistic", LogisticPointwise())
