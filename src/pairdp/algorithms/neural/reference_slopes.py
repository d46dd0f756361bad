r"""Slopes of a record's pairs with released distributions of scores.

The gradient of the logistic loss of all pairs is Σᵢ cᵢ∇sᵢ, where for a positive record
:math:`c_i = -Σ_j σ(s_j - s_i)` over the negatives j, and the other way round. With noisy histograms
of the scores of both classes in place of the records j, cᵢ depends on record i and on released
values alone. So each term can be clipped on its own, and no record is in another one's slope.

Coefficients are in units of the largest one: with a share π of positives, those of positives are
scaled by (1-π)/m and those of negatives by π/m, m = max(π, 1-π), as in the sum over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]
LARGEST = 4.0
"""Scores beyond ± this are counted in the outer bins."""
BINS = 17
_CENTRES = np.linspace(-LARGEST, LARGEST, BINS)
_SCORES = np.linspace(-2 * LARGEST, 2 * LARGEST, 257)
_LEAST_SHARE = 0.02


def count_scores(scores: Array, y: Array) -> Array:
    """Return the numbers of negatives and of positives by bin of their scores, of shape (2, BINS).

    Records with other labels than -1 and 1 are null records, and not counted.
    """
    spacing = 2 * LARGEST / (BINS - 1)
    places = np.rint((np.clip(scores, -LARGEST, LARGEST) + LARGEST) / spacing).astype(np.intp)
    found = [np.bincount(places[y == label], minlength=BINS) for label in (-1, 1)]
    return np.array(found, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ReferenceSlopes:
    """Slopes by score for both classes, from noisy counts.

    Attributes
    ----------
    negative, positive : arrays
        The slopes of records of each class, at scores on a grid.
    """

    negative: Array
    positive: Array

    @classmethod
    def of(cls, counts: Array) -> ReferenceSlopes:
        """Return the slopes of noisy counts of shape (2, BINS)."""
        kept = np.maximum(counts, 0.0)
        totals = kept.sum(axis=1)
        uniform = np.full(BINS, 1 / BINS)
        shares = [
            row / total if total > 0 else uniform for row, total in zip(kept, totals, strict=True)
        ]
        share = totals[1] / totals.sum() if totals.any() else 0.5
        pi = float(np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE))
        above = expit(_SCORES[:, None] - _CENTRES)
        scale = max(pi, 1 - pi)
        return cls(above @ shares[1] * pi / scale, -(1 - above) @ shares[0] * (1 - pi) / scale)

    def at(self, scores: Array, y: Array) -> Array:
        """Return the slope of each record, within ±1; 0 for null records."""
        positive = np.interp(scores, _SCORES, self.positive)
        negative = np.interp(scores, _SCORES, self.negative)
        return np.where(y > 0, positive, np.where(y < 0, negative, 0.0))
