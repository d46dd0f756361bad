"""Kang 2021: the noise on every gradient, and the number of steps."""

from __future__ import annotations

import math

from pairdp.privacy import Budget


def gradient_noise(lipschitz: float, n: int, steps: int, budget: Budget) -> float:
    """Return σ = 8G√(T·ln(1/δ))/(nε) (Algorithm 1)."""
    base = math.sqrt(steps * math.log(1 / budget.delta)) / (n * budget.epsilon)
    return 8 * lipschitz * base


def steps(n: int, dimension: int, budget: Budget | None) -> float:
    """Return T = ln(nε/√p) (Theorem 2 with Remark 2, an order); infinite without noise."""
    return math.inf if budget is None else math.log(n * budget.epsilon / math.sqrt(dimension))
