r"""What a neural descent needs of a network: scores, and weighted sums of their gradients.

The built-in `Network` and a user's torch module (`TorchNetwork`) have it. A score, and the norm
of its gradient, are functions of one row and the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Callable[[Array, Array], Array]
"""From the scores of a block of rows, and the norms of their gradients, to weights of these."""
CLIP_SLACK = 1 - 1e-9
"""Room for the rounding of norms, which clipping leaves."""


class ScoreNetwork(Protocol):
    """A function of parameters, one vector, and of rows, which has a score for each row."""

    @property
    def features(self) -> int:
        """Number of features of a row."""

    @property
    def size(self) -> int:
        """Number of parameters."""

    @property
    def linear(self) -> slice:
        """The places of the weights and the constant of a linear part; empty if there is none."""

    @property
    def block(self) -> int:
        """The number of rows of a block, at most `pairdp._sums.BLOCK`."""

    def initial(self, seed: int) -> Array:
        """Return initial parameters, from a public seed."""

    def typical_norm(self, seed: int) -> float:
        """Return the median norm of gradients for public random rows."""

    def scores(self, parameters: Array, rows: Array) -> Array:
        """Return the scores of a block of rows, all finite."""

    def gradient_sum(
        self, parameters: Array, rows: Array, weights: Weights, *, only_linear: bool = False
    ) -> Array:
        """Return Σ weight·gradient over a block of rows, of size `size`.

        Parameters
        ----------
        parameters : array
            The parameters.
        rows : array of shape (n, features)
            At most `block` rows.
        weights : callable
            The weights, which may clip.
        only_linear : bool
            Whether gradients are in the linear part only, and zero elsewhere.
        """


def clipping_factors(norms: Array, clip: float) -> Array:
    """Return the factors that clip gradients with these norms to norm at most C."""
    return np.asarray(clip * CLIP_SLACK / np.maximum(norms, clip))
