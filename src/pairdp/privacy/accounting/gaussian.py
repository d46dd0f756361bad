r"""The exact privacy curve of a Gaussian release.

A Gaussian release with :math:`\mu = \Delta/\sigma` (sensitivity over standard deviation) is
(ε, δ)-DP exactly when

.. math::
    \delta \ge \delta_\mu(\varepsilon)
      = \Phi(\mu/2 - \varepsilon/\mu) - e^{\varepsilon}\,\Phi(-\mu/2 - \varepsilon/\mu)

(Balle and Wang 2018, Theorem 8), for every ε ≥ 0. With
:math:`a = \varepsilon/\mu - \mu/2` and :math:`b = a + \mu`, and because
:math:`b^2 - a^2 = 2\varepsilon`,

.. math::
    \delta_\mu(\varepsilon) = \tfrac12 e^{-a^2/2}
      \bigl[\operatorname{erfcx}(a/\sqrt2) - \operatorname{erfcx}(b/\sqrt2)\bigr],

which neither overflows for large ε nor underflows (in logarithms) for small δ.
When :math:`\mu` is small the bracket cancels; it is then integrated from
:math:`-\operatorname{erfcx}'(u) = 2/\sqrt\pi - 2u\operatorname{erfcx}(u) > 0`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr

from pairdp._checks import non_negative, positive, probability
from pairdp._roots import brentq

Array = NDArray[np.float64]
_SQRT2 = math.sqrt(2.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# erfcx(u) overflows below about -26; well above that the direct form is exact.
_LOWEST_SCALED = -1.0
_NARROW = 0.5
_FAR = 1e3
_SMALLEST_LOG = -744.0


def _bracket(x: float, width: float) -> float:
    """Return ``erfcx(x) - erfcx(x + width)`` without cancellation."""
    if width >= _NARROW:
        return float(erfcx(x) - erfcx(x + width))
    u = x + 0.5 * width * (1.0 + _NODES)
    if x < _FAR:
        slope = 2.0 / math.sqrt(math.pi) - 2.0 * u * erfcx(u)
    else:  # the two terms cancel, but the asymptotic series is exact to rounding
        inverse_square = (1.0 / u) ** 2
        slope = inverse_square * (1.0 - 1.5 * inverse_square) / math.sqrt(math.pi)
    return float(0.5 * width * np.dot(_WEIGHTS, slope))


def log_delta(epsilon: float, mu: float) -> float:
    r"""Return :math:`\log \delta_\mu(\varepsilon)` for ε ≥ 0.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, at least 0.
    mu : float
        Sensitivity over standard deviation, at least 0.

    Returns
    -------
    float
        The logarithm of the smallest δ, ``-inf`` for ``mu == 0``.
    """
    if mu == 0:
        return -math.inf
    if math.isinf(mu):
        return 0.0
    a = epsilon / mu - mu / 2
    if math.isinf(a):
        return -math.inf
    if a / _SQRT2 > _LOWEST_SCALED:
        bracket = _bracket(a / _SQRT2, mu / _SQRT2)
        if bracket <= 0:
            return -math.inf
        return -a * a / 2 + math.log(bracket) - math.log(2)
    return math.log1p(-_complement(a, a + mu))


def _complement(a: float, b: float) -> float:
    """Return 1 - δ as a sum of two positive terms."""
    return float(ndtr(a)) + 0.5 * math.exp(-a * a / 2) * float(erfcx(b / _SQRT2))


def _log_odds(epsilon: float, mu: float) -> float:
    """Return log(δ / (1 - δ)); accurate near both ends, increasing in ``mu``."""
    a = epsilon / mu - mu / 2
    if math.isinf(a):
        return -math.inf
    b = a + mu
    log_second = -a * a / 2 + math.log(0.5 * float(erfcx(b / _SQRT2)))
    log_complement = float(np.logaddexp(log_ndtr(a), log_second))
    return log_delta(epsilon, mu) - log_complement


def delta(epsilon: float, mu: float) -> float:
    """Return the smallest δ at which a Gaussian release with this ``mu`` is (ε, δ)-DP."""
    return math.exp(log_delta(non_negative("epsilon", epsilon), non_negative("mu", mu)))


def deltas(epsilon: float, mu: Array) -> Array:
    """Return δ at ε ≥ 0 of Gaussian releases for an array of positive ``mu``."""
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    log_ratio = np.minimum(epsilon + log_ndtr(lower) - log_ndtr(upper), 0.0)
    return np.asarray(ndtr(upper) * -np.expm1(log_ratio))


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest GDP parameter ``mu`` whose Gaussian release is (ε, δ)-DP.

    The root is accurate to rounding and lies on the private side:
    ``log_delta(epsilon, gdp_mu(epsilon, delta)) <= log(delta)``.
    """
    return _gdp_mu(non_negative("epsilon", epsilon), probability("delta", delta))


@lru_cache(maxsize=4096)
def _gdp_mu(epsilon: float, delta: float) -> float:
    if delta == 0:
        return 0.0
    target = math.log(delta) - math.log1p(-delta)

    def excess(log_mu: float) -> float:
        value = _log_odds(epsilon, math.exp(log_mu)) - target
        return max(value, -1e300)

    low, high = -1.0, 1.0
    while excess(low) > 0:
        if low == _SMALLEST_LOG:
            return 0.0
        low = max(_SMALLEST_LOG, low - 2.0 * (1.0 + abs(low)))
    while excess(high) < 0:
        high += 2.0
    root = math.exp(brentq(excess, low, high, xtol=1e-15, rtol=8.9e-16, maxiter=500))
    log_target = math.log(delta)
    step = 1e-15
    while log_delta(epsilon, root) > log_target:
        root *= 1 - step
        step *= 2
    return root


def epsilon(mu: float, delta: float) -> float:
    """Return the smallest ε ≥ 0 at which a Gaussian release with this ``mu`` is (ε, δ)-DP."""
    mu = non_negative("mu", mu)
    delta = probability("delta", delta)
    if mu == 0:
        return 0.0
    if delta == 0:
        return math.inf
    log_target = math.log(delta)
    if log_delta(0.0, mu) <= log_target:
        return 0.0

    def excess(eps: float) -> float:
        return max(log_delta(eps, mu) - log_target, -1e300)

    high = mu * mu / 2 + mu
    while excess(high) > 0:
        high *= 2
    if math.isinf(high):
        return math.inf
    root = float(brentq(excess, 0.0, high, xtol=5e-324, rtol=8.9e-16, maxiter=500))
    step = 1e-15
    while excess(root) > 0:
        root = max(root * (1 + step), 5e-324)
        step *= 2
    return root


def classical_multiplier(epsilon: float, delta: float) -> float:
    r"""Return the textbook :math:`\sqrt{2\ln(1.25/\delta)}/\varepsilon`, for study only.

    It is proved for ε < 1 only and fails at large ε (errata, G3). It is used only by
    ``calibration="printed"``, because the papers print it.
    """
    epsilon = positive("epsilon", epsilon)
    delta = positive("delta", probability("delta", delta))
    return math.sqrt(2 * (math.log(1.25) - math.log(delta))) / epsilon
