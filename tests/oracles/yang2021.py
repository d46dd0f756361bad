"""Yang 2021, Algorithm 1, as printed: Algorithm 2 is the same, with noise on its average.

Everything is written as in the paper, one ordered pair at a time. Indices of records are from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray
Subgradient = Callable[[Array, Array, float, Array, float], Array]
Projection = Callable[[Array], Array]


def algorithm_1(
    x: Array,
    y: Array,
    subgradient: Subgradient,
    project: Projection,
    step_size: float,
    steps: int,
    draws: Sequence[int],
    first: Array,
) -> tuple[list[Array], Array]:
    """Return w_1 … w_{T+1} and the average of w_1 … w_T, for the draws i_1 … i_{T+1}."""
    w = [first]
    i = list(draws)
    for t in range(1, steps + 1):
        total = np.zeros_like(first)
        for k in range(1, t + 1):
            # ∂ℓ(w_t, z_{i_{t+1}}, z_{i_k})
            a, b = i[t], i[k - 1]
            total = total + subgradient(w[t - 1], x[a], y[a], x[b], y[b])
        w.append(project(w[t - 1] - step_size / t * total))
    average = np.zeros_like(first)
    for t in range(1, steps + 1):
        average = average + w[t - 1] / steps
    return w, average


def hinge_auc(w: Array, x: Array, y: float, other_x: Array, other_y: float) -> Array:
    """Return a subgradient of (1 - w'(x - x'))_+ where y = 1 and y' = -1, equation (10)."""
    if y == 1 and other_y == -1 and 1 - w @ (x - other_x) > 0:
        return -(x - other_x)
    return np.zeros_like(w)


def logistic_auc(w: Array, x: Array, y: float, other_x: Array, other_y: float) -> Array:
    """Return the gradient of ln(1 + e^{-w'(x - x')}) where y = 1 and y' = -1."""
    if y == 1 and other_y == -1:
        return -(x - other_x) / (1 + np.exp(w @ (x - other_x)))
    return np.zeros_like(w)


def hinge_metric(w: Array, x: Array, y: float, other_x: Array, other_y: float) -> Array:
    """Return a subgradient of (1 + τ(x - x')'w(x - x'))_+, equation (11)."""
    tau = 1.0 if y == other_y else -1.0
    a = x - other_x
    if 1 + tau * (a @ w @ a) > 0:
        return tau * np.outer(a, a)
    return np.zeros_like(w)


def ball(radius: float) -> Projection:
    """Return the projection onto the vectors of norm at most a radius."""

    def project(w: Array) -> Array:
        norm = np.sqrt(np.sum(w * w))
        return w * (radius / norm) if norm > radius else w

    return project


def psd_ball(radius: float) -> Projection:
    """Return the projection onto positive semidefinite matrices of Frobenius norm ≤ a radius."""

    def project(w: Array) -> Array:
        values, vectors = np.linalg.eigh((w + w.T) / 2)
        clipped = (vectors * np.maximum(values, 0)) @ vectors.T
        return ball(radius)(clipped)

    return project
