"""Releases of vectors of one length, with noise drawn for many of them at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.mechanisms.additive_noise import GaussianMechanism, Mechanism
from pairdp.privacy.mechanisms.vector_mechanism import VectorMechanism

Array = NDArray[np.float64]
_DRAWN = 2**13
"""How many numbers are drawn at once: for few, a call costs more than its numbers."""


class RepeatedRelease(VectorMechanism):
    """A mechanism that is used many times; what it releases has the same distribution.

    Parameters
    ----------
    mechanism : GaussianMechanism or NoMechanism
        Its dimension is that of all uses together.
    size : int
        Length of the vectors; d(d+1)/2 for symmetric matrices.
    uses : int
        How often it is used at most.

    Notes
    -----
    Noise for later releases is kept in memory, and is as secret as the data. It is never saved.
    """

    def __init__(self, mechanism: Mechanism, size: int, uses: int) -> None:
        self._mechanism = mechanism
        self._shape = min(uses, max(1, _DRAWN // size)), size
        self._noise: list[NDArray[np.int64]] = []

    def _release(self, vector: Array, generator: np.random.Generator) -> Array:
        mechanism = self._mechanism
        if not isinstance(mechanism, GaussianMechanism):
            return mechanism.release(vector, generator)
        if vector.size != self._shape[1]:
            raise ValueError(f"a vector of {self._shape[1]} numbers is needed, got {vector.size}")
        if not self._noise:
            rows, size = self._shape
            self._noise = list(mechanism.noise_integers(rows * size, generator).reshape(rows, size))
        return mechanism.add_to(vector, self._noise.pop())
