r"""δ of an average over repeated draws by another route: a cosine series, weights not rounded.

With f(S) the δ of a Gaussian release whose ratio follows from the sum S of appearances,
:math:`E f(S) = \sum_m a_m \mathrm{Re}\,φ(πm/X)`, where a_m are the cosine coefficients of f on
[0, X] and φ the characteristic function of S, a product over the draws. No grid of sums, no
rounding: it must come out just below what `pairdp.privacy.accounting.appearances` gives.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.special import log_ndtr, ndtr

from pairdp.privacy.accounting.appearances import appearance_weights
from pairdp.privacy.accounting.events import SampledEvent
from pairdp.privacy.accounting.sampling import RepeatedDraws

Array = NDArray[np.float64]
_POINTS = 2**14
_WORK = 2e7
_BLOCK = 2**22


def series_delta(event: SampledEvent, epsilon: float) -> tuple[float, float]:
    """Return δ(ε) of one average over repeated draws, and about its error."""
    draws = event.sampling
    if not isinstance(draws, RepeatedDraws) or event.steps != 1:
        raise TypeError(f"not one average over repeated draws: {event!r}")
    weights = appearance_weights(draws.draws)
    law = draws.law
    far = float(law.sums.max()) - draws.base if math.isinf(draws.most) else _far(weights, draws)
    far = max(far, float(weights.max())) * 1.05
    sums = (np.arange(_POINTS) + 0.5) * far / _POINTS
    moved = np.minimum(sums + draws.base, draws.most)
    coefficients = dct(_gaussian_delta(epsilon, event.mu * moved), type=2) / _POINTS
    coefficients[0] /= 2
    count = int(min(_POINTS // 2, max(128, _WORK // weights.size)))
    never = 0.0
    if draws.order == "replacement":
        never = math.exp(draws.draws * math.log1p(-1 / draws.population))
    omega: Array = np.linspace(0.0, (count - 1) * math.pi / far, count)
    phi = _characteristic(weights, draws, omega).real - never
    terms = coefficients[:count] * phi
    last = float(np.abs(terms[-max(1, count // 10) :]).max()) * count
    return float(terms.sum()), last + 1e-14


def _far(weights: Array, draws: RepeatedDraws) -> float:
    """Return a sum that the appearances hardly exceed: mean and twelve deviations, and more."""
    chance = 1 / draws.population
    mean, variance = chance * weights.sum(), chance * float(weights @ weights)
    return float(mean + 12 * math.sqrt(variance) + 12 * weights.max())


def _gaussian_delta(epsilon: float, mu: Array) -> Array:
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    gap = np.minimum(epsilon + log_ndtr(lower) - log_ndtr(upper), 0.0)
    return np.asarray(ndtr(upper) * -np.expm1(gap))


def _characteristic(weights: Array, draws: RepeatedDraws, omega: Array) -> NDArray[np.complex128]:
    """Return E e^{iωS}, a product over draws or over passes."""
    chance = 1 / draws.population
    found = np.empty(omega.size, dtype=np.complex128)
    block = max(1, _BLOCK // weights.size)
    for start in range(0, omega.size, block):
        turns = np.exp(1j * np.outer(omega[start : start + block], weights))
        if draws.order == "replacement":
            logs = np.log(1 - chance + chance * turns).sum(axis=1)
            found[start : start + block] = np.exp(logs)
        else:
            passes = turns.reshape(len(turns), -1, draws.population).mean(axis=2)
            found[start : start + block] = passes.prod(axis=1)
    return found
