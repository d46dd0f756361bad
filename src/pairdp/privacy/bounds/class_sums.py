r"""Bounds for sums over classes and for mean squares of features.

All are for n records of norm at most R, and include the rounding errors of two computed averages.

**Mean squares of features**, Σx∘x/n, the diagonal of the second moments. The entries of x∘x are not
negative and \|x∘x\| ≤ |x|² ≤ R², so \|x∘x - x'∘x'\|² ≤ \|x∘x\|² + \|x'∘x'\|² ≤ 2R⁴. Records of norm
R along two features attain it. A null record adds zero: R² ≤ √2·R².

**Class sums with counts**, for each of a public number of classes the vector Σ(x, R)/n over its
records. The class of a record is a function of its own label. If a record is replaced and stays in
its class, its sum changes by (x - x', 0), of norm at most 2R. If it changes to another
class, two sums change, by norms √(|x|² + R²) and √(|x'|² + R²), together at most √(4R²) = 2R: the
counts, in units of R, cost nothing. A null record is in no class: √(|x|² + R²) ≤ √2·R. The number
of classes does not matter.
"""

from __future__ import annotations

import itertools
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


def _class_sums(data_norm: float, n: int) -> float:
    return 2 * positive("data_norm", data_norm) * (1 / integer("n", n, at_least=2) + 2 * SUMMING)


def _class_sums_by_cases(data_norm: float, n: int) -> float:
    # A record at either end of a line through zero, or at zero, in one of two classes; or null.
    def entries(record: tuple[int, float] | None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found = np.zeros((2, 2))
        if record is not None:
            found[record[0]] = (record[1], 1.0)
        return found.ravel()

    values = [None, *itertools.product((0, 1), (-1.0, 0.0, 1.0))]
    changes = [entries(a) - entries(b) for a, b in itertools.product(values, values)]
    change = math.sqrt(max(float(each @ each) for each in changes))
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
        "class sums with counts",
        "Σ(x, R)/n over the records of each class, for records of norm at most R, changes by at "
        "most 2R/n: by |x - x'| if the class stays, otherwise by the root of |x|² + |x'|² + 2R²",
        _class_sums,
        _class_sums_by_cases,
    )
)
