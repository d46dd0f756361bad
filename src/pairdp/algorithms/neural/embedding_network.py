r"""A small dense network with several outputs, and products with the Jacobians of each row.

.. math:: e(x) = U^⊤(h_L, x), \qquad h_l = \tanh(W_l^⊤ h_{l-1} + b_l), \quad h_0 = x.

For a vector g for each row, the gradient of :math:`g^⊤e` is in factors as in
`pairdp.algorithms.neural.network`: its norm and weighted sums over rows need no gradient of a
single row. The squared Frobenius norm of a Jacobian is the sum over the unit vectors g.

A row of what is computed here depends on that row of x and of g and on the parameters alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_BIAS = 0.5
_PUBLIC_ROWS = 1000


class Embedded(NamedTuple):
    """What one pass over a block of rows computes.

    Attributes
    ----------
    outputs : array of shape (n, k)
        The embeddings.
    layers : list of arrays of shape (n, width)
        The rows, and the outputs of the layers.
    joined : array
        (h_L, x).
    """

    outputs: Array
    layers: list[Array]
    joined: Array


class Products(NamedTuple):
    """The gradients of gᵀe of a block, in factors.

    Attributes
    ----------
    deltas : list of arrays
        The derivatives of gᵀe in what enters each layer.
    squares : array of shape (n,)
        The squared norms of the gradients.
    """

    deltas: list[Array]
    squares: Array


@dataclass(frozen=True)
class EmbeddingNetwork:
    """The shape of a network; its parameters are one vector.

    Parameters
    ----------
    features : int
        Number of features of a row.
    hidden : tuple of int
        The widths of the layers.
    components : int
        k, the number of outputs.
    """

    features: int
    hidden: tuple[int, ...]
    components: int

    @cached_property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The shapes of the parameters: (W_l, b_l) of each layer, and U."""
        widths = (self.features, *self.hidden)
        layers = tuple((before + 1, after) for before, after in pairwise(widths))
        return (*layers, (self.hidden[-1] + self.features, self.components))

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes)

    def parts(self, parameters: Array) -> list[Array]:
        """Return the parameters by shape, as views."""
        stops = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        found = np.split(parameters, stops)
        return [part.reshape(shape) for part, shape in zip(found, self.shapes, strict=True)]

    def initial(self, seed: int) -> Array:
        """Return random weights of the layers and their outputs, from a public seed.

        For rows of norm about 1, what enters a layer and what leaves the network has a standard
        deviation of about 1; the weights of the linear part are zero.
        """
        generator = np.random.default_rng(seed)
        parameters = np.zeros(self.size)
        *layers, last = self.parts(parameters)
        for place, part in enumerate(layers):
            part[...] = generator.normal(size=part.shape)
            part[:-1] /= 1.0 if place == 0 else math.sqrt(len(part) - 1)
            part[-1] *= _BIAS
        width = self.hidden[-1]
        last[:width] = generator.normal(size=(width, self.components)) / math.sqrt(width)
        return parameters

    def typical_norm(self, seed: int) -> float:
        """Return the median norm of gradients of gᵀe at random weights, rows and unit vectors g."""
        generator = np.random.default_rng([seed, 1])
        rows = generator.normal(size=(_PUBLIC_ROWS, self.features)) / math.sqrt(self.features)
        vectors = generator.normal(size=(_PUBLIC_ROWS, self.components))
        vectors /= np.sqrt(squares_of(vectors))[:, None]
        at = self.initial(seed)
        products = self.products(at, self.forward(at, rows), vectors)
        return float(np.sqrt(np.median(products.squares)))

    def forward(self, parameters: Array, rows: Array) -> Embedded:
        """Return the embeddings of rows, and the outputs of all layers."""
        *parts, last = self.parts(parameters)
        layers = [rows]
        for part in parts:
            layers.append(np.tanh(layers[-1] @ part[:-1] + part[-1]))
        joined = np.concatenate([layers[-1], rows], axis=1)
        return Embedded(joined @ last, layers, joined)

    def products(self, parameters: Array, found: Embedded, vectors: Array) -> Products:
        """Return the gradients of gᵀe for a vector g for each row, in factors."""
        *parts, last = self.parts(parameters)
        layers = found.layers
        squares = squares_of(vectors) * squares_of(found.joined)
        deltas: list[Array] = []
        delta = (vectors @ last[: self.hidden[-1]].T) * (1 - layers[-1] ** 2)
        for place in range(len(parts) - 1, -1, -1):
            deltas.insert(0, delta)
            squares += squares_of(delta) * (squares_of(layers[place]) + 1)
            if place:
                delta = (delta @ parts[place][:-1].T) * (1 - layers[place] ** 2)
        return Products(deltas, squares)

    def jacobian_squares(self, parameters: Array, found: Embedded) -> Array:
        """Return the squared Frobenius norm of the Jacobian of each row."""
        units = np.eye(self.components)
        shape = found.outputs.shape
        return np.asarray(
            sum(self.products(parameters, found, np.broadcast_to(u, shape)).squares for u in units)
        )

    def summed(self, found: Embedded, deltas: list[Array], vectors: Array, factors: Array) -> Array:
        """Return Σ factor·∇(gᵀe) over a block, of size `size`."""
        total = np.zeros(self.size)
        *parts, last = self.parts(total)
        for part, layer, delta in zip(parts, found.layers, deltas, strict=False):
            weighted = delta * factors[:, None]
            part[:-1], part[-1] = layer.T @ weighted, weighted.sum(axis=0)
        last[...] = found.joined.T @ (vectors * factors[:, None])
        return total


def squares_of(rows: Array) -> Array:
    """Return the squared norm of each row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
