r"""Wang 2024: the noise of steps on one record or one pair, and the conditions of the theorems.

With c = 1 for records (Algorithm 1, Theorem 2) and c = 2 for pairs (Algorithm 2, Theorem 5),

.. math:: σ² = \frac{14c²G²T}{βn²ε}\Big(\frac{\ln(1/δ)}{(1-β)ε} + 1\Big)

for some β in (0, 1), if

.. math:: σ² ≥ 2.68G² \quad\text{and}\quad
    λ - 1 ≤ \frac{σ²}{6G²} \ln\frac{n}{cλ(1 + σ²/4G²)}, \quad λ = \frac{\ln(1/δ)}{(1-β)ε} + 1.

The paper does not specify β. Here it is searched for the smallest noise; often no β satisfies the
conditions (errata, W1), and then there is no printed noise. The end of the proof of Theorem 5 drops
the factor 2 in the logarithm; the statement of the theorem is used here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, positive
from pairdp.privacy import Budget

Array = NDArray[np.float64]
_POINTS = 40_001
_REFINED = 2_001
_ROUNDS = 4
_LEAST, _MOST = -60.0, 30.0
_FLOOR = 2.68


class GradientNoise(NamedTuple):
    """The printed noise, and the β that minimises it.

    Attributes
    ----------
    multiplier : float
        σ/G.
    beta : float
        β.
    """

    multiplier: float
    beta: float


def gradient_noise(n: int, steps: int, budget: Budget, drawn: int) -> GradientNoise:
    """Return the smallest noise that the printed formula allows.

    Parameters
    ----------
    n, steps : int
        Number of records, and T.
    budget : Budget
        ε and δ > 0.
    drawn : {1, 2}
        Number of records that a step draws: 1 for Algorithm 1, 2 for Algorithm 2.

    Raises
    ------
    ValueError
        If no β satisfies the conditions of the theorem.

    Examples
    --------
    >>> found = gradient_noise(1000, 1000, Budget(2.0, 1e-6), drawn=2)
    >>> round(found.multiplier, 2), round(found.beta, 4)
    (4.12, 0.0132)
    """
    n, steps = integer("n", n, at_least=2), integer("steps", steps)
    drawn = integer("drawn", drawn, at_most=2)
    positive("delta", budget.delta)
    logits = np.linspace(_LEAST, _MOST, _POINTS)
    best: GradientNoise | None = None
    for _ in range(_ROUNDS):
        beta, square, slack = _conditions(logits, n, steps, budget, drawn)
        satisfied = slack >= 0
        # If no β is admissible so far, refine the grid where the violation is smallest.
        score = np.where(satisfied, square, np.inf) if satisfied.any() else -slack
        place = int(np.argmin(score))
        if satisfied.any() and (best is None or math.sqrt(square[place]) < best.multiplier):
            best = GradientNoise(math.sqrt(square[place]), float(beta[place]))
        around = logits[max(place - 1, 0)], logits[min(place + 1, logits.size - 1)]
        logits = np.linspace(*around, _REFINED)
    if best is None:
        raise ValueError(_refusal(n, steps, budget, drawn, float(beta[place])))
    return best


def _conditions(
    logits: Array, n: int, steps: int, budget: Budget, drawn: int
) -> tuple[Array, Array, Array]:
    """Return β, σ²/G² and the slack of both conditions, negative where they are violated."""
    beta, rest = 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(logits))  # rest = 1 - β
    order = math.log(1 / budget.delta) / (rest * budget.epsilon)  # λ - 1
    with np.errstate(over="ignore"):
        square = 14 * drawn**2 * steps / (beta * n**2 * budget.epsilon) * (order + 1)
        spread = np.log(n / drawn) - np.log1p(order) - np.log1p(square / 4)
        slack = np.minimum(square / _FLOOR - 1, square * spread / (6 * order) - 1)
    return beta, square, np.where(np.isfinite(slack), slack, -np.inf)


def _refusal(n: int, steps: int, budget: Budget, drawn: int, beta: float) -> str:
    """Return the error message, with both sides of the second condition where they are closest."""
    number = "2" if drawn == 1 else "5"
    order = math.log(1 / budget.delta) / ((1 - beta) * budget.epsilon)
    square = 14 * drawn**2 * steps / (beta * n**2 * budget.epsilon) * (order + 1)
    most = square / 6 * math.log(n / (drawn * (order + 1) * (1 + square / 4)))
    return (
        f"Wang 2024 print no noise for n = {n}, T = {steps}, ε = {budget.epsilon:g}, "
        f"δ = {budget.delta:g}: no β in (0, 1) satisfies the conditions of Theorem {number} "
        "(σ² ≥ 2.68G², and an upper bound on the Rényi order λ): at best, with "
        f"β = {beta:.3g} and σ = {math.sqrt(square):.3g}·G, λ - 1 = {order:.3g} must be at most "
        f"{most:.3g}. Use calibration='certified', which has no such conditions, or a larger ε, δ "
        "or n"
    )
