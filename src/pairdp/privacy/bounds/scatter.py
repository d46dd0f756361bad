r"""Bounds for second moments and scatters over any number of classes.

Each is registered with two routes to its value, as in `pairdp.privacy.bounds.sensitivity`. All are
for n records of norm at most R, with labels that name classes. The number of classes and their
names are not public and do not matter. Computed averages are released, so each bound includes the
rounding errors of two of them.

**Second moments**, Σxxᵀ/n. \|xxᵀ - x'x'ᵀ\|² = |x|⁴ + |x'|⁴ - 2(xᵀx')² ≤ 2R⁴.

**Scatter within classes**, Σ(x-x')(x-x')ᵀ/(n(n-1)) over ordered pairs of one class. A record
with k others in its class, whose mean is m, is in 2k pairs. If it is replaced within the class,
they change by 2k[(x-m)(x-m)ᵀ - (x'-m)(x'-m)ᵀ], of norm at most 2k·4R² (see
`pairdp.losses.metric`). If it moves to a class with l others, k + l ≤ n - 1, by a difference
2kP - 2lQ of positive semidefinite matrices with |P|, |Q| ≤ 4R²; its norm is at most
8R²·√(k² + l²). Both are at most 8R²(n-1).

**Scatter of class means**, U = Σ_c (n_c/n)·π(m_c)π(m_c)ᵀ, where π clips class means to norm ρ ≤
R/2. Let a record x join k others of mean m₀ gradually, with weight s from 0 to 1: m(s) = (km₀ +
sx)/(k+s) has derivative (x-m)/(k+s), so (k+s)ππᵀ has the derivative

.. math::
    E = xmᵀ + mxᵀ - mmᵀ \text{ where } |m| ≤ ρ, \qquad
    E = uuᵀ + wuᵀ + uwᵀ, \; u = π(m), \; w ⟂ u, \; |w| ≤ R \text{ elsewhere},

which does not otherwise depend on k or s. So nU changes by the difference of two averages of such
E, whether or not the label stays, and by no more than the largest \|E - E'\|.

1. *Both of the first kind.* E is affine in x, so let |x| = R = 1. With t = |m|, xᵀm = tc and
   v = √(t² - 4tc + 4), E has the eigenvalues p₊ = 1 - (v-t)²/4 and -p₋ = 1 - (v+t)²/4, and no
   others but zero. Taking t = ρ and v + ρ - t for v makes neither p₊ nor p₋ smaller. Now
   \|E - E'\|² ≤ (p₊ + p₋')² + (p₋ + p₊')², as a difference of semidefinite matrices, which is
   (v+v')²(4ρ² + (v-v')²)/8 with v and v' between 2-ρ and 2+ρ. For a given v - v' = g ≥ 0 the
   sum is at most 4+2ρ-g, and (4+2ρ-g)²(4ρ²+g²)/8 decreases and then increases for 0 ≤ g ≤ 2ρ: it
   is at most the larger of 2ρ²(2+ρ)² and 16ρ², which is the latter.
2. *One of the second kind.* Its norm is at most ρ√(2+ρ²), that of any other at most 2ρ+ρ²; they
   add up to at most 4ρ if and only if ρ ≤ 1/2.

So U changes by at most 4ρR/n; x = -x' along a class mean of norm ρ comes arbitrarily close.

**Null records** are in no class, add zero to each sum and stay zero when records are centred and
scaled; averages are still over n. A record that becomes null removes its term: |x|² ≤ R²;
|xxᵀ| ≤ R² ≤ √2·R²; 2k[(x-m)(x-m)ᵀ] of the scatter within classes, of norm at most
8R²k ≤ 8R²(n-1); and one average of E of nU, of norm at most 2ρ+ρ² ≤ 4ρ in units of R (case 2).
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound

_ANGLES = np.linspace(0.0, math.pi, 10_001)
_GRID = np.linspace(-1.0, 1.0, 401)


def _square_norm(data_norm: float, n: int) -> float:
    return positive("data_norm", data_norm) ** 2 * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _square_norm_by_ends(data_norm: float, n: int) -> float:
    ends = (0.0, data_norm**2)
    return max(abs(a - b) for a in ends for b in ends) / n + 2 * SUMMING * max(ends)


def _squares(data_norm: float, n: int) -> float:
    square = positive("data_norm", data_norm) ** 2
    return math.sqrt(2) * square * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _squares_by_angle(data_norm: float, n: int) -> float:
    turned = np.sqrt(np.maximum(2 - 2 * np.cos(_ANGLES) ** 2, 0.0))
    return data_norm**2 * (float(turned.max()) / n + 2 * SUMMING * math.hypot(1.0, 1.0))


def _within(data_norm: float, n: int) -> float:
    return (
        8 * positive("data_norm", data_norm) ** 2 * (1 / integer("n", n, at_least=2) + 2 * SUMMING)
    )


def _within_by_counting(data_norm: float, n: int) -> float:
    # Convex in the numbers of others in the class that is left and in the one that is joined.
    farthest, changes = (2 * data_norm) ** 2, []
    for left, joined in ((0, 0), (n - 1, 0), (0, n - 1)):
        changes.append(2 * left * farthest)  # the label stays
        changes.append(2 * math.hypot(left, joined) * farthest)  # it changes
    return max(changes) / (n * (n - 1)) + 2 * SUMMING * 2 * farthest


def _check_mean_norm(data_norm: float, mean_norm: float) -> None:
    if positive("mean_norm", mean_norm) > positive("data_norm", data_norm) / 2:
        raise ValueError(f"mean_norm must be at most data_norm/2, got {mean_norm!r}")


def _class_means(data_norm: float, mean_norm: float, n: int) -> float:
    _check_mean_norm(data_norm, mean_norm)
    return 4 * mean_norm * data_norm * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _class_means_by_eigenvalues(data_norm: float, mean_norm: float, n: int) -> float:
    _check_mean_norm(data_norm, mean_norm)
    rho = mean_norm / data_norm
    # A record at every angle to a class mean inside the ball, and at right angles to one outside.
    trace, minor = 2 * rho * _GRID - rho**2, rho**2 * (1 - _GRID**2)
    trace, minor = np.append(trace, rho**2), np.append(minor, rho**2)
    root = np.sqrt(trace**2 + 4 * minor)
    up, down = (root + trace) / 2, (root - trace) / 2
    ends = np.hypot(up[:, None] + down, down[:, None] + up)
    # The eigenvectors of the second kind are independent of the others: its norm is added.
    norms = np.hypot(up, down)
    largest = max(float(ends[:-1, :-1].max()), float(norms[-1] + norms.max()))
    return data_norm**2 * largest / n + 2 * SUMMING * 4 * mean_norm * data_norm


register_bound(
    Bound(
        "mean squared norm",
        "Σ|x|²/n, for records of norm at most R, changes by at most R²/n",
        _square_norm,
        _square_norm_by_ends,
    )
)
register_bound(
    Bound(
        "second moments of records",
        "Σxxᵀ/n, for records of norm at most R, changes by at most √2·R²/n: "
        "|xxᵀ - x'x'ᵀ|² = |x|⁴ + |x'|⁴ - 2(xᵀx')²",
        _squares,
        _squares_by_angle,
    )
)
register_bound(
    Bound(
        "scatter within classes",
        "Σ(x-x')(x-x')ᵀ/(n(n-1)) over ordered pairs of one class, for any number of classes and "
        "records of norm at most R, changes by at most 8R²/n: each of the 2k pairs of a record "
        "changes by at most 4R² if the label stays; if it changes, the sums it leaves and joins "
        "are positive semidefinite, so the norm of their difference is at most the root of the "
        "sum of their squares",
        _within,
        _within_by_counting,
    )
)
register_bound(
    Bound(
        "scatter of class means",
        "Σ(n_c/n)·mmᵀ over the means m of any number of classes, clipped to norm ρ at most R/2, "
        "for records of norm at most R, changes by at most 4ρR/n: a record that joins a class "
        "gradually changes it at a rate of xmᵀ + mxᵀ - mmᵀ, for any size of the class, and two "
        "such rates differ by at most 4ρR",
        _class_means,
        _class_means_by_eigenvalues,
    )
)
