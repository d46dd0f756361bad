"""Sums over pairs with dense scores: all pieces are stored, convolution by FFT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from pairdp._sums import Total
from pairdp.score_sums.base import Array, Function, Index, ScoreSums
from pairdp.score_sums.pieces import Pieces, class_moments, evaluate, interaction

_BLOCK = 16_384
_LARGEST_BLOCK = 65_536


@dataclass(frozen=True)
class DenseMoments:
    """Chebyshev moments of both classes in every piece, which can be added for disjoint parts.

    Attributes
    ----------
    sums : Total
        Of shape (p + 1, 2, count), negatives first.
    pieces : Pieces
        The pieces that they were computed on.
    """

    sums: Total
    pieces: Pieces

    @property
    def values(self) -> Array:
        """The moments, of shape (p + 1, 2, count), negatives first."""
        return self.sums.high

    @property
    def counts(self) -> Array:
        """Numbers of negatives and positives."""
        return np.asarray(self.values[0].sum(axis=1))

    def __add__(self, other: DenseMoments) -> DenseMoments:
        if self.pieces != other.pieces:
            raise ValueError("moments must have the same loss, weights, n and data_norm")
        return DenseMoments(self.sums + other.sums, self.pieces)


@dataclass(frozen=True)
class DenseSums(ScoreSums):
    """Sums of φ' and φ over all positive-negative pairs, from moments in pieces.

    Parameters
    ----------
    phi, slope : callable
        φ and φ'.
    pieces : Pieces
        The pieces, which must cover all values.
    """

    phi: Function
    slope: Function
    pieces: Pieces

    def moments(self, u: Array, positive: Index) -> DenseMoments:
        """Return the moments of these records; ``positive`` is 1 for positives, 0 for negatives."""
        pieces = self.pieces
        slots = 2 * pieces.count
        shape = (pieces.degree + 1, 2, pieces.count)
        total = Total.zeros(*shape)
        block = min(max(_BLOCK, 4 * slots), _LARGEST_BLOCK)
        for start in range(0, u.size, block):
            part = slice(start, start + block)
            slot, place = self._slot(u[part], positive[part])
            total += class_moments(place, slot, slots, pieces.degree).reshape(shape)
        return DenseMoments(total, pieces)

    def _slot(self, u: Array, positive: Index) -> tuple[Index, Array]:
        piece, place = self.pieces.locate(u)
        piece += self.pieces.count * positive
        return piece, place

    def slopes(self, u: Array, positive: Index, moments: DenseMoments) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the records of the other class."""
        return self._evaluated(self._expansions(moments), u, positive)

    def slopes_for(self, moments: DenseMoments) -> Callable[[Array, Index], Array]:
        """Return a function of (u, positive) that computes `slopes`, for many calls."""
        return partial(self._evaluated, self._expansions(moments))

    def _expansions(self, moments: DenseMoments) -> Array:
        """Return the expansions of the sums at negatives, then at positives, in each piece."""
        negatives, positives = moments.values[:, 0], moments.values[:, 1]
        kernel = self._kernel(self.slope)
        at_positives = self._convolve(kernel, negatives)
        at_negatives = self._convolve(kernel.conj().swapaxes(1, 2), positives)
        return np.concatenate([at_negatives, at_positives], axis=1)

    def _evaluated(self, expansions: Array, u: Array, positive: Index) -> Array:
        sums = np.empty_like(u)
        block = max(_BLOCK, 4 * expansions.shape[1])
        for start in range(0, u.size, block):
            part = slice(start, start + block)
            slot, place = self._slot(u[part], positive[part])
            sums[part] = evaluate(expansions, place, slot)
        return sums

    def total(self, moments: DenseMoments) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        at_positives = self._convolve(self._kernel(self.phi), moments.values[:, 0])
        return float(np.sum(at_positives * moments.values[:, 1]))

    def _kernel(self, function: Function) -> NDArray[np.complex128]:
        """Return the Fourier transform of the interaction over offsets: (frequency, a, b)."""
        count, size = self.pieces.count, self._size
        offsets = np.zeros(size)
        offsets[:count] = np.arange(count)
        offsets[size - count + 1 :] = np.arange(-count + 1, 0)
        matrices = interaction(function, offsets, self.pieces.width, self.pieces.degree)
        return np.asarray(scipy.fft.rfft(matrices, axis=0))

    @property
    def _size(self) -> int:
        return int(scipy.fft.next_fast_len(2 * self.pieces.count - 1, real=True))

    def _convolve(self, kernel: NDArray[np.complex128], moments: Array) -> Array:
        """Return the expansions that result from the moments: Σ over pieces and degrees."""
        transformed = scipy.fft.rfft(moments, self._size, axis=1)
        product = np.matmul(kernel, transformed.T[:, :, None])[:, :, 0]
        return np.asarray(scipy.fft.irfft(product.T, self._size, axis=1)[:, : self.pieces.count])
