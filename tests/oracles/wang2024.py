"""Wang 2024, Algorithms 1 and 2, as printed, with the noise b_t given. Indices are from 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray
Projection = Callable[[Array], Array]


def algorithm_1(
    x: Array,
    y: Array,
    gradient: Callable[[Array, Array, float], Array],
    project: Projection,
    step_size: float,
    steps: int,
    draws: Sequence[int],
    noise: Array | None = None,
) -> tuple[list[Array], Array]:
    """Return w_1 … w_{T+1} and the average of w_1 … w_T, for the draws i_1 … i_T."""
    w = [np.zeros(x.shape[1])]
    for t in range(1, steps + 1):
        i = draws[t - 1]
        b = 0.0 if noise is None else noise[t - 1]
        w.append(project(w[t - 1] - step_size * (gradient(w[t - 1], x[i], y[i]) + b)))
    return w, sum(w[:steps], np.zeros_like(w[0])) / steps


def algorithm_2(
    x: Array,
    y: Array,
    gradient: Callable[[Array, Array, float, Array, float], Array],
    project: Projection,
    step_size: float,
    steps: int,
    draws: Sequence[tuple[int, int]],
    first: Array,
    noise: Array | None = None,
) -> tuple[list[Array], Array]:
    """Return w_1 … w_{T+1} and the average of w_1 … w_T, for the draws (i_1, j_1) … (i_T, j_T)."""
    w = [first]
    for t in range(1, steps + 1):
        i, j = draws[t - 1]
        b = 0.0 if noise is None else noise[t - 1]
        slope = gradient(w[t - 1], x[i], y[i], x[j], y[j])
        w.append(project(w[t - 1] - step_size * (slope + b)))
    return w, sum(w[:steps], np.zeros_like(w[0])) / steps


def logistic(w: Array, x: Array, y: float) -> Array:
    """Return the gradient of ln(1 + e^{-y w'x})."""
    return -y * x / (1 + np.exp(y * (w @ x)))


def hinge(w: Array, x: Array, y: float) -> Array:
    """Return a subgradient of (1 - y w'x)_+."""
    return -y * x if 1 - y * (w @ x) > 0 else np.zeros_like(w)
