r"""A contrastive loss over all pairs of embeddings, in linear time.

Records of one class pull each other, \|e_i - e_j\|², and others push each other,
:math:`2R²(1 - |e_i-e_j|²/4R²)²`. The slope in the squared distance is 1 for the first, and
\|e_i - e_j\|²/4R² - 1 for the others, within [-1, 0] as embeddings are within R. Both are
polynomials, so sums over all partners follow from sums of 1, e, \|e\|², \|e\|²e and eeᵀ over each
class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.neural.embedding_network import squares_of

Array = NDArray[np.float64]
Classes = NDArray[np.intp]


class _Sums(NamedTuple):
    """Sums over partners of a record, one row a record."""

    number: Array
    first: Array
    square: Array
    third: Array
    second: Array

    @classmethod
    def of(cls, table: Array, k: int) -> _Sums:
        places = np.cumsum([1, k, 1, k])
        number, first, square, third, second = np.split(table, places, axis=1)
        return cls(number, first, square, third, second.reshape(-1, k, k))


def powers(embeddings: Array) -> Array:
    """Return (1, e, |e|², |e|²e, eeᵀ) of each embedding, as one row."""
    squares = squares_of(embeddings)[:, None]
    products = embeddings[:, :, None] * embeddings[:, None, :]
    ones = np.ones_like(squares)
    parts = [ones, embeddings, squares, squares * embeddings, products.reshape(len(ones), -1)]
    return np.concatenate(parts, axis=1)


def class_powers(embeddings: Array, classes: Classes, count: int) -> Array:
    """Return the sums of `powers` over each class; those of class -1 are not counted."""
    member = (classes[:, None] == np.arange(count)).astype(np.float64)
    return np.asarray(member.T @ powers(embeddings))


@dataclass(frozen=True, eq=False)
class PairContrast:
    """The derivatives of the average over pairs in each embedding.

    Attributes
    ----------
    table : array of shape (classes, 2 + 2k + k²)
        The sums of `powers` over each class.
    radius : float
        R.
    n : int
        Number of records, with null records.
    """

    table: Array
    radius: float
    n: int

    def slopes(self, embeddings: Array, classes: Classes) -> Array:
        """Return 2Σa(e - e')/(n-1) over the partners of each record; 0 for class -1."""
        k = embeddings.shape[1]
        own = self.table[np.maximum(classes, 0)]
        same, other = _Sums.of(own, k), _Sums.of(self.table.sum(axis=0) - own, k)
        squares = squares_of(embeddings)[:, None]
        pull = same.number * embeddings - same.first
        # Σ|e - e'|²(e - e') over the partners e' of other classes.
        inner = np.einsum("ij,ij->i", embeddings, other.first)[:, None]
        cubic = embeddings * (other.number * squares + other.square - 2 * inner)
        cubic -= squares * other.first + other.third
        cubic += 2 * np.einsum("ijk,ik->ij", other.second, embeddings)
        push = other.number * embeddings - other.first - cubic / (4 * self.radius**2)
        found = 2 * (pull - push) / (self.n - 1)
        return np.asarray(np.where(classes[:, None] >= 0, found, 0.0))
