r"""A small dense network with one score for each row, and gradients of each without storing them.

.. math:: s(x) = a^T x + b + v^T h_L, \qquad h_l = \tanh(W_l^T h_{l-1} + b_l), \quad h_0 = x.

The linear part :math:`a^T x + b` skips all layers. The gradient of one record's score in
:math:`(W_l, b_l)` is the outer product of :math:`(h_{l-1}, 1)` and :math:`δ_l`, the derivative in
what enters layer l, so its squared norm is :math:`(|h_{l-1}|² + 1)|δ_l|²`, and a weighted sum over
records is one matrix product a layer: neither needs the gradients one by one ("ghost norms").

A row of what is computed here depends on that row of x and on the parameters alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp._sums import BLOCK
from pairdp.algorithms.neural.score_network import Weights

Array = NDArray[np.float64]
_BIAS = 0.5
_MOST_LAYERS, _WIDEST = 8, 4096
_PUBLIC_ROWS = 1000


class Pass(NamedTuple):
    """What one pass over a block of rows computes.

    Attributes
    ----------
    scores : array of shape (n,)
        The scores.
    layers : list of arrays of shape (n, width)
        The rows, and the outputs of the layers.
    """

    scores: Array
    layers: list[Array]


class Gradients(NamedTuple):
    """The gradients of the scores of a block, in factors.

    Attributes
    ----------
    layers : list of arrays
        Those of a `Pass`.
    deltas : list of arrays
        The derivatives of the score in what enters each layer.
    squares : array of shape (n,)
        The squared norms of the gradients.
    """

    layers: list[Array]
    deltas: list[Array]
    squares: Array


@dataclass(frozen=True)
class Network:
    """The shape of a network; its parameters are one vector.

    Parameters
    ----------
    features : int
        Number of features of a row.
    hidden : tuple of int
        The widths of the layers; none for a linear model.
    """

    features: int
    hidden: tuple[int, ...] = (32, 16)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the parameters: (W_l, b_l) of each layer, v, and (a, b)."""
        widths = (self.features, *self.hidden)
        layers = tuple((before + 1, after) for before, after in pairwise(widths))
        return (*layers, *([self.hidden[-1:]] if self.hidden else []), (self.features + 1,))

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def block(self) -> int:
        """The number of rows of a block."""
        return BLOCK

    @property
    def linear(self) -> slice:
        """The places of the linear part, which come last."""
        return slice(self.size - self.features - 1, self.size)

    def parts(self, parameters: Array) -> list[Array]:
        """Return the parameters by shape, as views."""
        found, start = [], 0
        for shape in self.shapes:
            stop = start + math.prod(shape)
            found.append(parameters[start:stop].reshape(shape))
            start = stop
        return found

    def initial(self, seed: int) -> Array:
        """Return random weights of the layers, from a public seed, and zeros elsewhere.

        For rows of norm about 1, what enters each layer has a standard deviation of about 1.
        """
        generator = np.random.default_rng(seed)
        parameters = np.zeros(self.size)
        layers = len(self.hidden)
        for place, part in enumerate(self.parts(parameters)[:layers]):
            part[...] = generator.normal(size=part.shape)
            part[:-1] /= 1.0 if place == 0 else math.sqrt(len(part) - 1)
            part[-1] *= _BIAS
        return parameters

    def typical_norm(self, seed: int) -> float:
        """Return the median norm of gradients at random weights, for public normal rows."""
        generator = np.random.default_rng([seed, 1])
        rows = generator.normal(size=(_PUBLIC_ROWS, self.features)) / math.sqrt(self.features)
        parameters = self.initial(seed)
        if self.hidden:
            last = self.parts(parameters)[-2]
            last[...] = generator.normal(size=last.shape) / math.sqrt(last.size)
        gradients = self.gradients(parameters, self.forward(parameters, rows))
        return float(np.sqrt(np.median(gradients.squares)))

    def forward(self, parameters: Array, rows: Array) -> Pass:
        """Return the scores of rows, and the outputs of all layers."""
        parts = self.parts(parameters)
        layers = [rows]
        for part in parts[: len(self.hidden)]:
            layers.append(np.tanh(layers[-1] @ part[:-1] + part[-1]))
        scores = rows @ parts[-1][:-1] + parts[-1][-1]
        if self.hidden:
            scores = scores + layers[-1] @ parts[-2]
        return Pass(scores, layers)

    def gradients(self, parameters: Array, found: Pass, *, only_linear: bool = False) -> Gradients:
        """Return the gradients of scores in factors, in all parameters or in the linear part."""
        rows = found.layers[0]
        squares = _squares(rows) + 1
        if only_linear or not self.hidden:
            return Gradients([rows], [], squares)
        parts, layers = self.parts(parameters), found.layers
        squares += _squares(layers[-1])
        deltas: list[Array] = []
        delta = (1 - layers[-1] ** 2) * parts[-2]
        for place in range(len(self.hidden) - 1, -1, -1):
            deltas.insert(0, delta)
            squares += _squares(delta) * (_squares(layers[place]) + 1)
            if place:
                delta = (delta @ parts[place][:-1].T) * (1 - layers[place] ** 2)
        return Gradients(layers, deltas, squares)

    def scores(self, parameters: Array, rows: Array) -> Array:
        """Return the scores of rows."""
        return self.forward(parameters, rows).scores

    def gradient_sum(
        self, parameters: Array, rows: Array, weights: Weights, *, only_linear: bool = False
    ) -> Array:
        """Return Σ weight·gradient over rows; see `ScoreNetwork`."""
        found = self.forward(parameters, rows)
        gradients = self.gradients(parameters, found, only_linear=only_linear)
        return self.weighted_sum(gradients, weights(found.scores, np.sqrt(gradients.squares)))

    def weighted_sum(self, gradients: Gradients, weights: Array) -> Array:
        """Return Σ weight·gradient over a block, of size `size`; zeros where there is none."""
        total = np.zeros(self.size)
        parts = self.parts(total)
        rows = gradients.layers[0]
        parts[-1][:-1], parts[-1][-1] = weights @ rows, weights.sum()
        for place, delta in enumerate(gradients.deltas):
            weighted = delta * weights[:, None]
            parts[place][:-1] = gradients.layers[place].T @ weighted
            parts[place][-1] = weighted.sum(axis=0)
        if gradients.deltas:
            parts[-2][...] = weights @ gradients.layers[-1]
        return total


def _squares(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def checked_hidden(hidden: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of hidden layers; an error if they make no sense."""
    if isinstance(hidden, str) or not isinstance(hidden, Sequence):
        raise TypeError(f"hidden must be a sequence of widths such as (32, 16), got {hidden!r}")
    if not 1 <= len(hidden) <= _MOST_LAYERS:
        raise ValueError(f"hidden must have 1 to {_MOST_LAYERS} layers, got {len(hidden)}")
    return tuple(integer("hidden", width, at_most=_WIDEST) for width in hidden)
