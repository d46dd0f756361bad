r"""Composition of privacy losses: pessimistic grids and a tilted Fourier transform.

Each dominating pair is rounded to a grid of losses by *connect the dots*
(Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022): the mass of every bin goes
to the bin's two ends so that both P and Q keep their total. Rounding this way
can only raise the curve, and it is the least such raise on the grid.

Sums of T losses are convolved by one Fourier transform *after exponential
tilting*. With :math:`M(\theta) = \sum_k p_k e^{\theta l_k}` the tilted law
:math:`p_k e^{\theta l_k}/M(\theta)` is convolved, and

.. math::
    \delta(\varepsilon) = M(\theta)^T e^{-\theta\varepsilon}
      \sum_{x>0} (1-e^{-x})\,e^{-\theta x}\,\tilde p^{*T}(\varepsilon + x).

With θ at the saddle point :math:`T (\log M)'(\theta) = \varepsilon` the sum is of
order one, so the rounding error of the transform is *relative* to δ: a δ of
1e-50 is as accurate as one of 1e-5. What lies outside the window of the
transform (Chernoff) and the rounding itself are bounded and added to δ.

Masses are ordinary floating point numbers, which have fewer digits below 1e-308 and end at 5e-324.
Each step therefore counts 1e-305 of its mass as an infinite loss, far more than all masses on a
grid can have lost that way, and a Q-mass below 1e-290 as none, which raises the curve. So a δ
below about 1e-305 for each step is never claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from pairdp.privacy.accounting.dominating_pairs import DominatingPair

Array = NDArray[np.float64]
Real = type[np.float64] | type[np.longdouble]

_LOG_OUTSIDE = math.log(1e-16)
_LARGEST_EXPONENT = 700.0
_MACHINE = float(np.finfo(np.float64).eps)
_UNDERFLOWN = 1e-305
_INEXACT = 1e-290
MAX_GRID = 2**22
"""Most grid points of one transform."""


class GridTooFineError(ValueError):
    """The loss grid would not fit into memory."""


@dataclass(frozen=True)
class GridLoss:
    """The privacy loss of one step on the grid ``width * {-K, ..., K}``.

    Attributes
    ----------
    width : float
        Distance of two neighbouring grid points.
    masses : ndarray of shape (2 K + 1,)
        P-mass of every grid point, from the lowest loss to the highest.
    infinite : float
        P-mass at an infinite loss.
    """

    width: float
    masses: Array
    infinite: float

    @property
    def half(self) -> int:
        """K, the number of grid points on either side of zero."""
        return (len(self.masses) - 1) // 2

    @cached_property
    def losses(self) -> Array:
        """The losses of the grid points."""
        return self.width * np.arange(-self.half, self.half + 1, dtype=np.float64)

    @cached_property
    def log_masses(self) -> Array:
        """The logarithms of the masses."""
        with np.errstate(divide="ignore"):
            return np.log(self.masses)


def on_grid(pair: DominatingPair, width: float, log_tail: float) -> GridLoss:
    """Round a dominating pair to a grid, pessimistically.

    Parameters
    ----------
    pair : DominatingPair
        The pair to round.
    width : float
        Distance of two neighbouring grid points.
    log_tail : float
        Logarithm of the P-mass that may be moved to an infinite loss.
    """
    half = max(1, math.ceil(pair.reach(log_tail) / width))
    if half > MAX_GRID:
        raise GridTooFineError(f"a loss grid of {half} points is too large")
    edges = width * np.arange(half + 1, dtype=np.float64)
    p_tail, q_tail = pair.tails(edges)
    p, q = -np.diff(p_tail), -np.diff(q_tail)
    q[q < _INEXACT] = 0.0
    # Share of the bin's upper end; the second term covers the rounding of the first.
    # Where exp(l) overflows the whole mass goes up, which is safe.
    growth = np.exp(np.minimum(edges, _LARGEST_EXPONENT))
    upper = (p - q * growth[:-1]) / -math.expm1(-width) + 4 * _MACHINE * p / width
    upper = np.where(edges[:-1] < _LARGEST_EXPONENT, np.clip(upper, 0.0, p), p)
    positive = np.zeros(half + 1)
    positive[:-1] += p - upper
    positive[1:] += upper
    paid = float(q_tail[-1] * growth[-1]) if q_tail[-1] >= _INEXACT else 0.0
    infinite = max(0.0, float(p_tail[-1]) - paid) + _UNDERFLOWN
    positive[-1] += max(0.0, float(p_tail[-1]) - infinite)
    # The mirror image: a symmetric pair has mass(-l) = mass(l) exp(-l).
    masses = np.concatenate([(positive[1:] * np.exp(-edges[1:]))[::-1], [0.0], positive[1:]])
    masses[half] = max(0.0, 1.0 - infinite - float(masses.sum()))
    return GridLoss(width, masses, infinite)


def complex_log1p(z: NDArray[Any]) -> NDArray[Any]:
    """Return log(1 + z) with the digits of a small z, which numpy's own loses."""
    x, y = z.real, z.imag
    with np.errstate(divide="ignore"):
        size = 0.5 * np.log1p(x * (2 + x) + y * y)
        # Near z = -1 the square of |1 + z| loses digits, and the plain form does not.
        size = np.where(np.abs(1 + z) < 0.5, np.log(np.abs(1 + z)), size)
    return np.asarray(size + 1j * np.arctan2(y, 1 + x))


