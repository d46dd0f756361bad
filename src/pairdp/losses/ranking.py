r"""Losses of a score difference: ranking, bipartite ranking, AUC.

With a = x - x', both forms are functions of u = k·wᵀa, once the pair is ordered so that
the positive comes first:

- two-sided, :math:`φ((y-y')wᵀ(x-x')/τ)` (Xue 2021, Huai 2020, Kang 2021): k = 2/τ, and both orders
  of a pair have a loss; a pair of equal labels has the constant loss φ(0);
- one-sided, :math:`φ(wᵀ(x-x')/τ)·1[y=1, y'=-1]` (Yang 2021): k = 1/τ, one order has a loss.

Since |a| ≤ 2R and |w| ≤ B, \|u\| ≤ U = 2kRB, the *margin bound*, and

- G = 2kR · sup\|φ'\| over \|u\| ≤ U,
- L = 4k²R² · sup\|φ''\| over \|u\| ≤ U,
- D_o = G if φ is non-increasing, whether it is convex or not (errata, G1): with
  the partner fixed, the gradients are {-c·k·a : 0 ≤ c ≤ c_max, |a| ≤ 2R} and 0; |ca - c'a'| is
  convex in (c, c'), so largest at an extreme point, where it is at most 2R·c_max because
  |a - a'| = |x - x'| ≤ 2R;
- D_h = 2 D_o two-sided, and D_o one-sided: only one order of a pair has a gradient; a null record
  removes a pair's gradient of at most 2G or G, which is no more than D_h;
- the smoothness of the risk is L times the fraction of ordered pairs with a gradient, and there are
  at most ⌊n/2⌋⌈n/2⌉ positive-negative pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import score_sums
from pairdp._checks import integer
from pairdp._provenance import is_own
from pairdp.losses.base import Domain, Holder, PairwiseLoss, check_temperature
from pairdp.losses.convexity import overridden_after

Array = NDArray[np.float64]
FORMS = ("two-sided", "one-sided")


@dataclass(frozen=True)
class RankingLoss(PairwiseLoss):
    """A function φ of the scaled score difference.

    A subclass must define `phi`, `slope` and `derivative_bound`, and declare its `structure` and
    whether φ is ``convex`` (the score difference is linear in w, so the loss is then convex in w).
    With `curvature` it is smooth. If φ increases anywhere, it must set ``decreasing = False``.

    Parameters
    ----------
    form : {"two-sided", "one-sided"}
        Which ordered pairs have a loss; see `pairdp.losses.ranking`.
    temperature : float
        τ, the divisor of score differences.

    Attributes
    ----------
    scalar_slope : static method or None
        φ'(u) of one number in plain Python and `math`, as ``scalar_slope(u)`` or, for a loss with a
        field ``width``, ``scalar_slope(u, width)``. Algorithms use it to compile steps on small
        batches.
    """

    form: str = "two-sided"
    temperature: float = 1.0

    decreasing: ClassVar[bool] = True
    scalar_slope: ClassVar[Callable[..., float] | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name, replaced = overridden_after(cls, "structure", ("phi", "slope"))
        if replaced:
            raise TypeError(
                f"{name} defines {', '.join(replaced)} without its `structure`, which says how to "
                "sum over all pairs: return Analytic(...), TruncatedPowers(...), Quadratic(...) or "
                "a Structure of your own, or AllPairs() to sum pair by pair in O(n²) time"
            )

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {self.form!r}")
        object.__setattr__(self, "temperature", check_temperature(self.temperature))

    @abstractmethod
    def phi(self, u: Array) -> Array:
        """Return φ(u)."""

    @abstractmethod
    def slope(self, u: Array) -> Array:
        """Return φ'(u), or a subgradient."""

    @abstractmethod
    def derivative_bound(self, margin_bound: float) -> float:
        """Return the largest |φ'(u)| for |u| <= margin_bound, which may be infinite."""

    def curvature(self, margin_bound: float) -> float:
        """Return the largest |φ''(u)| for |u| <= margin_bound; infinite if there is none."""
        return float("inf")

    @abstractmethod
    def structure(self) -> score_sums.Structure:
        """Return the structure of φ, for fast sums over all pairs; `AllPairs` if it has none."""

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether both orders of a pair have the same loss: in the two-sided form."""
        return self.form == "two-sided"

    @property
    def orders(self) -> int:
        """Number of orders of a positive-negative pair that have a gradient."""
        return 2 if self.symmetric else 1

    @property
    def scale(self) -> float:
        """The factor k from a score difference to u."""
        return self.orders / self.temperature

    def margin_bound(self, domain: Domain) -> float:
        """Return U = 2kRB, the largest |u|."""
        # 0 · inf would be NaN; a zero radius with any k means u = 0.
        return self.scale * domain.widest * domain.radius if domain.radius else 0.0

    def _margins(self, parameters: Array, difference: Array, sign: Array) -> Array:
        """Return u of each pair, with the positive first."""
        return np.asarray(self.scale * sign * (difference @ parameters))

    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return the loss of each pair."""
        losses = self.phi(self._margins(parameters, x - other_x, np.sign(y - other_y)))
        return losses if self.symmetric else np.where(y > other_y, losses, 0.0)

    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return k φ'(u)·(x - x') times the sign of the pair; zero for pairs without a loss."""
        difference = x - other_x
        sign = np.sign(y - other_y) if self.symmetric else (y > other_y).astype(np.float64)
        slopes = self.slope(self._margins(parameters, difference, sign))
        return np.asarray((self.scale * sign * slopes)[:, None] * difference)

    def lipschitz(self, domain: Domain) -> float:
        """Return 2kR · sup|φ'|."""
        return self.scale * domain.widest * self.derivative_bound(self.margin_bound(domain))

    def smoothness(self, domain: Domain) -> float:
        """Return 4k²R² · sup|φ''|."""
        return (self.scale * domain.widest) ** 2 * self.curvature(self.margin_bound(domain))

    def holder(self, domain: Domain) -> Holder:
        """Return the smoothness, or the largest jump of the gradient."""
        declared = super().holder(domain)
        if declared.exponent == 1 or not self.decreasing:
            return declared
        return Holder(0.0, self.lipschitz(domain))

    def pair_diameter(self, domain: Domain) -> float:
        """Return G if φ is non-increasing, otherwise 2G."""
        lipschitz = self.lipschitz(domain)
        return lipschitz if self.decreasing else 2 * lipschitz

    def record_diameter(self, domain: Domain) -> float:
        """Return D_o times the number of orders with a gradient."""
        return self.orders * self.pair_diameter(domain)

    def null_diameter(self, domain: Domain) -> float:
        """Return G times the number of orders with a gradient."""
        # A subclass that overrides the gradient may have one in both orders.
        orders = self.orders if type(self).gradient is RankingLoss.gradient else 2
        return orders * self.lipschitz(domain)

    def risk_smoothness(self, domain: Domain, n: int) -> float:
        """Return L times the largest fraction of ordered pairs with a gradient."""
        n = integer("n", n, at_least=2)
        counted = self.orders * (n // 2) * (n - n // 2)
        return self.smoothness(domain) * (counted / (n * (n - 1)))

    def why_slow(self) -> str:
        """Return why sums are computed pair by pair, for a loss outside this library."""
        kind = type(self)
        if is_own(kind):  # those of the library are fast
            return ""
        if kind.value is not RankingLoss.value or kind.gradient is not RankingLoss.gradient:
            return "it overrides value or gradient"
        return (
            "its structure is AllPairs()"
            if isinstance(self.structure(), score_sums.AllPairs)
            else ""
        )
