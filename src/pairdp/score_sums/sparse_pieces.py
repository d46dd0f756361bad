"""Sums over pairs with widely spread scores: only pieces with records are stored."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairdp._sums import BLOCK, Total, compensated, prefix_sums
from pairdp.score_sums.base import Array, Function, Index, ScoreSums
from pairdp.score_sums.pieces import evaluate, interaction, slot_sums, widest_piece

_DEGREE = 26
_NEGLIGIBLE = 1e-18
_BLOCK = 65_536
_PIECES = 4096


@dataclass(frozen=True)
class SparseMoments:
    """Chebyshev moments of both classes in the pieces with records, which can be added.

    Attributes
    ----------
    pieces : array of shape (m,)
        Numbers of the pieces, ascending; integers as floats.
    sums : Total
        Of shape (p + 1, 2, m), negatives first.
    """

    pieces: Array
    sums: Total

    @property
    def values(self) -> Array:
        """The moments, of shape (p + 1, 2, m), negatives first."""
        return self.sums.high

    @property
    def counts(self) -> Array:
        """Numbers of negatives and positives."""
        return np.asarray(self.values[0].sum(axis=1))

    def __add__(self, other: SparseMoments) -> SparseMoments:
        pieces = np.union1d(self.pieces, other.pieces)
        shape = (*self.values.shape[:2], pieces.size)
        return SparseMoments(pieces, self._among(pieces, shape) + other._among(pieces, shape))

    def _among(self, pieces: Array, shape: tuple[int, ...]) -> Total:
        """Return the sums extended to more pieces."""
        places = np.searchsorted(pieces, self.pieces)
        total = Total.zeros(*shape)
        total.high[:, :, places], total.low[:, :, places] = self.sums.high, self.sums.low
        return total


@dataclass(frozen=True)
class SparseSums(ScoreSums):
    """Sums of φ' and φ over all positive-negative pairs, by expansion between near pieces.

    Parameters
    ----------
    phi, slope : callable
        φ and φ'.
    strip, linear_beyond, left_slope, right_slope : float
        See `pairdp.score_sums.analytic.Analytic`.
    """

    phi: Function
    slope: Function
    strip: float
    linear_beyond: float
    left_slope: float
    right_slope: float

    def cost(self, length: float, n: int) -> float:
        """Return the approximate time of the sums for n records over a length, in seconds."""
        return 3e-3 + 250e-9 * n + 8e-6 * min(n, length / self.width)

    @property
    def width(self) -> float:
        """Width of a piece."""
        return widest_piece(self.strip, _DEGREE)

    @property
    def near(self) -> int:
        """The largest offset of near pieces; at larger offsets φ is linear."""
        return math.ceil(self.linear_beyond / self.width) + 1

    def _locate(self, u: Array) -> tuple[Array, Array]:
        place = u / self.width
        piece = np.floor(place)
        return piece, 2 * (place - piece) - 1

    def moments(self, u: Array, positive: Index) -> SparseMoments:
        """Return the moments of these records; ``positive`` is 1 for positives, 0 for negatives."""
        piece, place = self._locate(u)
        pieces, slot = np.unique(piece, return_inverse=True)
        slot += pieces.size * positive
        shape = (_DEGREE + 1, 2, pieces.size)
        if np.bincount(slot).max(initial=0) <= BLOCK:
            sums = slot_sums(place, slot, 2 * pieces.size, _DEGREE)
            return SparseMoments(pieces, Total.of(sums.reshape(shape)))
        high, low = np.zeros((2, _DEGREE + 1, 2 * pieces.size))
        for start in range(0, u.size, BLOCK):
            part = slice(start, start + BLOCK)
            met, own = np.unique(slot[part], return_inverse=True)
            more = slot_sums(place[part], own, met.size, _DEGREE)
            high[:, met], low[:, met] = compensated(high[:, met], low[:, met], more)
        return SparseMoments(pieces, Total(high.reshape(shape), low.reshape(shape)))

    def slopes(self, u: Array, positive: Index, moments: SparseMoments) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the records of the other class."""
        expansions = np.concatenate(self._expansions(moments), axis=1)
        sums = np.empty_like(u)
        for start in range(0, u.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            piece, place = self._locate(u[part])
            slot = np.searchsorted(moments.pieces, piece) + moments.pieces.size * positive[part]
            sums[part] = evaluate(expansions, place, slot)
        return sums

    def _expansions(self, moments: SparseMoments) -> tuple[Array, Array]:
        """Return the expansions of the sums at negatives and at positives for each piece."""
        negatives, positives = moments.values[:, 0], moments.values[:, 1]
        matrices = self._matrices(self.slope)
        at_positives = self._near(matrices, moments.pieces, negatives)
        # For negatives the offsets change sign and the matrices are transposed.
        turned = {-offset: matrix.T for offset, matrix in matrices.items()}
        at_negatives = self._near(turned, moments.pieces, positives)
        limits = self.left_slope, self.right_slope
        above, below = self._beyond(moments.pieces, negatives[0])
        at_positives[0] += limits[0] * above + limits[1] * below
        above, below = self._beyond(moments.pieces, positives[0])
        at_negatives[0] += limits[1] * above + limits[0] * below
        return at_negatives, at_positives

    def total(self, moments: SparseMoments) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        negatives, positives = moments.values[:, 0], moments.values[:, 1]
        near = self._near(self._matrices(self.phi), moments.pieces, negatives)
        total = float(np.sum(near * positives))
        centres = self.width * (moments.pieces + 0.5)
        sums = centres * negatives[0] + self.width / 2 * negatives[1]
        own = centres * positives[0] + self.width / 2 * positives[1]
        counted, summed = (self._beyond(moments.pieces, v) for v in (negatives[0], sums))
        ends = (-self.linear_beyond, self.linear_beyond)
        limits = (self.left_slope, self.right_slope)
        for count, of_scores, end, limit in zip(counted, summed, ends, limits, strict=True):
            height = float(self.phi(np.array([end]))[0]) - limit * end
            total += float(np.sum(limit * (own * count - positives[0] * of_scores)))
            total += float(np.sum(height * positives[0] * count))
        return total

    def _matrices(self, function: Function) -> dict[float, Array]:
        """Return the interaction at each near offset."""
        offsets = np.arange(-self.near, self.near + 1, dtype=np.float64)
        matrices = interaction(function, offsets, self.width, _DEGREE)
        return {
            float(offset): _truncated(matrix)
            for offset, matrix in zip(offsets, matrices, strict=True)
        }

    def _near(self, matrices: dict[float, Array], pieces: Array, moments: Array) -> Array:
        """Return the expansions in each piece that result from the moments of near pieces."""
        sources, expansions = np.ascontiguousarray(moments.T), np.zeros(moments.T.shape)
        for start in range(0, pieces.size, _PIECES):
            here = pieces[start : start + _PIECES]
            target = expansions[start : start + _PIECES]
            for offset, matrix in matrices.items():
                order, wanted = len(matrix), here - offset
                there = np.minimum(np.searchsorted(pieces, wanted), pieces.size - 1)
                # Above 2^53 integers are rounded: the offset must hold in both directions.
                met = (pieces[there] == wanted) & (wanted + offset == here)
                target[met, :order] += sources[there[met], :order] @ matrix.T
        return np.ascontiguousarray(expansions.T)

    def _beyond(self, pieces: Array, values: Array) -> tuple[Array, Array]:
        """Return the sum of values in pieces far above each piece, and far below."""
        running = prefix_sums(values)
        below = running[np.searchsorted(pieces, pieces - self.near, side="left")]
        above = running[-1] - running[np.searchsorted(pieces, pieces + self.near, side="right")]
        return above, below


def _truncated(matrix: Array) -> Array:
    """Return the leading square of an interaction, without negligible entries."""
    # Between distant pieces the function is nearly linear, and a few terms suffice.
    rows, columns = np.nonzero(np.abs(matrix) > _NEGLIGIBLE * max(1.0, np.abs(matrix).max()))
    order = 1 + max(rows.max(initial=0), columns.max(initial=0))
    return matrix[:order, :order]
