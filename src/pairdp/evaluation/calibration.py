"""Probabilities from scores, fitted to noisy counts by class (Platt's method)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from pairdp.evaluation.ratios import CountNoise

Array = NDArray[np.float64]

_STEPS = 50
_CLEAR = 1.5
_PRIOR = 1.0


class Calibration(NamedTuple):
    """The log-odds of the positive class as a line in the score, with a slope of at least zero."""

    slope: float
    intercept: float

    def probability(self, scores: ArrayLike) -> Array:
        """Return the probability of the positive class for scores."""
        found = self.slope * np.asarray(scores, dtype=np.float64) + self.intercept
        return np.asarray(expit(found))


def fit_calibration(edges: Sequence[float], counts: Array, noise: CountNoise) -> Calibration:
    """Return the line with the largest likelihood, given noisy counts.

    Bins whose count is within the noise are left out, since noise in empty bins would bend the
    line. A weak prior keeps the line finite if the classes do not overlap.

    Parameters
    ----------
    edges : sequence of float
        The edges of the bins.
    counts : array of shape (2, bins)
        Noisy counts of the negative and the positive class.
    noise : CountNoise
        The noise of each count.
    """
    middles = _middles(np.asarray(edges, dtype=np.float64))
    clear = counts.sum(axis=0) > _CLEAR * np.sqrt(2) * noise.deviation
    kept = np.maximum(counts[:, clear], 0.0)
    if not clear.any() or kept.sum() == 0:
        return Calibration(0.0, 0.0)
    center, scale = float(middles[clear].mean()), float(np.ptp(middles[clear])) or 1.0
    z = (middles[clear] - center) / scale
    total, positive = kept.sum(axis=0), kept[1]
    design = np.column_stack([np.ones(z.size), z])
    line = np.zeros(2)
    for _ in range(_STEPS):
        p = expit(design @ line)
        gradient = design.T @ (positive - total * p) - np.array([0.0, _PRIOR * line[1] / 100])
        curvature = (design.T * (total * p * (1 - p))) @ design + np.diag([1e-9, _PRIOR / 100])
        step = np.linalg.solve(curvature, gradient)
        line = line + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
    if line[1] < 0:
        share = np.clip(positive.sum() / total.sum(), 1e-9, 1 - 1e-9)
        return Calibration(0.0, float(np.log(share / (1 - share))))
    return Calibration(float(line[1] / scale), float(line[0] - line[1] * center / scale))


def _middles(edges: Array) -> Array:
    """Return a place in each bin; for the outer bins, as far outside as the next bin is wide."""
    if edges.size == 1:
        return np.array([edges[0] - 0.5, edges[0] + 0.5])
    widths = np.diff(edges)
    inner = (edges[1:] + edges[:-1]) / 2
    return np.concatenate([[edges[0] - widths[0] / 2], inner, [edges[-1] + widths[-1] / 2]])
