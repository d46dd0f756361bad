r"""Bounds for stochastic gradient descent on pairs.

Each is registered with two routes to its value, as in `pairdp.privacy.bounds.sensitivity`.

The change of a pair's gradient includes its change to zero when a record becomes null
(`pairdp.algorithms.pairwise_sgd.step_divergence`). A null record is drawn like any other, so the
distribution of the draws stays the same.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import digamma

from pairdp._checks import integer, non_negative, positive
from pairdp.privacy.accounting.appearances import appearance_weights
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

_EULER = float(np.euler_gamma)


def _one_step(
    step_size: float,
    moved: float,
    common: float = 0.0,
    rounding: float = 0.0,
    steps: int = 1,
    diameter: float = math.inf,
) -> float:
    # The other inputs are used by `beyond_appearances`, for the distribution of the draws.
    del common, rounding, steps, diameter
    return positive("step_size", step_size) * positive("moved", moved)


def _one_step_by_logs(step_size: float, moved: float, **others: float) -> float:
    return math.exp(math.log(step_size) + math.log(moved))


def beyond_appearances(
    step_size: float,
    moved: float,
    common: float = 0.0,
    rounding: float = 0.0,
    steps: int = 1,
    diameter: float = math.inf,
) -> tuple[float, float]:
    """Return the change of the average that does not depend on the draws, and its upper limit.

    In units of one step: (G₀·Q_T + T·rounding)/D*, and the diameter over ηD*.
    """
    steps = integer("steps", steps)
    corners = non_negative("common", common) * float(np.mean(np.sqrt(np.arange(steps))))
    base = (corners + steps * non_negative("rounding", rounding)) / positive("moved", moved)
    limit = positive("diameter", diameter, finite=False)
    return base, limit / (positive("step_size", step_size) * moved)


register_bound(
    Bound(
        "one step of pairwise SGD",
        "a step of size η on pairs that all contain the replaced record changes by at most η times "
        "the change of the gradient of one such pair; the effect on the average depends on the "
        "number and the positions of the record's draws",
        _one_step,
        _one_step_by_logs,
        ("loss", "convexity"),
    )
)


def _worst_in_passes(
    one_step: float, n: int, passes: int, base: float, diameter: float = math.inf
) -> float:
    n, passes = integer("n", n, at_least=2), integer("passes", passes)
    weights = appearance_weights(n * passes).reshape(passes, n)
    steps = float(weights.max(axis=1).sum()) + non_negative("base", base)
    return min(positive("one_step", one_step) * steps, positive("diameter", diameter, finite=False))


def _worst_in_passes_by_place(
    one_step: float, n: int, passes: int, base: float, diameter: float = math.inf
) -> float:
    # The weights decrease, except for the first, which is never the current record.
    total = n * passes
    harmonic = float(digamma(total) + _EULER)
    worst = 0.0
    for first in range(1, total + 1, n):
        found = []
        for k in (first, min(first + 1, total)):
            later = harmonic - float(digamma(k) + _EULER) - (total - k) / total
            found.append(later + ((total - k + 1) / total if k > 1 else 0.0))
        worst += max(found)
    return min(one_step * (worst + base), diameter)


register_bound(
    Bound(
        "average of pairwise SGD in passes",
        "each of P passes over n records draws the replaced record once, at worst at the position "
        "of the largest weight: one step times the sum of the largest weights c_k of all passes, "
        "plus the drift of steps on a loss that is not smooth, or the diameter of the constraint "
        "set if less",
        _worst_in_passes,
        _worst_in_passes_by_place,
        ("loss", "convexity"),
    )
)


def _consecutive(
    step_size: float,
    n: int,
    replaced: float,
    common: float,
    rounding: float = 0.0,
    diameter: float = math.inf,
) -> float:
    steps = integer("n", n, at_least=2) - 1
    apart = non_negative("common", common) * float(np.mean(np.sqrt(np.arange(steps))))
    moved = apart + (2 - 1 / steps) * positive("replaced", replaced)
    moved += steps * non_negative("rounding", rounding)
    limit = positive("diameter", diameter, finite=False)
    return min(positive("step_size", step_size) * moved, limit)


def _consecutive_by_place(
    step_size: float,
    n: int,
    replaced: float,
    common: float,
    rounding: float = 0.0,
    diameter: float = math.inf,
) -> float:
    # A record at position k is in the steps k - 1 and k of n - 1; the second record is worst.
    steps = n - 1
    best = 0.0
    for place in {1, 2, 3, n}:
        if place > n:
            continue
        entered = [s for s in (place - 1, place) if 1 <= s <= steps]
        best = max(best, sum(steps - s + 1 for s in entered) / steps)
    apart = math.fsum(common * math.sqrt(s) for s in range(steps)) / steps
    return min(step_size * (apart + best * replaced + steps * rounding), diameter)


register_bound(
    Bound(
        "average of SGD on consecutive pairs",
        "a replaced record is in at most two consecutive pairs, so the average over the steps of "
        "one pass changes by at most η times (2 - 1/T) times the change of the gradient of such a "
        "pair, plus the drift of steps on a loss that is not smooth, or the diameter of the set if "
        "less",
        _consecutive,
        _consecutive_by_place,
        ("loss", "convexity"),
    )
)
