"""What the average loss over pairs is asked for, and how accurate its gradients are."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ACCURACY = 1e-12
"""Stated accuracy of the gradients of all risks: the norm of the error of summing, over G.

The sum is of what each pair, by itself, is computed to be: at the corner of a hinge that is
one subgradient or another, decided by the pair alone. So neighbouring data sets differ in
the pairs of one record and in the errors of two sums; sensitivities of computed gradients
include those. It holds for n up to 10¹⁰: all sums are made in two levels whose error does not
grow with n (`pairdp._sums`). What the tests find is at least ten times smaller."""


class Risk(Protocol):
    """The average loss over pairs of some records."""

    def value(self, parameters: Array) -> float:
        """Return the average loss."""

    def gradient(self, parameters: Array) -> Array:
        """Return its (sub)gradient."""

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, sharing what work they share."""
