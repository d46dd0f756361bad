r"""Sums of clipped gradients of embeddings over all records, in blocks.

Embeddings are clipped to norm R. The Jacobian of a clipped embedding is PJ with
:math:`P = (R/|e|)(I - ee^⊤/|e|²)` outside the ball and P = I inside, so \|P\| ≤ 1.

**Reference points**: :math:`Σ_i clip_C((P_iJ_i)^⊤g_i)/n`, where g_i depends on record i and on
released values. A replaced record changes it by at most 2C/n.

**Pairs**: :math:`Σ_i (P_iJ̃_i)^⊤v_i/n` with Jacobians clipped to Frobenius norm C and v_i the
derivative of a contrastive loss over pairs (`pairdp.algorithms.neural.pair_contrast`). The bound is
in `pairdp.privacy.bounds.embeddings`. (To clip J_iᵀv_i would not do: v_i has the embeddings of all
partners, so that a record changes all terms.)

Rounding is as for scores (`pairdp.algorithms.neural.clipped_sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.neural.embedding_network import EmbeddingNetwork, squares_of
from pairdp.algorithms.neural.pair_contrast import PairContrast, class_powers

Array = NDArray[np.float64]
Classes = NDArray[np.intp]
_SLACK = 1 - 1e-9


def clipped(outputs: Array, radius: float) -> tuple[Array, Array]:
    """Return rows clipped to a norm, and the factors that clip them."""
    norms = np.sqrt(squares_of(outputs))
    factors = np.where(norms > radius, radius * _SLACK / np.maximum(norms, radius), 1.0)
    return outputs * factors[:, None], factors


def _through(vectors: Array, embeddings: Array, factors: Array) -> Array:
    """Return Pᵀg for each row, with P the derivative of clipping an embedding."""
    inner = np.einsum("ij,ij->i", vectors, embeddings) / np.maximum(squares_of(embeddings), 1e-300)
    along = np.where(factors < 1, inner, 0.0)
    return factors[:, None] * (vectors - along[:, None] * embeddings)


@dataclass(frozen=True, eq=False)
class EmbeddingRecords:
    """Standardised rows and their classes; as private as the data.

    Attributes
    ----------
    network : EmbeddingNetwork
        The network.
    rows : array of shape (n, d)
        Standardised rows.
    classes : array of shape (n,)
        The numbers of their classes; -1 for null records and for classes that are not learned.
    radius : float
        R, the norm that embeddings are clipped to.
    """

    network: EmbeddingNetwork
    rows: Array
    classes: Classes
    radius: float

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.rows)

    def _blocks(self) -> Iterator[slice]:
        return (slice(start, start + BLOCK) for start in range(0, self.n, BLOCK))

    def mean_of_clipped(
        self, parameters: Array, slopes: Callable[[Array, Classes], Array], clip: float
    ) -> Array:
        """Return the mean of the gradients of gᵀe, each clipped to a norm.

        Parameters
        ----------
        parameters : array
            The parameters of the network.
        slopes : callable
            The vector g of each record, from its embedding and its class.
        clip : float
            C.
        """
        return self._mean(parameters, slopes, clip, jacobians=False)

    def mean_over_pairs(self, parameters: Array, count: int, clip: float) -> Array:
        """Return the gradient of a contrastive loss over pairs, with Jacobians clipped to a norm.

        Parameters
        ----------
        parameters : array
            The parameters of the network.
        count : int
            Number of classes.
        clip : float
            C.
        """
        k = self.network.components
        total = Total.zeros(count, 2 + 2 * k + k * k)
        for some in self._blocks():
            outputs = self.network.forward(parameters, self.rows[some]).outputs
            embeddings, _ = clipped(outputs, self.radius)
            total += class_powers(embeddings, self.classes[some], count)
        contrast = PairContrast(total.high, self.radius, self.n)
        return self._mean(parameters, contrast.slopes, clip, jacobians=True)

    def _mean(
        self,
        parameters: Array,
        slopes: Callable[[Array, Classes], Array],
        clip: float,
        *,
        jacobians: bool,
    ) -> Array:
        network = self.network
        total = Total.zeros(network.size)
        for some in self._blocks():
            found = network.forward(parameters, self.rows[some])
            embeddings, inside = clipped(found.outputs, self.radius)
            vectors = _through(slopes(embeddings, self.classes[some]), embeddings, inside)
            products = network.products(parameters, found, vectors)
            squares = network.jacobian_squares(parameters, found) if jacobians else products.squares
            factors = clip * _SLACK / np.maximum(np.sqrt(squares), clip)
            total += network.summed(found, products.deltas, vectors, factors)
        return np.asarray(total.high / self.n)
