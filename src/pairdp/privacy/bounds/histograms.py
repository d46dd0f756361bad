r"""Bounds for histograms: one for each of d columns, each record counted once in each.

A record that is replaced leaves one count of each histogram and enters one, so these change by -1
and by +1 (or not at all, if both are the same count). All d histograms together, as one vector,
have 2d such entries at most:

.. math:: Δ_2 = \sqrt{2d}, \qquad Δ_1 = 2d.

Both are attained if the two records have no count in common. Where a count comes from does not
matter: the bins may depend on anything that was released before. A null record enters no count, or
that of missing cells: d or 2d entries change by one.
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

_MOST_COLUMNS = 10**6


def _in_l2(columns: int) -> float:
    return math.sqrt(2 * integer("columns", columns, at_most=_MOST_COLUMNS))


def _in_l1(columns: int) -> float:
    return 2.0 * integer("columns", columns, at_most=_MOST_COLUMNS)


def _change(columns: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the change of d histograms with two counts if one record moves in each."""
    one, other = np.tile([1.0, 0.0], columns), np.tile([0.0, 1.0], columns)
    return np.asarray(other - one)


def _l2_of_a_change(columns: int) -> float:
    return float(np.linalg.norm(_change(columns)))


def _l1_of_a_change(columns: int) -> float:
    return float(np.abs(_change(columns)).sum())


register_bound(
    Bound(
        "histograms of columns",
        "a record is counted once in the histogram of each column: if it is replaced, by another "
        "or by a null record, one count of each histogram falls by one and one rises by one, "
        "which changes all of them together by at most √(2·columns)",
        _in_l2,
        _l2_of_a_change,
    )
)
register_bound(
    Bound(
        "histograms of columns, in ℓ1",
        "a record is counted once in the histogram of each column: if it is replaced, by another "
        "or by a null record, one count of each histogram falls by one and one rises by one, "
        "which changes all of them together by at most 2·columns in ℓ1 norm",
        _in_l1,
        _l1_of_a_change,
    )
)
