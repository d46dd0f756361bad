"""The hinge metric loss, optionally smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import check_width
from pairdp.losses.hinge_ranking import huber_hinge, huber_hinge_slope
from pairdp.losses.metric import MetricLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class HingeMetric(MetricLoss):
    r"""max(1 + M/τ, 0) for similar pairs, max(1 - M/τ, 0) for others (Yang 2021).

    G = 4R²/τ and D_o = 8R²/τ = 2G, attained at W = 0 by a flipped label. With ``width`` h > 0 the
    kink is replaced by a parabola, and L = 16R⁴/(τ²h).

    Parameters
    ----------
    temperature
        See `MetricLoss`.
    width : float
        h, the width of the smoothing; 0 for the hinge itself.
    """

    convex: ClassVar[bool] = True
    width: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", check_width(self.width))

    def _margin(self, squared: Array, similar: Mask) -> tuple[Array, Array]:
        sign = np.where(similar, 1.0, -1.0) / self.temperature
        return sign, 1 + sign * squared

    def of_distance(self, squared: Array, similar: Mask) -> Array:
        """Return the hinge of 1 ± M/τ."""
        return huber_hinge(self._margin(squared, similar)[1], self.width)

    def slope(self, squared: Array, similar: Mask) -> Array:
        """Return the derivative of the hinge, times ±1/τ."""
        sign, margin = self._margin(squared, similar)
        return np.asarray(sign * huber_hinge_slope(margin, self.width))

    def derivative_bound(self, nearest: float, farthest: float) -> tuple[float, float]:
        """Return 1/τ, or less if all margins are within a wide smoothing."""
        if self.width == 0:
            return 1 / self.temperature, 1 / self.temperature
        similar = min(1.0, (1 + farthest / self.temperature) / self.width)
        dissimilar = min(1.0, (1 - nearest / self.temperature) / self.width)
        return similar / self.temperature, dissimilar / self.temperature

    def curvature(self, nearest: float, farthest: float) -> float:
        """Return 1/(τ²h)."""
        return float("inf") if self.width == 0 else 1 / (self.temperature**2 * self.width)


register_loss("hinge", HingeMetric())
