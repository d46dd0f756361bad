r"""Bounds for learning from a stream of records, every model of which is released.

At step t the record t meets the m_t = min(t - 1, b) records before it that a buffer of size b
still holds. A replaced record k is the current one at step k, and one of m_t partners at the
steps k + 1 … k + b. Each bound is registered with two routes to its value.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import positive, whole
from pairdp.privacy.sensitivity import Bound, register_bound

Array = NDArray[np.float64]
_LONGEST = 10**8


def partners(n: int, buffer: float = math.inf) -> Array:
    """Return m_2 … m_n: how many records each new one meets."""
    met = np.arange(1, whole("n", n, at_least=2, at_most=_LONGEST), dtype=np.float64)
    return np.minimum(met, positive("buffer", buffer, finite=False))


def _gradients(one_record: float, n: int, buffer: float = math.inf) -> float:
    r"""Return (D/2)·√(max_k [1 + Σ 1/m_t²]), over the steps at which k is a partner."""
    squares = np.concatenate([[0.0], np.cumsum(1 / partners(n, buffer) ** 2)])
    # Step t is at place t - 1 of the sums. Record k is a partner at the steps k + 1 … k + b.
    k = np.arange(1, n + 1)
    stay = n if math.isinf(buffer) else min(n, int(buffer))
    last = np.minimum(n, k + stay)
    as_partner = squares[last - 1] - squares[k - 1]
    as_current = (k >= 2).astype(np.float64)
    worst = float(np.max(as_partner + as_current))
    return positive("one_record", one_record) / 2 * math.sqrt(worst)


def _gradients_by_walking(one_record: float, n: int, buffer: float = math.inf) -> float:
    # A later record meets no fewer partners, so the second is worst, or the first.
    worst = 0.0
    for k in (1, 2):
        total = 1.0 if k == 2 else 0.0
        t = k + 1
        while t <= n and t <= k + buffer:
            weight = 1 / min(t - 1, buffer) ** 2
            total += weight
            t += 1
            if t > 200_000 and math.isinf(buffer):
                total += 1 / (t - 2) - 1 / (n - 1)  # the rest of Σ 1/j², to 1e-11
                break
        worst = max(worst, total)
    return one_record / 2 * math.sqrt(worst)


register_bound(
    Bound(
        "gradients on a stream of pairs",
        "every gradient of a stream is released with noise of one scale: a record moves its own "
        "by at most D/2 and each later one, while it is in the buffer, by D/2 over the number of "
        "partners; all together are one Gaussian release of the root of the sum of squares",
        _gradients,
        _gradients_by_walking,
    )
)
