"""The pointwise least-squares loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import Domain, check_label_bound
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LeastSquaresPointwise(PointwiseLoss):
    r"""(wᵀx - y)² for targets \|y\| ≤ Y: G = 2R(RB + Y), L = 2R².

    D = 4R·max_σ cos σ·(RB·sin σ + Y), attained. The gradient is g = 2xxᵀw - 2yx. For a unit vector
    u, choose the signs of x and x' so that s = u·x and s' = u·x' are non-negative; then u·(g - g')
    is at most 2B|s·x - s'·x'| + 2Y(s + s'). With s = R·cos p and s' = R·cos q the first norm is
    largest if both records have norm R and opposite components orthogonal to u, where it is
    R²·sin(p + q); and cos p + cos q ≤ 2cos σ for σ = (p + q)/2.

    Parameters
    ----------
    label_bound : float
        Y, the bound that targets are clipped to.
    """

    convex: ClassVar[bool] = True
    label_bound: float = 1.0

    binary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_bound", check_label_bound(self.label_bound))

    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return (wᵀx - y)²."""
        return np.asarray((x @ parameters - y) ** 2)

    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return 2(wᵀx - y)x."""
        return np.asarray((2 * (x @ parameters - y))[:, None] * x)

    @staticmethod
    def scalar_slope(score: float, y: float) -> float:
        """Return 2(wᵀx - y)."""
        return 2 * (score - y)

    def lipschitz(self, domain: Domain) -> float:
        """Return 2R(RB + Y)."""
        return 2 * domain.data_norm * (domain.data_norm * domain.radius + self.label_bound)

    def smoothness(self, domain: Domain) -> float:
        """Return 2R²."""
        return 2 * domain.data_norm**2

    def record_diameter(self, domain: Domain) -> float:
        """Return 4R·max_σ cos σ·(RB·sin σ + Y), at sin σ = (√(1+8ρ²) - 1)/(4ρ), ρ = RB/Y."""
        norm, bound = domain.data_norm, self.label_bound
        margin_bound = norm * domain.radius
        if math.isinf(margin_bound):
            return math.inf
        sine = 2 * margin_bound / (bound * (math.sqrt(1 + 8 * (margin_bound / bound) ** 2) + 1))
        return 4 * norm * math.sqrt(1 - sine**2) * (margin_bound * sine + bound)


register_loss("least_squares", LeastSquaresPointwise())
