"""The squared hinge and the q-norm hinge ranking losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import score_sums
from pairdp._checks import real
from pairdp.losses.base import Domain, Holder
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PowerHingeRanking(RankingLoss):
    r"""φ(u) = max(1 - u, 0)^q for 1 < q ≤ 2 (Wang 2024: Hölder smooth).

    G = 2kR·q(1+U)^{q-1}; the gradient is Hölder continuous with exponent q - 1 and constant
    q(2kR)^q, because :math:`|a_+^{q-1} - b_+^{q-1}| ≤ |a-b|^{q-1}`.

    Parameters
    ----------
    form, temperature
        See `RankingLoss`.
    power : float
        q, above 1 and at most 2.
    """

    convex: ClassVar[bool] = True
    power: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        power = real("power", self.power)
        if not 1 < power <= 2:
            raise ValueError(
                f"power must be above 1 and at most 2, got {power!r}; for 1 use HingeRanking"
            )
        object.__setattr__(self, "power", power)

    def phi(self, u: Array) -> Array:
        """Return max(1 - u, 0)^q."""
        return np.asarray(np.maximum(1 - u, 0.0) ** self.power)

    def slope(self, u: Array) -> Array:
        """Return -q max(1 - u, 0)^{q-1}."""
        return np.asarray(-self.power * np.maximum(1 - u, 0.0) ** (self.power - 1))

    @staticmethod
    def scalar_slope(u: float, power: float) -> float:
        """Return -q max(1 - u, 0)^{q-1}."""
        if power == 2:
            return -2 * max(1 - u, 0.0)
        return -power * math.pow(max(1 - u, 0.0), power - 1)

    def derivative_bound(self, margin_bound: float) -> float:
        """Return q (1 + U)^{q-1}."""
        return float(self.power * (1 + margin_bound) ** (self.power - 1))

    def curvature(self, margin_bound: float) -> float:
        """Return 2 for q = 2; for a smaller power the curvature is unbounded at the kink."""
        return 2.0 if self.power == 2 else float("inf")

    def holder(self, domain: Domain) -> Holder:
        """Return exponent q - 1 with constant q (2kR)^q."""
        return Holder(self.power - 1, self.power * (self.scale * domain.widest) ** self.power)

    def structure(self) -> score_sums.TruncatedPowers:
        """Return one truncated power."""
        return score_sums.TruncatedPowers(1.0, self.power)


@dataclass(frozen=True)
class SquaredHingeRanking(PowerHingeRanking):
    r"""φ(u) = max(1 - u, 0)²: G = 4kR(1 + U), L = 8k²R²."""

    convex: ClassVar[bool] = True
    power: float = 2.0


register_loss("squared_hinge", SquaredHingeRanking())
register_loss("q_hinge", PowerHingeRanking())
