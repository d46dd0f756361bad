r"""All products of two columns and all squares, in coordinates in which they are about isotropic.

With factors a of a record (normal scores, or standardised shapes for categories), R their
correlations from released second moments and L = (tR)^{-1/2}, the columns of h = aL are about
uncorrelated. If they were normal, all products of two different ones and (h_i² - e_i)/√2, with
e_i = E h_i², would be uncorrelated too, with equal variances. So no second moments of products are
released, and the features of a record are

.. math:: z = (h_i h_j \text{ for } i < j, \; (h_i^2 - e_i)/\sqrt 2), \qquad
          |z|^2 = (|h|^4 - 2Σ e_i h_i^2 + Σ e_i^2)/2,

in time d² a record for d columns, and |z|² is about r² = ((Σe)² + Σe²)/2. 1/t² is
`damping_of`: the less the budget buys, the less products weigh beside the other features.

**Rounding.** h is a function of the record. For s = |h|² + Σ|e|, the computed |z|² has an error of
at most (d + 4)u·s², u = 2⁻⁵³, and `squared_norms` adds more than that, so that no norm is below the
true one. A sum Σ c·z over records is that of c·hhᵀ in blocks of `pairdp._sums` less e·Σc. Since
|hhᵀ| ≤ √2|z| + |e| and |e| ≤ r, its error is at most `SUMMING` times 3 in units of the width of the
descent, which is at least 2r and at least |z| after clipping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total

Array = NDArray[np.float64]
Bins = NDArray[np.int16]
_LEAST_EIGENVALUE = 0.1
_SLACK = 2.0**-48
_NOISE = 13.0
"""How much faster the noise of second moments of products grows than that of scales."""


def damping_of(columns: int, products: int, ridge: float) -> float:
    """Return the expected square of each product, given the ridge of second moments of the scales.

    It is 1/(1 + 13·ridge·products/columns), as for features that are whitened with a ridge: for
    all products, about what whitening by noisy second moments of their own would give.
    """
    return 1 / (1 + _NOISE * ridge * products / columns)


@dataclass(frozen=True, eq=False)
class SquareFeatures:
    """The features of all products, functions of released values.

    Attributes
    ----------
    factors : tuple of arrays of shape (bins,)
        The factor of each column, by bin.
    matrix : array of shape (columns, columns)
        L.
    expected : array of shape (columns,)
        e.
    """

    factors: tuple[Array, ...]
    matrix: Array
    expected: Array

    @staticmethod
    def of(
        factors: Sequence[Array],
        variances: Array,
        correlations: Array,
        damping: float,
    ) -> SquareFeatures:
        """Return the features.

        Parameters
        ----------
        factors : sequence of arrays
            The factors by column and bin.
        variances, correlations : arrays
            Their variances, and their estimated correlations.
        damping : float
            1/t², the expected square of a feature.
        """
        values, vectors = np.linalg.eigh(correlations)
        matrix = vectors * np.sqrt(math.sqrt(damping) / np.maximum(values, _LEAST_EIGENVALUE))
        deviations = np.sqrt(variances)
        spread = deviations[:, None] * correlations * deviations
        expected = np.maximum(np.einsum("ij,ik,kj->j", matrix, spread, matrix), 0.0)
        return SquareFeatures(tuple(factors), matrix, expected)

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.factors) * (len(self.factors) + 1) // 2

    @property
    def squared_radius(self) -> float:
        """The expected squared norm of the features of a normal h."""
        return float(self.expected.sum() ** 2 + self.expected @ self.expected) / 2

    def rows(self, bins: Bins) -> Array:
        """Return h of records, given their bins of shape (columns, n)."""
        n = bins.shape[1]
        found = np.empty((n, len(self.factors)))
        for start in range(0, n, BLOCK):
            some = slice(start, start + BLOCK)
            parts = [f.take(codes[some]) for f, codes in zip(self.factors, bins, strict=True)]
            np.matmul(np.array(parts).T, self.matrix, out=found[some])
        return found

    def squared_norms(self, rows: Array) -> Array:
        """Return |z|² for rows of h, and never less."""
        squares = rows**2
        sizes = squares.sum(axis=1)
        total = float(self.expected.sum())
        norms = sizes**2
        norms -= 2 * (squares @ self.expected)
        norms += float(self.expected @ self.expected)
        norms /= 2
        norms += _SLACK * len(self.factors) * (sizes + total) ** 2
        return np.asarray(norms)

    def form(self, weights: Array) -> tuple[Array, float]:
        """Return a symmetric matrix S and c, such that the features add hᵀSh + c to a score."""
        columns = len(self.factors)
        matrix = np.zeros((columns, columns))
        matrix[np.triu_indices(columns)] = weights
        diagonal = np.diag(matrix) / math.sqrt(2)
        matrix = (matrix + matrix.T) / 2
        np.fill_diagonal(matrix, diagonal)
        return matrix, -float(diagonal @ self.expected)

    def scores(self, rows: Array, weights: Array) -> Array:
        """Return what the features add to the scores of rows of h."""
        matrix, constant = self.form(weights)
        return np.asarray(np.einsum("ij,ij->i", rows @ matrix, rows) + constant)

    def sums(self, rows: Array, coefficients: Array) -> Array:
        """Return Σ c·z over rows of h."""
        total = Total.zeros(len(self.factors), len(self.factors))
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            part = coefficients[start : start + BLOCK]
            found = (some * part[:, None]).T @ some
            diagonal = (np.diag(found) - self.expected * part.sum()) / math.sqrt(2)
            np.fill_diagonal(found, diagonal)
            total += found
        return np.asarray(total.high[np.triu_indices(len(self.factors))])

    def interactions(self, weights: Array) -> tuple[Array, float]:
        """Return Q and c such that products contribute Σ_{i≤j} Q_ij·a_i·a_j + c to a score."""
        form, constant = self.form(weights)
        return _upper(self.matrix @ form @ self.matrix.T), constant

    def deviations(self, deviation: float) -> Array:
        """Return the deviations of the entries of Q, for that of each weight.

        S has the variances v/4 off the diagonal and v/2 on it, so that the variance of aᵀSb is
        v/4·(|a|²|b|² + (aᵀb)²).
        """
        gram = self.matrix @ self.matrix.T
        sizes = np.diag(gram)
        return _upper(deviation / 2 * np.sqrt(np.outer(sizes, sizes) + gram**2))


def _upper(matrix: Array) -> Array:
    """Return the upper triangle with its entries off the diagonal twice."""
    return np.triu(matrix) + np.triu(matrix, 1)
