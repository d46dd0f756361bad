"""The sigmoid ranking loss, which is not convex."""

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
_MOST_CURVED = math.log(2 + math.sqrt(3))


@dataclass(frozen=True)
class SigmoidRanking(RankingLoss):
    r"""φ(u) = 1/(1 + e^u), a smooth version of the number of misranked pairs.

    At a small temperature τ its average is close to the fraction of misranked pairs, so minimising
    it maximises the AUC and not a convex surrogate. It is robust: the loss of one pair is at most
    1. φ is convex for u ≥ 0 and concave for u ≤ 0, so only algorithms with noise in every gradient
    support it: `NoisyGradientDescent`, Kang 2021.

    With s = 1/(1 + e^{-u}), φ' = -s(1-s), which is negative and largest at 0: \|φ'\| ≤ 1/4, hence
    G = kR/2 and D_o = G, as φ decreases. φ'' = s(1-s)(2s-1) is an odd function of u whose maximum
    √3/18 ≈ 0.0962 is at u = ln(2 + √3): φ''' = s(1-s)(1 - 6s(1-s)) changes sign where
    s(1-s) = 1/6. So L = 4k²R²·φ''(min(U, ln(2 + √3))).

    Examples
    --------
    >>> from pairdp.losses import Domain
    >>> domain = Domain(data_norm=1.0, radius=1.0)
    >>> SigmoidRanking().lipschitz(domain), round(SigmoidRanking().smoothness(domain), 4)
    (1.0, 1.5396)
    """

    convex: ClassVar[bool] = False

    def phi(self, u: Array) -> Array:
        """Return 1/(1 + e^u)."""
        return np.asarray(expit(-u))

    def slope(self, u: Array) -> Array:
        """Return -s(1-s)."""
        return np.asarray(-expit(u) * expit(-u))

    @staticmethod
    def scalar_slope(u: float) -> float:
        """Return -s(1-s)."""
        small = math.exp(-abs(u))
        return -small / (1 + small) ** 2

    def derivative_bound(self, margin_bound: float) -> float:
        """Return 1/4, the slope at zero."""
        return 0.25

    def curvature(self, margin_bound: float) -> float:
        """Return φ'' at the margin bound, or its maximum √3/18 if it is attained."""
        u = min(margin_bound, _MOST_CURVED)
        # 2s - 1 = tanh(u/2), which avoids cancellation for small u.
        return float(expit(u) * expit(-u)) * math.tanh(u / 2)

    def structure(self) -> score_sums.Analytic:
        """Return the structure of an analytic φ; the nearest poles of φ' are at ±iπ.

        They are double, so that coefficients decay more slowly by a factor of their number; a
        strip narrower by a tenth accounts for that.
        """
        return score_sums.Analytic(
            strip=0.9 * math.pi, linear_beyond=40.0, left_slope=0.0, right_slope=0.0
        )


register_loss("sigmoid", SigmoidRanking())
