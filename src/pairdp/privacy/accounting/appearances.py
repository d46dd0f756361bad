r"""How often and how late a record is drawn: the law of what it does to an average.

Pairwise SGD draws records i_1 … i_T and lets each meet all earlier ones. A record that is drawn
at places k moves the average of the iterates by at most :math:`\sum_k c_k` steps (and a part that
does not depend on the draws), with

.. math:: c_k = \frac{T-k+1}{T}[k ≥ 2] + \sum_{l=k}^{T-1} \Big(\frac1l - \frac1T\Big):

as the current record it enters the step k - 1 and all iterates after it, as an earlier one it
is one of l partners at each later step. The draws are secret, so the privacy loss is that of a
mixture over them. Their law is found by a Fourier transform on a grid, weights rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr

Array = NDArray[np.float64]
_LOG_TAIL = math.log(1e-17)
_ATOMS = 1024
_MOST_DIRECT = 1_000
_MOST_PASSES = 4_000
_MOST_POINTS = 2**22
_ROUNDING = 4e-14  # of a transform of 2^18 points, in all; it grows like the root of their number


class SumLaw(NamedTuple):
    """A law on a few points, and the mass that its computation cannot vouch for.

    Attributes
    ----------
    sums, masses : arrays
        Points, rounded up, and their probabilities. A sum of zero: never drawn.
    slack : float
        More than what all masses together are below the true ones, and than what lies beyond the
        last point: by the tails of Chernoff's bound, and by the rounding of the transforms, which
        against extended precision was found to be at most a quarter of it.
    """

    sums: Array
    masses: Array
    slack: float


def appearance_weights(steps: int) -> Array:
    """Return c_1 … c_T."""
    places = np.arange(1, steps + 1, dtype=np.float64)
    later = np.zeros(steps)
    later[:-1] = np.cumsum((1 / places[:-1] - 1 / steps)[::-1])[::-1]
    current = (steps - places + 1) / steps
    current[0] = 0.0
    return current + later


@lru_cache(maxsize=64)
def law_with_replacement(population: int, steps: int) -> SumLaw:
    """Return the law of Σ c_k over the places where one of n records is drawn, T draws."""
    weights, chance = appearance_weights(steps), 1 / population

    def log_moment(theta: float, of: Array = weights) -> float:
        return float(np.sum(np.log1p(chance * np.expm1(theta * of))))

    ones = np.ones(steps)
    often = _reach(ones, lambda theta: log_moment(theta, ones))
    width, size = _grid(_reach(weights, log_moment), weights, often)
    bins = np.bincount(_up(weights, width), minlength=size).astype(np.float64)
    frequencies = np.arange(size // 2 + 1)
    if population == 2:
        log_phi = _direct(bins, chance, frequencies, size)
    else:
        # log(1 - p + p z) = log(1-p) + Σ_r (-1)^(r+1) (q z)^r / r with q = p/(1-p); the transform
        # of stretched bins is the transform itself at stretched frequencies.
        full = np.fft.fft(bins)
        odds = chance / (1 - chance)
        log_phi = np.full(frequencies.size, steps * math.log1p(-chance) + 0j)
        power = 1
        while steps * odds**power / power > 1e-18:
            log_phi += (-1) ** (power + 1) * odds**power / power * full[frequencies * power % size]
            power += 1
    masses = np.fft.irfft(np.exp(log_phi), size)
    slack = _rounding(size) * (1 + 2 * steps / population)
    return _checked(_few(masses, width, slack), float(weights.sum()) / population)


def _direct(
    bins: Array, chance: float, frequencies: NDArray[np.intp], size: int
) -> NDArray[np.complex128]:
    """Return log φ place by place, for a chance at which the series does not converge."""
    places = np.flatnonzero(bins)
    if places.size > _MOST_DIRECT:
        raise ValueError(f"two records and over {_MOST_DIRECT} draws are not accounted: use fewer")
    turns = np.exp(-2j * math.pi * np.arange(size) / size)
    log_phi = np.zeros(frequencies.size, dtype=np.complex128)
    for place in places:
        log_phi += bins[place] * np.log(1 - chance + chance * turns[frequencies * place % size])
    return log_phi


@lru_cache(maxsize=64)
def law_of_permutations(population: int, passes: int) -> SumLaw:
    """Return the law of Σ c_k when each pass meets all records, in a new random order."""
    if passes > _MOST_PASSES:
        raise ValueError(
            f"at most {_MOST_PASSES} passes in random order are accounted, got {passes}: use "
            "fewer, or draws with replacement"
        )
    weights = appearance_weights(population * passes).reshape(passes, population)

    def log_moment(theta: float) -> float:
        largest = theta * weights.max(axis=1)
        inner = np.exp(theta * weights - largest[:, None]).mean(axis=1)
        return float(np.sum(largest + np.log(inner)))

    width, size = _grid(_reach(weights, log_moment), weights, passes)
    phi = np.ones(size // 2 + 1, dtype=np.complex128)
    for one_pass in weights:
        phi *= np.fft.rfft(np.bincount(_up(one_pass, width), minlength=size) / population)
    law = _few(np.fft.irfft(phi, size), width, _rounding(size) * (1 + passes))
    return _checked(law, float(weights.sum()) / population)


def _rounding(size: int) -> float:
    return _ROUNDING * math.sqrt(size / 2**18)


def _up(weights: Array, width: float) -> NDArray[np.intp]:
    return np.ceil(weights / width * (1 - 1e-12)).astype(np.intp)


def _reach(weights: Array, log_moment: Callable[[float], float]) -> float:
    """Return a sum that is exceeded with a chance of at most 1e-17, by Chernoff's bound."""
    largest = float(weights.max())

    def bound(log_theta: float) -> float:
        theta = math.exp(log_theta)
        with np.errstate(over="ignore"):
            return (log_moment(theta) - _LOG_TAIL) / theta

    centre = -math.log(largest)
    best = minimize_scalar(bound, bounds=(centre - 12, centre + 4), method="bounded")
    return min(float(best.fun), largest * weights.size)


