r"""Sums over records of right predictions, or of errors and their squares, with their number.

A prediction has an error :math:`a ∈ [0, 1]` in units of its largest value. Null records are in no
sum; K is the number of the others.

**Right predictions.** Each is right or wrong: a is 0 or 1. Released are :math:`\sum(½ - a)` and,
where null records may occur, γK. If a record is replaced by another, the sum changes by at most 1
and K does not; if it becomes null, the sum changes by ½ and K by 1. So with γ = ½ in ℓ1 norm, and
γ = √3/2 in ℓ2 norm, both together change by at most 1. A record whose prediction becomes wrong
attains it.

**Errors and their squares.** Released are :math:`\sum(a - ½)`, :math:`w\sum(a^2 - a)` and γK.

- *a becomes b*, with t = |b - a|. Since :math:`b^2 - b - a^2 + a = (b - a)(a + b - 1)` and
  :math:`|a + b - 1| ≤ 1 - t`, the change is at most t + wt(1 - t) in ℓ1 norm, which for w = 1 is
  2t - t² ≤ 1. In ℓ2 norm its square is at most f(t) = t² + w²t²(1 - t)²; for w² = 8,
  f'(t) = 2t(1 + 8(1 - t)(1 - 2t)) = 2t(4t - 3)² ≥ 0, so f(t) ≤ f(1) = 1. An error that changes from
  0 to 1 attains both.
- *a record becomes null*. With x = |a - ½| ≤ ½, the two sums change by x and w(¼ - x²). For w = 1,
  x + ¼ - x² ≤ ½, so γ = ½ in ℓ1 norm. For w² = 8, x² + 8(¼ - x²)² is convex in x², and ½ and ¼ at
  the ends, so γ² = ½ in ℓ2 norm. Errors of ½ attain it, so that w cannot be larger.

Sums are exact, and each is rounded once: at most n·2^-51 for all of them on two data sets. Each
square is rounded by at most 2^-53, which the slack of every sensitivity covers. k replaced records
change the vector by k times as much.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from pairdp._checks import integer
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

MOST_N = 10**9
RIGHT_IN_L1, RIGHT_IN_L2 = "right predictions, in ℓ1", "right predictions"
ERRORS_IN_L1, ERRORS_IN_L2 = "errors and their squares, in ℓ1", "errors and their squares"
RIGHT_COUNT_WEIGHT = {1: 0.5, 2: 0.866}
"""γ of right predictions, by the norm; slightly below √3/2."""
SQUARE_WEIGHT = {1: 1.0, 2: 2.8284}
"""w, by the norm; slightly below √8."""
ERROR_COUNT_WEIGHT = {1: 0.5, 2: 0.7071}
"""γ of errors, by the norm; slightly below √½."""
_GRID = 65


def _one(n: int) -> float:
    return 1 + math.ldexp(integer("n", n, at_most=MOST_N), -51)


def _largest_change(terms: Sequence[tuple[float, ...]], norm: int) -> float:
    """Return the largest change from the terms of one record to those of another, or to none."""
    values = np.array([*terms, (0.0,) * len(terms[0])])
    changes = (one - other for one, other in itertools.combinations(values, 2))
    return max(float(np.linalg.norm(change, ord=norm)) for change in changes)


def _right_changes(n: int, norm: int) -> float:
    gamma = RIGHT_COUNT_WEIGHT[norm]
    return _largest_change([(0.5, gamma), (-0.5, gamma)], norm) + math.ldexp(n, -51)


def _error_changes(n: int, norm: int) -> float:
    w, gamma = SQUARE_WEIGHT[norm], ERROR_COUNT_WEIGHT[norm]
    errors = np.linspace(0.0, 1.0, _GRID).tolist()
    terms = [(a - 0.5, w * (a * a - a), gamma) for a in errors]
    return _largest_change(terms, norm) + math.ldexp(n, -51)


def _right_in_l1(n: int) -> float:
    return _right_changes(n, 1)


def _right_in_l2(n: int) -> float:
    return _right_changes(n, 2)


def _errors_in_l1(n: int) -> float:
    return _error_changes(n, 1)


def _errors_in_l2(n: int) -> float:
    return _error_changes(n, 2)


_RIGHT = (
    "each record adds ½ if its prediction is right and -½ if it is wrong: if it is replaced, by "
    "another or by a null record, the sum changes, together with a multiple of the number of "
    "records that are not null, by at most 1"
)
_ERRORS = (
    "each record adds its error a, from 0 to 1, less ½, and a multiple of a² - a: if it is "
    "replaced, by another or by a null record, both sums change, together with a multiple of the "
    "number of records that are not null, by at most 1"
)
register_bound(Bound(RIGHT_IN_L1, f"{_RIGHT} in ℓ1 norm", _one, _right_in_l1))
register_bound(Bound(RIGHT_IN_L2, _RIGHT, _one, _right_in_l2))
register_bound(Bound(ERRORS_IN_L1, f"{_ERRORS} in ℓ1 norm", _one, _errors_in_l1))
register_bound(Bound(ERRORS_IN_L2, _ERRORS, _one, _errors_in_l2))
