"""The domain of a loss: bounds on records and parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pairdp._checks import positive, real


@dataclass(frozen=True)
class Domain:
    """The public facts that determine the constants of a loss.

    Parameters
    ----------
    data_norm : float
        R, the largest norm of a record.
    radius : float
        B, the largest (Frobenius) norm of a parameter; infinite if unbounded, and 0 if only the
        starting point matters.
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
        """Largest distance between two records, 2R."""
        return 2 * self.data_norm

    def within(self, radius: float) -> Domain:
        """Return the domain restricted to parameters of norm at most ``radius``.

        A radius that is known in advance, such as the sum of all step sizes times the Lipschitz
        constant, gives smaller constants than the radius of the constraint set.
        """
        return replace(self, radius=min(self.radius, real("radius", radius)))
