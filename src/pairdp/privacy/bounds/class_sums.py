r"""Bounds for encoded sums over classes, and for mean squares and mean sizes of features.

All are for n records of norm at most R, and include the rounding errors of two computed averages.

**Mean squares of features**, Σx∘x/n, the diagonal of the second moments. The entries of x∘x are not
negative and \|x∘x\| ≤ |x|² ≤ R², so \|x∘x - x'∘x'\|² ≤ \|x∘x\|² + \|x'∘x'\|² ≤ 2R⁴. Records of norm
R along two features attain it. A null record adds zero: R² ≤ √2·R².

**Mean sizes of features**, Σ|x_j|/n for each feature j. The vector of the |x_j| has no negative
entries and the norm of x, so those of two records differ by at most √(R² + R²) = √2·R, which
records of norm R along two features attain. A null record adds zero: R ≤ √2·R.

**Encoded class sums**, Σ e_c ⊗ x/n with a vector e_c of norm at most 1 for the class c of each
record, which is a function of its own label. The vectors may depend on anything that was released
before. A record adds e_c ⊗ x/n, of norm |e_c||x|/n ≤ R/n, so a replacement changes the sum by at
most 2R/n, for any number of classes. A null record adds zero: R ≤ 2R. The bound is attained within
a class by x = -x', and between two classes with e_c = -e_c' by x = x'. The sums S_c are computed
first, with errors that are together at most 5·10⁻¹³·R (`pairdp._sums`), and |e_c| ≤ 1 does not
increase them; the product of 64 vectors with the sums adds at most 64·2⁻⁵³·√64·R < 6·10⁻¹⁴·R.
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


def _feature_sizes(data_norm: float, n: int) -> float:
    size = positive("data_norm", data_norm)
    return math.sqrt(2) * size * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _feature_sizes_by_angle(data_norm: float, n: int) -> float:
    # Records at every angle of the whole circle, and the null record at the end.
    turns = np.concatenate([_ANGLES + quarter * math.pi / 2 for quarter in range(4)])[::4]
    first, second = (np.append(np.abs(part), 0.0) for part in (np.cos(turns), np.sin(turns)))
    change = float(np.hypot(first[:, None] - first, second[:, None] - second).max())
    return data_norm * (change / n + 2 * SUMMING * change)


def _encoded_sums(data_norm: float, n: int) -> float:
    return 2 * positive("data_norm", data_norm) * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _encoded_sums_by_cases(data_norm: float, n: int) -> float:
    # A record at either end of a line through zero, or at zero, in classes with vectors at every
    # angle in a half plane; or null.
    angles = _ANGLES[::50] * 2
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    terms = np.concatenate([vectors, 0 * vectors[:1], -vectors])
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
        "mean sizes of features",
        "Σ|x_j|/n for every feature j, for records of norm at most R, changes by at most √2·R/n: "
        "the sizes of two records are vectors without negative entries, of norm at most R each",
        _feature_sizes,
        _feature_sizes_by_angle,
    )
)
register_bound(
    Bound(
        "encoded class sums",
        "Σ e_c ⊗ x/n, for records of norm at most R and a vector e_c of norm at most 1 for each "
        "class, changes by at most 2R/n: each record adds a vector of norm at most R/n",
        _encoded_sums,
        _encoded_sums_by_cases,
    )
)
