"""A loss as its checks see it, and the ground that they search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pairdp.constraints import Constraint, PSDCone, SymmetricMatrices, Unconstrained
from pairdp.constraints.vectors import shrink_to
from pairdp.losses.domain import Domain
from pairdp.losses.trust import Loss

Array = NDArray[np.float64]
Slots = tuple[int, ...]
_LARGEST = 1e7


@dataclass(frozen=True)
class Ground:
    """Records and parameters that a domain admits.

    Parameters
    ----------
    domain : Domain
        How large they may be.
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
    def still(self) -> bool:
        """Whether there is only one parameter, zero."""
        return self.domain.radius == 0

    @property
    def sizes(self) -> Array:
        """Sizes of parameters that are worth a look."""
        if math.isfinite(self.domain.radius):
            return self.domain.radius * np.array([1.0, 0.5, 0.2, 0.05])
        # Beyond some size losses are straight.
        return np.asarray(10.0 ** np.arange(-1.0, math.log10(_LARGEST)) / self._unit)

    @property
    def _unit(self) -> float:
        """What turns a size of parameters into one of scores or of squared distances."""
        return self.domain.data_norm ** (2 if self.matrix else 1)

    @property
    def moderate(self) -> Ground:
        """The same ground, without parameters so large that rounding drowns derivatives."""
        return replace(self, domain=self.domain.within(30.0 / self._unit))

    def admit(self, parameters: Array) -> Array:
        """Return the nearest admissible parameter."""
        cone: Constraint = Unconstrained()
        if self.matrix:
            cone = PSDCone() if self.domain.positive_semidefinite else SymmetricMatrices()
        return shrink_to(cone.project(parameters), self.domain.radius)

    def clip(self, x: Array) -> Array:
        """Return records, along the last axis, shrunk to the data norm."""
        norms = np.linalg.norm(x, axis=-1, keepdims=True)
        return np.asarray(x * np.minimum(1.0, self.domain.data_norm / np.maximum(norms, 1e-300)))

    def some_parameters(self, rng: np.random.Generator) -> Array:
        """Return a random parameter, often on the edge."""
        step = rng.standard_normal(self.shape)
        size = rng.choice(self.sizes) * rng.choice([1.0, rng.random()])
        return self.admit(step * (2 * size / np.linalg.norm(step)))

    def some_records(self, rng: np.random.Generator, *shape: int) -> tuple[Array, Array]:
        """Return random records and labels, half of them on the sphere."""
        x = rng.standard_normal((*shape, self.features))
        x *= self.domain.data_norm / np.linalg.norm(x, axis=-1, keepdims=True)
        inside = rng.random(shape) ** (1 / self.features)
        x *= np.where(rng.random(shape) < 0.5, 1.0, inside)[..., None]
        return x, rng.choice(np.array(self.labels), shape)


@dataclass(frozen=True)
class Subject:
    """A loss over pairs or over records, called in one way.

    Parameters
    ----------
    loss : PairwiseLoss or PointwiseLoss
        The loss.
    places : int
        How many records it takes.
    """

    loss: Loss
    places: int

    @property
    def all_slots(self) -> Slots:
        """The first records of a tuple, one for each place."""
        return tuple(range(self.places))

    def values(self, parameters: Array, x: Array, y: Array) -> Array:
        """Return the loss of each tuple of records."""
        return self.loss.value(parameters, *_arguments(x, y, [self.all_slots]))

    def gradients(
        self, parameters: Array, x: Array, y: Array, slots: Sequence[Slots] | None = None
    ) -> Array:
        """Return gradients as rows, for each tuple of records and each choice of its slots."""
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
