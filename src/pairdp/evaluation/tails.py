r"""Tails of a sum of independent normal and Laplace variables.

A sum of Laplace variables of different scales :math:`b_i` has the density
:math:`\sum_i c_i\,\mathrm{Lap}(b_i)` with :math:`c_i = \prod_{j≠i} b_i^2/(b_i^2 - b_j^2)` (partial
fractions of its characteristic function :math:`\prod_i 1/(1 + b_i^2 u^2)`), and normal + Laplace
has a tail in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

Array = NDArray[np.float64]

_APART = 1.03
_SMALL = 1e-2


@np.errstate(over="ignore", invalid="ignore")  # numbers of forged files; NaN is in no interval
def two_sided_tail(t: Array, deviation: Array, *scales: Array) -> Array:
    """Return P(|N + L₁ + L₂ + …| > t), where N is normal and L_i are Laplace variables.

    Scales that are nearly equal are moved apart, the larger one upwards, so that the result is
    slightly too large; a scale below a hundredth of the largest is replaced by a normal variable
    of the same variance.

    Parameters
    ----------
    t : array of shape (m,)
        Where, at least 0.
    deviation : array of shape (m,)
        The standard deviation of N.
    *scales : arrays of shape (m,)
        The scales of the L_i.

    Examples
    --------
    >>> t, b = np.array([2.0]), np.array([1.0])
    >>> bool(abs(two_sided_tail(t, np.zeros(1), b)[0] - np.exp(-2)) < 1e-6)
    True
    """
    if not scales:
        return np.asarray(2 * ndtr(-t / np.maximum(deviation, np.finfo(float).tiny)))
    ordered = np.sort(np.array(np.broadcast_arrays(*scales)), axis=0)
    small = ordered < _SMALL * ordered[-1]
    variance = deviation**2 + 2 * (np.where(small, ordered, 0.0) ** 2).sum(axis=0)
    ordered = np.where(small, 0.0, ordered)
    for i in range(1, len(ordered)):
        ordered[i] = np.maximum(ordered[i], _APART * ordered[i - 1])
    normal = np.maximum(np.sqrt(variance), 1e-6 * ordered[-1])
    total = np.zeros_like(normal)
    for i, scale in enumerate(ordered):
        used = scale > 0
        share = np.where(used, 1.0, 0.0)
        for j, other in enumerate(ordered):
            if i != j:
                share *= np.where(used, scale**2 / np.where(used, scale**2 - other**2, 1.0), 0.0)
        total += share * _one_tail(t, normal, np.where(used, scale, 1.0))
    return np.asarray(np.clip(2 * total, 0.0, 1.0))


def _one_tail(t: Array, deviation: Array, scale: Array) -> Array:
    """Return P(N + L > t) for one Laplace variable."""
    at, ratio = t / deviation, deviation / scale
    more = ratio**2 / 2
    falling = np.exp(more - t / scale + log_ndtr(at - ratio))
    rising = np.exp(more + t / scale + log_ndtr(-at - ratio))
    return np.asarray(ndtr(-at) + (falling - rising) / 2)
