r"""Bounds for the releases of a scorecard.

**Labelled counts.** For each of d columns and each bin, Σ(y - ½) and Σ½ over the records in the
bin, with y = 0 or 1. A replaced record changes, in each column, the entries of its old and its new
bin. If they differ, each changes by (±½, ±½), of squared norm ½; if they are the same and the label
flips, one entry changes by 1. So each column contributes at most 1 to the squared change, and all
together √d, which a record that moves in every column attains. The ℓ1 change is at most 2 for each
column. A null record adds nothing: it changes each column by (±½, ±½) once. The bins may depend on
anything that was released before.

**Clipped gradients.** A mean of n vectors of norm at most C, computed as a linear map of the mean
of vectors of norm at most 1: see `pairdp.algorithms.scorecard.descent`.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from pairdp._checks import integer, non_negative, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound

_MOST_COLUMNS = 10**6
_UNIT = 2.0**-53


def _in_l2(columns: int) -> float:
    return math.sqrt(integer("columns", columns, at_most=_MOST_COLUMNS))


def _in_l1(columns: int) -> float:
    return 2.0 * integer("columns", columns, at_most=_MOST_COLUMNS)


def _changes_of_one_column() -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the changes of the entries of two bins for every replacement of a record."""

    def entries(record: tuple[int, int] | None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found = np.zeros((2, 2))
        if record is not None:
            place, label = record
            found[place] = (label - 0.5, 0.5)
        return found.ravel()

    values = [None, *itertools.product((0, 1), (0, 1))]
    return [entries(new) - entries(old) for old, new in itertools.product(values, values)]


def _l2_of_changes(columns: int) -> float:
    worst = max(float(change @ change) for change in _changes_of_one_column())
    return math.sqrt(columns * worst)


def _l1_of_changes(columns: int) -> float:
    return columns * max(float(np.abs(change).sum()) for change in _changes_of_one_column())


def _clipped_gradients(clip: float, n: int, width: int, amplification: float) -> float:
    """Return the bound; ``amplification`` is the largest norm of the linear map."""
    rounding = math.sqrt(integer("width", width)) ** 3 * _UNIT
    amplified = non_negative("amplification", amplification)
    longest = positive("clip", clip) + rounding * amplified
    mean = 2 * longest * (1 / integer("n", n, at_least=2) + SUMMING)
    return mean + 2 * (SUMMING + rounding) * amplified


def _clipped_gradients_by_parts(clip: float, n: int, width: int, amplification: float) -> float:
    # The exact change of one term, and the errors of the terms, of the mean and of the map.
    rounding = math.sqrt(float(width)) ** 3 * _UNIT * amplification
    exact = (2 * clip + 2 * rounding) / n
    errors = [SUMMING * (clip + rounding), SUMMING * amplification, rounding]
    return exact + 2 * math.fsum(errors)


register_bound(
    Bound(
        "labelled counts",
        "for each column, a record is in one bin, with (y - ½, ½) for its label y of 0 or 1: if it "
        "is replaced, by another or by a null record, each column changes by at most 1, and all "
        "together by at most the root of their number",
        _in_l2,
        _l2_of_changes,
    )
)
register_bound(
    Bound(
        "labelled counts, in ℓ1",
        "for each column, a record is in one bin, with (y - ½, ½) for its label y of 0 or 1: if it "
        "is replaced, by another or by a null record, each column changes by at most 2 in ℓ1 norm",
        _in_l1,
        _l1_of_changes,
    )
)
register_bound(
    Bound(
        "mean of clipped gradients",
        "the mean of n gradients, each clipped to norm C, changes by at most 2C/n, and rounding "
        "adds at most what the linear map to their coordinates makes of the error of a sum",
        _clipped_gradients,
        _clipped_gradients_by_parts,
    )
)
