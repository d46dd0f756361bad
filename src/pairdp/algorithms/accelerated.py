r"""Accelerated descent with a guaranteed distance to the minimiser after a public number of steps.

Let F be α-strongly convex and L-smooth on a closed convex set C, κ = L/α, and let every computed
gradient be within e of the exact one. A *round* of K steps starts at x_0 = z_0 and computes, with
θ_k = 2/(k+2) (Auslender and Teboulle 2006; Tseng 2008),

.. math::
    y_k &= (1-θ_k)x_k + θ_k z_k, \\
    z_{k+1} &= Π_C\Big(z_k - \frac{1}{θ_k L} g(y_k)\Big), \\
    x_{k+1} &= (1-θ_k)x_k + θ_k z_{k+1}.

All of these points are in C, where the constants hold. **If K + 1 = ⌈4√κ⌉, a round that starts at
distance d of the minimiser w\* ends within d/2 + 6e/α of it**, so m rounds end within d/2^m + 12e/α
of it, for all data.

Proof. Write ∇ for the exact gradient at y = y_k, g = ∇ + ε with \|ε\| ≤ e, r_k = \|z_k - w\*\| and
E_k = F(x_k) - F(w\*) ≥ 0. As x_{k+1} - y = θ(z_{k+1} - z_k), smoothness gives

.. math::
    F(x_{k+1}) ≤ (1-θ)[F(y) + ⟨∇, x_k-y⟩] + θ[F(y) + ⟨∇, z_{k+1}-y⟩]
        + \tfrac{Lθ^2}{2}|z_{k+1}-z_k|^2.

The first bracket is at most F(x_k). z_{k+1} minimises ⟨g, z⟩ + (Lθ/2)\|z - z_k\|² over C, so
⟨g, z_{k+1} - w\*⟩ + (Lθ/2)\|z_{k+1} - z_k\|² ≤ (Lθ/2)(r_k² - r_{k+1}²); with ∇ = g - ε and
convexity,

.. math:: E_{k+1} ≤ (1-θ_k)E_k + \tfrac{Lθ_k^2}{2}(r_k^2 - r_{k+1}^2) + θ_k e\,r_{k+1}.

Divide by θ_k² and add up, as (1-θ_k)/θ_k² ≤ 1/θ_{k-1}² and θ_0 = 1: with Λ = Σ 2e/(Lθ_k) =
eK(K+3)/(2L) and M the largest r_k, E_K/θ_{K-1}² + (L/2)r_K² ≤ (L/2)(d² + ΛM). The same holds for
every k ≤ K, so M² ≤ d² + ΛM, hence M ≤ d + Λ and E_K ≤ θ_{K-1}²(L/2)(d + Λ)². By strong convexity
(α/2)\|x_K - w\*\|² ≤ E_K, and θ_{K-1} = 2/(K+1), so

.. math:: |x_K - w^*| ≤ \frac{2\sqrt κ}{K+1}(d + Λ) ≤ \frac d2 + \sqrt κ\frac{e(K+2)}{L}
    ≤ \frac d2 + \frac{6e}{α},

because K(K+3) ≤ (K+1)(K+2) and K + 2 ≤ 4√κ + 2 ≤ 6√κ. ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.pairs import Risk
from pairdp.problem import Problem

Array = NDArray[np.float64]

LIMIT = 12.0
"""The limit of the distance to the minimiser after many rounds, in units of e/α."""


class Rounds(NamedTuple):
    """The number of rounds, and of steps in each round."""

    repeats: int
    steps: int

    @property
    def total(self) -> int:
        """The total number of steps."""
        return self.repeats * self.steps


def rounds_to_reach(
    distance: float, start_distance: float, smoothness: float, convexity: float
) -> Rounds:
    """Return the rounds that reach a given distance to the minimiser.

    Parameters
    ----------
    distance : float
        The distance to reach, not counting the 12e/α that gradient errors add.
    start_distance : float
        A bound on the distance of the starting point.
    smoothness, convexity : float
        L and α.
    """
    repeats = max(1, math.ceil(math.log2(max(start_distance / distance, 1.0))))
    return Rounds(repeats, math.ceil(4 * math.sqrt(smoothness / convexity)) - 1)


def descend_in_rounds(
    problem: Problem, risk: Risk, start: Array, smoothness: float, rounds: Rounds
) -> Iterator[Array]:
    """Yield the point after each step; the last one is within the distance proved above."""
    point = start
    for _ in range(rounds.repeats):
        ahead = point
        for k in range(rounds.steps):
            theta = 2 / (k + 2)
            between = (1 - theta) * point + theta * ahead
            gradient = risk.gradient(between) + problem.regularizer_gradient(between)
            ahead = problem.constraint.project(ahead - gradient / (theta * smoothness))
            point = (1 - theta) * point + theta * ahead
            yield point
