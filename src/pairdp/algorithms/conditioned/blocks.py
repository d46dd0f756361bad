"""Blocks of rows of features: as tables, or as centred rows with a factor for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Block(Protocol):
    """The features φ of some records, as long as the next block is not read."""

    def table(self) -> Array:
        """Return φ, of shape (n, size)."""

    def scores(self, weights: Array) -> Array:
        """Return φw for each record."""

    def total(self, coefficients: Array) -> Array:
        """Return Σ cφ over the records."""


@dataclass(frozen=True, eq=False)
class TableBlock:
    """Features as a table.

    Attributes
    ----------
    rows : array of shape (n, size)
        φ.
    """

    rows: Array

    def table(self) -> Array:
        """Return φ, of shape (n, size)."""
        return self.rows

    def scores(self, weights: Array) -> Array:
        """Return φw for each record."""
        return np.asarray(self.rows @ weights)

    def total(self, coefficients: Array) -> Array:
        """Return Σ cφ over the records."""
        return np.asarray(coefficients @ self.rows)


@dataclass(frozen=True, eq=False)
class CentredBlock:
    """Linear features φ = (f·a, √q), which are not computed where f can multiply a sum instead.

    The rounding of c·f and of (c·f)·a changes the term of one record, which it is a function of, by
    2u of its size: it is no error of a sum of terms.

    Attributes
    ----------
    away : array of shape (n, d)
        a, rows less their centre.
    factors : array of shape (n,)
        f, such that f·a has norm at most √(1-q).
    constant : float
        √q, the last feature, or 0 if there is none.
    """

    away: Array
    factors: Array
    constant: float

    def table(self) -> Array:
        """Return φ, of shape (n, size)."""
        n, d = self.away.shape
        found = np.empty((n, d + (self.constant > 0)))
        np.multiply(self.away, self.factors[:, None], out=found[:, :d])
        found[:, d:] = self.constant
        return found

    def scores(self, weights: Array) -> Array:
        """Return φw for each record."""
        found = self.away @ weights[: self.away.shape[1]]
        found *= self.factors
        if self.constant:
            found += self.constant * weights[-1]
        return np.asarray(found)

    def total(self, coefficients: Array) -> Array:
        """Return Σ cφ over the records."""
        found = (coefficients * self.factors) @ self.away
        last = [self.constant * coefficients.sum()] if self.constant else []
        return np.append(found, last)
