r"""Constraint sets for the symmetric matrix of a Mahalanobis metric.

All projections are exact. A matrix is first projected onto the symmetric matrices; its eigenvalues
are then projected, because each set depends on the eigenvalues only (von Neumann's trace
inequality). The projection onto the intersection of a cone and a ball around zero is the projection
onto the cone, followed by that onto the ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.constraints.vectors import Ball, Unbounded, shrink_to
from pairdp.storage import Storable

Array = NDArray[np.float64]


def _symmetric(point: Array) -> Array:
    values = np.asarray(point, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
        raise ValueError(f"the matrix must be square and not empty, got shape {values.shape}")
    return (values + values.T) / 2


def _positive_part(symmetric: Array) -> Array:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(symmetric)
    if values[0] >= 0:
        return symmetric
    kept = values > 0
    return _rebuild(values[kept], vectors[:, kept])


def _rebuild(values: Array, vectors: Array) -> Array:
    half = vectors * np.sqrt(values)
    return half @ half.T


def _onto_simplex(values: Array, total: float) -> Array:
    """Return the nearest vector with non-negative entries of sum ``total``, by sorting."""
    # The projection is invariant to adding a constant; subtracting the largest value is accurate.
    values = values - values.max()
    ordered = np.sort(values)[::-1]
    excess = np.cumsum(ordered) - total
    count = np.arange(1, len(values) + 1)
    last = int(np.nonzero(ordered * count > excess)[0][-1])
    return np.asarray(np.maximum(values - excess[last] / (last + 1), 0.0))


class _Symmetric(Storable):
    """Base class of sets of symmetric matrices."""

    matrix: ClassVar[bool] = True
    positive_semidefinite: ClassVar[bool] = False

    def dimension(self, features: int) -> int:
        """Return d(d+1)/2."""
        features = integer("features", features)
        return features * (features + 1) // 2

    def initial(self, features: int) -> Array:
        """Return zero."""
        features = integer("features", features)
        return np.zeros((features, features))


def _cone_diameter(radius: float, features: int) -> float:
    # <A, B> >= 0 for two positive semidefinite matrices, so |A - B|² <= |A|² + |B|²;
    # two orthogonal directions attain it, and with one feature there is only one.
    return radius if integer("features", features) == 1 else math.sqrt(2) * radius


@dataclass(frozen=True)
class FrobeniusBall(Ball, _Symmetric):
    """Symmetric matrices of Frobenius norm at most ``radius``."""

    def project(self, point: Array) -> Array:
        """Return the nearest member."""
        return shrink_to(_symmetric(point), self.radius)


@dataclass(frozen=True)
class PSDFrobeniusBall(Ball, _Symmetric):
    """Positive semidefinite matrices of Frobenius norm at most ``radius``."""

    positive_semidefinite: ClassVar[bool] = True

    def project(self, point: Array) -> Array:
        """Return the nearest member: the positive part, scaled into the ball."""
        return shrink_to(_positive_part(_symmetric(point)), self.radius)

    def diameter(self, features: int) -> float:
        """Return √2 B, or B for one feature."""
        return _cone_diameter(self.radius, features)


@dataclass(frozen=True)
class PSDNuclearBall(Ball, _Symmetric):
    """Positive semidefinite matrices of nuclear norm (trace) at most ``radius``."""

    positive_semidefinite: ClassVar[bool] = True

    def project(self, point: Array) -> Array:
        """Return the nearest member: eigenvalues projected onto a solid simplex."""
        symmetric = _symmetric(point)
        values, vectors = np.linalg.eigh(symmetric)
        clipped = np.maximum(values, 0.0)
        if clipped.sum() > self.radius:
            clipped = _onto_simplex(values, self.radius)
        elif values[0] >= 0:
            return symmetric
        kept = clipped > 0
        return _rebuild(clipped[kept], vectors[:, kept])

    def diameter(self, features: int) -> float:
        """Return √2 B, or B for one feature."""
        return _cone_diameter(self.radius, features)


@dataclass(frozen=True)
class PSDCone(Unbounded, _Symmetric):
    """All positive semidefinite matrices."""

    positive_semidefinite: ClassVar[bool] = True

    def project(self, point: Array) -> Array:
        """Return the nearest member: the positive part."""
        return _positive_part(_symmetric(point))


@dataclass(frozen=True)
class SymmetricMatrices(Unbounded, _Symmetric):
    """All symmetric matrices."""

    def project(self, point: Array) -> Array:
        """Return the nearest member: the symmetric part."""
        return _symmetric(point)
