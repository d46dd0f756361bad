r"""The privacy curve by another route: inverting the moment function of the loss.

With :math:`M(s) = E_P[e^{sL}]` the moment function of the composed privacy loss L,
and because :math:`1/(s(s+1))` is the Laplace transform of :math:`(1-e^{-x})_+`,

.. math::
    \delta(\varepsilon) = \frac1\pi \int_0^\infty \mathrm{Re}
       \frac{e^{\log M(\theta+i\omega) - (\theta+i\omega)\varepsilon}}
            {(\theta+i\omega)(\theta+1+i\omega)}\,d\omega, \qquad \theta > 0.

Moment functions multiply under composition, and each is a closed form or one
smooth integral over the noise: no grid of losses, no convolution, nothing in
common with how scales are calibrated. It serves to check them, and is exact but
for the error that it states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from pairdp.privacy.accounting.convolution import complex_log1p
from pairdp.privacy.accounting.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    SampledEvent,
)
from pairdp.privacy.accounting.sampling import FixedSizeSampling, RepeatedDraws, Sampling

Complex = NDArray[np.complex128]
LogMoment = Callable[[Complex], Complex]
_BLOCK = 256
_PANELS = 100
_ROUNDING = 1e-12


class Inverted(NamedTuple):
    """δ(ε), and a bound on its error by truncation and rounding."""

    delta: float
    error: float


def _gaussian(mu: float) -> LogMoment:
    return lambda s: s * (s + 1) * (mu * mu / 2)


def _response(epsilon: float, count: int) -> LogMoment:
    high = 1 / (1 + math.exp(-epsilon))

    def log_moment(s: Complex) -> Complex:
        # p e^{sε} + (1-p) e^{-sε} with the growing factor taken out.
        return count * (s * epsilon + np.log(high + (1 - high) * np.exp(-2 * s * epsilon)))

    return log_moment


def _legendre(low: float, high: float, panels: int) -> tuple[NDArray[np.float64], ...]:
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half) + half * nodes
    return points.ravel(), (half * weights).ravel()


def _normal_density(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _without_replacement(mu: float, rate: float, steps: int, theta: float) -> LogMoment:
    # Over the Gaussian loss z > 0 with density q, where l = log(1 - rate + rate e^z).
    high = mu / 2 + (1 + theta) * mu + 12
    x, weights = _legendre(mu / 2, high, _PANELS)
    z = mu * x - mu * mu / 2
    loss = _mixture_log_ratio(z, rate)
    density = weights * _normal_density(x)

    return lambda s: steps * complex_log1p(_symmetric_moment(s, loss) @ density)


def _symmetric_moment(s: Complex, loss: NDArray[np.float64]) -> Complex:
    """Return e^l (e^{sl} - 1) + (e^{-sl} - 1), which is small and has no cancellation here.

    Integrated against the lower law of a symmetric pair, over its positive losses,
    this is the moment function less one.
    """
    power = s[:, None] * loss
    return np.asarray(np.expm1(loss) * np.expm1(power) + 4 * np.sinh(power / 2) ** 2)


def _large_losses(z: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    return np.logaddexp(math.log1p(-rate), math.log(rate) + z)


def _poisson(mu: float, rate: float, steps: int, theta: float) -> LogMoment:
    # Over x > 0, where the loss is positive, with the density of the lower law.
    c = mu / 2
    x, weights = _legendre(0.0, c + (1 + theta) * mu + 12, _PANELS)
    log_p, log_q = (_mixture_log_ratio(sign * c * x - c * c / 2, rate) for sign in (1, -1))
    loss = log_p - log_q
    density = weights * _normal_density(x) * np.exp(log_q)
    return lambda s: steps * complex_log1p(_symmetric_moment(s, loss) @ density)


def _mixture_log_ratio(exponent: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return log(1 - rate + rate e^u)."""
    small = np.log1p(rate * np.expm1(np.minimum(exponent, 30.0)))
    return np.where(exponent > 30, _large_losses(exponent, rate), small)


def _mixture(ratios: NDArray[np.float64], masses: NDArray[np.float64], steps: int) -> LogMoment:
    half = ratios**2 / 2
    rest = 1 - float(masses.sum())

    def log_moment(s: Complex) -> Complex:
        return steps * complex_log1p(np.expm1(np.outer(s * (s + 1), half)) @ masses - rest)

    return log_moment


