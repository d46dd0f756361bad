r"""The distribution of the number and positions of a record's appearances in repeated draws.

Pairwise SGD draws records i_1 … i_T and pairs each with all earlier ones. A record that is drawn at
positions k changes the average of the iterates by at most :math:`\sum_k c_k` steps, plus a term
that does not depend on the draws, with

.. math:: c_k = \frac{T-k+1}{T}[k ≥ 2] + \sum_{l=k}^{T-1} \Big(\frac1l - \frac1T\Big):

as the current record it enters step k - 1 and all iterates after it; as an earlier record it is one
of l partners at each later step. The draws are secret, so the privacy loss is that of a mixture
over them. The distribution of the sum is computed by a Fourier transform on a grid, with weights
rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_LOG_TAIL = math.log(1e-17)
_ATOMS = 1024
_MOST_DIRECT = 1_000  # draws
_MOST_PASSES = 4_000
_MOST_POINTS = 2**22
_ROUNDING = 4e-14  # total for 2^18 points; it grows like the square root of their number


class SumDistribution(NamedTuple):
    """A distribution on a few points, and a bound on the mass that it misses.

    Attributes
    ----------
    sums, masses : arrays
        Points, rounded up, and their probabilities. A sum of zero means never drawn.
    slack : float
        An upper bound on the total mass by which ``masses`` fall short of the true ones, including
        the mass beyond the last point. It covers the Chernoff tails and the rounding of the
        transforms, which compared with extended precision is at most a quarter of it.
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
def sums_with_replacement(population: int, steps: int) -> SumDistribution:
    """Return the distribution of Σ c_k for one of n records, in T draws with replacement."""
    weights, probability = appearance_weights(steps), 1 / population

    def log_moment(theta: float, of: Array = weights) -> float:
        return float(np.sum(np.log1p(probability * np.expm1(theta * of))))

    ones = np.ones(steps)
    often = _tail_bound(ones, lambda theta: log_moment(theta, ones))
    width, size = _grid(_tail_bound(weights, log_moment), weights, often)
    bins = np.bincount(_round_up(weights, width), minlength=size).astype(np.float64)
    frequencies = np.arange(size // 2 + 1)
    if population == 2:
        log_phi = _log_phi_directly(bins, probability, frequencies, size)
    else:
        # log(1 - p + p z) = log(1-p) + Σ_r (-1)^(r+1) (q z)^r / r with q = p/(1-p). The transform
        # of bins at r times their positions is the transform at r times the frequencies.
        full = np.fft.fft(bins)
        odds = probability / (1 - probability)
        log_phi = np.full(frequencies.size, steps * math.log1p(-probability) + 0j)
        power = 1
        while steps * odds**power / power > 1e-18:
            log_phi += (-1) ** (power + 1) * odds**power / power * full[frequencies * power % size]
            power += 1
    masses = np.fft.irfft(np.exp(log_phi), size)
    slack = _rounding(size) * (1 + 2 * steps / population)
    return _checked(_coarsen(masses, width, slack), float(weights.sum()) / population)


def _log_phi_directly(
    bins: Array, probability: float, frequencies: NDArray[np.intp], size: int
) -> NDArray[np.complex128]:
    """Return log φ draw by draw, for a probability at which the series does not converge."""
    places = np.flatnonzero(bins)
    if places.size > _MOST_DIRECT:
        raise ValueError(
            f"with two records, at most {_MOST_DIRECT} draws are supported, got {places.size}: use "
            "fewer draws"
        )
    rotations = np.exp(-2j * math.pi * np.arange(size) / size)
    log_phi = np.zeros(frequencies.size, dtype=np.complex128)
    for place in places:
        log_phi += bins[place] * np.log(
            1 - probability + probability * rotations[frequencies * place % size]
        )
    return log_phi


@lru_cache(maxsize=64)
def sums_over_permutations(population: int, passes: int) -> SumDistribution:
    """Return the distribution of Σ c_k when each pass draws all records in a new random order."""
    if passes > _MOST_PASSES:
        raise ValueError(
            f"at most {_MOST_PASSES} passes in random order are supported, got {passes}: use "
            "fewer, or draws with replacement"
        )
    weights = appearance_weights(population * passes).reshape(passes, population)

    def log_moment(theta: float) -> float:
        largest = theta * weights.max(axis=1)
        inner = np.exp(theta * weights - largest[:, None]).mean(axis=1)
        return float(np.sum(largest + np.log(inner)))

    width, size = _grid(_tail_bound(weights, log_moment), weights, passes)
    phi = np.ones(size // 2 + 1, dtype=np.complex128)
    for one_pass in weights:
        phi *= np.fft.rfft(np.bincount(_round_up(one_pass, width), minlength=size) / population)
    distribution = _coarsen(np.fft.irfft(phi, size), width, _rounding(size) * (1 + passes))
    return _checked(distribution, float(weights.sum()) / population)


def _rounding(size: int) -> float:
    return _ROUNDING * math.sqrt(size / 2**18)


def _round_up(weights: Array, width: float) -> NDArray[np.intp]:
    return np.ceil(weights / width * (1 - 1e-12)).astype(np.intp)


def _tail_bound(weights: Array, log_moment: Callable[[float], float]) -> float:
    """Return a sum that is exceeded with probability at most 1e-17, by the Chernoff bound."""
    largest = float(weights.max())

    def bound(log_theta: float) -> float:
        theta = math.exp(log_theta)
        with np.errstate(over="ignore"):
            return (log_moment(theta) - _LOG_TAIL) / theta

    centre = -math.log(largest)
    from scipy.optimize import minimize_scalar  # which takes long to import

    best = minimize_scalar(bound, bounds=(centre - 12, centre + 4), method="bounded")
    return min(float(best.fun), largest * weights.size)


def _grid(largest: float, weights: Array, often: float) -> tuple[float, int]:
    """Return the width and the number of points of a grid for the *rounded* sums.

    Rounding increases a sum of k weights by at most k widths. On a smaller grid, the mass of large
    sums would wrap around to the other end.
    """
    size = 2**18
    while often > size / 64:
        size *= 2
        if size > _MOST_POINTS:
            raise ValueError(
                f"one record may appear {often:.3g} times, too many for the accounting: use "
                "fewer steps"
            )
    return (largest + 2 * float(weights.max())) / (size - math.ceil(often) - 2), size


def _checked(distribution: SumDistribution, mean: float) -> SumDistribution:
    """Return a distribution after checking that its mean is not below the true one."""
    found = float(distribution.sums @ distribution.masses)
    if (
        not mean * (1 - 1e-9) - distribution.slack
        <= found
        <= 1.1 * mean + distribution.sums[-1] * 1e-2
    ):
        raise ArithmeticError(
            f"the distribution of appearances has mean {found:.6g}, but it must be {mean:.6g}"
        )
    return distribution


def _coarsen(masses: Array, width: float, slack: float) -> SumDistribution:
    """Return the distribution on fewer points, sums rounded up."""
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
    return SumDistribution(sums, chosen, slack + float(held.sum() - chosen.sum()))
