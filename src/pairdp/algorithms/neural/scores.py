"""A fitted network: a small object that scores rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.neural.score_network import ScoreNetwork

Array = NDArray[np.float64]
LARGEST_ROW = 2.0
"""Standardised rows, of norm about 1, are clipped to this norm."""


def standardized(x: Array, centre: Array, scales: Array) -> Array:
    """Return standardised rows (x - c)/(s√d), of norm at most `LARGEST_ROW`."""
    found = (x - centre) / (scales * math.sqrt(centre.size))
    norms = np.sqrt(np.einsum("ij,ij->i", found, found))
    found *= (LARGEST_ROW / np.maximum(norms, LARGEST_ROW))[:, None]
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class NetworkScores:
    """Scores of a network of standardised rows.

    Attributes
    ----------
    network : ScoreNetwork
        The network.
    centre, scales : arrays of shape (d,)
        What rows are standardised by.
    parameters : array
        The parameters of the network.
    """

    network: ScoreNetwork
    centre: Array
    scales: Array
    parameters: Array

    def __post_init__(self) -> None:
        d = self.network.features
        if self.centre.shape != (d,) or self.scales.shape != (d,) or not np.all(self.scales > 0):
            raise ValueError("there is not one centre and one positive scale for each feature")
        if self.parameters.shape != (self.network.size,):
            raise ValueError(f"the network has {self.network.size} parameters")
        if not all(np.all(np.isfinite(a)) for a in (self.centre, self.scales, self.parameters)):
            raise ValueError("the numbers of a model must be finite")

    def rows(self, x: Array) -> Array:
        """Return standardised rows (x - c)/(s√d), of norm at most `LARGEST_ROW`."""
        return standardized(x, self.centre, self.scales)

    def scores(self, rows: Array) -> Array:
        """Return the scores of rows."""
        found = np.empty(len(rows))
        size = self.network.block
        for start in range(0, len(rows), size):
            some = slice(start, start + size)
            found[some] = self.network.scores(self.parameters, self.rows(rows[some]))
        return found
