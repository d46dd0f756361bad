"""The Euclidean metric, stretched along what separates classes as far as that is expected to pay.

Everything here is a function of released values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.class_separation import Separation
from pairdp.algorithms.neighbour_error import neighbour_error

Array = NDArray[np.float64]
_LEAST_RELIABLE = 0.5
_UNRELIABLE = 0.3  # the weight of the Euclidean metric, times the ratio of noise to signal
_MARGIN = 0.2
"""The least predicted gain in accuracy, times √n, with which the Euclidean metric is left.

Below it, metrics that were learned from small tables were as often worse as better: the prediction
assumes normal classes.
"""

_FEATURES = 0.3
"""The weight of features that separate classes, if directions across them say more."""

_FEATURES_ALONE = 10.0
"""How many times that weight they have, if features alone say as much."""

_ENOUGH = 0.85
"""The share of the gain that features alone must keep for their weight to grow."""

_TYPICAL_GAIN = 0.15
"""The predicted gain at which the Euclidean metric has its usual weight; more for smaller gains."""

_WEIGHTS = (0.2, 8.0)


def separating_metric(
    found: Separation,
    unit: Array,
    n: int,
    euclidean: float,
    hidden: float,
    total: Array | None = None,
    noise: float = 0.0,
) -> Array:
    r"""Return a metric of records, whose trace is d.

    With S = W⁻¹DᵀDW⁻¹, λ the largest eigenvalue of DW⁻¹Dᵀ, q the reliability of D, E the Euclidean
    metric and F = diag(f_j/max f) E,

    .. math::
        M_a ∝ S + λ\left(0.3·10^a F + b\left(10^{-a}ξ + h + 0.3\,\frac{1-q}{q}\right)E\right)

    in coordinates of standardised features. If second moments are known, M is the mean of two such
    metrics of equal trace, one of which neglects correlations within classes.

    The predicted gain g_a is the error of neighbours by E less that by M_a with b = 1 (see
    `pairdp.algorithms.neighbour_error`). If g_0 is below 0.2/√n, or q below 0.5, the result is E.
    Otherwise b = 0.15/g_0, from 0.2 to 8: where little is to be gained, little is risked. And a
    rises from 0 to 1 as g_1/g_0 rises from 0.85 to 1: where features alone, of which M_1 mostly
    consists, separate classes as well as directions across them, directions only add errors.

    Parameters
    ----------
    found : Separation
        D, of standardised features.
    unit : array of shape (d,)
        The divisors of the features by which they are standardised.
    n : int
        The number of records.
    euclidean, hidden : float
        ξ and h.
    total : array of shape (d, d), optional
        Noisy second moments of standardised features.
    noise : float
        The standard deviation of the noise on these.
    """
    d = len(unit)
    if found.reliability <= _LEAST_RELIABLE:
        return np.eye(d)
    # Relative to the largest, so that no square underflows.
    divisor = unit / unit.max()
    flat = np.diag(divisor**2 / np.mean(divisor**2))
    withins = [found.within_features()]
    if total is not None:
        withins.append(found.within(total, noise, n))
    stretches = [found.stretch(within) for within in withins]
    separated = np.sum(found.directions**2, axis=0)
    features = _FEATURES * flat * (separated / separated.max())
    uncertain = hidden + _UNRELIABLE * (1 - found.reliability) / found.reliability

    def stretched(alone: float, times: float) -> Array:
        more = _FEATURES_ALONE**alone
        rest = more * features + times * (euclidean / more + uncertain) * flat
        parts = (stretch + most * rest for stretch, most in stretches)
        return np.asarray(sum(part / np.trace(part) for part in parts))

    contrasts = found.contrasts()
    before, after, after_alone = (
        neighbour_error(metric, withins[-1], contrasts, n)
        for metric in (flat, stretched(0.0, 1.0), stretched(1.0, 1.0))
    )
    gain = before - after
    if gain <= _MARGIN / math.sqrt(n):
        return np.eye(d)
    alone = ((before - after_alone) / gain - _ENOUGH) / (1 - _ENOUGH)
    times = min(max(_TYPICAL_GAIN / gain, _WEIGHTS[0]), _WEIGHTS[1])
    metric = stretched(min(max(alone, 0.0), 1.0), times)
    metric = metric / np.outer(divisor, divisor)
    return np.asarray(metric * (d / np.trace(metric)))
