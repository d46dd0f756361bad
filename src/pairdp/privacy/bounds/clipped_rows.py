r"""Bounds for descent on clipped rows (`pairdp.algorithms.conditioned`).

All are for m rows, which are functions of as many records and of what was released before, and are
clipped to a largest norm L. It and m need not be those of the records: rows may be scaled, and m
may be a part of the records, chosen by their places alone. A record that is not in the part changes
nothing.

**Means and second moments** are bounded as for records (`pairdp.privacy.bounds.moments`). The norm
of a change is convex in both labels, so it is largest at the ends of [-1, 1].

**Mean squares.** Σx∘x/m over rows of norm at most L, entry by entry. Entries of x∘x are not
negative, so the change |x∘x - x'∘x'|² ≤ |x∘x|² + |x'∘x'|² ≤ |x|⁴ + |x'|⁴ ≤ 2L⁴, attained by rows
along two axes. A null record adds zero, and changes it by at most L².

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

import numpy as np

from pairdp._checks import integer, non_negative, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, find_bound, register_bound

_UNIT = 2.0**-53
_MOST_SETS = 10**6


def _means(largest: float, used: int) -> float:
    return find_bound("means of classes").formula(data_norm=largest, n=used, weight=1.0)


def _means_by_corners(largest: float, used: int) -> float:
    # The norm is convex in both rows and both labels; rows at the bound, at every angle.
    angles = np.linspace(0.0, math.pi, 10_001)
    apart, together = 2 - 2 * np.cos(angles), 2 + 2 * np.cos(angles)
    squared = max(float((2 * apart).max()), float((together + apart + 4).max()))
    return largest * (math.sqrt(squared) / used + 4 * SUMMING * math.sqrt(2))


def _moments(largest: float, used: int) -> float:
    return find_bound("second moments of records").formula(data_norm=largest, n=used)


def _moments_by_angle(largest: float, used: int) -> float:
    turned = np.sin(np.linspace(0.0, math.pi, 10_001))
    change = math.sqrt(2) * float(turned.max())
    return largest**2 * (change / used + 2 * SUMMING * math.sqrt(2))


def _mean_squares(largest: float, used: int) -> float:
    square = positive("largest", largest) ** 2
    return math.sqrt(2) * square * (1 / integer("used", used) + 2 * SUMMING)


def _mean_squares_by_axes(largest: float, used: int) -> float:
    # |x∘x| is convex in x∘x, whose extreme points for |x| ≤ L are zero and L² along an axis.
    points = [np.zeros(2), *(largest**2 * np.eye(2))]
    change = max(float(np.linalg.norm(a - b)) for a, b in itertools.product(points, points))
    return change / used + 2 * SUMMING * math.hypot(largest**2, largest**2)


def _gradients(clip: float, used: int, width: int, amplification: float) -> float:
    bound = find_bound("mean of clipped gradients")
    return bound.formula(clip=clip, n=used, width=width, amplification=amplification)


def _gradients_by_parts(clip: float, used: int, width: int, amplification: float) -> float:
    # The change of one term, and the errors of the terms, of the mean and of the map, twice.
    rounding = math.sqrt(float(width)) ** 3 * _UNIT * amplification
    term = 2 * (clip + rounding)
    return term / used + SUMMING * term + 2 * (SUMMING * amplification + rounding)


def _pair_gradients(clip: float, used: int, width: int, amplification: float) -> float:
    rounding = math.sqrt(integer("width", width)) ** 3 * _UNIT
    amplified = non_negative("amplification", amplification)
    longest = positive("clip", clip) + rounding * amplified
    mean = 2 * longest * (1 / integer("used", used, at_least=2) + 2 * SUMMING)
    return mean + 2 * (SUMMING + rounding) * amplified


def _pair_gradients_by_slopes(clip: float, used: int, width: int, amplification: float) -> float:
    # The change of a pair is convex in both slopes, so the ends of their range are worst.
    rounding = math.sqrt(float(width)) ** 3 * _UNIT * amplification
    longest = clip + rounding
    stays = max(longest * (a + b + abs(a - b)) for a, b in itertools.product((0.0, 1.0), repeat=2))
    flips = 2 * longest
    exact = (used - 1) * max(stays, flips) / (used * (used - 1))
    errors = [2 * SUMMING * longest, SUMMING * amplification, rounding]
    return exact + 2 * math.fsum(errors)


def _in_sets(sets: int) -> float:
    return float(integer("sets", sets, at_most=_MOST_SETS))


def _in_sets_by_counting(sets: int) -> float:
    return float(sum(max(abs(a - b) for a in (0, 1) for b in (0, 1)) for _ in range(sets)))


register_bound(
    Bound(
        "means of clipped rows",
        "Σ(yx, x, Ly)/m side by side, for m rows of norm at most L and labels or targets y within "
        "±1, changes by at most 2√2·L/m: the change is largest for labels -1 and 1, where it is as "
        "for means of classes",
        _means,
        _means_by_corners,
    )
)
register_bound(
    Bound(
        "second moments of clipped rows",
        "Σxxᵀ/m, for m rows of norm at most L, changes by at most √2·L²/m: "
        "|xxᵀ - x'x'ᵀ|² = |x|⁴ + |x'|⁴ - 2(xᵀx')²",
        _moments,
        _moments_by_angle,
    )
)
register_bound(
    Bound(
        "mean squares of clipped rows",
        "Σx∘x/m, the means of the squares of each feature, for m rows of norm at most L, changes "
        "by at most √2·L²/m: squares are not negative, so |x∘x - x'∘x'|² ≤ |x|⁴ + |x'|⁴",
        _mean_squares,
        _mean_squares_by_axes,
    )
)
register_bound(
    Bound(
        "clipped gradients of rows",
        "the mean of m gradients, each clipped to norm C, changes by at most 2C/m, and rounding "
        "adds at most what the linear map to their coordinates makes of the error of a sum",
        _gradients,
        _gradients_by_parts,
    )
)
register_bound(
    Bound(
        "clipped gradients of pairs",
        "the average over pairs of a slope between -1 and 0 times the difference of two rows of "
        "norm at most C, m in all, changes by at most 2C/m, since each of the m-1 pairs of a row "
        "changes by at most 2C, and rounding adds at most what the linear map to their "
        "coordinates makes of the error of a sum",
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
