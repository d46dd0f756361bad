"""Bounds for counts of records with labels ±1.

Each is registered with two routes to its value, as in `pairdp.privacy.bounds.sensitivity`. Counts
are integers, and their sums are exact. A null record counts as zero, so a record that becomes null
changes one number by 1/n.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from pairdp._checks import integer
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

_LABELS = (-1, 0, 1)


def _shares(n: int) -> float:
    return math.sqrt(2) / integer("n", n, at_least=2)


def _shares_by_label(n: int) -> float:
    # 0 is a null record.
    rows = [np.array([label > 0, label < 0], dtype=float) for label in _LABELS]
    return float(max(np.linalg.norm(a - b) for a in rows for b in rows)) / n


def _signed_histogram(n: int) -> float:
    return 2 / integer("n", n, at_least=2)


def _signed_histogram_by_cell(n: int) -> float:
    # Two cells suffice: a record stays in its cell, or moves to another.
    rows = [label * np.eye(2)[cell] for label, cell in itertools.product(_LABELS, range(2))]
    return float(max(np.linalg.norm(a - b) for a in rows for b in rows)) / n


register_bound(
    Bound(
        "shares of classes",
        "the numbers of records with label +1 and with label -1, over n, change together by at "
        "most √2/n: the label flips",
        _shares,
        _shares_by_label,
    )
)
register_bound(
    Bound(
        "signed histogram",
        "the sums of labels ±1 in the cells of a fixed partition, over n, change together by at "
        "most 2/n: the label flips within a cell; if the record moves, by √2/n",
        _signed_histogram,
        _signed_histogram_by_cell,
    )
)
