r"""Bounds for moments of two classes.

Each is registered with two routes to its value, as in `pairdp.privacy.bounds.sensitivity`. All
are for n records of norm at most R, and averages are over n. Computed averages are released, so
each bound includes the rounding errors of two of them.

**Null records** add zero to each sum, and their number is not released. A record z that becomes
null changes each average by at most its own term:

- |yx| and |x| are at most R, and so at most 2R;
- |(yx, βx, βRy)|² ≤ R²(1 + 2β²) ≤ 4R²(1 + β²);
- the number of positives changes by at most 1;
- |xxᵀ| ≤ R² ≤ √2·R²;
- of the scatter between classes, q terms of at most 4R² vanish, q ≤ n-1 the size of the other
  class; of the difference of class sums, q differences of two
  records, each at most 2R.

If some of the other records are null, the two classes have p + q ≤ n-1 other members, and no bound
uses more.
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound

_ANGLES = np.linspace(0.0, math.pi, 10_001)


def _class_sums(data_norm: float, n: int) -> float:
    # Computed averages are released, so the rounding errors of two of them are added.
    return 2 * positive("data_norm", data_norm) * (1 / integer("n", n, at_least=2) + SUMMING)


def _worst_class_sums(data_norm: float, n: int) -> float:
    # Affine in the number of other positives, so an extreme case is worst; x = -x' at the bound.
    changes = []
    for positives in (0, n - 1):
        negatives = n - 1 - positives
        changes += [2 * data_norm * negatives, 2 * data_norm * positives]  # the label stays
        changes.append(2 * data_norm * positives + 2 * data_norm * negatives)  # it flips
    return max(changes) / (n * (n - 1)) + 2 * SUMMING * data_norm


def _class_scatter(data_norm: float, n: int) -> float:
    return (
        4 * positive("data_norm", data_norm) ** 2 * (1 / integer("n", n, at_least=2) + 2 * SUMMING)
    )


def _worst_class_scatter(data_norm: float, n: int) -> float:
    # Convex in the numbers of other positives and negatives, so an extreme case is worst.
    changes = []
    for positives in (0, n - 1):
        negatives = n - 1 - positives
        changes.append(4 * data_norm**2 * max(positives, negatives))  # the label stays
        changes.append(4 * data_norm**2 * math.hypot(positives, negatives))  # it flips
    return max(changes) / (n * (n - 1)) + 2 * SUMMING * 4 * data_norm**2


def _mean(data_norm: float, n: int) -> float:
    return 2 * positive("data_norm", data_norm) * (1 / integer("n", n, at_least=2) + SUMMING)


def _mean_by_angle(data_norm: float, n: int) -> float:
    # Two records at the bound, at every angle; the sign of a signed record may change.
    apart = data_norm * np.sqrt(np.maximum(2 - 2 * np.cos(_ANGLES), 0.0))
    together = data_norm * np.sqrt(np.maximum(2 + 2 * np.cos(_ANGLES), 0.0))
    return float(max(apart.max(), together.max())) / n + 2 * SUMMING * data_norm


def _class_means(data_norm: float, n: int, weight: float) -> float:
    scale = 2 * positive("data_norm", data_norm) * math.hypot(1.0, check_weight(weight))
    return scale * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def check_weight(weight: float) -> float:
    """Return a weight in (0, 1]."""
    if positive("weight", weight) > 1:
        raise ValueError(f"weight must be at most 1, got {weight!r}")
    return weight


def _class_means_by_angle(data_norm: float, n: int, weight: float) -> float:
    # The norm is convex in both records, so both are at the bound, at some angle.
    apart, together = 2 - 2 * np.cos(_ANGLES), 2 + 2 * np.cos(_ANGLES)
    stays = (1 + weight**2) * apart
    flips = together + weight**2 * (apart + 4)
    change = data_norm * math.sqrt(max(float(stays.max()), float(flips.max())))
    return change / n + 4 * SUMMING * data_norm * math.hypot(1.0, weight)


def _share(n: int) -> float:
    return 1 / integer("n", n, at_least=2)


def _share_by_counting(n: int) -> float:
    return max(abs((k + 1) - k) / n for k in (0, n - 1))


def _class_squares(data_norm: float, n: int) -> float:
    square = positive("data_norm", data_norm) ** 2
    return math.sqrt(2) * square * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _class_squares_by_angle(data_norm: float, n: int) -> float:
    stays = data_norm**2 * np.sqrt(np.maximum(2 - 2 * np.cos(_ANGLES) ** 2, 0.0))
    flips = math.hypot(data_norm**2, data_norm**2)
    return max(float(stays.max()), flips) / n + 2 * SUMMING * math.hypot(data_norm**2, data_norm**2)


register_bound(
    Bound(
        "difference of class sums",
        "(n₋ Σ₊x - n₊ Σ₋x)/(n(n-1)), for records of norm at most R, changes by at most 2R/n: "
        "by 2R times the size of the other class when the label stays or the record becomes null, "
        "and by the sum of n-1 differences of two records when it flips",
        _class_sums,
        _worst_class_sums,
    )
)
register_bound(
    Bound(
        "mean of signed records",
        "Σyx/n, for labels y = ±1 and records of norm at most R, changes by at most 2R/n",
        _mean,
        _mean_by_angle,
    )
)
register_bound(
    Bound(
        "mean of records",
        "Σx/n, for records of norm at most R, changes by at most 2R/n",
        _mean,
        _mean_by_angle,
    )
)
register_bound(
    Bound(
        "means of classes",
        "Σ(yx, βx, βRy)/n side by side, for labels y = ±1, records of norm at most R and a weight "
        "β of at most 1, changes by at most 2R√(1+β²)/n: by √(1+β²)|x - x'| if the label stays; "
        "when it flips, by the root of |x + x'|² + β²|x - x'|² + 4β²R², where the first two are at "
        "most 4R² together",
        _class_means,
        _class_means_by_angle,
    )
)
register_bound(
    Bound(
        "share of positives",
        "the number of positives over n changes by at most 1/n",
        _share,
        _share_by_counting,
    )
)
register_bound(
    Bound(
        "second moments of classes",
        "Σ₊xxᵀ/n and Σ₋xxᵀ/n side by side, for records of norm at most R, change by at most "
        "√2·R²/n: |xxᵀ - x'x'ᵀ|² = |x|⁴ + |x'|⁴ - 2(xᵀx')² if the label stays, "
        "|x|⁴ + |x'|⁴ if it flips",
        _class_squares,
        _class_squares_by_angle,
    )
)
register_bound(
    Bound(
        "scatter between classes",
        "Σ₊₋(x-x')(x-x')ᵀ/(n(n-1)), for records of norm at most R, changes by at most 4R²/n: a "
        "replaced record changes each of its terms by at most 4R² if the label stays; if it "
        "flips, the sums it leaves and joins are positive semidefinite, so the norm of their "
        "difference is at most the root of the sum of their squares",
        _class_scatter,
        _worst_class_scatter,
    )
)
