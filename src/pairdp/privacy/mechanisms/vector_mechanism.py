"""What all mechanisms have in common: a vector of finite numbers is released, with fresh noise."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp.privacy.mechanisms.packing import pack, unpack

Array = NDArray[np.float64]


class VectorMechanism(ABC):
    """Releases a vector or a symmetric matrix with noise, or the place of one of its numbers."""

    def release(self, value: ArrayLike, generator: np.random.Generator) -> Array:
        """Return what is released of ``value``. No private value is released in any other way.

        Parameters
        ----------
        value : array of shape (d,)
            A vector with the sensitivity of the mechanism.
        generator : numpy.random.Generator
            A stream of a `NoiseSource` that nothing else draws from.

        Raises
        ------
        ValueError
            If the value is not a finite vector. Values computed from clipped records are always
            finite, so this error indicates a bug and does not depend on the data.
        """
        if np.iscomplexobj(value):
            raise TypeError("the value to release must be real")
        if not isinstance(generator, np.random.Generator):
            raise TypeError(
                "generator must be a stream of a NoiseSource, such as source.stream('noise'), "
                f"got {type(generator).__name__}"
            )
        vector = np.asarray(value, dtype=np.float64)
        if vector.ndim != 1 or vector.size == 0:
            raise ValueError(f"the value must be a non-empty vector, got shape {vector.shape}")
        if not np.all(np.isfinite(vector)):
            raise ValueError("the value to release must be finite")
        return self._release(vector, generator)

    @abstractmethod
    def _release(self, vector: Array, generator: np.random.Generator) -> Array:
        """Return what is released of a finite vector."""

    def release_symmetric(self, matrix: ArrayLike, generator: np.random.Generator) -> Array:
        """Return a symmetric matrix with symmetric noise; Δ is in Frobenius norm."""
        return unpack(self.release(pack(matrix), generator))
