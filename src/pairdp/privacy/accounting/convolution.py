r"""Composition of discrete privacy losses by one Fourier transform after exponential tilting.

With :math:`M(\theta) = \sum_k p_k e^{\theta l_k}`, the tilted distribution
:math:`p_k e^{\theta l_k}/M(\theta)` is convolved T times, and

.. math::
    \delta(\varepsilon) = M(\theta)^T e^{-\theta\varepsilon}
      \sum_{x>0} (1-e^{-x})\,e^{-\theta x}\,\tilde p^{*T}(\varepsilon + x).

With θ at the saddle point :math:`T (\log M)'(\theta) = \varepsilon` the sum is of order one, so the
rounding error of the transform is *relative* to δ: a δ of 1e-50 is as accurate as one of 1e-5. The
mass outside the window of the transform (Chernoff) and the rounding error are bounded and added
to δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from pairdp.privacy.accounting.discretization import (
    LARGEST_EXPONENT,
    MACHINE_EPSILON,
    MAX_GRID,
    DiscreteLoss,
    GridTooFineError,
)

Real = type[np.float64] | type[np.longdouble]

_LOG_OUTSIDE = math.log(1e-16)


def complex_log1p(z: NDArray[Any]) -> NDArray[Any]:
    """Return log(1 + z), accurate for small z, unlike numpy's complex log1p."""
    x, y = z.real, z.imag
    with np.errstate(divide="ignore"):
        size = 0.5 * np.log1p(x * (2 + x) + y * y)
        # Near z = -1 the square of |1 + z| is inaccurate, and the direct form is not.
        size = np.where(np.abs(1 + z) < 0.5, np.log(np.abs(1 + z)), size)
    return np.asarray(size + 1j * np.arctan2(y, 1 + x))


def transform_slack(nonzero: float, real: Real = np.float64) -> float:
    """Return a generous bound on the rounding error of a tilted sum.

    A transform of N points of mass m has an error of about ``eps log2(N) m`` at most, in root
    mean square over the frequencies. Taking the T-th power multiplies it by T and leaves a few
    dozen frequencies; the inverse transform turns their errors into a sum over the window that is
    at most the root of their number times as large. The result is doubled for the logarithm and
    the inverse transform, and rounded up. ``nonzero`` is T m, the expected number of steps with a
    loss other than zero.
    """
    return 16 * float(np.finfo(real).eps) * math.log2(MAX_GRID) * (nonzero + 1)


class LogDelta(NamedTuple):
    """An upper bound on log δ, and the share of it that is allowance for rounding."""

    bound: float
    rounding: float


@dataclass(frozen=True)
class Tilt:
    """The tilt of a convolution, and the two further tilts that bound its window.

    Attributes
    ----------
    theta : float
        The tilt, at least 0.
    up, down : float
        Distances from ``theta`` at which the Chernoff bound is evaluated on either side.
    """

    theta: float
    up: float
    down: float


