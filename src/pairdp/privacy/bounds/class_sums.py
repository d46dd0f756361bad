r"""Bounds for encoded sums over classes with mean sizes of features, and for mean squares.

All are for n records of norm at most R, and include the rounding errors of two computed averages.

**Mean squares of features**, Σx∘x/n, the diagonal of the second moments. The entries of x∘x are not
negative and \|x∘x\| ≤ |x|² ≤ R², so \|x∘x - x'∘x'\|² ≤ \|x∘x\|² + \|x'∘x'\|² ≤ 2R⁴. Records of norm
R along two features attain it. A null record adds zero: R² ≤ √2·R².

**Class sums and mean sizes**, Σ e_c ⊗ x/n with a vector e_c of norm at most 1 for the class c of
each record, which is a function of its own label, together with Σ|x_j|/n for each feature j. The
vectors may depend on anything that was released before. Write |x| for the vector of the |x_j|. If
x, c is replaced by x', c',

.. math::
    \|e_c ⊗ x - e_{c'} ⊗ x'\|² &≤ \|x\|² + \|x'\|² + 2⟨|x|, |x'|⟩, \\
    \big\||x| - |x'|\big\|² &= \|x\|² + \|x'\|² - 2⟨|x|, |x'|⟩,

so together they change by at most √(2\|x\|² + 2\|x'\|²)/n ≤ 2R/n, for any number of classes: the
sizes cost nothing beside the sums. Opposite records of one class attain the bound, one record in
two classes with e_c = -e_c', and records along two features. A null record adds zero, and moves
both by at most √2·R/n. Each is computed with an error of at most 5·10⁻¹³·R (`pairdp._sums`), which
vectors with |e_c| ≤ 1 do not increase; the product of 64 vectors with the sums adds at most
64·2⁻⁵³·√64·R < 6·10⁻¹⁴·R.
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound

_ANGLES = np.linspace(0.0, math.pi / 2, 1001)


def _feature_squares(data_norm: float, n: int) -> float:
    square = positive("data_norm", data_norm) ** 2
    return math.sqrt(2) * square * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _feature_squares_by_angle(data_norm: float, n: int) -> float:
    # Records at every angle between two features, and the null record at the end.
    squares = np.stack([np.cos(_ANGLES) ** 2, np.sin(_ANGLES) ** 2])
    squares = np.append(squares, np.zeros((2, 1)), axis=1)
    first, second = squares
    change = float(np.hypot(first[:, None] - first, second[:, None] - second).max())
    return data_norm**2 * (change / n + 2 * SUMMING * change)


def _sums_and_sizes(data_norm: float, n: int) -> float:
    return 2 * positive("data_norm", data_norm) * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _sums_and_sizes_by_cases(data_norm: float, n: int) -> float:
    # Records at angles of the whole circle of two features, in classes whose vectors are corners of
    # a triangle and one opposite to a corner; or null.
    turns = np.linspace(0.0, 2 * math.pi, 41)[:-1]
    rows = np.column_stack([np.cos(turns), np.sin(turns)])
    angles = np.array([0.0, 1 / 3, 1 / 2, 2 / 3]) * 2 * math.pi
    classes = np.column_stack([np.cos(angles), np.sin(angles)])
    sums = np.einsum("ck,rj->crkj", classes, rows).reshape(-1, 4)
    terms = np.hstack([sums, np.tile(np.abs(rows), (len(classes), 1))])
    terms = np.vstack([terms, np.zeros(6)])
    squares = np.sum(terms**2, axis=1)
    change = math.sqrt(float(np.max(squares[:, None] + squares - 2 * terms @ terms.T)))
    return data_norm * (change / n + 2 * SUMMING * change)


register_bound(
    Bound(
        "mean squares of features",
        "Σx∘x/n, for records of norm at most R, changes by at most √2·R²/n: the squares of two "
        "records are vectors without negative entries, of norm at most R² each",
        _feature_squares,
        _feature_squares_by_angle,
    )
)
register_bound(
    Bound(
        "class sums and mean sizes",
        "Σ e_c ⊗ x/n and Σ|x_j|/n for every feature j, for records of norm at most R and a vector "
        "e_c of norm at most 1 for each class, change by at most 2R/n together: the square of the "
        "first is at most |x|² + |x'|² + 2Σ|x_j x'_j|, and that of the second has the last term "
        "with a minus",
        _sums_and_sizes,
        _sums_and_sizes_by_cases,
    )
)
