"""Sums of analytic functions, by piecewise Chebyshev expansion."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp.score_sums.base import Function, ScoreSums, Structure
from pairdp.score_sums.dense_pieces import DenseSums
from pairdp.score_sums.pieces import choose_pieces
from pairdp.score_sums.sparse_pieces import SparseSums

_MOST_NUMBERS = 50_000
"""The largest number of moments of a part that are sent whether a piece has records or not."""


@dataclass(frozen=True)
class Analytic(Structure):
    r"""φ is analytic in the strip \|Im u\| < ``strip``, and linear far from zero: O(n) time.

    Parameters
    ----------
    strip : float
        Distance of the nearest singularity of φ to the real axis.
    linear_beyond : float
        For |u| above this, φ' equals its limit up to the rounding error of the largest |φ'|.
    left_slope, right_slope : float
        The limits of φ' at -∞ and +∞.
    third : float, optional
        A bound on \|φ'''\| and \|φ''''\|: with it, sums over many records are faster.
    """

    strip: float
    linear_beyond: float
    left_slope: float
    right_slope: float
    third: float | None = None

    def sums(self, phi: Function, slope: Function, low: float, high: float, n: int) -> ScoreSums:
        """Return sums over all pieces, or only over those with records if these are few."""
        pieces = choose_pieces(low, high, self.strip, n, third=self.third)
        sparse = self._sparse(phi, slope)
        if pieces.cost(n) <= sparse.cost(high - low, n):
            return DenseSums(phi, slope, pieces)
        return sparse

    def _sparse(self, phi: Function, slope: Function) -> SparseSums:
        return SparseSums(
            phi, slope, self.strip, self.linear_beyond, self.left_slope, self.right_slope
        )

    def sums_in_parts(
        self, phi: Function, slope: Function, low: float, high: float, n: int
    ) -> ScoreSums:
        """Return sums over all pieces, of a number whose moments make small messages.

        If there are many all the same, only over those with records.
        """
        pieces = choose_pieces(low, high, self.strip, n, third=self.third, in_parts=True)
        small = pieces.numbers <= _MOST_NUMBERS
        return DenseSums(phi, slope, pieces) if small else self._sparse(phi, slope)
