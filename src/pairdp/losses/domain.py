"""Where a loss is looked at: how large records and parameters may be."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pairdp._checks import positive, real


@dataclass(frozen=True)
class Domain:
    """The public facts that decide a loss's constants.

    Parameters
    ----------
    data_norm : float
        R, which the norm of no record exceeds.
    radius : float
        B, which the (Frobenius) norm of no parameter exceeds; infinite when unbounded,
        and 0 when only the starting point is looked at.
    positive_semidefinite : bool
        Whether a matrix of parameters is positive semidefinite. Vectors ignore it.
    """

    data_norm: float = 1.0
    radius: float = math.inf
    positive_semidefinite: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "data_norm", positive("data_norm", self.data_norm))
        radius = real("radius", self.radius)
        if radius < 0:
            raise ValueError(f"radius must be at least 0, got {radius!r}")
        object.__setattr__(self, "radius", radius)

    @property
    def widest(self) -> float:
        """Largest distance of two records, 2R."""
        return 2 * self.data_norm

    def within(self, radius: float) -> Domain:
        """Return the domain of parameters that are also within ``radius`` of zero.

        A radius that is known in advance, say the sum of all step sizes times the
        Lipschitz constant, gives smaller constants than the constraint's.
        """
        return replace(self, radius=min(self.radius, real("radius", radius)))
