"""Random points of a constraint set, which depend on no record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairdp.constraints import Constraint

Array = NDArray[np.float64]


def random_point(constraint: Constraint, features: int, generator: np.random.Generator) -> Array:
    """Return a point drawn uniformly from the ball of a set's radius B, projected onto the set.

    In dimension p a random direction is scaled to B·U^(1/p), U uniform on [0, 1]. For a ball the
    projection changes nothing.
    """
    drawn = generator.normal(size=constraint.initial(features).shape)
    if constraint.matrix:
        drawn = drawn + drawn.T  # isotropic in the Frobenius norm of symmetric matrices
    length = constraint.radius * generator.random() ** (1 / constraint.dimension(features))
    return constraint.project(drawn * (length / np.linalg.norm(drawn)))
