r"""Sums over all pairs of φ((y - y')(u - u')), for responses y and scaled scores u.

Each pair has its own factor y - y', so only a quadratic φ has fast sums, from moments. If there are
few levels of responses, the pairs of two levels have one factor, and their sums are those of two
classes. In any other case the margins of all pairs are computed in square tiles: O(n²) time and
O(n) memory. A tile and its mirror image have opposite slopes, exactly, so only half of the tiles
are computed.

Which of these is used depends on φ and on the public levels, never on the data: the rounding of
margins at a kink must not depend on other records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from pairdp._sums import compensated
from pairdp.score_sums.all_pairs import AllPairs
from pairdp.score_sums.base import Array, Function, Index, ScoreSums, Structure
from pairdp.score_sums.quadratic import Quadratic

_TILE = 512


class GradedSums(Protocol):
    """Sums over all pairs of records with responses and scaled scores."""

    def slopes(self, u: Array, y: Array) -> Array:
        """Return, for each record, Σ (y - y')·φ'((y - y')(u - u')) over all others."""

    def total(self, u: Array, y: Array) -> float:
        """Return Σ φ((y - y')(u - u')) over all ordered pairs of different records."""


def graded_sums(
    structure: Structure, phi: Function, slope: Function, levels: Array | None = None
) -> GradedSums:
    """Return the fastest sums for the structure of φ and the levels of y, if there are any."""
    if isinstance(structure, Quadratic):
        return QuadraticGradedSums(structure)
    if levels is not None and not isinstance(structure, AllPairs):
        return LevelGradedSums(structure, phi, slope, levels)
    return TiledGradedSums(phi, slope)


@dataclass(frozen=True)
class QuadraticGradedSums:
    """Sums of a quadratic φ, from moments of centred responses and scores: O(n) time."""

    phi: Quadratic

    def slopes(self, u: Array, y: Array) -> Array:
        """Return, for each record, Σ (y - y')·φ'((y - y')(u - u')) over all others."""
        u, y = _centred(u), _centred(y)
        first = u.size * y - np.sum(y)
        squares = u.size * y * y - 2 * y * np.sum(y) + np.sum(y * y)
        cross = y * y * np.sum(u) - 2 * y * np.sum(y * u) + np.sum(y * y * u)
        return np.asarray(self.phi.linear * first + 2 * self.phi.square * (u * squares - cross))

    def total(self, u: Array, y: Array) -> float:
        """Return Σ φ((y - y')(u - u')) over all ordered pairs of different records."""
        n, u, y = u.size, _centred(u), _centred(y)
        yu = np.sum(y * u)
        products = 2 * (n * yu - np.sum(y) * np.sum(u))
        squares = (
            2 * (n * np.sum(y * y * u * u) + np.sum(y * y) * np.sum(u * u))
            + 4 * yu**2
            - 4 * (np.sum(y * y * u) * np.sum(u) + np.sum(y * u * u) * np.sum(y))
        )
        pairs = n * (n - 1)
        return float(
            self.phi.constant * pairs + self.phi.linear * products + self.phi.square * squares
        )


@dataclass(frozen=True)
class LevelGradedSums:
    """Sums for each two levels, by the structure of φ: the time for two classes, times the levels.

    Parameters
    ----------
    structure : Structure
        The structure of φ.
    phi, slope : callable
        φ and φ'.
    levels : array
        All values that a response may have, in increasing order.
    """

    structure: Structure
    phi: Function
    slope: Function
    levels: Array

    def slopes(self, u: Array, y: Array) -> Array:
        """Return, for each record, Σ (y - y')·φ'((y - y')(u - u')) over all others."""
        found = np.zeros(u.size)
        for sums, scaled, positive, rows, factor in self._of_two_levels(u, y):
            signed = np.where(positive, factor, -factor)
            found[rows] += signed * sums.all_slopes(scaled, positive)
        return found

    def total(self, u: Array, y: Array) -> float:
        """Return Σ φ((y - y')(u - u')) over all ordered pairs of different records."""
        counts = np.unique(y, return_counts=True)[1].astype(np.float64)
        parts = [float(np.sum(counts * (counts - 1))) * float(self.phi(np.zeros(1))[0])]
        for sums, scaled, positive, _, _ in self._of_two_levels(u, y):
            parts.append(2 * sums.total(sums.moments(scaled, positive)))
        return math.fsum(parts)

    def _of_two_levels(
        self, u: Array, y: Array
    ) -> Iterator[tuple[ScoreSums, Array, Index, Index, float]]:
        """Yield sums for two levels, scaled scores, which are of the higher, rows and y - y'."""
        places = [np.flatnonzero(y == level) for level in self.levels]
        for (low, lower), (high, higher) in combinations(enumerate(places), 2):
            if not (lower.size and higher.size):
                continue
            factor = float(self.levels[high] - self.levels[low])
            rows = np.concatenate([lower, higher])
            scaled = factor * u[rows]
            positive = np.repeat(np.array([0, 1], dtype=np.intp), [lower.size, higher.size])
            ends = float(scaled.min()), float(scaled.max())
            sums = self.structure.sums(self.phi, self.slope, *ends, rows.size)
            yield sums, scaled, positive, rows, factor


@dataclass(frozen=True)
class TiledGradedSums:
    """Sums of any φ, tile by tile."""

    phi: Function
    slope: Function

    def slopes(self, u: Array, y: Array) -> Array:
        """Return, for each record, Σ (y - y')·φ'((y - y')(u - u')) over all others."""
        sums, rests = np.zeros((2, u.size))
        for rows, columns in _half_of_tiles(u.size):
            factors = y[rows, None] - y[columns]
            values = factors * self.slope(factors * (u[rows, None] - u[columns]))
            sums[rows], rests[rows] = compensated(sums[rows], rests[rows], values.sum(axis=1))
            if rows != columns:
                part = -values.sum(axis=0)
                sums[columns], rests[columns] = compensated(sums[columns], rests[columns], part)
        return sums

    def total(self, u: Array, y: Array) -> float:
        """Return Σ φ((y - y')(u - u')) over all ordered pairs of different records."""
        tiles = []
        for rows, columns in _half_of_tiles(u.size):
            margins = (y[rows, None] - y[columns]) * (u[rows, None] - u[columns])
            tiles.append((1 if rows == columns else 2) * float(self.phi(margins).sum()))
        return math.fsum(tiles) - u.size * float(self.phi(np.zeros(1))[0])


def _centred(values: Array) -> Array:
    """Return values minus their mean: differences stay the same, and products do not cancel."""
    return values - np.mean(values) if values.size else values


def _half_of_tiles(n: int) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles on and above the diagonal of the matrix of all pairs."""
    for top in range(0, n, _TILE):
        for left in range(top, n, _TILE):
            yield slice(top, min(top + _TILE, n)), slice(left, min(left + _TILE, n))
