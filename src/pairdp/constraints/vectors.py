"""Constraint sets for the weight vector of a linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import PARAMETERS, between, integer, keep
from pairdp.storage import Storable

Array = NDArray[np.float64]


def shrink_to(point: Array, radius: float) -> Array:
    """Return the projection of a point onto the ball; the point itself if it is inside."""
    largest = float(np.abs(point).max())
    if largest == 0:
        return point
    unit = point / largest  # avoids overflow and underflow of squares
    norm = float(np.linalg.norm(unit))
    return point if norm * largest <= radius else unit * (radius / norm)


def _vector(point: Array) -> Array:
    values = np.asarray(point, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"weights must be a non-empty vector, got shape {values.shape}")
    return values


class _Vectors(Storable):
    """Base class of sets of weight vectors."""

    matrix: ClassVar[bool] = False
    positive_semidefinite: ClassVar[bool] = False

    def dimension(self, features: int) -> int:
        """Return d."""
        return integer("features", features)

    def initial(self, features: int) -> Array:
        """Return zero."""
        return np.zeros(integer("features", features))


@dataclass(frozen=True)
class Ball:
    """Mixin for bounded sets."""

    radius: float = 1.0

    def __post_init__(self) -> None:
        keep(self, "radius", between("radius", self.radius, *PARAMETERS))

    def diameter(self, features: int) -> float:
        """Return 2B."""
        integer("features", features)
        return 2 * self.radius


class Unbounded:
    """Mixin for unbounded sets."""

    @property
    def radius(self) -> float:
        """Infinity."""
        return math.inf

    def diameter(self, features: int) -> float:
        """Return infinity."""
        integer("features", features)
        return math.inf


@dataclass(frozen=True)
class L2Ball(Ball, _Vectors):
    """Weights of norm at most ``radius``."""

    def project(self, point: Array) -> Array:
        """Return the nearest member."""
        return shrink_to(_vector(point), self.radius)


@dataclass(frozen=True)
class Unconstrained(Unbounded, _Vectors):
    """All weights."""

    def project(self, point: Array) -> Array:
        """Return the point."""
        return _vector(point)