def _grid(far: float, weights: Array, often: float) -> tuple[float, int]:
    """Return width and number of points, so that the *rounded* sums lie below the last.

    A sum of so many rounded weights is larger by at most as many widths. Without room for
    that, its mass would come out at the other end of the grid.
    """
    size = 2**18
    while often > size / 64:
        size *= 2
        if size > _MOST_POINTS:
            raise ValueError(
                f"{often:.3g} appearances of one record are too many to be accounted: use fewer "
                "steps"
            )
    return (far + 2 * float(weights.max())) / (size - math.ceil(often) - 2), size


def _checked(law: SumLaw, mean: float) -> SumLaw:
    """Return a law after making sure that its mean is not below the true one."""
    found = float(law.sums @ law.masses)
    if not mean * (1 - 1e-9) - law.slack <= found <= 1.1 * mean + law.sums[-1] * 1e-2:
        raise ArithmeticError(
            f"the law of appearances has the mean {found:.6g}, and it must be {mean:.6g}"
        )
    return law


def _few(masses: Array, width: float, slack: float) -> SumLaw:
    """Return the law on fewer points, sums rounded up."""
    masses = np.maximum(masses, 0.0)
    tails = np.cumsum(masses[::-1])[::-1]
    last = int(np.flatnonzero(tails > slack)[-1]) + 1
    stride = max(1, math.ceil(last / _ATOMS))
    groups = -(-np.arange(masses.size) // stride)
    held = np.bincount(groups, masses)
    kept = np.flatnonzero(held > 0)
    kept = kept[kept * stride <= last + stride]
    sums = np.asarray(kept * (stride * width), dtype=np.float64)
    chosen = np.asarray(held[kept], dtype=np.float64)
    return SumLaw(sums, chosen, slack + float(held.sum() - chosen.sum()))


def mixture_delta(epsilon: float, ratios: Array, masses: Array) -> float:
    """Return Σ p·δ(ε) of Gaussian releases whose ratio is drawn, at any real ε ≥ 0."""
    positive = ratios > 0
    mu, p = ratios[positive], masses[positive]
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    gap = epsilon + log_ndtr(lower) - log_ndtr(upper)
    return float(p @ (ndtr(upper) * -np.expm1(np.minimum(gap, 0.0))))
