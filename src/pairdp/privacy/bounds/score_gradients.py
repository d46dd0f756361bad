r"""Bounds for averages over pairs of clipped gradients of scores (networks).

With slopes a_ij of positives i and negatives j, and gradients u of scores clipped to norm C,
:math:`g = Σ a_{ij}(u_i - u_j)/(n(n-1))`. A slope is a function of two records. Slopes within
[-1, 0] are covered by "clipped gradients of pairs" (`pairdp.privacy.bounds.clipped_rows`).

**Slopes of both signs**, within [-1, 1]. Only the n-1 pairs of a replaced record change. If its
label stays, that with partner j changes by
:math:`|a u - a'u' - (a - a')u_j| ≤ C(|a| + |a'| + |a - a'|) ≤ 4C`. If it flips, pairs with one
class vanish and those with the other one appear, each of norm at most 2C, n-1 together; a null
record only removes pairs. So g changes by at most 4C/n, attained by a = -1, a' = 1 with
u = u' = -u_j. The error of each sum of slopes is at most `SUMMING` times n-1.
"""

from __future__ import annotations

import itertools

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound

BOTH_SIGNS = "clipped gradients of pairs, slopes of both signs"


def _both_signs(clip: float, n: int) -> float:
    longest = positive("clip", clip)
    return 4 * longest * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _both_signs_by_corners(clip: float, n: int) -> float:
    # The change is convex in slopes and gradients: ends of the ranges, gradients along one axis.
    ends = list(itertools.product((-1.0, 1.0), repeat=5))
    stays = max(abs(a * (u - v) - b * (w - v)) for a, b, u, w, v in ends)
    flips = max(abs(a * (u - v)) for a, _, u, _, v in ends)
    return clip * max(stays, flips) / n + 2 * SUMMING * 4 * clip


register_bound(
    Bound(
        BOTH_SIGNS,
        "the average over pairs of a slope between -1 and 1 times the difference of two gradients "
        "of norm at most C, of n records in all, changes by at most 4C/n, since each of the n-1 "
        "pairs of a record changes by at most 4C",
        _both_signs,
        _both_signs_by_corners,
    )
)
