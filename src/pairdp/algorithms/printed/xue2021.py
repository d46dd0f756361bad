"""Xue 2021: sensitivities of the output of gradient descent, noise on its gradients, schedules."""

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


def last_iterate_steps(smoothness: float, strong_convexity: float, n: int) -> float:
    """Return T = (L/α)·ln n of Algorithm 1 (Theorem 1, an order)."""
    return smoothness / strong_convexity * math.log(n)


def average_iterate_steps(diameter: float, lipschitz: float, n: int, step_size: float) -> float:
    """Return T of Algorithm 4, with ηT = (‖C‖/G)·√n.

    Theorem 4 leaves T open. Two of the three terms of its bound are ‖w₀-w*‖²/(ηT) + G²ηT/n, which
    this ηT minimises for ‖w₀-w*‖ = ‖C‖. The end of its proof has ηT = O(√T) instead.
    """
    return diameter / lipschitz * math.sqrt(n) / step_size


def gradient_noise_steps(n: int, dimension: int, budget: Budget | None) -> float:
    """Return T = min{n, n²ε²/(d·ln(1/δ))} of Algorithm 2 (Theorem 2); n without noise."""
    if budget is None:
        return float(n)
    return min(float(n), (n * budget.epsilon) ** 2 / (dimension * math.log(1 / budget.delta)))


def gradient_noise_step_size(diameter: float, lipschitz: float, steps: int) -> float:
    """Return η = ‖C‖/(G√T) of Algorithm 2.

    Theorem 2 prints G/(‖C‖√T) and its proof ‖C‖²/(G√T). The bound that both state follows from
    ‖C‖/(G√T), which has the right unit, and is Theorem 3's step size.
    """
    return diameter / (lipschitz * math.sqrt(steps))


def epoch_step_size(
    diameter: float, lipschitz: float, n: int, dimension: int, budget: Budget | None
) -> float:
    """Return η = (‖C‖/G)·min{4/√n, ε/√(d·ln(1/δ))} of Algorithm 3, with ε/d for pure ε (Theorem 3).

    Without noise, ε is infinite.
    """
    rate = 4 / math.sqrt(n)
    if budget is not None:
        pure = budget.is_pure
        cost = dimension if pure else math.sqrt(dimension * math.log(1 / budget.delta))
        rate = min(rate, budget.epsilon / cost)
    return diameter / lipschitz * rate
