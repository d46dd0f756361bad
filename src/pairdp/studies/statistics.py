"""Means of runs and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


def interval(runs: Sequence[float]) -> Interval:
    """Return the mean of runs and its 95 % confidence interval by Student's t."""
    values = np.asarray(runs, dtype=np.float64)
    if values.size < 2:
        raise ValueError(f"an interval needs at least 2 runs, got {values.size}")
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / values.size**0.5
    half = float(stdtrit(values.size - 1, (1 + LEVEL) / 2)) * error
    return Interval(mean, mean - half, mean + half)
