"""A fitted model of expanded features: a small object that scores rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK
from pairdp.algorithms.conditioned.features import Features, feature_count

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExpandedScores:
    """Scores that are linear in an expansion of rows.

    Attributes
    ----------
    expansion : {"linear", "additive", "quadratic"}
        The functions of rows; see `pairdp.algorithms.conditioned.features`.
    centre, scales : arrays of shape (d,)
        What rows are standardised by.
    weights : array
        The weights of the features, without that of the constant.
    intercept : float
        What is added to every score.
    """

    expansion: str
    centre: Array
    scales: Array
    weights: Array
    intercept: float

    def __post_init__(self) -> None:
        d = self.centre.size
        if self.expansion not in ("linear", "additive", "quadratic"):
            raise ValueError(f"there is no expansion {self.expansion!r}")
        if self.centre.shape != (d,) or self.scales.shape != (d,) or not np.all(self.scales > 0):
            raise ValueError("there is not one centre and one positive scale for each feature")
        if self.weights.shape != (feature_count(self.expansion, d, intercept=False),):
            raise ValueError("there is not one weight for each feature of the expansion")
        numbers = (self.centre, self.scales, self.weights, np.array([self.intercept]))
        if not all(np.all(np.isfinite(one)) for one in numbers):
            raise ValueError("the numbers of a model must be finite")

    @classmethod
    def of(
        cls, expansion: str, parameters: Array, statistics: Mapping[str, Array]
    ) -> ExpandedScores:
        """Return the model of a release: ``fit.parameters`` and ``fit.statistics``.

        The parameters are the weights and, last, the intercept.
        """
        return cls(
            expansion,
            np.array(statistics["centre"]),
            np.array(statistics["scales"]),
            np.array(parameters[:-1]),
            float(parameters[-1]),
        )

    def scores(self, rows: Array) -> Array:
        """Return the scores of rows."""
        features = Features(self.expansion, self.centre, self.scales, intercept=False)
        found = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            some = slice(start, start + BLOCK)
            found[some] = features.unclipped(rows[some]) @ self.weights + self.intercept
        return found
