"""The steps of `pairdp.algorithms.kernels`, compiled by numba; import this module only to run them.

Every function here is plain Python on arrays and numbers. numba caches the compiled steps next to
this file, or in the user's cache directory if that is not writable; if neither is, every process
compiles them again. They call the derivative of the loss through a function pointer; it is compiled
in each process, which takes about 0.2 s. The cache therefore does not depend on any loss and cannot
be out of date when a loss changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

_SMALLEST, _LARGEST = 1e-280, 1e280
_MOST = 2**61  # `LARGEST_INTEGER` of the mechanisms, repeated because compiled code is cached


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable cache directory
        return numba.njit(**options)(function)


@cache
def compiled_slope(formula: Callable[..., float], arguments: int) -> Any:
    """Compile a formula that takes the given number of floats.

    Raises
    ------
    TypeError
        If numba cannot compile it.
    """
    signature = numba.float64(*[numba.float64] * arguments)
    try:
        # With numba's other error model, a division by zero would print a message and return 0.
        return numba.cfunc(signature, error_model="numpy")(formula)
    except numba.core.errors.NumbaError as error:
        raise TypeError(f"numba cannot compile {formula.__qualname__}: {error}") from error


# Sums may be reordered, as in numpy; no other fast-math transformation is allowed.
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
    largest = 0.0  # dividing by it keeps squares from overflow and underflow
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


def _take_step(
    gradient: Array,
    noise: Places,
    grid: float,
    step_size: float,
    regularization: float,
    center: Array,
    radius: float,
    point: Array,
    total: Array,
) -> None:
    """Move ``point`` along a gradient with noise in units of the grid, and add it to ``total``.

    The sum is that of `GaussianMechanism.add_to`, in integers. A grid of 0 is for no noise.
    """
    for k in range(point.size):
        noisy = gradient[k]
        if grid > 0:
            steps = np.int64(min(max(np.rint(noisy / grid), -_MOST), _MOST)) + noise[k]
            noisy = min(max(steps, -_MOST), _MOST) * grid
        point[k] -= step_size * (noisy + regularization * (point[k] - center[k]))
    if not math.isinf(radius):
        _shrink(point, radius)
    for k in range(point.size):
        total[k] += point[k]


_step = _compile(_take_step)


def _pair_steps(
    slope: Any,
    parameters: tuple[float, ...],
    scale: float,
    weight: float,
    one_order: bool,
    x: Array,
    y: Array,
    places: Places,
    noise: Places,
    grid: float,
    step_size: float,
    regularization: float,
    center: Array,
    radius: float,
    point: Array,
    total: Array,
) -> None:
    """Take a step for each row of ``places``, whose consecutive entries are pairs.

    With ``one_order``, pairs whose first record is negative have no loss. ``point`` and ``total``
    are updated in place. Null records have the label 0.
    """
    gradient = np.empty(point.size)
    for t in range(places.shape[0]):
        gradient[:] = 0.0
        for q in range(0, places.shape[1], 2):
            i, j = places[t, q], places[t, q + 1]
            if y[i] * y[j] >= 0 or (one_order and y[i] < 0):
                continue
            signed = scale if y[i] > 0 else -scale
            u = signed * _pair_score(point, x[i], x[j])
            factor = weight * signed * slope(u, *parameters)
            for k in range(point.size):
                gradient[k] += factor * (x[i, k] - x[j, k])
        _step(gradient, noise[t], grid, step_size, regularization, center, radius, point, total)


def _record_steps(
    slope: Any,
    parameters: tuple[float, ...],
    weight: float,
    x: Array,
    y: Array,
    places: Places,
    noise: Places,
    grid: float,
    step_size: float,
    regularization: float,
    center: Array,
    radius: float,
    point: Array,
    total: Array,
) -> None:
    """Take a step for each row of ``places``; ``point`` and ``total`` are updated in place.

    Null records have zero features and a label that the loss accepts.
    """
    gradient = np.empty(point.size)
    for t in range(places.shape[0]):
        gradient[:] = 0.0
        for q in range(places.shape[1]):
            i = places[t, q]
            factor = weight * slope(_record_score(point, x[i]), y[i], *parameters)
            for k in range(point.size):
                gradient[k] += factor * x[i, k]
        _step(gradient, noise[t], grid, step_size, regularization, center, radius, point, total)


pair_steps = _compile(_pair_steps)
record_steps = _compile(_record_steps)
