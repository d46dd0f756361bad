"""Sums of any function, pair by pair in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pairdp._sums import Total
from pairdp.score_sums.base import Array, Function, Index, ScoreSums, Structure

_ENTRIES = 2**20
"""Number of pairs in a block: 8 MB per array."""


@dataclass(frozen=True)
class ClassScores:
    """The scaled scores of both classes, which can be concatenated for disjoint parts."""

    negatives: Array
    positives: Array

    @property
    def counts(self) -> Array:
        """Numbers of negatives and positives."""
        return np.array([self.negatives.size, self.positives.size], dtype=np.float64)

    def __add__(self, other: ClassScores) -> ClassScores:
        return ClassScores(
            np.concatenate([self.negatives, other.negatives]),
            np.concatenate([self.positives, other.positives]),
        )


@dataclass(frozen=True)
class AllPairs(Structure):
    """No structure: sums are computed pair by pair, in O(n²) time and O(n) memory."""

    def sums(self, phi: Function, slope: Function, low: float, high: float, n: int) -> ScoreSums:
        """Return sums pair by pair."""
        return AllPairsSums(phi, slope)


@dataclass(frozen=True)
class AllPairsSums(ScoreSums):
    """Sums of φ' and φ over all positive-negative pairs, in O(n²) time and O(n) memory.

    Parameters
    ----------
    phi, slope : callable
        φ and φ'.
    """

    phi: Function
    slope: Function

    def moments(self, u: Array, positive: Index) -> ClassScores:
        """Return the scores of these records; ``positive`` is 1 for positives, 0 for negatives."""
        return ClassScores(u[positive == 0], u[positive == 1])

    def slopes(self, u: Array, positive: Index, moments: ClassScores) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the records of the other class."""
        sums = np.zeros(u.size)
        for sign, partners, mine in (
            (1.0, moments.negatives, np.flatnonzero(positive)),
            (-1.0, moments.positives, np.flatnonzero(positive == 0)),
        ):
            height, width = _tile(partners.size)
            for start in range(0, mine.size, height):
                rows = mine[start : start + height]
                total = Total.zeros(rows.size)
                for left in range(0, partners.size, width):
                    difference = sign * (u[rows, None] - partners[None, left : left + width])
                    total += self.slope(difference).sum(axis=1)
                sums[rows] = total.high
        return sums

    def total(self, moments: ClassScores) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        return math.fsum(
            float(self.phi(moments.positives[rows, None] - moments.negatives[None, columns]).sum())
            for rows, columns in _tiles(moments.positives.size, moments.negatives.size)
        )


def _tile(columns: int) -> tuple[int, int]:
    """Return the height and the width of a tile of pairs."""
    width = min(max(columns, 1), 4096)
    return max(1, _ENTRIES // width), width


def _tiles(rows: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles of a matrix, each of bounded size."""
    height, width = _tile(columns)
    for top in range(0, rows, height):
        for left in range(0, columns, width):
            yield slice(top, top + height), slice(left, left + width)
