r"""Logarithms of the moment functions :math:`M(s) = E_P[e^{sL}]` of privacy losses L.

Moment functions multiply under composition. Each is a closed form or one smooth integral over the
noise. At a real s, :math:`\log M(s)/s` is the Rényi divergence of order s + 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.accounting.convolution import complex_log1p
from pairdp.privacy.accounting.sampling import FixedSizeSampling, RepeatedDraws, Sampling

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
LogMoment = Callable[[Complex], Complex]
_PANELS = 100


def gaussian_log_moment(mu: float) -> LogMoment:
    """Return the log moment function of a Gaussian release."""
    return lambda s: s * (s + 1) * (mu * mu / 2)


def response_log_moment(epsilon: float, count: int) -> LogMoment:
    """Return the log moment function of randomised response, repeated ``count`` times."""
    high = 1 / (1 + math.exp(-epsilon))

    def log_moment(s: Complex) -> Complex:
        # p e^{sε} + (1-p) e^{-sε} with the growing factor taken out.
        return count * (s * epsilon + np.log(high + (1 - high) * np.exp(-2 * s * epsilon)))

    return log_moment


def _legendre(low: float, high: float, panels: int) -> tuple[Array, ...]:
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half) + half * nodes
    return points.ravel(), (half * weights).ravel()


def _normal_density(x: Array) -> Array:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _without_replacement(mu: float, rate: float, steps: int, theta: float) -> LogMoment:
    # Over the Gaussian loss z > 0 with density q, where l = log(1 - rate + rate e^z).
    high = mu / 2 + (1 + theta) * mu + 12
    x, weights = _legendre(mu / 2, high, _PANELS)
    z = mu * x - mu * mu / 2
    loss = _mixture_log_ratio(z, rate)
    density = weights * _normal_density(x)

    return lambda s: steps * complex_log1p(_symmetric_moment(s, loss) @ density)


def _symmetric_moment(s: Complex, loss: Array) -> Complex:
    """Return e^l (e^{sl} - 1) + (e^{-sl} - 1), which is small and has no cancellation here.

    Integrated against Q of a symmetric pair, over its positive losses, this is M(s) - 1.
    """
    power = s[:, None] * loss
    return np.asarray(np.expm1(loss) * np.expm1(power) + 4 * np.sinh(power / 2) ** 2)


def _poisson(mu: float, rate: float, steps: int, theta: float) -> LogMoment:
    # Over x > 0, where the loss is positive, with the density of Q.
    c = mu / 2
    x, weights = _legendre(0.0, c + (1 + theta) * mu + 12, _PANELS)
    log_p, log_q = (_mixture_log_ratio(sign * c * x - c * c / 2, rate) for sign in (1, -1))
    loss = log_p - log_q
    density = weights * _normal_density(x) * np.exp(log_q)
    return lambda s: steps * complex_log1p(_symmetric_moment(s, loss) @ density)


def _mixture_log_ratio(exponent: Array, rate: float) -> Array:
    """Return log(1 - rate + rate e^u)."""
    small = np.log1p(rate * np.expm1(np.minimum(exponent, 30.0)))
    large = np.logaddexp(math.log1p(-rate), math.log(rate) + exponent)
    return np.where(exponent > 30, large, small)


def _mixture(mus: Array, masses: Array, steps: int) -> LogMoment:
    half = mus**2 / 2
    rest = 1 - float(masses.sum())

    def log_moment(s: Complex) -> Complex:
        return steps * complex_log1p(np.expm1(np.outer(s * (s + 1), half)) @ masses - rest)

    return log_moment


def sampled_log_moment(mu: float, sampling: Sampling, steps: int, theta: float) -> LogMoment:
    """Return the log moment function of steps on sampled records, for real parts near θ.

    For repeated draws it covers the known part of their distribution, all but its ``slack``.
    """
    if sampling.rate == 1:
        return gaussian_log_moment(mu * math.sqrt(steps))
    if isinstance(sampling, RepeatedDraws):
        return _mixture(mu * sampling.distribution.sums, sampling.distribution.masses, steps)
    build = _without_replacement if isinstance(sampling, FixedSizeSampling) else _poisson
    return build(mu, sampling.rate, steps, theta)
