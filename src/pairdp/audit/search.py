"""A search for neighbours that are easier to distinguish than the known worst cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.audit.neighbours import Neighbours

Array = NDArray[np.float64]
_ROUNDING = 1e-7


class Found(NamedTuple):
    """Neighbours, and their distance."""

    distance: float
    pair: Neighbours


def random_neighbours(
    n: int, features: int, place: int | tuple[int, ...], norm: float, rng: np.random.Generator
) -> Neighbours:
    """Return random neighbours with labels ±1; sometimes the record is alone in its class."""
    rows = list(place) if isinstance(place, tuple) else [place]
    x = rng.normal(size=(n, features)) * norm * rng.choice([0.5, 3.0])
    y = rng.choice([-1.0, 1.0], n)
    if rng.random() < 0.3:
        y[:], y[rows] = -1.0, 1.0
    other = 3 * norm * rng.normal(size=(len(rows), features))
    labels = rng.choice([-1.0, 1.0], len(rows))
    if not isinstance(place, tuple):
        return Neighbours(x, y, place, other[0], float(labels[0]))
    return Neighbours(x, y, place, other, labels)


def perturbed_neighbours(pair: Neighbours, norm: float, rng: np.random.Generator) -> Neighbours:
    """Return these neighbours with some records shifted and some labels flipped."""
    step = norm * 10.0 ** rng.uniform(-2, 0)
    moved = rng.random((len(pair.y), 1)) < 0.5
    x = pair.x + step * rng.normal(size=pair.x.shape) * moved
    y = np.where(rng.random(len(pair.y)) < 0.1, -pair.y, pair.y)
    flipped = -pair.other_y if rng.random() < 0.1 else pair.other_y
    other = pair.other_x + step * rng.normal(size=pair.other_x.shape)
    return Neighbours(x, y, pair.place, other, flipped)


def search(
    distance: Callable[[Neighbours], float],
    starts: Iterable[Neighbours],
    *,
    norm: float = 1.0,
    restarts: int = 4,
    climbs: int = 20,
    seed: int = 0,
) -> Found:
    """Return the neighbours with the largest distance that a search finds.

    The starts and some random neighbours are evaluated; from the best, hill climbing tries
    perturbed neighbours.

    Parameters
    ----------
    distance : callable
        The distance of two neighbours, such as that of their noiseless releases.
    starts : iterable of Neighbours
        Where to start; at least one.
    norm : float
        The bound on the norm of records.
    restarts, climbs : int
        The numbers of random neighbours and of hill-climbing steps.
    seed : int
        Seed of the random numbers.
    """
    integer("climbs", climbs, at_least=0)
    rng = np.random.default_rng(seed)
    known = list(starts)
    if not known:
        raise ValueError("a search needs at least one pair of neighbours to start from")
    n, features = known[0].x.shape
    known += [
        random_neighbours(n, features, known[int(rng.integers(len(known)))].place, norm, rng)
        for _ in range(integer("restarts", restarts, at_least=0))
    ]
    best = Found(-math.inf, known[0])
    for pair in known:
        best = _better(best, Found(distance(pair), pair))
    for _ in range(climbs):
        pair = perturbed_neighbours(best.pair, norm, rng)
        best = _better(best, Found(distance(pair), pair))
    return best


def _better(first: Found, second: Found) -> Found:
    """Return the one with the larger distance; the first if they differ only by rounding."""
    return second if second.distance > first.distance * (1 + _ROUNDING) else first
