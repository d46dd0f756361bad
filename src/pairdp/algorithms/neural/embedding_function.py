"""A fitted embedding: a small object that embeds rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK
from pairdp.algorithms.neural.embedding_network import EmbeddingNetwork
from pairdp.algorithms.neural.embedding_records import clipped
from pairdp.algorithms.neural.scores import standardized

Array = NDArray[np.float64]
LARGEST = 2.0
"""R, the norm that embeddings are clipped to. Reference points have norm 1."""


@dataclass(frozen=True, eq=False)
class EmbeddingFunction:
    """Embeddings of a network of standardised rows.

    Attributes
    ----------
    network : EmbeddingNetwork
        The shape of the network.
    centre, scales : arrays of shape (d,)
        What rows are standardised by.
    parameters : array
        The parameters of the network.
    """

    network: EmbeddingNetwork
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

    def embedded(self, rows: Array) -> Array:
        """Return the embeddings of rows, of norm at most `LARGEST`."""
        found = np.empty((len(rows), self.network.components))
        for start in range(0, len(rows), BLOCK):
            some = slice(start, start + BLOCK)
            standard = standardized(rows[some], self.centre, self.scales)
            outputs = self.network.forward(self.parameters, standard).outputs
            found[some] = clipped(outputs, LARGEST)[0]
        return found
