r"""Repeat-and-select: the best of a random number of private runs, of which only one is released.

K is geometric with mean 1/γ: P(K = k) = γ(1 - γ)^{k-1}, k ≥ 1. A base mechanism, which outputs a
model and a score, is run K times with fresh randomness, and the output with the largest score is
released; neither K nor any other output is.

**Theorem** (Papernot and Steinke 2022, Theorem 2, with η = 1). If the base mechanism is both
(λ, ε)-RDP and (λ̂, ε̂)-RDP, the whole is (λ, ε')-RDP with

.. math:: ε' = ε + 2(1 - 1/\hat λ)\hat ε + \frac{2}{\hat λ} \ln\frac1γ + \frac{\ln(1/γ)}{λ - 1}.

For a pure ε₀ and λ, λ̂ → ∞ it is 3ε₀-DP (Liu and Talwar 2019 have this for any number of runs).

Here, the base mechanism draws one of several candidates, independently of the records, fits it to
one part of the records, with a release that is µ-GDP at most, and scores it on another part with
ε₀-DP. A replaced record is in one part. If it is in the first, the Rényi divergence of the base
mechanism of order λ is at most λµ²/2: that of the Gaussian releases, whichever candidate was drawn,
and the score, as a function of the model and of records that are the same, adds nothing. If it is
in the second, models are distributed equally, and the score is ε₀-DP. The whole costs the larger of
the two: at ε = 3ε₀, the second has δ = 0.

RDP is converted by δ ≤ exp((λ-1)(ε' - ε + ln(1 - 1/λ)))/λ (Canonne, Kamath and Steinke 2020). A
bound that holds for every λ and λ̂ is minimised over a grid of both.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, positive
from pairdp.privacy.accounting.budget import Budget

Array = NDArray[np.float64]

PURE_FACTOR = 3
"""What the pure ε of the base mechanism is multiplied by."""
ORDERS: Array = 1 + np.geomspace(0.02, 1e5, 600)
_MOST_MU = 100.0


def geometric_log_delta(mu: float, mean: int, epsilon: float) -> float:
    """Return the logarithm of δ at ε, if runs are µ-GDP and their number is geometric.

    Parameters
    ----------
    mu : float
        µ of one run.
    mean : int
        The mean number of runs, 1/γ.
    epsilon : float
        ε of the whole.
    """
    mean = integer("mean", mean)
    log_mean = math.log(mean)
    renyi = ORDERS * mu**2 / 2
    constant = 2 * float(np.min((1 - 1 / ORDERS) * renyi + log_mean / ORDERS))
    whole = renyi + constant + log_mean / (ORDERS - 1)
    logs = (ORDERS - 1) * (whole - epsilon + np.log1p(-1 / ORDERS)) - np.log(ORDERS)
    return min(0.0, float(np.min(logs)))


def geometric_mu(budget: Budget, mean: int) -> float:
    """Return the largest µ of one run for which all of them stay within a budget, rounded down."""
    if budget.is_pure:
        raise ValueError("runs with Gaussian noise need a budget with δ > 0")
    target = math.log(budget.delta)
    low, high = 0.0, positive("largest µ", _MOST_MU)
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        fits = geometric_log_delta(middle, mean, budget.epsilon) <= target
        low, high = (middle, high) if fits else (low, middle)
    if low == 0:
        raise ValueError(f"ε = {budget.epsilon:g} is too small for {mean} runs on average")
    return low * (1 - 1e-9)


def accountant_log_delta(mu: float, mean: int, epsilon: float) -> float:
    """Return the same by the accountant of dp-accounting, on the same orders, as a second route."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.dp_event import GaussianDpEvent, RepeatAndSelectDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(ORDERS.tolist(), NeighboringRelation.REPLACE_ONE)
    accountant.compose(RepeatAndSelectDpEvent(GaussianDpEvent(1 / mu), mean, 1.0))
    delta = float(accountant.get_delta(epsilon))
    return math.log(delta) if delta > 0 else -math.inf
