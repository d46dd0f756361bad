r"""Bounds for the prefix sums of a stream, released by a matrix mechanism.

A change by Δ in one batch changes all prefix sums together by Δ·|C|
(`pairdp.privacy.mechanisms.matrix_mechanism`). A null record keeps its position in its batch and
contributes zero; a record that becomes null changes the sum by its term, which is at most Δ
(`pairdp.privacy.bounds.moments`).
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.moments import check_weight
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound
from pairdp.privacy.mechanisms.matrix_mechanism import LONGEST, PrefixFactor


def batch_count(n: int, batch_size: int = 1) -> int:
    """Return the number of batches of n records; the last one may be smaller."""
    n = integer("n", n, at_most=LONGEST)
    return -(-n // integer("batch_size", batch_size))


def _rounding(batch_size: int) -> float:
    # Twice the rounding error of the sum of the batch that changes.
    return 1 + 2 * batch_size * SUMMING


def _means(data_norm: float, n: int, weight: float, batch_size: int = 1) -> float:
    steps = batch_count(n, batch_size)
    change = 2 * positive("data_norm", data_norm) * math.hypot(1.0, check_weight(weight))
    return change * _rounding(batch_size) * PrefixFactor.of(steps).column_norm()


def _means_by_adding(data_norm: float, n: int, weight: float, batch_size: int = 1) -> float:
    # The norm is convex in both records, so both are at the bound, at some angle.
    cosines = np.cos(np.linspace(0.0, math.pi, 10_001))
    difference, together = 2 - 2 * cosines, 2 + 2 * cosines
    squared = np.maximum((1 + weight**2) * difference, together + weight**2 * (difference + 4))
    change = data_norm * math.sqrt(float(squared.max())) * _rounding(batch_size)
    return change * PrefixFactor.of(batch_count(n, batch_size)).column_norm_by_adding()


def _squares(data_norm: float, n: int, batch_size: int = 1) -> float:
    steps = batch_count(n, batch_size)
    change = math.sqrt(2) * positive("data_norm", data_norm) ** 2
    return change * _rounding(batch_size) * PrefixFactor.of(steps).column_norm()


def _squares_by_adding(data_norm: float, n: int, batch_size: int = 1) -> float:
    # The worst record goes to the other class: two squares of norm R² at right angles.
    change = math.hypot(data_norm**2, data_norm**2) * _rounding(batch_size)
    return change * PrefixFactor.of(batch_count(n, batch_size)).column_norm_by_adding()


register_bound(
    Bound(
        "prefix sums of class means",
        "Σ(yx, βx, βRy) over each batch of a stream, for labels y = ±1, records of norm at most R "
        "and a weight β of at most 1, changes in one batch and by at most 2R√(1+β²); the noise of "
        "all prefix sums together is that of one release of C times the batches, whose change is "
        "that times the norm of the first column of C",
        _means,
        _means_by_adding,
    )
)
register_bound(
    Bound(
        "prefix sums of second moments of classes",
        "Σ₊xxᵀ and Σ₋xxᵀ over each batch of a stream, for records of norm at most R, change in one "
        "batch and by at most √2·R²; the noise of all prefix sums together is that of one release "
        "of C times the batches, whose change is that times the norm of the first column of C",
        _squares,
        _squares_by_adding,
    )
)
