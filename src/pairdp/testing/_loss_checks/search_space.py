"""The records and parameters that are searched, and a uniform way to call a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pairdp.constraints import Constraint, PSDCone, SymmetricMatrices, Unconstrained
from pairdp.constraints.vectors import shrink_to
from pairdp.losses.base import Domain, PairwiseLoss
from pairdp.losses.pointwise import PointwiseLoss

Loss = PairwiseLoss | PointwiseLoss
Array = NDArray[np.float64]
Slots = tuple[int, ...]
_LARGEST = 1e7


@dataclass(frozen=True)
class SearchSpace:
    """Records and parameters that a domain admits.

    Parameters
    ----------
    domain : Domain
        The bounds on both.
    features : int
        d.
    matrix : bool
        Whether parameters are matrices.
    labels : tuple of float
        The labels that records may have.
    """

    domain: Domain
    features: int
    matrix: bool
    labels: tuple[float, ...]

    def __str__(self) -> str:
        cone = ", PSD" if self.matrix and self.domain.positive_semidefinite else ""
        return f"R={self.domain.data_norm:g}, B={self.domain.radius:g}{cone}, d={self.features}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a parameter."""
        return (self.features,) * (2 if self.matrix else 1)

    @property
    def is_zero(self) -> bool:
        """Whether there is only one parameter, zero."""
        return self.domain.radius == 0

    @property
    def sizes(self) -> Array:
        """Norms of parameters to try."""
        if math.isfinite(self.domain.radius):
            return self.domain.radius * np.array([1.0, 0.5, 0.2, 0.05])
        # Losses are linear for very large parameters.
        return np.asarray(10.0 ** np.arange(-1.0, math.log10(_LARGEST)) / self._unit)

    @property
    def _unit(self) -> float:
        """The factor from the norm of parameters to scores or squared distances."""
        return self.domain.data_norm ** (2 if self.matrix else 1)

    @property
    def moderate(self) -> SearchSpace:
        """The same space, without parameters so large that rounding dominates derivatives."""
        return replace(self, domain=self.domain.within(30.0 / self._unit))

    def project(self, parameters: Array) -> Array:
        """Return the projection of a parameter onto the domain."""
        cone: Constraint = Unconstrained()
        if self.matrix:
            cone = PSDCone() if self.domain.positive_semidefinite else SymmetricMatrices()
        return shrink_to(cone.project(parameters), self.domain.radius)

    def clip(self, x: Array) -> Array:
        """Return records, along the last axis, shrunk to the data norm."""
        norms = np.linalg.norm(x, axis=-1, keepdims=True)
        return np.asarray(x * np.minimum(1.0, self.domain.data_norm / np.maximum(norms, 1e-300)))

    def random_parameters(self, rng: np.random.Generator) -> Array:
        """Return a random parameter, often on the boundary."""
        step = rng.standard_normal(self.shape)
        size = rng.choice(self.sizes) * rng.choice([1.0, rng.random()])
        return self.project(step * (2 * size / np.linalg.norm(step)))

    def random_records(self, rng: np.random.Generator, *shape: int) -> tuple[Array, Array]:
        """Return random records and labels, half of them on the sphere."""
        x = rng.standard_normal((*shape, self.features))
        x *= self.domain.data_norm / np.linalg.norm(x, axis=-1, keepdims=True)
        inside = rng.random(shape) ** (1 / self.features)
        x *= np.where(rng.random(shape) < 0.5, 1.0, inside)[..., None]
        return x, rng.choice(np.array(self.labels), shape)


@dataclass(frozen=True)
class Subject:
    """A loss over pairs or over records, with one interface.

    Parameters
    ----------
    loss : PairwiseLoss or PointwiseLoss
        The loss.
    arity : int
        The number of records it takes.
    """

    loss: Loss
    arity: int

    @property
    def all_slots(self) -> Slots:
        """The indices of the first records of a tuple, one for each argument."""
        return tuple(range(self.arity))

    def values(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return the loss of each tuple of records."""
        return self.loss.value(parameters, *_arguments(x, y, [self.all_slots]))

    def gradients(
        self, parameters: Array, x: Array, y: Array, slots: Sequence[Slots] | None = None
    ) -> Array:
        """Return gradients as rows, for each tuple of records and each choice of arguments."""
        slots = [self.all_slots] if slots is None else slots
        flat = self.loss.gradient(parameters, *_arguments(x, y, slots))
        return flat.reshape(len(x), len(slots), parameters.size)


def _arguments(x: Array, y: Array, slots: Sequence[Slots]) -> list[Array]:
    """Return the arguments of a loss, one row for each tuple and choice of slots."""
    arguments = []
    for place in range(len(slots[0])):
        chosen = [slot[place] for slot in slots]
        arguments += [x[:, chosen].reshape(-1, x.shape[-1]), y[:, chosen].reshape(-1)]
    return arguments
