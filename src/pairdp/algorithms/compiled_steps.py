"""The steps of `pairdp.algorithms.kernels`, compiled. Import it only where they run.

Every function here is plain Python over arrays and numbers, made into machine code by numba. The
compiled code is kept next to this file, or in the user's cache when that cannot be
written; where neither can, it is compiled anew in each process.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The kinds of `pairdp.algorithms.slopes`. They are repeated because compiled code is kept until
# this file changes, and must not outlive a change of another one.
LOGISTIC, HINGE, ROUNDED_HINGE, POWER_HINGE, SQUARE, RESIDUAL = 0, 1, 2, 3, 4, 5

_SMALLEST, _LARGEST = 1e-280, 1e280


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # there is no place to keep compiled code
        return numba.njit(**options)(function)


def _slope(kind: int, shape: float, u: float) -> float:
    """Return φ'(u) of a built-in loss."""
    if kind == LOGISTIC:
        if u >= 0:
            small = math.exp(-u)
            return -small / (1 + small)
        return -1 / (1 + math.exp(u))
    if kind == HINGE:
        return -1.0 if u < 1 else 0.0
    if kind == ROUNDED_HINGE:
        return -min(max((1 - u) / shape, 0.0), 1.0)
    if kind == POWER_HINGE:
        if shape == 2:
            return -2 * max(1 - u, 0.0)
        return -shape * math.pow(max(1 - u, 0.0), shape - 1)
    return 2 * (u - 1)


slope = _compile(_slope)


# Sums may be taken in any order, as they are in numpy; nothing else may be rearranged.
def _score_of_pair(point: Array, first: Array, second: Array) -> float:
    total = 0.0
    for k in range(point.size):
        total += point[k] * (first[k] - second[k])
    return total


def _score(point: Array, record: Array) -> float:
    total = 0.0
    for k in range(point.size):
        total += point[k] * record[k]
    return total


_reordered = {"reassoc", "contract"}
_pair_score = _compile(_score_of_pair, fastmath=_reordered)
_record_score = _compile(_score, fastmath=_reordered)


def _project(point: Array, radius: float) -> None:
    square = _record_score(point, point)
    if _SMALLEST < square < _LARGEST:
        norm = math.sqrt(square)
        if norm > radius:
            for k in range(point.size):
                point[k] *= radius / norm
        return
    largest = 0.0  # in units of which squares neither over- nor underflow
    for k in range(point.size):
        largest = max(largest, abs(point[k]))
    if largest == 0 or not math.isfinite(largest):
        return
    square = 0.0
    for k in range(point.size):
        square += (point[k] / largest) ** 2
    norm = math.sqrt(square)
    if norm * largest > radius:
        for k in range(point.size):
            point[k] = point[k] / largest * (radius / norm)


_shrink = _compile(_project)


def _advance(
    kind: int,
    shape: float,
    scale: float,
    weight: float,
    paired: bool,
    x: Array,
    y: Array,
    places: NDArray[np.int64],
    noise: Array,
    sigma: float,
    step_size: float,
    pull: float,
    center: Array,
    radius: float,
    point: Array,
    total: Array,
) -> None:
    """Take a step for each row of ``places``; ``point`` and ``total`` are changed.

    A null record has the label 0 and zeros for features, so that all of its terms are zero.
    """
    features = point.size
    gradient = np.empty(features)
    stride = 2 if paired else 1
    for t in range(places.shape[0]):
        gradient[:] = 0.0
        for q in range(0, places.shape[1], stride):
            first = x[places[t, q]]
            if paired:
                second = x[places[t, q + 1]]
                # Null records have the label 0.
                if y[places[t, q]] * y[places[t, q + 1]] >= 0:
                    continue
                turn = scale if y[places[t, q]] > 0 else -scale
                score = _pair_score(point, first, second)
                factor = weight * turn * slope(kind, shape, turn * score)
                for k in range(features):
                    gradient[k] += factor * (first[k] - second[k])
            else:
                score = _record_score(point, first)
                if kind == RESIDUAL:
                    factor = weight * 2 * (score - y[places[t, q]])
                else:
                    turn = scale * y[places[t, q]]
                    factor = weight * turn * slope(kind, shape, turn * score)
                for k in range(features):
                    gradient[k] += factor * first[k]
        for k in range(features):
            noisy = gradient[k] + sigma * noise[t, k]
            point[k] -= step_size * (noisy + pull * (point[k] - center[k]))
        if not math.isinf(radius):
            _shrink(point, radius)
        for k in range(features):
            total[k] += point[k]


advance = _compile(_advance)
