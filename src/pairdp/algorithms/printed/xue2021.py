"""Xue 2021: sensitivities of the output of gradient descent, and the noise on its gradients."""

from __future__ import annotations

import math

from pairdp.privacy import Budget


def last_iterate_sensitivity(lipschitz: float, strong_convexity: float, n: int) -> float:
    """Return the sensitivity 8G/(αn) of the last iterate (Algorithm 1)."""
    return 8 * lipschitz / (strong_convexity * n)


def average_iterate_sensitivity(lipschitz: float, step_size: float, steps: int, n: int) -> float:
    """Return the sensitivity 4GηT/n of the average iterate (Algorithm 4)."""
    return 4 * lipschitz * step_size * steps / n


def epoch_sensitivity(lipschitz: float, step_size: float) -> float:
    """Return the sensitivity 4Gη of an epoch's average, with one step per record (Algorithm 3)."""
    return 4 * lipschitz * step_size


def gradient_noise(lipschitz: float, n: int, steps: int, budget: Budget) -> float:
    """Return σ = 4G√(1.25·T·ln(1/δ))/(nε) of each gradient (Algorithm 2)."""
    base = math.sqrt(steps * math.log(1 / budget.delta)) / (n * budget.epsilon)
    return 4 * math.sqrt(1.25) * lipschitz * base
