r"""The bound for a stream in which every gradient is released with noise.

A replaced record changes the average of its own step by at most (D/2)·own_s, and that of each later
step, while it is in the buffer, by at most (D/2)·partner_s. Effects through earlier releases need
not be bounded: noisy gradients compose adaptively, each conditional on those before it. The bound
is registered with two routes to its value.

A null record keeps its position in the batch and in the buffer, and its pairs, with gradient zero,
are part of the average. So the shares do not change, and a pair that becomes zero changes by at
most D/2 (`pairdp.problem.Problem.exact_record_diameter`).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import polygamma

from pairdp._checks import positive
from pairdp.privacy.bounds.sensitivity import Bound, register_bound
from pairdp.privacy.bounds.stream_schedule import StreamShape, shape_of


def _gradients(
    record_diameter: float, n: int, buffer: float = math.inf, batch: int = 1, reservoir: int = 0
) -> float:
    r"""Return (D/2)·√(max_k [own² + Σ partner²]), over the steps at which k is a partner."""
    shape = shape_of(n, buffer, batch, reservoir)
    squares = np.cumsum(shape.partner**2)
    as_partner = squares[shape.last] - squares
    worst = float(np.max(shape.own**2 + as_partner))
    return positive("record_diameter", record_diameter) / 2 * math.sqrt(worst)


def _gradients_in_closed_form(
    record_diameter: float, n: int, buffer: float = math.inf, batch: int = 1, reservoir: int = 0
) -> float:
    # Shares decrease with the step, so a record of the first two steps with pairs is worst.
    shape = shape_of(n, buffer, batch, reservoir)
    worst = max(_moved_by(shape, step) for step in range(min(2, shape.steps)))
    return record_diameter / 2 * math.sqrt(worst)


def _moved_by(shape: StreamShape, step: int) -> float:
    """Return own² + Σ partner² for the records of a step, counted from 0."""
    b, kept = shape.batch, shape.kept
    size = min(b, shape.n - b * step)
    met = min(b * step, kept)
    pairs = b * met + b * (b - 1) / 2
    total = ((met + size - 1) / pairs) ** 2 if pairs else 0.0
    stays = shape.steps if shape.reservoir else 1 + (kept - 1) // b
    stop = min(shape.steps, step + 1 + stays)  # the first step without them
    full = min(stop, shape.n // b)
    # While the buffer fills, step s has b·s earlier records; after that, a constant number.
    growing = max(step + 1, min(full, -(-kept // b)))
    shift = (b - 1) / (2 * b)
    total += float(polygamma(1, step + 1 + shift) - polygamma(1, growing + shift)) / b**2
    total += max(0, full - growing) / (kept + (b - 1) / 2) ** 2
    if stop > full > step:
        met = min(b * full, kept)
        total += ((shape.n - b * full) / (b * met + b * (b - 1) / 2)) ** 2
    return total


register_bound(
    Bound(
        "gradients on a stream of pairs",
        "every gradient of a stream is released with noise of one scale, an average over the pairs "
        "of the records that arrive with each other and with the buffer: a record changes it by at "
        "most D/2 times its share of these pairs, at the step when it arrives and at each later "
        "one while the buffer may keep it; all together are one Gaussian release of the root of "
        "the sum of squares",
        _gradients,
        _gradients_in_closed_form,
        ("loss",),
    )
)
