r"""δ of an average over repeated draws, by a cosine series with exact weights.

Let f(S) be the δ of a Gaussian release whose μ is a function of the sum S of appearances. Then
:math:`E f(S) = \sum_m a_m \mathrm{Re}\,φ(πm/X)`, where a_m are the cosine coefficients of f on
[0, X] and φ is the characteristic function of S, a product over the draws. There is no grid of sums
and no rounding, so the result must be slightly below that of
`pairdp.privacy.accounting.appearances`.

With very many draws with replacement, nearly equal weights c_k of consecutive draws are replaced by
their mean. A draw has probability p ≤ 1/10 there, and the second derivative of
:math:`\log(1-p+pe^{iωc})` is at most :math:`p(1-p)ω^2/(1-2p)^2 ≤ 2pω^2`, so log φ changes by at
most :math:`pω^2` times the sum of squared differences from the means. This is added to the error.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.appearances import appearance_weights
from pairdp.privacy.accounting.events import SampledEvent
from pairdp.privacy.accounting.sampling import RepeatedDraws
from pairdp.privacy.accounting.second_routes.estimate import DeltaEstimate

Array = NDArray[np.float64]
_POINTS = 2**14
_WORK = 2e7
_BLOCK = 2**22
_MOST_EXACT = 2**17
_HEAD = 2**13


def series_delta(event: SampledEvent, epsilon: float) -> DeltaEstimate:
    """Return δ(ε) of one average over repeated draws, with an estimate of its error."""
    draws = event.sampling
    if not isinstance(draws, RepeatedDraws) or event.steps != 1:
        raise TypeError(f"not one average over repeated draws: {event!r}")
    weights = appearance_weights(draws.draws)
    if math.isinf(draws.most):
        largest = float(draws.distribution.sums.max()) - draws.base
    else:
        largest = _largest_sum(weights, draws)
    largest = max(largest, float(weights.max())) * 1.05
    sums = (np.arange(_POINTS) + 0.5) * largest / _POINTS
    changes = np.minimum(sums + draws.base, draws.most)
    coefficients = dct(gaussian.deltas(epsilon, event.mu * changes), type=2) / _POINTS
    coefficients[0] /= 2
    weights, repeats, spread = _grouped(weights, draws)
    count = int(min(_POINTS // 2, max(128, _WORK // weights.size)))
    never = 0.0
    if draws.order == "replacement":
        never = math.exp(draws.draws * math.log1p(-1 / draws.population))
    omega: Array = np.linspace(0.0, (count - 1) * math.pi / largest, count)
    characteristic = _characteristic(weights, repeats, draws, omega)
    terms = coefficients[:count] * (characteristic.real - never)
    last = float(np.abs(terms[-max(1, count // 10) :]).max()) * count
    size, change = np.abs(characteristic), omega**2 * spread / draws.population
    off = np.minimum(size * np.expm1(np.minimum(change, 700.0)), 1 + size)
    grouping = float(off @ np.abs(coefficients[:count]))
    return DeltaEstimate(float(terms.sum()), last + grouping + 1e-14)


def _grouped(weights: Array, draws: RepeatedDraws) -> tuple[Array, Array, float]:
    """Return weights, how often each occurs, and the sum of their squared errors."""
    few = draws.population < 10 or weights.size <= _MOST_EXACT
    if few or draws.order != "replacement":
        return weights, np.ones(weights.size), 0.0
    # The weights change by about 1/k from draw k to the next: blocks grow with k.
    starts = [*range(_HEAD)]
    while starts[-1] + starts[-1] // _HEAD < weights.size:
        starts.append(starts[-1] + max(1, starts[-1] // _HEAD))
    sizes = np.diff([*starts, weights.size])
    means = np.add.reduceat(weights, starts) / sizes
    spread = float(np.sum((weights - np.repeat(means, sizes)) ** 2))
    return means, sizes.astype(np.float64), spread


def _largest_sum(weights: Array, draws: RepeatedDraws) -> float:
    """Return a sum that is almost never exceeded: over twelve deviations above the mean."""
    probability = 1 / draws.population
    mean, variance = probability * weights.sum(), probability * float(weights @ weights)
    return float(mean + 12 * math.sqrt(variance) + 12 * weights.max())


def _characteristic(
    weights: Array, repeats: Array, draws: RepeatedDraws, omega: Array
) -> NDArray[np.complex128]:
    """Return E e^{iωS}, a product over draws or over passes."""
    probability = 1 / draws.population
    found = np.empty(omega.size, dtype=np.complex128)
    block = max(1, _BLOCK // weights.size)
    for start in range(0, omega.size, block):
        rotations = np.exp(1j * np.outer(omega[start : start + block], weights))
        if draws.order == "replacement":
            logs = np.log(1 - probability + probability * rotations) @ repeats
            found[start : start + block] = np.exp(logs)
        else:
            passes = rotations.reshape(len(rotations), -1, draws.population).mean(axis=2)
            found[start : start + block] = passes.prod(axis=1)
    return found
