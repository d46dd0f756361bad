r"""Bounds for descent on clipped rows (`pairdp.algorithms.conditioned`).

**Gradients of pairs.** With slopes a_ij in [-1, 0] of positives i and negatives j, and rows u of
norm at most C, g = Σ a_ij(u_i - u_j)/(n(n-1)). Only the pairs of a replaced record change. If its
label stays, a pair with partner j changes by |a·u - a'·u' - (a - a')u_j| ≤ C(|a| + |a'| + |a - a'|)
= 2C·max(|a|, |a'|) ≤ 2C, for at most n-1 partners. If it flips, pairs with one class vanish and
those with the other one appear, each at most 2C, again n-1 together; if the record becomes null,
the first ones vanish. So the change is at most 2C/n. The error of each sum of slopes is at most
`SUMMING` times n-1; that of the sum of rows and its linear map is as for gradients of records
(`pairdp.privacy.bounds.labelled_counts`).

**Records in a set.** A record is in the set or not, so the count changes by at most 1. The set may
depend on anything that was released before.
"""

from __future__ import annotations

import itertools
import math

from pairdp._checks import integer, non_negative, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound

_UNIT = 2.0**-53
_MOST_SETS = 10**6


def _pair_gradients(clip: float, n: int, width: int, amplification: float) -> float:
    rounding = math.sqrt(integer("width", width)) ** 3 * _UNIT
    amplified = non_negative("amplification", amplification)
    longest = positive("clip", clip) + rounding * amplified
    mean = 2 * longest * (1 / integer("n", n, at_least=2) + 2 * SUMMING)
    return mean + 2 * (SUMMING + rounding) * amplified


def _pair_gradients_by_slopes(clip: float, n: int, width: int, amplification: float) -> float:
    # The change of a pair is convex in both slopes, so the ends of their range are worst.
    rounding = math.sqrt(float(width)) ** 3 * _UNIT * amplification
    longest = clip + rounding
    stays = max(longest * (a + b + abs(a - b)) for a, b in itertools.product((0.0, 1.0), repeat=2))
    flips = 2 * longest
    exact = (n - 1) * max(stays, flips) / (n * (n - 1))
    errors = [2 * SUMMING * longest, SUMMING * amplification, rounding]
    return exact + 2 * math.fsum(errors)


def _in_sets(sets: int) -> float:
    return float(integer("sets", sets, at_most=_MOST_SETS))


def _in_sets_by_counting(sets: int) -> float:
    return float(sum(max(abs(a - b) for a in (0, 1) for b in (0, 1)) for _ in range(sets)))


register_bound(
    Bound(
        "clipped gradients of pairs",
        "the average over pairs of a slope between -1 and 0 times the difference of two rows of "
        "norm at most C changes by at most 2C/n, since each of the n-1 pairs of a record changes "
        "by at most 2C, and rounding adds at most what the linear map to their coordinates makes "
        "of the error of a sum",
        _pair_gradients,
        _pair_gradients_by_slopes,
    )
)
register_bound(
    Bound(
        "number of records in a set",
        "a record is in a set of rows or not, so that the number of records in it changes by at "
        "most 1, and those of several sets together by at most their number",
        _in_sets,
        _in_sets_by_counting,
    )
)
