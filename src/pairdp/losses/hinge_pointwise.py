"""The pointwise hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import Domain, Holder, check_width
from pairdp.losses.hinge_ranking import huber_hinge, huber_hinge_slope
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HingePointwise(PointwiseLoss):
    r"""max(1 - y·wᵀx, 0) for labels ±1: G = R, D = 2R, the gradient of one record jumps by R.

    Parameters
    ----------
    width : float
        h, the width on which the kink is replaced by a parabola (L = R²/h); 0 for the hinge itself.
    """

    convex: ClassVar[bool] = True
    width: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", check_width(self.width))

    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return the hinge of 1 - y·wᵀx."""
        return huber_hinge(1 - y * (x @ parameters), self.width)

    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return -y·x times the derivative of the hinge."""
        slopes = huber_hinge_slope(1 - y * (x @ parameters), self.width)
        return np.asarray((-y * slopes)[:, None] * x)

    @staticmethod
    def scalar_slope(score: float, y: float, width: float) -> float:
        """Return -y times the derivative of the hinge."""
        margin = y * score
        if width == 0:
            return -y if margin < 1 else 0.0
        return -y * min(max((1 - margin) / width, 0.0), 1.0)

    def lipschitz(self, domain: Domain) -> float:
        """Return R, or less if all margins are within a wide smoothing."""
        if self.width == 0:
            return domain.data_norm
        margin_bound = domain.data_norm * domain.radius if domain.radius else 0.0
        return domain.data_norm * min(1.0, (1 + margin_bound) / self.width)

    def smoothness(self, domain: Domain) -> float:
        """Return R²/h."""
        return float("inf") if self.width == 0 else domain.data_norm**2 / self.width

    def holder(self, domain: Domain) -> Holder:
        """Return the smoothness, or the jump at the kink."""
        if self.width == 0:
            return Holder(0.0, domain.data_norm)
        return Holder(1.0, self.smoothness(domain))


register_loss("hinge", HingePointwise())
register_loss("rounded_hinge", HingePointwise(width=0.5))
