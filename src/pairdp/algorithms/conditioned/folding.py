"""Weights of linear features as weights of the rows that these were made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.conditioned.features import CONSTANT, Features
from pairdp.algorithms.moments import minimise_in_ball
from pairdp.algorithms.scorecard.descent import Whitening

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Folding:
    """The linear map between both kinds of weights, a function of released values.

    Attributes
    ----------
    features : Features
        Linear features.
    constant : float
        The value of the constant feature of rows, the last one, or 0 if there is none. Then an
        intercept is left out, which a ranker does not need.
    """

    features: Features
    constant: float

    def weights(self, of_features: Array) -> Array:
        """Return the weights of rows; those of several models are columns."""
        features = self.features
        d = features.centre.size
        slope = (of_features[:d].T * (features.largest / features.scales)).T
        if not self.constant:
            return np.asarray(slope)
        intercept = (of_features[-1] * CONSTANT - features.centre @ slope) / self.constant
        return np.concatenate([slope, intercept[None]])

    def closest(self, of_features: Array, whitening: Whitening, radius: float) -> Array:
        """Return weights of rows in a ball with the least mean squared change of scores.

        The mean is under the second moments that were released, of which the whitening is made.
        """
        features = self.features
        d = features.centre.size
        back = np.zeros((of_features.size, d + (self.constant > 0)))
        back[:d, :d] = np.diag(features.scales / features.largest)
        if self.constant:
            back[-1, :d] = features.centre / CONSTANT
            back[-1, -1] = self.constant / CONSTANT
        root = whitening.inverse @ back
        linear = root.T @ (whitening.inverse @ of_features)
        return minimise_in_ball(root.T @ root, linear, 0.0, radius)
