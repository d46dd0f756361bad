"""Eigenvalues and eigenvectors of prior covariances; a diagonal one needs no decomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of a covariance, and its eigenvectors Q.

    Attributes
    ----------
    values : array
        The eigenvalues, at least 0.
    vectors : array or None
        Q; None stands for unit vectors, in the order of the eigenvalues.
    """

    values: Array
    vectors: Array | None

    @classmethod
    def of(cls, covariance: Array) -> Spectrum:
        """Return the spectrum of a covariance."""
        diagonal = np.diagonal(covariance)
        if np.count_nonzero(covariance) == np.count_nonzero(diagonal):
            return cls(np.maximum(diagonal, 0.0), None)
        values, vectors = np.linalg.eigh(covariance)
        return cls(np.maximum(values, 0.0), vectors)

    def coordinates(self, vector: Array) -> Array:
        """Return Qᵀv."""
        return vector if self.vectors is None else np.asarray(self.vectors.T @ vector)

    def product(self, left: Array, factors: Array) -> Array:
        """Return AQFQᵀ for a matrix A and the diagonal matrix F of ``factors``."""
        if self.vectors is None:
            return left * factors
        return np.asarray(left @ ((self.vectors * factors) @ self.vectors.T))
