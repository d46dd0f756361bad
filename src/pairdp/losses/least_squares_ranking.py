"""The least-squares ranking loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import score_sums
from pairdp.losses.base import Domain, Holder
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LeastSquaresRanking(RankingLoss):
    r"""φ(u) = (1 - u)²: G = 4kR(1 + U), L = 8k²R².

    φ increases beyond 1, but D_o = G nevertheless. The gradient is -2ka + 2k²aaᵀw; if a is replaced
    by a', the first term changes by at most 2k·2R, and the eigenvalues of aaᵀ - a'a'ᵀ lie between
    -|a'|² and |a|², so the second changes by at most 2k²·4R²B: together 4kR(1 + 2kRB) = G.
    """

    convex: ClassVar[bool] = True
    decreasing: ClassVar[bool] = False

    def phi(self, u: Array) -> Array:
        """Return (1 - u)²."""
        return np.asarray((1 - u) ** 2)

    def slope(self, u: Array) -> Array:
        """Return -2(1 - u)."""
        return np.asarray(2 * (u - 1))

    @staticmethod
    def scalar_slope(u: float) -> float:
        """Return -2(1 - u)."""
        return 2 * (u - 1)

    def derivative_bound(self, margin_bound: float) -> float:
        """Return 2(1 + U)."""
        return 2 * (1 + margin_bound)

    def curvature(self, margin_bound: float) -> float:
        """Return 2."""
        return 2.0

    def holder(self, domain: Domain) -> Holder:
        """Return the smoothness."""
        return Holder(1.0, self.smoothness(domain))

    def pair_diameter(self, domain: Domain) -> float:
        """Return G, by the eigenvalues of aaᵀ - a'a'ᵀ."""
        return self.lipschitz(domain)

    def structure(self) -> score_sums.Quadratic:
        """Return 1 - 2u + u²."""
        return score_sums.Quadratic(1.0, -2.0, 1.0)


register_loss("least_squares", LeastSquaresRanking())
