"""The interface of constraint sets."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Constraint(Protocol):
    """A closed convex set of parameters that contains zero.

    Attributes
    ----------
    radius : float
        Largest ℓ2 (Frobenius) norm of a member; infinite if unbounded.
    matrix : bool
        Whether members are symmetric d × d matrices instead of vectors.
    positive_semidefinite : bool
        Whether all members are positive semidefinite matrices.
    """

    @property
    def matrix(self) -> bool:
        """Whether members are symmetric matrices instead of vectors."""

    @property
    def positive_semidefinite(self) -> bool:
        """Whether all members are positive semidefinite matrices."""

    @property
    def radius(self) -> float:
        """Largest ℓ2 (Frobenius) norm of a member."""

    def project(self, point: Array) -> Array:
        """Return the exact projection onto the set."""

    def diameter(self, features: int) -> float:
        """Return the largest distance between two members."""

    def dimension(self, features: int) -> int:
        """Return the number of free parameters, given the number of features."""

    def initial(self, features: int) -> Array:
        """Return the initial parameter of algorithms: zero."""
