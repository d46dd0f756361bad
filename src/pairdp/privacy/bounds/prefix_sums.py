r"""Bounds for the prefix sums of a stream, released by a matrix mechanism.

A value that moves by Δ in one batch moves all prefix sums together by Δ·|C|
(`pairdp.privacy.mechanisms.matrix_mechanism`). What is released is the computed product of C and
the batches, so each bound includes the rounding errors of two such products, for batches of b
records, whose terms are at most Δ each (`pairdp.privacy.mechanisms.toeplitz_buffers`). A null
record keeps its place in its batch and adds zero; a record that becomes null moves the sum by the
term it had, which is at most Δ (`pairdp.privacy.bounds.moments`).
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.moments import check_weight
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound
from pairdp.privacy.mechanisms.matrix_mechanism import LONGEST, PrefixFactor
from pairdp.privacy.mechanisms.toeplitz_buffers import encoding_error


def batch_count(n: int, batch_size: int = 1) -> int:
    """Return how many batches n records make; the last one may be smaller."""
    n = integer("n", n, at_most=LONGEST)
    return -(-n // integer("batch_size", batch_size))


def _rounding(batch_size: int) -> float:
    # The computed sum of the batch that changes is off by at most this, twice.
    return 1 + 2 * batch_size * SUMMING


def _moved(one: float, n: int, batch_size: int, *, by_adding: bool = False) -> float:
    """Return how far the stream moves if one batch moves by so much."""
    steps = batch_count(n, batch_size)
    factor = PrefixFactor.of(steps)
    norm, total = (
        factor.column_by_adding() if by_adding else (factor.column_norm(), factor.column_sum())
    )
    computed = encoding_error(factor.weights.size, steps, total)
    return one * (_rounding(batch_size) * norm + batch_size * computed)


def _means(data_norm: float, n: int, weight: float, batch_size: int = 1) -> float:
    one = 2 * positive("data_norm", data_norm) * math.hypot(1.0, check_weight(weight))
    return _moved(one, n, batch_size)


def _means_by_adding(data_norm: float, n: int, weight: float, batch_size: int = 1) -> float:
    # The norm is convex in both records, so both are at the bound, at some angle.
    cosines = np.cos(np.linspace(0.0, math.pi, 10_001))
    apart, together = 2 - 2 * cosines, 2 + 2 * cosines
    squared = np.maximum((1 + weight**2) * apart, together + weight**2 * (apart + 4))
    one = data_norm * math.sqrt(float(squared.max()))
    return _moved(one, n, batch_size, by_adding=True)


def _squares(data_norm: float, n: int, batch_size: int = 1) -> float:
    return _moved(math.sqrt(2) * positive("data_norm", data_norm) ** 2, n, batch_size)


def _squares_by_adding(data_norm: float, n: int, batch_size: int = 1) -> float:
    # The worst record goes to the other class: two squares of norm R² at right angles.
    return _moved(math.hypot(data_norm**2, data_norm**2), n, batch_size, by_adding=True)


register_bound(
    Bound(
        "prefix sums of class means",
        "Σ(yx, βx, βRy) over each batch of a stream, for labels y = ±1, records of norm at most R "
        "and a weight β of at most 1, moves in one batch and by at most 2R√(1+β²); all running "
        "sums are computed from one release of C times the batches, which moves by the norm of "
        "C's first column more, and by rounding",
        _means,
        _means_by_adding,
    )
)
register_bound(
    Bound(
        "prefix sums of second moments of classes",
        "Σ₊xxᵀ and Σ₋xxᵀ over each batch of a stream, for records of norm at most R, move in one "
        "batch and by at most √2·R²; all running sums are computed from one release of C "
        "times the batches, which moves by the norm of C's first column more, and by rounding",
        _squares,
        _squares_by_adding,
    )
)
