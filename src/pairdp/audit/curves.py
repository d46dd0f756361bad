r"""Testing the whole trade-off of a certificate, not just its point at the claimed δ.

A certificate proves a δ(ε') for every ε'. At a small δ a few thousand runs show little, since
events of probability δ rarely occur; at moderate ε' they show much more. Counts prove

.. math:: δ(ε') ≥ \max(p_- - e^{ε'}q_+, (1 - q_+) - e^{ε'}(1 - p_-)),

and where that is above the certificate's δ(ε'), the certificate is refuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.audit.counting import Counts, at_least, at_most, candidates

Array = NDArray[np.float64]
Curve = Callable[[float], float]
_POINTS = 8


class CurvePoint(NamedTuple):
    """A point of a certificate's trade-off to be tested, with a threshold for scores."""

    threshold: float
    epsilon: float
    delta: float
    promised: float


def delta_of(counts: Counts, epsilon: float, error: float) -> float:
    """Return a lower bound on δ at ε, for any release."""
    low = at_least(counts.hits, counts.runs, error / 2)
    high = at_most(counts.false_hits, counts.false_runs, error / 2)
    return float(_deltas(low, high, epsilon))


def points_of(curve: Curve, claimed: float) -> list[tuple[float, float]]:
    """Return some points of a trade-off, from ε' = 0 to a little above the claimed ε."""
    found = [0.0, *(claimed * np.geomspace(0.02, 1.2, _POINTS - 1))]
    return [(float(epsilon), curve(float(epsilon))) for epsilon in found]


def best_point(
    points: list[tuple[float, float]], one: Array, other: Array, runs: int, error: float
) -> CurvePoint:
    """Return the point and the threshold at which a violation is most likely to show.

    Parameters
    ----------
    points : list of (ε', δ')
        Points of the certificate's trade-off.
    one, other : array
        Scores to choose on, higher for the other data set.
    runs, error
        As for `best_threshold`.
    """
    grid, caught, wrongly = candidates(one, other)
    low = at_least(np.floor(caught * runs), runs, error / 2)
    high = at_most(np.ceil(wrongly * runs), runs, error / 2)
    best = CurvePoint(float(grid[0]), *points[0], -math.inf)
    for epsilon, delta in points:
        promised = _deltas(low, high, epsilon) - delta
        place = int(promised.argmax())
        if promised[place] > best.promised:
            best = CurvePoint(float(grid[place]), epsilon, delta, float(promised[place]))
    return best


def _deltas(low: Array, high: Array, epsilon: float) -> Array:
    odds = math.exp(epsilon)
    either = np.maximum(low - odds * high, (1 - high) - odds * (1 - low))
    return np.asarray(np.maximum(either, 0.0))
