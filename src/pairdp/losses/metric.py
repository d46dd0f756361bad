r"""Losses of a squared Mahalanobis distance: metric learning.

With a = x - x' and M = aᵀWa, the loss of a pair is a function of M that increases
for records of the same class ("similar") and decreases for others, so its gradient is c·aaᵀ with
0 ≤ c ≤ S₊ for similar pairs and -S₋ ≤ c ≤ 0 for dissimilar ones. M lies between 0 (or -4R²B when W
need not be positive semidefinite) and 4R²B, and |aaᵀ| = |a|² ≤ 4R². Hence

- G = 4R²·max(S₊, S₋) and L = 16R⁴·sup \|second derivative\|;
- D_o ≤ 4R²(S₊ + S₋). A replaced record that changes kind moves the gradient by at most
  that. One that does not moves it by \|c·aaᵀ - c'·a'a'ᵀ\|, convex in (c, c') and so at most
  S·max(|a|², |a'|², \|aaᵀ - a'a'ᵀ\|) ≤ 4R²S. For the last: a, a' are two sides of a triangle
  within a ball of radius R. Either an angle of it is at least 90° and one of three cases
  is plain, or it lies on a circle of radius ρ ≤ R with angles X, Y opposite a, a' and Z
  between them, and \|aaᵀ - a'a'ᵀ\|² = 16ρ⁴(1-g²)(1 - c²/2 + cg + g²/2) ≤ 16ρ⁴(1-g⁴), where
  g = cos Z and c = cos(X-Y);
- D_h = 2 D_o, the loss being symmetric; a pair that a null record takes away had at most 2G,
  and D_o ≥ G;
- the risk's smoothness: Σ|a|² over all ordered pairs is at most 2n²R², so the mean of |a|⁴
  is at most 8R⁴·n/(n-1), and the risk is n/(2(n-1)) times as smooth as one pair.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.losses.base import Domain, Holder, PairwiseLoss, check_temperature

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class MetricLoss(PairwiseLoss):
    """A function of the squared distance, increasing for similar pairs and decreasing for others.

    A loss of one's own defines `of_distance`, `slope` and `derivative_bound`, and declares
    whether these functions are ``convex`` (the squared distance is linear in W, so
    the loss is as convex as they are); with `curvature` it is smooth.

    Parameters
    ----------
    temperature : float
        τ, which what is compared with the threshold is divided by.
    """

    temperature: float = 1.0

    matrix: ClassVar[bool] = True
    binary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", check_temperature(self.temperature))

    @abstractmethod
    def of_distance(self, squared: Array, similar: Mask) -> Array:
        """Return the loss of pairs at these squared distances."""

    @abstractmethod
    def slope(self, squared: Array, similar: Mask) -> Array:
        """Return the derivative in the squared distance: >= 0 if similar, else <= 0."""

    @abstractmethod
    def derivative_bound(self, nearest: float, farthest: float) -> tuple[float, float]:
        """Return the largest |slope| of similar and of dissimilar pairs for M between these."""

    def curvature(self, nearest: float, farthest: float) -> float:
        """Return the largest |second derivative| for M between these."""
        return float("inf")

    def distances(self, domain: Domain) -> tuple[float, float]:
        """Return the least and the largest M."""
        farthest = domain.widest**2 * domain.radius if domain.radius else 0.0
        return (0.0 if domain.positive_semidefinite else -farthest), farthest

    def _squared(self, parameters: Array, x: Array, other_x: Array) -> tuple[Array, Array]:
        difference = x - other_x
        return difference, np.sum((difference @ parameters) * difference, axis=1)

    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return the loss of each pair."""
        return self.of_distance(self._squared(parameters, x, other_x)[1], y == other_y)

    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return slope · aaᵀ for each pair."""
        difference, squared = self._squared(parameters, x, other_x)
        slopes = self.slope(squared, y == other_y)
        # The product of the two sides first, so that the matrix is symmetric to the last bit.
        return np.asarray(slopes[:, None, None] * (difference[:, :, None] * difference[:, None, :]))

    def lipschitz(self, domain: Domain) -> float:
        """Return 4R² · max(S₊, S₋)."""
        return domain.widest**2 * max(self.derivative_bound(*self.distances(domain)))

    def smoothness(self, domain: Domain) -> float:
        """Return 16R⁴ · sup |second derivative|."""
        return domain.widest**4 * self.curvature(*self.distances(domain))

    def holder(self, domain: Domain) -> Holder:
        """Return smoothness, or how far the gradient of one pair can jump: G."""
        declared = super().holder(domain)
        return declared if declared.exponent == 1 else Holder(0.0, self.lipschitz(domain))

    def pair_diameter(self, domain: Domain) -> float:
        """Return 4R²(S₊ + S₋)."""
        return domain.widest**2 * sum(self.derivative_bound(*self.distances(domain)))

    def risk_smoothness(self, domain: Domain, n: int) -> float:
        """Return L · n / (2(n-1))."""
        n = integer("n", n, at_least=2)
        return self.smoothness(domain) * (n / (2 * (n - 1)))
