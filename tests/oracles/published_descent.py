"""The pseudo-code of Xue 2021 and Kang 2021, line by line, with loops over all pairs.

Everything is written from the papers: the losses of their examples, the projections, and the
algorithms with the noise as an argument. Each returns all of its iterates, and what it returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Gradient = Callable[[Array], Array]


class Run(NamedTuple):
    iterates: list[Array]
    returned: Array


def ranking_gradient(w: Array, x: Array, y: float, other_x: Array, other_y: float) -> Array:
    """∇ of φ((y - y')·wᵀ(x - x')), φ(u) = log(1 + e^-u)."""
    u = (y - other_y) * float(w @ (x - other_x))
    return -1 / (1 + math.exp(u)) * (y - other_y) * (x - other_x)


def metric_gradient(w: Array, x: Array, y: float, other_x: Array, other_y: float) -> Array:
    """∇ of φ(yy'(1 - (x - x')ᵀW(x - x')))."""
    apart = x - other_x
    u = y * other_y * (1 - float(apart @ w @ apart))
    return 1 / (1 + math.exp(u)) * y * other_y * np.outer(apart, apart)


def risk_gradient(
    pair: Callable[..., Array], x: Array, y: Array, strength: float = 0.0
) -> Gradient:
    """∇L(w; D) of equation (1), plus that of (λ/2)|w|²."""

    def gradient(w: Array) -> Array:
        n = len(x)
        total = np.zeros_like(w)
        for i in range(n):
            for j in range(n):
                if j != i:
                    total += pair(w, x[i], y[i], x[j], y[j])
        return total / (n * (n - 1)) + strength * w

    return gradient


def onto_ball(w: Array) -> Array:
    """Π_C for ‖w‖ ≤ 1."""
    norm = float(np.sqrt((w * w).sum()))
    return w if norm <= 1 else w / norm


def onto_metrics(w: Array) -> Array:
    """Π_C for positive semidefinite W with ‖W‖_F ≤ 1."""
    values, vectors = np.linalg.eigh(w)
    return onto_ball(sum(max(v, 0.0) * np.outer(q, q) for v, q in zip(values, vectors.T)))  # noqa: B905


def pgd(gradient: Gradient, project: Gradient, w: Array, eta: float, steps: int) -> list[Array]:
    """Algorithm 4 of Xue 2021, lines 1 to 3; also Algorithm 1, lines 1 to 3."""
    iterates = [w]
    for _ in range(1, steps + 1):
        iterates.append(project(iterates[-1] - eta * gradient(iterates[-1])))
    return iterates


def dpgdsc(
    gradient: Gradient, project: Gradient, w: Array, eta: float, steps: int, zeta: Array
) -> Run:
    """Algorithm 1 of Xue 2021."""
    iterates = pgd(gradient, project, w, eta, steps)
    return Run(iterates, iterates[-1] + zeta)


def dpgdc(
    gradient: Gradient, project: Gradient, w: Array, eta: float, steps: int, zeta: Array
) -> Run:
    """Algorithm 4 of Xue 2021: the average of w_1 … w_T."""
    iterates = pgd(gradient, project, w, eta, steps)
    return Run(iterates, sum(iterates[1:]) / steps + zeta)


def dpgdc2(
    gradient: Gradient, project: Gradient, w: Array, eta: float, zetas: Sequence[Array]
) -> Run:
    """Algorithm 2 of Xue 2021: the average of w_0 … w_T."""
    iterates = [w]
    for zeta in zetas:
        iterates.append(project(iterates[-1] - eta * (gradient(iterates[-1]) + zeta)))
    return Run(iterates, sum(iterates) / (len(zetas) + 1))


def dpegd(
    gradient_of: Callable[[Array, Array], Gradient],
    project: Gradient,
    w: Array,
    eta: float,
    x: Array,
    y: Array,
    zetas: Sequence[Array],
) -> Run:
    """Algorithm 3 of Xue 2021, for n = 2^k; the iterates are w_0 … w_k."""
    n = len(x)
    k = int(math.log2(n))
    iterates, start = [w], 0
    for i in range(1, k + 1):
        size = n // 2**i if i < k else n - start
        part = slice(start, start + size)
        start += size
        steps = pgd(gradient_of(x[part], y[part]), project, iterates[-1], eta / 4**i, size)
        iterates.append(sum(steps[1:]) / size + zetas[i - 1])
    return Run(iterates, iterates[-1])


def kang(gradient: Gradient, w: Array, eta: float, noise: Sequence[Array]) -> Run:
    """Algorithm 1 of Kang 2021."""
    iterates = [w]
    for b in noise:
        iterates.append(iterates[-1] - eta * (gradient(iterates[-1]) + b))
    return Run(iterates, iterates[-1])
