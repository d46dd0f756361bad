"""Yang 2021: the noise on the average of pairwise SGD."""

from __future__ import annotations

import math

from pairdp.privacy import Budget


def average_noise(n: int, steps: int, budget: Budget) -> float:
    """Return σ/(ηG) of equation (5), for draws with replacement."""
    often = 3 * (steps * math.log(math.e * steps) * math.log(2 / budget.delta) / n) ** 2
    return math.sqrt(8 * math.log(2.5 / budget.delta) * (steps + often)) / budget.epsilon
