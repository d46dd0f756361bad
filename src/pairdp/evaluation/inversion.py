"""Intervals by the inversion of tests: all values that are not rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVEL = 0.95
_STEPS = 1001
_REFINED = 30


class Interval(NamedTuple):
    """The ends of an interval."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """The difference of its ends."""
        return self.upper - self.lower


def inverted(
    kept: Callable[[Array], NDArray[np.bool_]], estimate: float, steps: int = _STEPS
) -> Interval:
    """Return the smallest interval within [0, 1] that has all values which are kept.

    Parameters
    ----------
    kept : callable
        Which values of an array a test does not reject.
    estimate : float
        The estimated value, which is tried too, since an interval may lie between two steps.
    steps : int
        How many values are tried before the ends are refined.
    """
    values = np.unique(np.append(np.linspace(0.0, 1.0, steps), estimate))
    places = np.flatnonzero(kept(values))
    if places.size == 0:
        return Interval(estimate, estimate)
    first, last = int(places[0]), int(places[-1])
    lower = values[0] if first == 0 else _edge(kept, values[first - 1], values[first])
    upper = values[-1] if last == values.size - 1 else _edge(kept, values[last + 1], values[last])
    return Interval(float(lower), float(upper))


def _edge(kept: Callable[[Array], NDArray[np.bool_]], outside: float, inside: float) -> float:
    """Return where values are no longer kept, between two of them."""
    for _ in range(_REFINED):
        middle = (outside + inside) / 2
        if kept(np.array([middle]))[0]:
            inside = middle
        else:
            outside = middle
    return inside
