"""Minimum error entropy: the quadratic entropy of the errors of a regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp import score_sums
from pairdp._checks import RECORDS, between
from pairdp.losses.base import Domain, PairwiseLoss, check_label_bound
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MinimumErrorEntropy(PairwiseLoss):
    r"""φ(e) = 1 - exp(-e²/2) of the difference e of two errors y - wᵀx, in units of h.

    With \|y\| ≤ Y, e = ((y - y') - wᵀ(x - x'))/h. The average of 1 - φ over pairs is, up to a
    factor, a kernel estimate of ∫p² for the density p of the errors, so minimising φ minimises
    their Rényi entropy of order 2. It ignores an intercept, and outliers count at most 1. It is not
    convex: only algorithms with noise in every gradient support it.

    Let E = 2(Y + RB)/h, the largest \|e\|, and ρ(e) = φ'(e) = e·exp(-e²/2), which is odd, largest
    at 1 and concave on [0, √3].

    - The gradient is -ρ(e)(x - x')/h, so G = (2R/h)·ρ(min(E, 1)).
    - \|φ''\| = \|1 - e²\|·exp(-e²/2) ≤ 1, so L = 4R²/h², attained at e = 0.
    - D_o = (4R/h)·ρ(min(E/2, 1)). Given w and the partner, e ranges over an interval of length E
      that contains 0. If the record is replaced and e changes its sign, \|e\| + \|ẽ\| ≤ E, and
      \|ρ(e)\| + \|ρ(ẽ)\| ≤ 2ρ(min(E/2, 1)) since ρ is concave below √3 and less than ρ(1) beyond;
      each factor is multiplied by a difference of at most 2R. If it does not, the change is at most
      that of a decreasing φ (`pairdp.losses.ranking`), G ≤ D_o. It is attained if Y ≥ h or B = 0.

    The loss is symmetric, so D_h = 2 D_o.

    Parameters
    ----------
    bandwidth : float
        h, the width of the kernel.
    label_bound : float
        Y, the bound that targets are clipped to.
    """

    convex: ClassVar[bool] = False
    binary: ClassVar[bool] = False

    bandwidth: float = 1.0
    label_bound: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", between("bandwidth", self.bandwidth, *RECORDS))
        object.__setattr__(self, "label_bound", check_label_bound(self.label_bound))

    def phi(self, e: Array) -> Array:
        """Return 1 - exp(-e²/2)."""
        return np.asarray(-np.expm1(-e * e / 2))

    def slope(self, e: Array) -> Array:
        """Return e·exp(-e²/2)."""
        return np.asarray(e * np.exp(-e * e / 2))

    def structure(self) -> score_sums.Analytic:
        """Return the structure of φ, an entire function that is small within 2 of the real axis."""
        return score_sums.Analytic(strip=2.0, linear_beyond=9.0, left_slope=0.0, right_slope=0.0)

    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return φ(e) of each pair."""
        return self.phi(((y - other_y) - (x - other_x) @ parameters) / self.bandwidth)

    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return -ρ(e)(x - x')/h of each pair."""
        difference = x - other_x
        slopes = self.slope(((y - other_y) - difference @ parameters) / self.bandwidth)
        return np.asarray((-slopes / self.bandwidth)[:, None] * difference)

    def _half_range(self, domain: Domain) -> float:
        """Return E/2."""
        score = domain.data_norm * domain.radius if domain.radius else 0.0
        return (self.label_bound + score) / self.bandwidth

    def lipschitz(self, domain: Domain) -> float:
        """Return (2R/h)·ρ(min(E, 1))."""
        return domain.widest / self.bandwidth * _peak(2 * self._half_range(domain))

    def smoothness(self, domain: Domain) -> float:
        """Return 4R²/h²."""
        return (domain.widest / self.bandwidth) ** 2

    def pair_diameter(self, domain: Domain) -> float:
        """Return (4R/h)·ρ(min(E/2, 1))."""
        return 2 * domain.widest / self.bandwidth * _peak(self._half_range(domain))


def _peak(largest: float) -> float:
    """Return the largest ρ up to an argument."""
    e = min(largest, 1.0)
    return e * math.exp(-e * e / 2)


register_loss("minimum_error_entropy", MinimumErrorEntropy())
