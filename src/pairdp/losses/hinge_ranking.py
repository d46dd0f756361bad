"""The hinge ranking loss, optionally smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import score_sums
from pairdp.losses.base import check_width
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


def huber_hinge(x: Array, width: float) -> Array:
    """Return max(x, 0), with its kink replaced by a parabola on [0, width]."""
    above = np.maximum(x, 0.0)
    if width == 0:
        return above
    inside = np.minimum(above, width)
    return np.asarray(inside * inside / (2 * width) + (above - inside))


def huber_hinge_slope(x: Array, width: float) -> Array:
    """Return the derivative of `huber_hinge`; 0 at the kink if the width is 0."""
    if width == 0:
        return (x > 0).astype(np.float64)
    return np.clip(x / width, 0.0, 1.0)


@dataclass(frozen=True)
class HingeRanking(RankingLoss):
    r"""φ(u) = max(1 - u, 0); with ``width`` h > 0 its kink is a parabola on [1 - h, 1].

    G = 2kR. The hinge is not smooth (its gradient jumps by at most G); the smoothed hinge has L =
    4k²R²/h and is smaller than the hinge by at most h/2. A gradient step η is non-expansive if h ≥
    η·(2kR)²/2.

    Parameters
    ----------
    form, temperature
        See `RankingLoss`.
    width : float
        h, the width of the smoothing; 0 for the hinge itself.
    """

    convex: ClassVar[bool] = True
    width: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", check_width(self.width))

    def phi(self, u: Array) -> Array:
        """Return the hinge of 1 - u."""
        return huber_hinge(1 - u, self.width)

    def slope(self, u: Array) -> Array:
        """Return minus the derivative of the hinge."""
        return -huber_hinge_slope(1 - u, self.width)

    @staticmethod
    def scalar_slope(u: float, width: float) -> float:
        """Return minus the derivative of the hinge."""
        if width == 0:
            return -1.0 if u < 1 else 0.0
        return -min(max((1 - u) / width, 0.0), 1.0)

    def derivative_bound(self, margin_bound: float) -> float:
        """Return 1, or less if the margin bound is within a wide smoothing."""
        return 1.0 if self.width == 0 else min(1.0, (1 + margin_bound) / self.width)

    def curvature(self, margin_bound: float) -> float:
        """Return 1/h."""
        return float("inf") if self.width == 0 else 1 / self.width

    def structure(self) -> score_sums.TruncatedPowers:
        """Return one ramp, or the difference of two parabolas."""
        if self.width == 0:
            return score_sums.TruncatedPowers(1.0, 1.0)
        return score_sums.TruncatedPowers(
            1.0, 2.0, 1 / (2 * self.width), ((1, 0.0), (-1, self.width))
        )


register_loss("hinge", HingeRanking())
