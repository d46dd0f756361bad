"""The least noise that a budget allows, for steps on sampled records."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from scipy.optimize import brentq

from pairdp.privacy import gaussian
from pairdp.privacy._checks import whole
from pairdp.privacy.budget import Budget
from pairdp.privacy.loss_curve import PairComposition
from pairdp.privacy.sampling import Sampling

# Below this the guarantee would rest on δ alone: on a record not being drawn at all.
_SMALLEST = math.log(0.1)
_TOLERANCE = 2e-4


@lru_cache(maxsize=4096)
def noise_multiplier(budget: Budget, steps: int = 1, sampling: Sampling | None = None) -> float:
    r"""Return the least σ/Δ that keeps ``steps`` Gaussian releases within a budget.

    Parameters
    ----------
    budget : Budget
        Its δ must be positive.
    steps : int, default=1
        Number of releases, each with the same ratio of noise to sensitivity.
    sampling : FixedSizeSampling or PoissonSampling, optional
        How the records of each step are drawn; all records by default.

    Returns
    -------
    float
        Standard deviation over the *replace-one* sensitivity Δ of one release. (Other
        libraries divide by the norm of one contribution, which is Δ/2 for a sum.)

    Notes
    -----
    Without sampling this is exact, :math:`\sqrt{T}/\mu(\varepsilon, \delta)`. With
    sampling it is found to 0.02 % on a curve whose grid costs less than 0.1 %, and
    on the private side: the returned value has itself been accounted and found
    within the budget. It is at least 0.1, since with less noise than that the
    guarantee would rest on the record not being drawn.
    """
    steps = whole("steps", steps)
    if budget.is_pure:
        raise ValueError(
            "Gaussian noise cannot give pure privacy: set delta > 0, or use KNormMechanism"
        )
    if sampling is None or sampling.rate == 1:
        return math.sqrt(steps) / gaussian.ratio(budget.epsilon, budget.delta)
    log_target = math.log(budget.delta)

    def curve(log_multiplier: float) -> PairComposition:
        return PairComposition([(sampling.pair(math.exp(-log_multiplier)), steps)])

    def rough(log_multiplier: float) -> float:
        return curve(log_multiplier).rough_log_delta(budget.epsilon) - log_target

    def excess(log_multiplier: float) -> float:
        return curve(log_multiplier).log_delta(budget.epsilon) - log_target

    # Without sampling the noise is larger: walk down from there, on the rough curve.
    high = math.log(math.sqrt(steps) / gaussian.ratio(budget.epsilon, budget.delta))
    while rough(high) > 0:
        high += 0.5
    while high > _SMALLEST and rough(high - 0.5) <= 0:
        high -= 0.5
    if high > _SMALLEST:
        high = float(brentq(rough, high - 0.5, high, xtol=1e-3))
    slope = (rough(high) - rough(high - 0.01)) / 0.01
    return math.exp(_least(excess, high, slope))


def _least(excess: Callable[[float], float], start: float, slope: float) -> float:
    """Return the root of a decreasing function, to `_TOLERANCE` and where it is not positive.

    Secant steps, each a little beyond the predicted root, until it is bracketed.
    """
    at, value = start, excess(start)
    low, high = -math.inf, math.inf
    for _ in range(100):
        if value > 0:
            low, low_value = at, value
        else:
            high, high_value = at, value
        if high - low <= _TOLERANCE or high <= _SMALLEST:
            return high
        if math.isinf(high - low):
            move = -value / min(slope, -1e-3)
            nearest = _TOLERANCE / 2
            at += math.copysign(min(max(1.1 * abs(move), nearest), 1.0), value)
        else:
            # The secant's root, kept inside; a tolerance towards the end farther off.
            slope = (high_value - low_value) / (high - low)
            root = low - low_value / slope
            margin = 0.4 * _TOLERANCE * (1 if high_value < -low_value else -1)
            at = min(max(root - margin, low + _TOLERANCE / 4), high - _TOLERANCE / 4)
        at = max(at, _SMALLEST)
        value = excess(at)
    return high
