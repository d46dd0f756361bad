"""Ranking by a graded response, for any ranking loss φ (Huai 2020, definition 4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import score_sums
from pairdp._checks import integer
from pairdp.losses.base import Domain, Holder, PairwiseLoss, check_label_bound
from pairdp.losses.convexity import declared_convex
from pairdp.losses.logistic_ranking import LogisticRanking
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]
_MOST_LEVELS = 100


@dataclass(frozen=True)
class GradedRanking(PairwiseLoss):
    r"""φ((y - y')·wᵀ(x - x')/τ) for responses \|y\| ≤ Y: pairs far apart in y count more.

    All constants are those of the two-sided ranking loss with the temperature τ/Y, which is this
    loss for responses ±Y (`two_class`), so they are attained if those are. With g = y - y' and
    a = x - x', |g| ≤ 2Y and |a| ≤ 2R, so that U, G and L are the same with k = 2Y/τ. Let S be the
    largest \|φ'\|, and let (x, y) be replaced by (x̃, ỹ), with g̃ and ã. This changes the gradient
    g·φ'(u)·a/τ of the pair by at most

    - G = 4YR·S/τ if φ is non-increasing. The gradients are -c·g·a/τ and -c̃·g̃·ã/τ with c and c̃
      between 0 and S. If g and g̃ have opposite signs, |g| + |g̃| = |y - ỹ| ≤ 2Y, and the change is
      at most S(|g| + |g̃|)·2R/τ ≤ G. Otherwise the factors cg and c̃g̃ have the same sign and are at
      most 2YS in size, and the change is a convex function of them, largest at 0 or 2YS, where it
      is at most 2YS·max(|a|, |ã|, |a - ã|)/τ ≤ G. This does not use that both gradients are at the
      same w;
    - G for φ(u) = (1 - u)², by the proof in `LeastSquaresRanking` with b = ga/τ in place of ka: the
      first item, with c = c̃ = 1, shows that b changes by at most 4YR/τ;
    - 2G for any other φ.

    The loss is symmetric, so D_h = 2 D_o. The mean of g²(vᵀa)² over pairs is at most 4Y² times that
    of (vᵀa)², a convex function of the n numbers vᵀx in [-R, R], hence largest if all are ±R: the
    smoothness of the risk is also that of two classes. Rounding responses to levels keeps them
    within ±Y, where all of this holds.

    Parameters
    ----------
    ranking : RankingLoss
        φ and τ, in the two-sided form.
    label_bound : float
        Y, the public bound that responses are clipped to.
    levels : int, optional
        Responses are rounded to this many equidistant levels from -Y to Y. Sums over all pairs are
        then those of two classes, for each two levels, and as fast. None does not round.

    Examples
    --------
    >>> loss = GradedRanking(LogisticRanking(), label_bound=0.5)
    >>> round(loss.lipschitz(Domain(data_norm=1.0, radius=1.0)), 4)  # 2·s(2)
    1.7616
    """

    ranking: RankingLoss = field(default_factory=LogisticRanking)
    label_bound: float = 1.0
    levels: int | None = None

    binary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.ranking, RankingLoss):
            raise TypeError(f"ranking must be a RankingLoss, got {self.ranking!r}")
        if self.ranking.form != "two-sided":
            raise ValueError("ranking must have the two-sided form, in which both orders count")
        object.__setattr__(self, "label_bound", check_label_bound(self.label_bound))
        if self.levels is not None:
            levels = integer("levels", self.levels, at_least=2, at_most=_MOST_LEVELS)
            object.__setattr__(self, "levels", levels)

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether φ is declared convex."""
        return declared_convex(self.ranking)

    @property
    def two_class(self) -> RankingLoss:
        """The ranking loss with the same constants, which is this loss for responses ±Y."""
        return replace(self.ranking, temperature=self.ranking.temperature / self.label_bound)

    @property
    def width(self) -> float:
        """The width on which the kink of φ is smoothed; 0 if it is not."""
        return float(getattr(self.ranking, "width", 0.0))

    def rounded(self, y: Array) -> Array:
        """Return responses rounded to their levels, if there are any."""
        if self.levels is None:
            return y
        steps = self.levels - 1
        level = np.clip(np.rint((y / self.label_bound + 1) / 2 * steps), 0, steps)
        return np.asarray(self.label_bound * (2 * level / steps - 1))

    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return φ(u) of each pair."""
        factors = (self.rounded(y) - self.rounded(other_y)) / self.ranking.temperature
        return self.ranking.phi(factors * ((x - other_x) @ parameters))

    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return (y - y')·φ'(u)·(x - x')/τ for each pair."""
        difference = x - other_x
        factors = (self.rounded(y) - self.rounded(other_y)) / self.ranking.temperature
        slopes = factors * self.ranking.slope(factors * (difference @ parameters))
        return np.asarray(slopes[:, None] * difference)

    def lipschitz(self, domain: Domain) -> float:
        """Return G for responses ±Y."""
        return self.two_class.lipschitz(domain)

    def smoothness(self, domain: Domain) -> float:
        """Return L for responses ±Y."""
        return self.two_class.smoothness(domain)

    def holder(self, domain: Domain) -> Holder:
        """Return the Hölder continuity of the gradient for responses ±Y."""
        return self.two_class.holder(domain)

    def pair_diameter(self, domain: Domain) -> float:
        """Return D_o for responses ±Y."""
        return self.two_class.pair_diameter(domain)

    def risk_smoothness(self, domain: Domain, n: int) -> float:
        """Return the smoothness of the risk for responses ±Y."""
        return self.two_class.risk_smoothness(domain, n)

    def why_slow(self) -> str:
        """Return that the margins of all pairs are computed, for want of levels or structure."""
        structure = self.ranking.structure()
        if isinstance(structure, score_sums.Quadratic):
            return ""
        if self.levels is None:
            return "every pair has its own difference of responses, unless there are levels"
        return "its structure is AllPairs()" if isinstance(structure, score_sums.AllPairs) else ""


register_loss("graded", GradedRanking())
