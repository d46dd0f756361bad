r"""A private choice of the pairs of columns whose products are added.

For factors a_1 … a_d of a record (normal scores, or standardised shapes), v is the vector of all
products a_i·a_j with i < j, divided by max(|v|, √m) for m pairs, so that its norm is at most 1. The
logistic gradient with respect to the weights of the products, (p - y)v, is clipped to norm `CLIP`,
with p from the points of naive Bayes. Its mean over records is released, as any gradient of the
descent, and the k pairs of largest size are chosen: a function of what was released.

**Rounding.** Squares of products are added up, none of which is negative, so a norm has a relative
error of at most (d² + 4)u. The sums are those of blocks in `pairdp._sums`, of terms of norm at most
`CLIP`. The bound "mean of clipped gradients" with amplification 1 pays for more than both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.scorecard.descent import CLIP, LabelledBins, chances

Array = NDArray[np.float64]
Pairs = tuple[tuple[int, int], ...]


def pairs_of(columns: int) -> Pairs:
    """Return all pairs of two different columns, in order."""
    return tuple((i, j) for i in range(columns) for j in range(i + 1, columns))


def gradient_of_products(
    factors: Sequence[Array], points: Sequence[Array], intercept: float, records: LabelledBins
) -> Array:
    """Return Σ of the clipped gradients with respect to the products of all pairs.

    Parameters
    ----------
    factors, points : sequence of arrays
        The factor and the points of each bin of each column.
    intercept : float
        What is added to the points.
    records : LabelledBins
        The records.
    """
    places = np.triu_indices(len(factors), 1)
    radius = np.sqrt(float(len(places[0])))
    total = Total.zeros(len(factors), len(factors))
    for start in range(0, len(records.counted), BLOCK):
        some = slice(start, start + BLOCK)
        bins = records.bins[:, some]
        a = np.column_stack([one[row] for one, row in zip(factors, bins, strict=True)])
        squares = a**2
        before = np.cumsum(squares[:, :-1], axis=1)
        lengths = np.sqrt(np.einsum("ij,ij->i", squares[:, 1:], before))
        scores = sum(one[row] for one, row in zip(points, bins, strict=True)) + intercept
        slopes = chances(np.asarray(scores)) - records.positive[some]
        scale = 1 / np.maximum(lengths, radius)
        clip = CLIP / np.maximum(np.abs(slopes) * lengths * scale, CLIP)
        coefficients = slopes * clip * scale * records.counted[some]
        total += (a * coefficients[:, None]).T @ a
    return np.asarray(total.high[places])


def largest(gradient: Array, columns: int, count: int) -> Pairs:
    """Return the pairs with the largest entries of a released gradient, in order."""
    best = np.sort(np.argsort(-np.abs(gradient), kind="stable")[:count])
    pairs = pairs_of(columns)
    return tuple(pairs[place] for place in best)
