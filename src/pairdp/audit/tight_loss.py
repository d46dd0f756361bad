"""A loss that attains the generic sensitivity of pairwise learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import keep, positive
from pairdp.losses import Domain, PairwiseLoss

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TightLoss(PairwiseLoss):
    """ℓ(w; z, z') = G·yy'·w₁, whose average gradient moves by 4G/n when one label flips.

    With all labels equal except one, each of the 2(n-1) pairs of that record moves by 2G at every
    w. So sensitivities of gradients and of descent are attained up to rounding (errata, G1 and
    X1), and an audit should come close to ε.

    Parameters
    ----------
    steepness : float
        G.
    """

    convex: ClassVar[bool] = True
    steepness: float = 1.0

    def __post_init__(self) -> None:
        keep(self, "steepness", positive("steepness", self.steepness))

    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return G·yy'·w₁."""
        return np.asarray(self.steepness * y * other_y * parameters[0])

    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return G·yy'·e₁."""
        first = np.eye(len(parameters))[0]
        return np.outer(self.steepness * y * other_y, first)

    def lipschitz(self, domain: Domain) -> float:
        """Return G."""
        return self.steepness

    def smoothness(self, domain: Domain) -> float:
        """Return G; the exact value is 0, and any upper bound is valid."""
        return self.steepness
