"""The hinge metric loss, with or without a rounded corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.losses._ranges import check_width
from pairdp.losses.hinge_ranking import huber_hinge, huber_hinge_slope
from pairdp.losses.metric import MetricLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class HingeMetric(MetricLoss):
    r"""max(1 + M/τ, 0) for alike pairs, max(1 - M/τ, 0) for others (Yang 2021).

    G = 4R²/τ and D_o = 8R²/τ = 2G, attained at W = 0 by a flipped label. With ``width`` h > 0 the
    corner is a parabola, and L = 16R⁴/(τ²h).

    Parameters
    ----------
    temperature
        See `MetricLoss`.
    width : float
        h, the width of the rounding; 0 for the sharp hinge.
    """

    convex: ClassVar[bool] = True
    width: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", check_width(self.width))

    def _room(self, squared: Array, alike: Mask) -> tuple[Array, Array]:
        turn = np.where(alike, 1.0, -1.0) / self.temperature
        return turn, 1 + turn * squared

    def of_distance(self, squared: Array, alike: Mask) -> Array:
        """Return the hinge of 1 ± M/τ."""
        return huber_hinge(self._room(squared, alike)[1], self.width)

    def slope(self, squared: Array, alike: Mask) -> Array:
        """Return the hinge's derivative, times ±1/τ."""
        turn, room = self._room(squared, alike)
        return np.asarray(turn * huber_hinge_slope(room, self.width))

    def derivative_bound(self, nearest: float, farthest: float) -> tuple[float, float]:
        """Return 1/τ, or less where a wide rounding is not left."""
        if self.width == 0:
            return 1 / self.temperature, 1 / self.temperature
        alike = min(1.0, (1 + farthest / self.temperature) / self.width)
        unlike = min(1.0, (1 - nearest / self.temperature) / self.width)
        return alike / self.temperature, unlike / self.temperature

    def curvature(self, nearest: float, farthest: float) -> float:
        """Return 1/(τ²h)."""
        return float("inf") if self.width == 0 else 1 / (self.temperature**2 * self.width)


register_loss("hinge", HingeMetric())
