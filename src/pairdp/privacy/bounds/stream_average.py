r"""The bound for the average iterate of descent on a stream of pairs.

The record that arrives at step k is paired with all earlier ones, and with each later record when
that one arrives.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import positive
from pairdp.privacy.bounds.sensitivity import Bound, register_bound
from pairdp.privacy.bounds.stream_schedule import late_steps, stream_steps

_MOST_GROUPS = 512


def _steps(
    n: int, strong_convexity: float, smoothness: float, largest_step: float, burn_in: int
) -> tuple[NDArray[np.float64], int]:
    """Return η_2 … η_n, 0 in a burn-in, and the number of iterates that are averaged.

    With a burn-in the average is over all n points, T₁ of which are random.
    """
    if burn_in == 0:
        steps = stream_steps(n, strong_convexity, smoothness, largest_step)
        return steps, steps.size
    return late_steps(n, strong_convexity, smoothness, burn_in)[1:], n


def _stream_average(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    smoothness: float,
    largest_step: float = math.inf,
    diameter: float = math.inf,
    burn_in: int = 0,
) -> float:
    r"""Return the largest average over t = 2 … n of the change of w_t caused by one record.

    With D = record_diameter/2 for the mean of both orders of a pair: the record arrives at step k
    and changes w_k by η_k·D. At a later step t the change shrinks by 1 - η_t·α, and the record, as
    one of t - 1 partners, adds η_t·D/(t-1). The change never exceeds the diameter. In long streams,
    consecutive records form at most `_MOST_GROUPS` groups, each represented by its worst member.

    After a burn-in of T₁ random points, which depend on no record, the steps are those of Huai
    2020, and the average is over t = 1 … n.
    """
    slot = positive("record_diameter", record_diameter) / 2
    positive("diameter", diameter, finite=False)
    steps, averaged = _steps(n, strong_convexity, smoothness, largest_step, burn_in)
    groups = min(steps.size, _MOST_GROUPS)
    drifts, totals = np.zeros(groups), np.zeros(groups)
    for i, eta in enumerate(steps.tolist()):
        arriving = i * groups // steps.size
        reached = drifts[: arriving + 1]
        reached *= 1 - eta * strong_convexity
        reached += eta * slot / (i + 1)
        if i * groups % steps.size < groups:  # the first of its group starts at zero
            reached[-1] = 0.0
        reached[-1] = max(reached[-1], eta * slot)
        np.minimum(reached, diameter, out=reached)
        totals[: arriving + 1] += reached
    return float(totals.max()) / averaged


def _stream_one_by_one(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    smoothness: float,
    largest_step: float = math.inf,
    diameter: float = math.inf,
    burn_in: int = 0,
) -> float:
    """Return the same, one group of records at a time."""
    slot = record_diameter / 2
    sizes, averaged = _steps(n, strong_convexity, smoothness, largest_step, burn_in)
    steps = sizes.tolist()
    groups = min(len(steps), _MOST_GROUPS)
    firsts = [-(-g * len(steps) // groups) for g in range(groups + 1)]

    def total_change(group: int) -> float:
        return _follow(steps, slot, strong_convexity, diameter, firsts, group)

    # All groups of a short stream; for a long one, those near the worst of a coarse search.
    chosen = range(groups)
    if len(steps) > _MOST_GROUPS:
        worst = max(range(0, groups, 32), key=total_change)
        chosen = range(max(0, worst - 32), min(groups, worst + 33))
    return max(map(total_change, chosen)) / averaged


def _follow(
    steps: list[float],
    slot: float,
    strong_convexity: float,
    diameter: float,
    firsts: list[int],
    group: int,
) -> float:
    """Return the sum of the changes that the worst record of a group causes."""
    drift, total = 0.0, 0.0
    for i in range(firsts[group], len(steps)):
        eta = steps[i]
        if i > firsts[group]:
            drift = (1 - eta * strong_convexity) * drift + eta * slot / (i + 1)
        if i < firsts[group + 1]:
            drift = max(drift, eta * slot)
        drift = min(drift, diameter)
        total += drift
    return total


register_bound(
    Bound(
        "average iterate of descent on a stream of pairs",
        "each record is paired with all earlier ones when it arrives, and then with each later "
        "one; the change that it causes follows a recursion, and the bound is that of the worst "
        "record",
        _stream_average,
        _stream_one_by_one,
        ("loss", "convexity"),
        largest="diameter",
    )
)
