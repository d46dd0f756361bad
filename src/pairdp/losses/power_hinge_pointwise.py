"""The pointwise q-norm hinge loss (Wang 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import Domain, Holder
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.power_pointwise import check_power, power_diameter
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PowerHingePointwise(PointwiseLoss):
    r"""max(1 - y·wᵀx, 0)^q for labels ±1 and 1 ≤ q ≤ 2 (Wang 2024: Hölder smooth).

    G = qR(1 + RB)^{q-1}, and D is that of `power_diameter`, with Y = 1. The gradient is Hölder
    continuous with exponent q - 1 and constant qR^q, because
    :math:`|a_+^{q-1} - b_+^{q-1}| ≤ |a-b|^{q-1}`. L = 2R² for q = 2.

    Parameters
    ----------
    power : float
        q: 1 for the hinge, 2 for the squared hinge.
    """

    convex: ClassVar[bool] = True
    power: float = 1.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", check_power(self.power))

    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return max(1 - y·wᵀx, 0)^q."""
        return np.asarray(np.maximum(1 - y * (x @ parameters), 0.0) ** self.power)

    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return -qy·max(1 - y·wᵀx, 0)^{q-1}·x; 0 at the kink."""
        margins = 1 - y * (x @ parameters)
        slopes = self.power * np.maximum(margins, 0.0) ** (self.power - 1)
        return np.asarray((-y * np.where(margins > 0, slopes, 0.0))[:, None] * x)

    @staticmethod
    def scalar_slope(score: float, y: float, power: float) -> float:
        """Return -qy·max(1 - y·score, 0)^{q-1}."""
        margin = 1 - y * score
        return -y * power * math.pow(margin, power - 1) if margin > 0 else 0.0

    def lipschitz(self, domain: Domain) -> float:
        """Return qR(1 + RB)^{q-1}."""
        largest = 1 + domain.data_norm * domain.radius
        return float(self.power * domain.data_norm * largest ** (self.power - 1))

    def smoothness(self, domain: Domain) -> float:
        """Return 2R² for q = 2; for a smaller power the curvature is unbounded at the kink."""
        return 2 * domain.data_norm**2 if self.power == 2 else math.inf

    def holder(self, domain: Domain) -> Holder:
        """Return exponent q - 1 with constant qR^q."""
        return Holder(self.power - 1, float(self.power * domain.data_norm**self.power))

    def record_diameter(self, domain: Domain) -> float:
        """Return 2qR·max_σ cos σ·(1 + RB·sin σ)^{q-1}."""
        margin_bound = domain.data_norm * domain.radius
        return power_diameter(self.power, domain.data_norm, margin_bound, 1.0)


register_loss("q_hinge", PowerHingePointwise())