def transform_slack(moves: float, real: Real = np.float64) -> float:
    """Return what rounding may add to or take from a tilted sum, with a wide margin.

    A transform of N points of mass m errs, in root mean square over the
    frequencies, by at most about ``eps log2(N) m``; the power of T multiplies that,
    and the few dozen frequencies that survive it bring the errors back, whose sum
    over the window is at most the root of their number times that. Doubled for the
    logarithm and the inverse transform, and rounded up; ``moves`` is T m.
    """
    return 16 * float(np.finfo(real).eps) * math.log2(MAX_GRID) * (moves + 1)


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
        Distances from ``theta`` at which Chernoff's bound is taken on either side.
    """

    theta: float
    up: float
    down: float


@dataclass(frozen=True)
class _Factor:
    """One step's grid loss and how often it is repeated."""

    loss: GridLoss
    count: int

    def log_moment(self, theta: float) -> float:
        """Return the log moment of all repeats."""
        exponents = theta * self.loss.losses + self.loss.log_masses
        shift = float(exponents.max())
        return self.count * (math.log(np.exp(exponents - shift).sum()) + shift)

    def rounding(self, theta: float) -> float:
        """Return a bound on the error of `log_moment`, and of what relative errors add up to."""
        largest = abs(theta) * self.loss.width * self.loss.half
        return 16 * _MACHINE * self.count * (1 + min(largest, _LARGEST_EXPONENT))

    def spectrum(self, theta: float, size: int, real: Real) -> tuple[NDArray[Any], float]:
        """Return the transform of the tilted law of all repeats, and its rounding error.

        The mass at loss zero is left out of the transform and put back through
        ``log1p``: steps that seldom touch the record then lose no digits to the power.
        """
        loss = self.loss
        log_moment = self.log_moment(theta) / self.count
        tilted = np.exp(theta * loss.losses + loss.log_masses - log_moment)
        tilted[loss.half] = 0.0
        padded = np.zeros(-(-len(tilted) // size) * size, dtype=real)
        padded[: len(tilted)] = tilted
        folded = np.roll(padded.reshape(-1, size).sum(axis=0), -loss.half)
        transform = np.asarray(fft.rfft(folded))
        moving = transform[0].real
        transform -= moving
        with np.errstate(divide="ignore", invalid="ignore"):
            power = np.exp(self.count * complex_log1p(transform))
        slack = transform_slack(self.count * float(moving), real)
        return np.where(transform == -1, 0.0, power), slack


class ComposedLoss:
    """The privacy loss of independent steps, each repeated some number of times.

    Parameters
    ----------
    steps : sequence of (GridLoss, int)
        Grid losses of equal width, with their repeats.
    """

    def __init__(self, steps: Sequence[tuple[GridLoss, int]]) -> None:
        self._factors = [_Factor(loss, count) for loss, count in steps]
        self._width = steps[0][0].width
        if any(loss.width != self._width for loss, _ in steps):
            raise ValueError("grid losses of different widths do not compose")
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
        law = np.roll(np.asarray(fft.irfft(spectrum, size)), -(first % size))
        excess = self._width * np.arange(first, first + size, dtype=np.float64) - epsilon
        above = excess > 0
        weights = -np.expm1(-excess[above]) * np.exp(-theta * excess[above])
        total = float(weights @ np.maximum(law[above], 0.0))
        # Rounding of the transform, grown by the power, and the mass outside the window.
        slack += 4 * math.exp(_LOG_OUTSIDE)
        finite = log_moment - theta * epsilon + math.log(total + slack)
        finite += math.fsum(factor.rounding(theta) for factor in self._factors)
        bound = min(0.0, float(np.logaddexp(finite, log_infinite)))
        return LogDelta(bound, slack / (total + slack))
