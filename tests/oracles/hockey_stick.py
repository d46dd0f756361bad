"""Hockey-stick divergences by plain numerical integration: slow and obviously right."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def normal(x: Array, centre: float) -> Array:
    return np.exp(-((x - centre) ** 2) / 2) / np.sqrt(2 * np.pi)


def divergence(p: Array, q: Array, alpha: float, cell: float) -> float:
    """Return the integral of (p - alpha q)_+ from densities on a grid of cells."""
    return float(np.maximum(p - alpha * q, 0.0).sum() * cell)


def batch_mixture(x: Array, values: Sequence[float], size: int, scale: float) -> Array:
    """Return the output density of a batch mean with unit noise, over all batches of a size."""
    batches = list(itertools.combinations(range(len(values)), size))
    total = np.zeros_like(x)
    for batch in batches:
        total += normal(x, sum(values[i] for i in batch) / scale)
    return total / len(batches)


def plane_mixture(x: Array, y: Array, rate: float, centre: tuple[float, float]) -> Array:
    """Return (1 - rate) N(0, I) + rate N(centre, I) on a plane's grid."""
    at_zero = normal(x, 0.0) * normal(y, 0.0)
    moved = normal(x, centre[0]) * normal(y, centre[1])
    return (1 - rate) * at_zero + rate * moved
