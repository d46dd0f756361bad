"""The logistic ranking loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pairdp import score_sums
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogisticRanking(RankingLoss):
    r"""φ(u) = ln(1 + e^{-u}).

    With s the sigmoid, G = 2kR·s(U) and L = k²R²: two-sided at R = B = τ = 1, G = 4·s(4) ≈ 3.93
    and L = 4.

    Examples
    --------
    >>> from pairdp.losses import Domain
    >>> round(LogisticRanking().lipschitz(Domain(data_norm=1.0, radius=1.0)), 4)
    3.9281
    """

    convex: ClassVar[bool] = True

    def phi(self, u: Array) -> Array:
        """Return ln(1 + e^{-u})."""
        return np.logaddexp(0.0, -u)

    def slope(self, u: Array) -> Array:
        """Return -s(-u)."""
        return np.asarray(-expit(-u))

    @staticmethod
    def scalar_slope(u: float) -> float:
        """Return -s(-u)."""
        if u >= 0:
            small = math.exp(-u)
            return -small / (1 + small)
        return -1 / (1 + math.exp(u))

    def derivative_bound(self, margin_bound: float) -> float:
        """Return s(U)."""
        return float(expit(margin_bound))

    def curvature(self, margin_bound: float) -> float:
        """Return 1/4, the curvature at zero."""
        return 0.25

    def structure(self) -> score_sums.Analytic:
        """Return the structure of an analytic φ; the nearest poles of φ' are at ±iπ.

        With s' = s(1 - s) ≤ 1/4, φ'' is s', the third derivative is at most 1/(6√3) in absolute
        value, and the fourth, s'(1 - 6s'), is between -1/8 and 1/24.
        """
        return score_sums.Analytic(
            strip=math.pi, linear_beyond=40.0, left_slope=-1.0, right_slope=0.0, third=0.125
        )


register_loss("logistic", LogisticRanking())
