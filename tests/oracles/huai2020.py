"""Huai 2020, Algorithms 1 to 4, transcribed line by line with naive loops, and without noise.

Random points are given, since the paper does not say how they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Gradient = Callable[[Array, Array, float, Array, float], Array]


def step_time(smoothness: float, alpha: float) -> float:
    """Return T1 = max{16L²/α², 7}."""
    return max(16 * smoothness**2 / alpha**2, 7)


def pairwise_giga(
    x: Array,
    y: Array,
    gradient: Gradient,
    project: Callable[[Array], Array],
    alpha: float,
    random: Sequence[Array],
) -> list[Array]:
    """Return w_1 … w_n of Algorithm 1 without its noise, given the random w_1 … w_T1."""
    n = len(y)
    w = dict(enumerate(random, 1))
    for t in range(len(random) + 1, n + 1):
        eta = (t - 1) / (t - 2) * 2 / (alpha * t)
        total = np.zeros_like(w[t - 1])
        for i in range(1, t):
            total = total + gradient(w[t - 1], x[t - 1], y[t - 1], x[i - 1], y[i - 1])
        w[t] = project(w[t - 1] - eta * (total / (t - 1)))
    return [w[t] for t in range(1, n + 1)]


def regularised(gradient: Gradient, alpha: float, center: Array) -> Gradient:
    """Return the gradient of ℓ(w; z, z') + α/2·|w - w0|² (Algorithms 2 and 4, line 3)."""
    return lambda w, x, y, other_x, other_y: (
        gradient(w, x, y, other_x, other_y) + alpha * (w - center)
    )


def average_of_all(models: Sequence[Array]) -> Array:
    """Return w̃ = (w_1 + … + w_n)/n (Algorithm 3, line 8)."""
    total = np.zeros_like(models[0])
    for model in models:
        total = total + model
    return total / len(models)


def online_to_batch(models: Sequence[Array]) -> Array:
    """Return w̄ = (w_1 + … + w_{n-1})/(n-1) (equation 6)."""
    return average_of_all(models[:-1])


def logistic_ranking(temperature: float) -> Gradient:
    """Return the gradient of φ((y - y')·wᵀ(x - x')/τ), φ(u) = ln(1 + e^-u)."""

    def gradient(w: Array, x: Array, y: float, other_x: Array, other_y: float) -> Array:
        u = (y - other_y) / temperature * float(w @ (x - other_x))
        return -1 / (1 + np.exp(u)) * (y - other_y) / temperature * (x - other_x)

    return gradient


def logistic_metric(temperature: float) -> Gradient:
    """Return the gradient of φ(yy'(1 - (x - x')ᵀW(x - x'))/τ); labels only name classes."""

    def gradient(w: Array, x: Array, y: float, other_x: Array, other_y: float) -> Array:
        sign = 1.0 if y == other_y else -1.0
        a = x - other_x
        u = sign * (1 - float(a @ w @ a)) / temperature
        return 1 / (1 + np.exp(u)) * sign / temperature * np.outer(a, a)

    return gradient


def onto_ball(point: Array) -> Array:
    """Return the projection onto |w| ≤ 1."""
    return point / max(1.0, float(np.linalg.norm(point)))


def onto_cone_and_ball(point: Array) -> Array:
    """Return the projection onto positive semidefinite matrices of Frobenius norm at most 1."""
    values, vectors = np.linalg.eigh((point + point.T) / 2)
    return onto_ball((vectors * np.maximum(values, 0.0)) @ vectors.T)
