r"""Derivatives of losses in a score, and their typical sizes.

The gradient of one record is φ'(s, y)·x for a score s = wᵀx. Steps and clipping need the size of
φ' and of its derivative, which follow from the loss alone: S = max|φ'(0, ±b)| and the average
curvature H = mean (φ'(b, y) - φ'(-b, y))/(2b) over y = ±b, with b the bound of targets, or the
temperature of a loss of two classes. For the logistic loss, S = ½ and H = 0.23.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.losses import LogisticPointwise, PointwiseLoss

Array = NDArray[np.float64]
_LARGEST = 1e100


@dataclass(frozen=True)
class Slopes:
    """The derivative of a loss in the score.

    Parameters
    ----------
    loss : PointwiseLoss
        A loss of a linear score; labels are ±1, or targets.
    """

    loss: PointwiseLoss

    def of(self, scores: Array, y: Array) -> Array:
        """Return φ'(s, y), finite for all records."""
        if type(self.loss) is LogisticPointwise and self.loss.temperature == 1:
            return _logistic(scores, y)
        # The second entry of φ'·(s, 1), which is the gradient at w = (1, 0).
        rows = np.column_stack([scores, np.ones_like(scores)])
        found = self.loss.gradient(np.array([1.0, 0.0]), rows, y)[:, 1]
        return np.clip(np.nan_to_num(found), -_LARGEST, _LARGEST)

    @property
    def bound(self) -> float:
        """b, the bound of targets, or the score at which a loss of two classes is flat."""
        if not self.loss.binary:
            return float(self.loss.label_bound or 1.0)
        return float(getattr(self.loss, "temperature", 1.0))

    @property
    def size(self) -> float:
        """S, the typical size of φ'."""
        return float(np.abs(self.of(np.zeros(2), self._labels)).max())

    @property
    def curvature(self) -> float:
        """H, the typical derivative of φ'."""
        b, y = self.bound, self._labels
        rise = self.of(np.full(2, b), y) - self.of(np.full(2, -b), y)
        found = float(rise.mean()) / (2 * b)
        return found if found > 0 else self.size / b

    @property
    def _labels(self) -> Array:
        return np.array([-1.0, 1.0]) * (1.0 if self.loss.binary else self.bound)


def _logistic(scores: Array, y: Array) -> Array:
    """Return -y/(1 + e^{ys}); numpy's exponential is several times as fast as ``expit``."""
    found = y * scores
    with np.errstate(all="ignore"):  # an infinite exponential gives zero
        np.exp(found, out=found)
    found += 1
    return np.divide(-y, found, out=found)
