"""Where a search starts: records and parameters that are often the worst.

Everything is laid out in a frame of two orthogonal directions: records at both ends of
the sphere, at right angles and at the centre, and parameters along and across them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from pairdp.testing._loss_checks.search_space import Ground

Array = NDArray[np.float64]
_TILTS = np.deg2rad([20.0, 45.0, 65.0, 90.0])
_RANDOM_TUPLES = 64


def frames(ground: Ground, rng: np.random.Generator) -> Iterator[Array]:
    """Yield two orthogonal unit vectors as rows: two axes, then a random frame."""
    d = ground.features
    for basis in (np.eye(d), np.linalg.qr(rng.standard_normal((d, d)))[0]):
        yield np.stack([basis[0], basis[1] if d > 1 else -basis[0]])


def tuples(
    ground: Ground, frame: Array, size: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return tuples of records in this frame, and some random ones."""
    along, across = frame
    corners = ground.domain.data_norm * np.stack([along, -along, across, 0 * along])
    choices = np.array(list(product(range(len(corners)), repeat=size)))
    labels = np.array(list(product(ground.labels[:2], repeat=size)))
    x = corners[np.repeat(choices, len(labels), axis=0)]
    y = np.tile(labels, (len(choices), 1))
    other_x, other_y = ground.some_records(rng, _RANDOM_TUPLES, size)
    return np.concatenate([x, other_x]), np.concatenate([y, other_y])


def _directions(ground: Ground, frame: Array) -> list[Array]:
    along, across = frame
    turned = [np.cos(t) * along + np.sin(t) * across for t in (0.0, *_TILTS)]
    if not ground.matrix:
        return turned
    squares = [np.outer(u, u) for u in turned]
    if ground.domain.positive_semidefinite:
        return squares
    return [*squares, *((squares[0] - 0.7 * other) for other in squares[1:])]


def parameters(ground: Ground, frame: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Yield parameters: zero, both ways along each direction, and random ones."""
    yield np.zeros(ground.shape)
    if ground.still:
        return
    for direction in _directions(ground, frame):
        for size in ground.sizes:
            point = direction * (size / np.linalg.norm(direction))
            yield ground.admit(point)
            if not (ground.matrix and ground.domain.positive_semidefinite):
                yield ground.admit(-point)
    for _ in range(10):
        yield ground.some_parameters(rng)


def segments(
    ground: Ground, frame: Array, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of parameters: neighbours along lines through zero, and random ones."""
    if ground.still:
        return
    sizes = np.sort(ground.sizes)
    low = 0.0 if ground.matrix and ground.domain.positive_semidefinite else -sizes[-1]
    steps = np.unique(np.concatenate([[low], -sizes, [0.0], sizes, sizes * 0.85]))
    for direction in _directions(ground, frame):
        unit = direction / np.linalg.norm(direction)
        for one, other in pairwise(steps[steps >= low]):
            yield ground.admit(one * unit), ground.admit(other * unit)
    for _ in range(10):
        yield ground.some_parameters(rng), ground.some_parameters(rng)
