r"""Functions of rows, in the unit ball, that a conditioned descent is linear in.

With c the centre, r the radius and s the scales of the features, all functions of released values,

- "linear": x - c, over its norm or over r, whichever is larger;
- "additive": with the standardised a = (x - c)/s, clipped to ±4, the linear part a, and seven hat
  functions of each a_j, with knots at ±2, ±1.2, ±0.6 and 0. They are non-negative and add up to 1,
  so the sum of their squares is at most 1, and the distance from ⅐ in every one is less than 1;
- "quadratic": besides, all products a_i·a_j of entries clipped to ±2.5, with squares minus 1.

Each block is scaled to an expected norm of at most 1, and the row to a norm of at most √(1-q) by
clipping it. A constant √q comes last, for an intercept, unless there is none. So every row is in
the unit ball exactly, whatever x is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
CONSTANT = math.sqrt(0.1)
"""√q, the last feature of every row."""
KNOTS = np.array([-2.0, -1.2, -0.6, 0.0, 0.6, 1.2, 2.0])
_WIDEST, _WIDEST_FACTOR = 4.0, 2.5
_SQUARES = 0.7


def feature_count(expansion: str, d: int, *, intercept: bool) -> int:
    """Return the number of features of an expansion of d numbers, the constant included."""
    hats = 0 if expansion == "linear" else len(KNOTS) * d
    products = d * (d + 1) // 2 if expansion == "quadratic" else 0
    return d + hats + products + intercept


@dataclass(frozen=True, eq=False)
class Features:
    """An expansion with its numbers, all functions of released values.

    Attributes
    ----------
    expansion : {"linear", "additive", "quadratic"}
        Which functions.
    centre : array of shape (d,)
        c.
    scales : array of shape (d,)
        s; the radius r for "linear".
    intercept : bool
        Whether there is a constant feature.
    """

    expansion: str
    centre: Array
    scales: Array
    intercept: bool = True

    @property
    def size(self) -> int:
        """Number of features, the constant included."""
        return feature_count(self.expansion, self.centre.size, intercept=self.intercept)

    @property
    def constant(self) -> float:
        """√q, the last feature of every row; 0 if there is none."""
        return CONSTANT if self.intercept else 0.0

    @property
    def has_one_scale(self) -> bool:
        """Whether rows are multiples of x - c, but for the constant."""
        return self.expansion == "linear" and bool(np.all(self.scales == self.scales[0]))

    def factors(self, away: Array) -> Array:
        """Return these multiples for distances |x - c|: √(1-q)/|x - c|, or √(1-q)/r if it is less.

        The distance is that of a computed x - c, with a relative error of at most (d/2 + 2)u for d
        numbers, u = 2⁻⁵³, so a row is as near the unit ball as one that `rows` returns.
        """
        found = np.maximum(away, self.scales[0])
        return np.asarray(np.divide(self.largest, found, out=found))

    def rows(self, x: Array, out: Array | None = None) -> Array:
        """Return the features of rows, each of norm at most 1; in ``out`` if it is given."""
        plain = self._expanded(x)
        norms = np.sqrt(np.einsum("ij,ij->i", plain, plain))
        factors = self.largest / np.maximum(norms, self.largest)
        found = np.empty((len(x), self.size)) if out is None else out
        np.multiply(plain, factors[:, None], out=self._varying(found))
        return found

    @property
    def largest(self) -> float:
        """The largest norm of a row without the constant."""
        return math.sqrt(1 - CONSTANT**2) if self.intercept else 1.0

    def unclipped(self, x: Array) -> Array:
        """Return the features of rows without clipping their norms, as for predictions."""
        found = np.empty((len(x), self.size))
        self._varying(found)[...] = self._expanded(x)
        return found

    def _varying(self, found: Array) -> Array:
        """Set the constant of rows, and return their other features, which are to be set."""
        if not self.intercept:
            return found
        found[:, -1] = CONSTANT
        return found[:, :-1]

    def _expanded(self, x: Array) -> Array:
        """Return the features of rows but the constant, without clipping their norms."""
        d = self.centre.size
        a = x - self.centre
        a /= self.scales
        if self.expansion == "linear":
            a *= self.largest
            return a
        np.clip(a, -_WIDEST, _WIDEST, out=a)
        inside = np.empty((len(x), self.size - self.intercept))
        blocks = 3 if self.expansion == "quadratic" else 2
        share = self.largest / math.sqrt(blocks)
        inside[:, :d] = a * (share / (2 * math.sqrt(d)))
        place = d
        for j in range(d):
            inside[:, place : place + len(KNOTS)] = _hats(a[:, j])
            place += len(KNOTS)
        inside[:, d:place] *= share / math.sqrt(d)
        if self.expansion == "quadratic":
            a = np.clip(a, -_WIDEST_FACTOR, _WIDEST_FACTOR)
            scale = share / math.sqrt(d * (d + 1) / 2)
            for i in range(d):
                products = a[:, i, None] * a[:, i:]
                products[:, 0] = (products[:, 0] - 1) * _SQUARES
                inside[:, place : place + d - i] = products * scale
                place += d - i
        return inside


def _hats(a: Array) -> Array:
    """Return seven hat functions minus their mean, of shape (n, 7)."""
    inside = np.clip(a, KNOTS[0], KNOTS[-1])
    left = np.clip(np.searchsorted(KNOTS, inside, side="right") - 1, 0, len(KNOTS) - 2)
    share = (inside - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
    found = np.full((a.size, len(KNOTS)), -1 / len(KNOTS))
    places = np.arange(a.size)
    found[places, left] += 1 - share
    found[places, left + 1] += share
    return found
