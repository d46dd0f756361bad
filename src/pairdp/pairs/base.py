"""The interface of the average loss over pairs, and the accuracy of its gradients."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ACCURACY = 1e-12
"""Stated accuracy of the gradients of all risks: the norm of the summation error, over G.

The computed gradient of a pair depends on that pair alone, also at the kink of a hinge, where it
may be any subgradient. So the sums of neighbouring data sets differ in the pairs of one record and
in the errors of two sums; sensitivities of computed gradients include these errors. The accuracy
holds for n up to 10¹⁰: all sums have two levels, and their error does not grow with n
(`pairdp._sums`). The errors in tests are at least ten times smaller."""


class Risk(Protocol):
    """The average loss over pairs of some records."""

    def value(self, parameters: Array) -> float:
        """Return the average loss."""

    def gradient(self, parameters: Array) -> Array:
        """Return its (sub)gradient."""

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, with common computations done once."""


def check_shape(parameters: Array, shape: tuple[int, ...]) -> None:
    """Raise an error for a parameter that is not finite or has another shape."""
    if np.shape(parameters) != shape:
        raise ValueError(
            f"the parameter must have shape {shape} for these records, got {np.shape(parameters)}"
        )
    if not np.all(np.isfinite(parameters)):
        raise ValueError("the parameter must be finite")
