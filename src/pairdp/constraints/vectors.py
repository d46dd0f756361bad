"""Constraints on the weights of a linear scorer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import PARAMETERS, between, integer
from pairdp.storage import Storable

Array = NDArray[np.float64]


def shrink_to(point: Array, radius: float) -> Array:
    """Return the nearest point of norm at most ``radius``; the point itself if it is inside."""
    largest = float(np.abs(point).max())
    if largest == 0:
        return point
    unit = point / largest  # whose squares neither over- nor underflow
    norm = float(np.linalg.norm(unit))
    return point if norm * largest <= radius else unit * (radius / norm)


def _vector(point: Array) -> Array:
    values = np.asarray(point, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"a non-empty weight vector is needed, got shape {values.shape}")
    return values


class _Vectors(Storable):
    """What all sets of weight vectors share."""

    matrix: ClassVar[bool] = False
    positive_semidefinite: ClassVar[bool] = False

    def dimension(self, features: int) -> int:
        """Return d."""
        return integer("features", features)

    def initial(self, features: int) -> Array:
        """Return zero."""
        return np.zeros(integer("features", features))


@dataclass(frozen=True)
class L2Ball(_Vectors):
    """Weights of norm at most ``radius``."""

    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", between("radius", self.radius, *PARAMETERS))

    def project(self, point: Array) -> Array:
        """Return the nearest member."""
        return shrink_to(_vector(point), self.radius)

    def diameter(self, features: int) -> float:
        """Return 2 B."""
        integer("features", features)
        return 2 * self.radius


@dataclass(frozen=True)
class Unconstrained(_Vectors):
    """All weights."""

    @property
    def radius(self) -> float:
        """Infinity."""
        return math.inf

    def project(self, point: Array) -> Array:
        """Return the point."""
        return _vector(point)

    def diameter(self, features: int) -> float:
        """Return infinity."""
        integer("features", features)
        return math.inf
