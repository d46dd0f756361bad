r"""Sums over pairs with dense scores: all pieces are stored, convolution by FFT.

Without cells, moments are summed in blocks of 4096 (`class_moments`), with an error that is within
that of `pairdp._sums`. For cells see `pairdp.score_sums.cells`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from pairdp._sums import Total
from pairdp.score_sums.base import Array, Function, Index, Scorer, ScoreSums
from pairdp.score_sums.buffers import IN_CACHE, Buffers, lent
from pairdp.score_sums.cells import Cells, PowerSums
from pairdp.score_sums.pieces import Pieces, class_moments, evaluate, interaction


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
        The pieces, which must cover all values with a margin (`Pieces.covering`).
    """

    phi: Function
    slope: Function
    pieces: Pieces

    def moments(self, u: Array, positive: Index) -> DenseMoments:
        """Return the moments of these records; ``positive`` is 1 for positives, 0 for negatives."""
        return self._moments(iter([self._located(u, positive)]))

    def moments_of(self, blocks: Iterable[tuple[Array, Array]]) -> DenseMoments:
        """Return the moments of the records of some blocks (located scores, labels) together."""
        return self._moments(located for located, _ in blocks)

    def slopes(self, u: Array, positive: Index, moments: DenseMoments) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the records of the other class."""
        return self._values(self._expansions(moments), self._located(u, positive))

    def slopes_for(self, moments: DenseMoments) -> DenseSlopes:
        """Return a function of (located scores, labels): `slopes` times labels, for many calls."""
        of_pieces = self._of_pieces(moments)
        of_pieces[:, : self.pieces.count] *= -1.0  # those of negatives
        return DenseSlopes(self, of_pieces)

    def all_slopes(self, u: Array, positive: Index) -> Array:
        """Return `slopes` if these are all records; they are located once."""
        located = self._located(u, positive)
        expansions = self._expansions(self._moments(iter([located])))
        return self._values(expansions, located)

    def total(self, moments: DenseMoments) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        at_positives = self._convolve(self._kernel(self.phi), moments.values[:, 0])
        return float(np.sum(at_positives * moments.values[:, 1]))

    def locate(self, u: Array, labels: Array) -> None:
        """Overwrite scores by places in units of slots; those of positives come after all others.

        An integer is the centre of a slot.
        """
        u *= self._slots_per_unit
        self._shift(u, labels)

    def scorer(self, weights: Array) -> Scorer:
        """Return a function that writes the places of rows."""
        scaled = self._slots_per_unit * weights

        def located(rows: Array, labels: Array, out: Array) -> None:
            np.matmul(rows, scaled, out=out)
            self._shift(out, labels)

        return located

    @property
    def _slots_per_unit(self) -> float:
        return self.pieces.slots / (self.pieces.count * self.pieces.width)

    def _shift(self, u: Array, labels: Array) -> None:
        """Add the place of a score of 0, which depends on the label."""
        half = self.pieces.slots / 2
        first = half - 0.5 - self.pieces.low * self._slots_per_unit
        with lent() as buffers:
            for start in range(0, u.size, IN_CACHE):
                here = slice(start, start + IN_CACHE)
                some = u[here]
                shift = np.multiply(labels[here], half, out=buffers.term[: some.size])
                shift += first
                some += shift

    def _located(self, u: Array, positive: Index) -> Array:
        located = u.copy()
        self.locate(located, np.subtract(2.0 * positive, 1.0))
        return located

    def _blocks(self, located: Array, buffers: Buffers) -> Iterator[tuple[Index, Array]]:
        """Yield blocks of slots and of places in [-½, ½], in buffers."""
        for start in range(0, located.size, IN_CACHE):
            some = located[start : start + IN_CACHE]
            slot, place = buffers.slot[: some.size], buffers.place[: some.size]
            short = buffers.short[: some.size]
            np.rint(some, out=place)
            np.copyto(short, place, casting="unsafe")  # faster than at once
            np.copyto(slot, short)
            np.subtract(some, place, out=place)
            yield slot, place

    def _moments(self, parts: Iterator[Array]) -> DenseMoments:
        """Return the moments of located scores."""
        pieces, shape = self.pieces, (self.pieces.degree + 1, 2, self.pieces.count)
        with lent() as buffers:
            blocks = (block for located in parts for block in self._blocks(located, buffers))
            if pieces.cells is None:
                found = self._sums(blocks)
            else:
                found = self._power_sums(pieces.cells, blocks, buffers.term)
        return DenseMoments(Total(found.high.reshape(shape), found.low.reshape(shape)), pieces)

    def _sums(self, blocks: Iterable[tuple[Index, Array]]) -> Total:
        """Return the moments of places in pieces."""
        slots, degree = 2 * self.pieces.slots, self.pieces.degree
        total = Total.zeros(degree + 1, slots)
        for slot, place in blocks:
            total += class_moments(2 * place, slot, slots, degree)
        return total

    def _power_sums(
        self, cells: Cells, blocks: Iterable[tuple[Index, Array]], term: Array
    ) -> Total:
        """Return the moments of pieces from places in their cells."""
        sums = PowerSums(cells.degree, 2 * self.pieces.slots)
        for slot, place in blocks:
            sums.add(slot, place, term[: slot.size])
        powers = sums.total()
        both = (powers.high, powers.low)
        return Total(*(cells.gathered(some, self.pieces.degree) for some in both))

    def _of_pieces(self, moments: DenseMoments) -> Array:
        """Return the expansions of the sums at negatives, then at positives, in each piece."""
        negatives, positives = moments.values[:, 0], moments.values[:, 1]
        kernel = self._kernel(self.slope)
        at_positives = self._convolve(kernel, negatives)
        at_negatives = self._convolve(kernel.conj().swapaxes(1, 2), positives)
        return np.concatenate([at_negatives, at_positives], axis=1)

    def in_slots(self, of_pieces: Array) -> Array:
        """Return the coefficients in each slot: of powers in cells, else those of the pieces."""
        cells = self.pieces.cells
        return of_pieces if cells is None else cells.spread(of_pieces)

    def _expansions(self, moments: DenseMoments) -> Array:
        return self.in_slots(self._of_pieces(moments))

    def _values(self, expansions: Array, located: Array) -> Array:
        return self.values(expansions, located, np.empty(located.size))

    def values(self, expansions: Array, located: Array, found: Array) -> Array:
        """Return the expansion of each record at its place, in the array ``found``."""
        start = 0
        with lent() as buffers:
            for slot, place in self._blocks(located, buffers):
                out = found[start : start + slot.size]
                start += slot.size
                if self.pieces.cells is None:
                    out[:] = evaluate(expansions, 2 * place, slot)
                    continue
                term = buffers.term[: slot.size]
                expansions[-1].take(slot, out=out, mode="clip")
                for coefficients in expansions[-2::-1]:
                    out *= place
                    out += coefficients.take(slot, out=term, mode="clip")
        return found

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


class DenseSlopes:
    """The slopes of records times their labels; see `ScoreSums.slopes_for`.

    It keeps its arrays from call to call. Between processes, only the expansions on pieces are
    sent.
    """

    def __init__(self, sums: DenseSums, of_pieces: Array) -> None:
        self._sums, self._of_pieces = sums, of_pieces
        self._expansions: Array | None = None
        self._found = np.empty(0)

    def __call__(self, located: Array, labels: Array) -> Array:
        """Return slopes times labels, in an array that the next call may overwrite."""
        if self._expansions is None:
            self._expansions = self._sums.in_slots(self._of_pieces)
        if self._found.size < located.size:
            self._found = np.empty(located.size)
        return self._sums.values(self._expansions, located, self._found[: located.size])

    def __copy__(self) -> DenseSlopes:
        return DenseSlopes(self._sums, self._of_pieces)

    def __reduce__(self) -> tuple[object, ...]:
        return DenseSlopes, (self._sums, self._of_pieces)