def sampled_log_moment(mu: float, sampling: Sampling, steps: int, theta: float) -> LogMoment:
    """Return the log moment function of steps on sampled records, for real parts near θ.

    Of repeated draws it has no more than the known part of their law: the rest is its ``slack``.
    """
    if sampling.rate == 1:
        return _gaussian(mu * math.sqrt(steps))
    if isinstance(sampling, RepeatedDraws):
        return _mixture(mu * sampling.law.sums, sampling.law.masses, steps)
    build = _without_replacement if isinstance(sampling, FixedSizeSampling) else _poisson
    return build(mu, sampling.rate, steps, theta)


def _log_moments(events: Iterable[Event], theta: float) -> tuple[list[LogMoment], float]:
    """Return the moment functions of elementary events, and the log chance of no leak."""
    moments: list[LogMoment] = []
    log_kept = 0.0
    for event in events:
        match event:
            case GaussianEvent(mu):
                moments.append(_gaussian(mu))
            case PureEvent(epsilon, count):
                moments.append(_response(epsilon, count))
            case ApproximateEvent(epsilon, delta):
                moments.append(_response(epsilon, 1))
                log_kept += math.log1p(-delta)
            case SampledEvent(mu, sampling, steps):
                moments.append(sampled_log_moment(mu, sampling, steps, theta))
                if isinstance(sampling, RepeatedDraws):  # what its law does not know may leak
                    log_kept += steps * math.log1p(-sampling.law.slack)
            case _:
                raise TypeError(f"not an elementary event: {event!r}")
    return moments, log_kept


def inverted_delta(events: Iterable[Event], epsilon: float, most_points: int = 6_000) -> Inverted:
    """Return δ(ε) of elementary events composed, by inverting their moment function.

    Parameters
    ----------
    events : iterable of Event
        Gaussian, pure, (ε, δ) and sampled events on the same records, at least one of
        them with noise of a density: atoms alone make the integral periodic.
    epsilon : float
        At least 0.
    most_points : int
        Frequencies at most; the truncated rest is bounded in the error.
    """
    events = list(events)

    def exponent(log_theta: float) -> float:
        theta = math.exp(log_theta)
        moments, _ = _log_moments(events, theta)
        s = np.array([theta], dtype=np.complex128)
        with np.errstate(over="ignore", invalid="ignore"):
            real = sum(float(m(s)[0].real) for m in moments)
        if not math.isfinite(real):
            return 1e300
        return real - theta * epsilon - math.log(theta * (theta + 1))

    # At a product of tilt and ε of a few thousand no δ above 1e-300 needs more.
    bounds = (-6.0, math.log(5000.0 / max(epsilon, 1e-9)))
    best = minimize_scalar(exponent, bounds=bounds, method="bounded", options={"xatol": 0.02})
    theta = math.exp(float(best.x))
    moments, log_kept = _log_moments(events, theta)

    def log_integrand(omega: NDArray[Any]) -> Complex:
        s = theta + 1j * omega
        total = sum((m(s) for m in moments), np.zeros_like(s))
        return total - s * epsilon - np.log(s * (s + 1))

    # The trapezoidal rule is exact but for images of the loss one period away.
    apart = theta / 100
    with np.errstate(over="ignore", invalid="ignore"):
        logs = log_integrand(1j * np.array([-apart, 0.0, apart]))
    if not np.all(np.isfinite(logs)):
        return Inverted(math.nan, math.inf)
    peak = float(logs[1].real)
    spread = math.sqrt(max(float((logs[0] - 2 * logs[1] + logs[2]).real), 0.0)) / apart
    step = min(theta / 8, math.pi / (2 * (epsilon + 12 * spread)))
    total, absolute, count, size = 0.0, 0.0, 0, 1.0
    while count == 0 or (count < most_points and size * step * count > 1e-13 * abs(total)):
        omega = step * np.arange(count, count + _BLOCK)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.exp(log_integrand(omega) - peak)
        if not np.all(np.isfinite(values)):
            return Inverted(math.nan, math.inf)
        total += step * float(values.real @ np.where(omega == 0, 0.5, 1.0))
        sizes = np.abs(values)
        absolute, size = absolute + step * float(sizes.sum()), float(sizes.max())
        count += _BLOCK
    scale = math.exp(log_kept + peak) / math.pi
    # The integrand falls at least like 1/ω², so the rest is at most its last size times ω.
    rounding = _ROUNDING * (1 + abs(peak)) * absolute
    return Inverted(-math.expm1(log_kept) + scale * total, scale * (size * step * count + rounding))