@dataclass(frozen=True)
class _Factor:
    """The discrete loss of one step, and its number of repeats."""

    loss: DiscreteLoss
    count: int

    def log_moment(self, theta: float) -> float:
        """Return the log moment of all repeats."""
        exponents = theta * self.loss.losses + self.loss.log_masses
        shift = float(exponents.max())
        return self.count * (math.log(np.exp(exponents - shift).sum()) + shift)

    def rounding(self, theta: float) -> float:
        """Return a bound on the rounding error of `log_moment` and of the tilted masses."""
        largest = abs(theta) * self.loss.width * self.loss.half
        return 16 * MACHINE_EPSILON * self.count * (1 + min(largest, LARGEST_EXPONENT))

    def spectrum(self, theta: float, size: int, real: Real) -> tuple[NDArray[Any], float]:
        """Return the transform of the tilted distribution of all repeats, and its rounding error.

        The mass at loss zero is excluded from the transform and added back by
        ``log1p``: steps that rarely touch the record then remain accurate when the power is taken.
        """
        loss = self.loss
        log_moment = self.log_moment(theta) / self.count
        tilted = np.exp(theta * loss.losses + loss.log_masses - log_moment)
        tilted[loss.half] = 0.0
        padded = np.zeros(-(-len(tilted) // size) * size, dtype=real)
        padded[: len(tilted)] = tilted
        folded = np.roll(padded.reshape(-1, size).sum(axis=0), -loss.half)
        transform = np.asarray(fft.rfft(folded))
        nonzero = transform[0].real
        transform -= nonzero
        with np.errstate(divide="ignore", invalid="ignore"):
            power = np.exp(self.count * complex_log1p(transform))
        slack = transform_slack(self.count * float(nonzero), real)
        return np.where(transform == -1, 0.0, power), slack


class ComposedLoss:
    """The privacy loss of independent steps, each repeated some number of times.

    Parameters
    ----------
    steps : sequence of (DiscreteLoss, int)
        Discrete losses of equal width, with their numbers of repeats.
    """

    def __init__(self, steps: Sequence[tuple[DiscreteLoss, int]]) -> None:
        self._factors = [_Factor(loss, count) for loss, count in steps]
        self._width = steps[0][0].width
        if any(loss.width != self._width for loss, _ in steps):
            raise ValueError("discrete losses must have the same grid width")
        self._largest = sum(f.count * f.loss.half * self._width for f in self._factors)
        log_finite = sum(f.count * math.log1p(-f.loss.infinite) for f in self._factors)
        self.infinite = -math.expm1(log_finite)

    def log_moment(self, theta: float) -> float:
        r"""Return :math:`\log M(\theta)` of the composed finite losses."""
        return math.fsum(factor.log_moment(theta) for factor in self._factors)

    def log_delta(self, epsilon: float, tilt: Tilt, real: Real = np.float64) -> LogDelta:
        """Return the logarithm of an upper bound on δ(ε).

        Any tilt gives a valid bound; a good one makes it sharp and cheap. ``real`` is
        the type in which the transform is taken.
        """
        log_infinite = math.log(self.infinite) if self.infinite > 0 else -math.inf
        if epsilon >= self._largest:
            return LogDelta(log_infinite, 0.0)
        theta = tilt.theta
        log_moment = self.log_moment(theta)
        # Chernoff: the tilted sum leaves [low, high] with probability 2 exp(_LOG_OUTSIDE).
        rise = self.log_moment(theta + tilt.up) - log_moment
        fall = self.log_moment(theta - tilt.down) - log_moment
        high = min(self._largest, (rise - _LOG_OUTSIDE) / tilt.up)
        low = max(-self._largest, (_LOG_OUTSIDE - fall) / tilt.down)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise GridTooFineError("the window of the composed loss is not finite")
        first = math.floor(min(low, epsilon) / self._width) - 1
        size = math.ceil(max(high, epsilon) / self._width) + 2 - first
        if size > MAX_GRID:
            raise GridTooFineError(f"a loss grid of {size} points is too large")
        size = int(fft.next_fast_len(max(size, 16), real=True))
        spectrum, slack = self._factors[0].spectrum(theta, size, real)
        for factor in self._factors[1:]:
            further, more = factor.spectrum(theta, size, real)
            spectrum, slack = spectrum * further, slack + more
        masses = np.roll(np.asarray(fft.irfft(spectrum, size)), -(first % size))
        excess = self._width * np.arange(first, first + size, dtype=np.float64) - epsilon
        above = excess > 0
        weights = -np.expm1(-excess[above]) * np.exp(-theta * excess[above])
        total = float(weights @ np.maximum(masses[above], 0.0))
        # Rounding of the transform, grown by the power, and the mass outside the window.
        slack += 4 * math.exp(_LOG_OUTSIDE)
        finite = log_moment - theta * epsilon + math.log(total + slack)
        finite += math.fsum(factor.rounding(theta) for factor in self._factors)
        bound = min(0.0, float(np.logaddexp(finite, log_infinite)))
        return LogDelta(bound, slack / (total + slack))
