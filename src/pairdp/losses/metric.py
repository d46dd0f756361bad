r"""Losses of a squared Mahalanobis distance: metric learning.

With a = x - x' and M = aᵀWa, the loss of a pair is a function of M that increases
for records of the same class ("similar") and decreases for others, so its gradient is c·aaᵀ with
0 ≤ c ≤ S₊ for similar pairs and -S₋ ≤ c ≤ 0 for dissimilar ones. M lies between 0 (or -4R²B when W
need not be positive semidefinite) and 4R²B, and |aaᵀ| = |a|² ≤ 4R². Hence

- G = 4R²·max(S₊, S₋) and L = 16R⁴·sup \|second derivative\|;
- D_o ≤ 4R²(S₊ + S₋). If replacing a record makes a similar pair dissimilar or vice versa, the
  gradient changes by at most that. Otherwise it changes by \|c·aaᵀ - c'·a'a'ᵀ\|, which is convex in
  (c, c') and so at most S·max(|a|², |a'|², \|aaᵀ - a'a'ᵀ\|) ≤ 4R²S. For the last: a, a' are two
  sides of a triangle within a ball of radius R. Either one of its angles is at least 90°, where the
  claim is easy to check, or it lies on a circle of radius ρ ≤ R with angles X, Y opposite a, a' and
  Z between them, and \|aaᵀ - a'a'ᵀ\|² = 16ρ⁴(1-g²)(1 - c²/2 + cg + g²/2) ≤ 16ρ⁴(1-g⁴), where g =
  cos Z and c = cos(X-Y);
- D_h = 2 D_o, because the loss is symmetric; a null record removes a pair's gradient of at most 2G,
  and D_o ≥ G;
- the smoothness of the risk: Σ|a|² over all ordered pairs is at most 2n²R², so the mean of |a|⁴ is
  at most 8R⁴·n/(n-1), and the smoothness of the risk is n/(2(n-1)) times that of one pair.
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

    A subclass must define `of_distance`, `slope` and `derivative_bound`, and declare whether these
    functions are ``convex`` (the squared distance is linear in W, so the loss is then convex in W);
    with `curvature` it is smooth.

    Parameters
    ----------
    temperature : float
        τ, the divisor of squared distances and their threshold.
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
        """Return the derivative in the squared distance: >= 0 if similar, <= 0 if dissimilar."""

    @abstractmethod
    def derivative_bound(self, nearest: float, farthest: float) -> tuple[float, float]:
        """Return the largest |slope| of similar and of dissimilar pairs for M in this range."""

    def curvature(self, nearest: float, farthest: float) -> float:
        """Return the largest |second derivative| for M in this range."""
        return float("inf")

    def distances(self, domain: Domain) -> tuple[float, float]:
        """Return the smallest and the largest M."""
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
        # The outer product comes first, so that the matrix is exactly symmetric.
        return np.asarray(slopes[:, None, None] * (difference[:, :, None] * difference[:, None, :]))

    def lipschitz(self, domain: Domain) -> float:
        """Return 4R² · max(S₊, S₋)."""
        return domain.widest**2 * max(self.derivative_bound(*self.distances(domain)))

    def smoothness(self, domain: Domain) -> float:
        """Return 16R⁴ · sup |second derivative|."""
        return domain.widest**4 * self.curvature(*self.distances(domain))

    def holder(self, domain: Domain) -> Holder:
        """Return the smoothness, or G, the largest jump of the gradient of one pair."""
        declared = super().holder(domain)
        return declared if declared.exponent == 1 else Holder(0.0, self.lipschitz(domain))

    def pair_diameter(self, domain: Domain) -> float:
        """Return 4R²(S₊ + S₋)."""
        return domain.widest**2 * sum(self.derivative_bound(*self.distances(domain)))

    def risk_smoothness(self, domain: Domain, n: int) -> float:
        """Return L · n / (2(n-1))."""
        n = integer("n", n, at_least=2)
        return self.smoothness(domain) * (n / (2 * (n - 1)))
