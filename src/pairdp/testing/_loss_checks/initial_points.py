"""Starting points of a search: records and parameters that are often the worst.

They lie in the plane of two orthogonal directions: records at opposite points of the sphere, at
right angles and at the centre, and parameters along and across them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from pairdp.testing._loss_checks.search_space import SearchSpace

Array = NDArray[np.float64]
_TILTS = np.deg2rad([20.0, 45.0, 65.0, 90.0])
_RANDOM_TUPLES = 64


def frames(space: SearchSpace, rng: np.random.Generator) -> Iterator[Array]:
    """Yield two orthogonal unit vectors as rows: two axes, then a random frame."""
    d = space.features
    for basis in (np.eye(d), np.linalg.qr(rng.standard_normal((d, d)))[0]):
        yield np.stack([basis[0], basis[1] if d > 1 else -basis[0]])


def tuples(
    space: SearchSpace, frame: Array, size: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return tuples of records in this frame, and some random ones."""
    along, across = frame
    corners = space.domain.data_norm * np.stack([along, -along, across, 0 * along])
    choices = np.array(list(product(range(len(corners)), repeat=size)))
    labels = np.array(list(product(space.labels[:2], repeat=size)))
    x = corners[np.repeat(choices, len(labels), axis=0)]
    y = np.tile(labels, (len(choices), 1))
    other_x, other_y = space.random_records(rng, _RANDOM_TUPLES, size)
    return np.concatenate([x, other_x]), np.concatenate([y, other_y])


def _directions(space: SearchSpace, frame: Array) -> list[Array]:
    along, across = frame
    turned = [np.cos(t) * along + np.sin(t) * across for t in (0.0, *_TILTS)]
    if not space.matrix:
        return turned
    squares = [np.outer(u, u) for u in turned]
    if space.domain.positive_semidefinite:
        return squares
    return [*squares, *((squares[0] - 0.7 * other) for other in squares[1:])]


def parameters(space: SearchSpace, frame: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Yield parameters: zero, plus and minus each direction, and random ones."""
    yield np.zeros(space.shape)
    if space.is_zero:
        return
    for direction in _directions(space, frame):
        for size in space.sizes:
            point = direction * (size / np.linalg.norm(direction))
            yield space.project(point)
            if not (space.matrix and space.domain.positive_semidefinite):
                yield space.project(-point)
    for _ in range(10):
        yield space.random_parameters(rng)


def segments(
    space: SearchSpace, frame: Array, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of parameters: neighbours along lines through zero, and random ones."""
    if space.is_zero:
        return
    sizes = np.sort(space.sizes)
    low = 0.0 if space.matrix and space.domain.positive_semidefinite else -sizes[-1]
    steps = np.unique(np.concatenate([[low], -sizes, [0.0], sizes, sizes * 0.85]))
    for direction in _directions(space, frame):
        unit = direction / np.linalg.norm(direction)
        for one, other in pairwise(steps[steps >= low]):
            yield space.project(one * unit), space.project(other * unit)
    for _ in range(10):
        yield space.random_parameters(rng), space.random_parameters(rng)
