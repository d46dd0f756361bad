r"""Losses of one record, for the pointwise algorithm of Wang 2024."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import Constants, Domain, Loss

Array = NDArray[np.float64]


class PointwiseLoss(Loss):
    """A loss ℓ(w; x, y) of one record and a weight vector, or a matrix (`PairMetricLoss`).

    A subclass must define `value`, `gradient` and `lipschitz`, and declare whether it is convex.
    Its constants hold for the labels it documents: -1 and +1, or targets up to its ``label_bound``.

    Attributes
    ----------
    binary : bool
        Whether labels must be -1 and +1. Otherwise they are targets, which are clipped to the
        ``label_bound`` of the loss.
    scalar_slope : static method or None
        The derivative of one record's loss in its score wᵀx, in plain Python and `math`, as
        ``scalar_slope(score, y)`` or, for a loss with a field ``width``,
        ``scalar_slope(score, y, width)``: the gradient is this times x. Algorithms use it to
        compile steps on small batches.
    """

    scalar_slope: ClassVar[Callable[..., float] | None] = None

    @abstractmethod
    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return the loss of each record."""

    @abstractmethod
    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return a (sub)gradient for each record, along the first axis."""

    def gradient_sum(self, parameters: Array, x: Array, y: Array, weights: Array) -> Array:
        """Return the sum of the gradients of at most 4096 records, with weights."""
        return np.asarray(weights @ self.gradient(parameters, x, y))

    def record_diameter(self, domain: Domain) -> float:
        """Return D, the largest change of the gradient when the record is replaced; at most 2G."""
        return 2 * self.lipschitz(domain)

    def null_diameter(self, domain: Domain) -> float:
        """Return G, the largest change of the gradient when the record becomes a null record."""
        return self.lipschitz(domain)

    def constants(self, domain: Domain) -> Constants:
        """Return all constants; both diameters are that of the record."""
        diameter = self.record_diameter(domain)
        return Constants(
            self.lipschitz(domain), self.smoothness(domain), self.holder(domain), diameter, diameter
        )
