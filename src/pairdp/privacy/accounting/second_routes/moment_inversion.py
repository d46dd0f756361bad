r"""The privacy curve by inverting the moment function of the privacy loss.

With :math:`M(s) = E_P[e^{sL}]` the moment function of the composed privacy loss L,
and because :math:`1/(s(s+1))` is the Laplace transform of :math:`(1-e^{-x})_+`,

.. math::
    \delta(\varepsilon) = \frac1\pi \int_0^\infty \mathrm{Re}
       \frac{e^{\log M(\theta+i\omega) - (\theta+i\omega)\varepsilon}}
            {(\theta+i\omega)(\theta+1+i\omega)}\,d\omega, \qquad \theta > 0.

It uses no grid of losses and no convolution, and is exact up to the stated error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.accounting.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    SampledEvent,
)
from pairdp.privacy.accounting.log_moments import (
    Complex,
    LogMoment,
    gaussian_log_moment,
    response_log_moment,
    sampled_log_moment,
)
from pairdp.privacy.accounting.sampling import RepeatedDraws
from pairdp.privacy.accounting.second_routes.estimate import DeltaEstimate

_BLOCK = 256
_ROUNDING = 1e-12


def _log_moments(events: Iterable[Event], theta: float) -> tuple[list[LogMoment], float]:
    """Return the moment functions of elementary events, and the log probability of no leak."""
    moments: list[LogMoment] = []
    log_kept = 0.0
    for event in events:
        match event:
            case GaussianEvent(mu):
                moments.append(gaussian_log_moment(mu))
            case PureEvent(epsilon, count):
                moments.append(response_log_moment(epsilon, count))
            case ApproximateEvent(epsilon, delta):
                moments.append(response_log_moment(epsilon, 1))
                log_kept += math.log1p(-delta)
            case SampledEvent(mu, sampling, steps):
                moments.append(sampled_log_moment(mu, sampling, steps, theta))
                if isinstance(sampling, RepeatedDraws):  # the unknown mass counts as a leak
                    log_kept += steps * math.log1p(-sampling.distribution.slack)
            case _:
                raise TypeError(f"not an elementary event: {event!r}")
    return moments, log_kept


def inverted_delta(
    events: Iterable[Event], epsilon: float, most_points: int = 6_000
) -> DeltaEstimate:
    """Return δ(ε) of elementary events composed, by inverting their moment function.

    Parameters
    ----------
    events : iterable of Event
        Gaussian, pure, (ε, δ) and sampled events on the same records. At least one must have
        noise with a density: discrete losses alone make the integrand periodic.
    epsilon : float
        At least 0.
    most_points : int
        The largest number of frequencies; the error bounds what is truncated.
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

    # No δ above 1e-300 needs a larger product of tilt and ε.
    bounds = (-6.0, math.log(5000.0 / max(epsilon, 1e-9)))
    from scipy.optimize import minimize_scalar  # which takes long to import

    best = minimize_scalar(exponent, bounds=bounds, method="bounded", options={"xatol": 0.02})
    theta = math.exp(float(best.x))
    moments, log_kept = _log_moments(events, theta)

    def log_integrand(omega: NDArray[Any]) -> Complex:
        s = theta + 1j * omega
        total = sum((m(s) for m in moments), np.zeros_like(s))
        return total - s * epsilon - np.log(s * (s + 1))

    # The trapezoidal rule is exact up to images of the loss one period away.
    spacing = theta / 100
    with np.errstate(over="ignore", invalid="ignore"):
        logs = log_integrand(1j * np.array([-spacing, 0.0, spacing]))
    if not np.all(np.isfinite(logs)):
        return DeltaEstimate(math.nan, math.inf)
    peak = float(logs[1].real)
    spread = math.sqrt(max(float((logs[0] - 2 * logs[1] + logs[2]).real), 0.0)) / spacing
    step = min(theta / 8, math.pi / (2 * (epsilon + 12 * spread)))
    total, absolute, count, size = 0.0, 0.0, 0, 1.0
    while count == 0 or (count < most_points and size * step * count > 1e-13 * abs(total)):
        omega = step * np.arange(count, count + _BLOCK)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.exp(log_integrand(omega) - peak)
        if not np.all(np.isfinite(values)):
            return DeltaEstimate(math.nan, math.inf)
        total += step * float(values.real @ np.where(omega == 0, 0.5, 1.0))
        sizes = np.abs(values)
        absolute, size = absolute + step * float(sizes.sum()), float(sizes.max())
        count += _BLOCK
    scale = math.exp(log_kept + peak) / math.pi
    # The integrand decreases at least like 1/ω², so the rest is at most its last size times ω.
    rounding = _ROUNDING * (1 + abs(peak)) * absolute
    return DeltaEstimate(
        -math.expm1(log_kept) + scale * total, scale * (size * step * count + rounding)
    )
