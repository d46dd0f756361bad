r"""Sums over pairs with dense scores: all pieces are stored, convolution by FFT.

**Powers.** Up to degree `_POWERS`, a record contributes powers z^k of its place z in [-½, ½] within
a piece instead of Chebyshev polynomials, which are combinations of them: T_a(2z) = Σ_k t_{ak} z^k.
Sums of powers need one product for each order, and are evaluated by Horner's rule.

**Rounding.** The moments of order 0 are counts, and exact. Those of order a ≥ 1 are sums of m =
`_BLOCK` numbers in sequence, with an error of at most m·u times the number of records, u = 2⁻⁵³;
blocks are added up 16 in sequence, and these by compensated summation. Let h be the width of the
strip in which f = φ' is analytic, M its bound in half that strip, and ρ' = ρ/2 (up to 1/ρ) the
ellipse of that half, which is at least 69 for the pieces of degree up to `_POWERS`. The coefficient
of T_a in an expansion of f is at most 2Mρ'^{-a}, so all moments of order a ≥ 1 together add an
error of at most 2·m·u·M/(ρ' - 1) < 1000u·M to the mean of f: less than the (m + 41)u of
`pairdp._sums` for its blocks of 4096 numbers, if M is up to four times the bound of φ' (for the
logistic loss it is 1). The combination of powers into T_a multiplies the error of its order by at
most (1 + √2)^a, and ρ'^{-a} is far smaller. Higher degrees sum in blocks of 4096 (`class_moments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import scipy.fft
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pairdp._sums import Total
from pairdp.score_sums.base import Array, Function, Index, ScoreSums
from pairdp.score_sums.pieces import Pieces, class_moments, evaluate, interaction

_BLOCK = 32_768
_POWERS = 6
_TOGETHER = 16


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
        return self.moments_of([(u, positive)])

    def moments_of(self, blocks: Iterable[tuple[Array, Index]]) -> DenseMoments:
        """Return the moments of the records of some blocks (u, positive) together."""
        buffers = _Buffers()
        return self._moments(
            chain.from_iterable(self._located(*block, buffers) for block in blocks), buffers
        )

    def slopes(self, u: Array, positive: Index, moments: DenseMoments) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over the records of the other class."""
        found = self.slopes_for(moments)(u, positive)
        return found.copy() if found.base is not None else found

    def slopes_for(self, moments: DenseMoments) -> DenseSlopes:
        """Return a function of (u, positive) that computes `slopes`, for many calls."""
        return DenseSlopes(self, self._expansions(moments))

    def all_slopes(self, u: Array, positive: Index) -> Array:
        """Return `slopes` if these are all records; they are located once."""
        slots, places, buffers = np.empty(u.size, dtype=np.intp), np.empty(u.size), _Buffers()
        located = list(self._located(u, positive, buffers, slots, places))
        expansions = self._expansions(self._moments(iter(located), buffers))
        return self.values(expansions, iter(located), np.empty(u.size), buffers)

    def total(self, moments: DenseMoments) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""
        at_positives = self._convolve(self._kernel(self.phi), moments.values[:, 0])
        return float(np.sum(at_positives * moments.values[:, 1]))

    def _located(
        self,
        u: Array,
        positive: Index,
        buffers: _Buffers,
        slots: Index | None = None,
        places: Array | None = None,
    ) -> Iterator[tuple[Index, Array]]:
        """Yield blocks of slots and of places in [-½, ½]; those of positives come after all others.

        They are kept in the given arrays, or in buffers that the next block overwrites.
        """
        pieces = self.pieces
        scale = 1 / pieces.width
        starts = np.array([0.0, pieces.count]) - pieces.low * scale
        for start in range(0, u.size, _BLOCK):
            some = slice(start, min(start + _BLOCK, u.size))
            size = some.stop - start
            slot = buffers.slot[:size] if slots is None else slots[some]
            place = buffers.place[:size] if places is None else places[some]
            np.multiply(u[some], scale, out=place)
            place += np.take(starts, positive[some], out=buffers.term[:size], mode="clip")
            np.copyto(slot, place, casting="unsafe")
            place -= slot
            place -= 0.5
            yield slot, place

    def located(
        self, u: Array, positive: Index, buffers: _Buffers
    ) -> Iterator[tuple[Index, Array]]:
        """Yield blocks of slots and places, in buffers that the next block overwrites."""
        return self._located(u, positive, buffers)

    def _moments(self, located: Iterator[tuple[Index, Array]], buffers: _Buffers) -> DenseMoments:
        pieces = self.pieces
        slots, order = 2 * pieces.count, pieces.degree + 1
        total = Total.zeros(order, slots)
        if pieces.degree > _POWERS:
            for slot, place in located:
                total += class_moments(2 * place, slot, slots, pieces.degree)
        else:
            sums = np.zeros((order, slots))
            for number, (slot, place) in enumerate(located, 1):
                _add_powers(sums, slot, place, buffers.term[: slot.size])
                if number % _TOGETHER == 0:
                    total += sums
                    sums[:] = 0.0
            total += sums
            # Of Chebyshev polynomials: a few numbers for each slot.
            to_chebyshev = _coefficients(pieces.degree)
            total = Total(to_chebyshev @ total.high, to_chebyshev @ total.low)
        shape = (order, 2, pieces.count)
        return DenseMoments(Total(total.high.reshape(shape), total.low.reshape(shape)), pieces)

    def _expansions(self, moments: DenseMoments) -> Array:
        """Return the expansions of the sums at negatives, then at positives, in each piece."""
        negatives, positives = moments.values[:, 0], moments.values[:, 1]
        kernel = self._kernel(self.slope)
        at_positives = self._convolve(kernel, negatives)
        at_negatives = self._convolve(kernel.conj().swapaxes(1, 2), positives)
        found = np.concatenate([at_negatives, at_positives], axis=1)
        if self.pieces.degree <= _POWERS:
            found = _coefficients(self.pieces.degree).T @ found
        return np.ascontiguousarray(found)

    def values(
        self,
        expansions: Array,
        located: Iterator[tuple[Index, Array]],
        found: Array,
        buffers: _Buffers,
    ) -> Array:
        """Return the expansion of each record at its place, in the array ``found``."""
        start = 0
        for slot, place in located:
            out = found[start : start + slot.size]
            start += slot.size
            if self.pieces.degree > _POWERS:
                out[:] = evaluate(expansions, 2 * place, slot)
                continue
            np.take(expansions[-1], slot, out=out, mode="clip")
            for coefficients in expansions[-2::-1]:
                out *= place
                out += np.take(coefficients, slot, out=buffers.term[: slot.size], mode="clip")
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
    """The slopes of records at the expansions of all sums; see `ScoreSums.slopes_for`.

    It keeps its arrays from call to call: where an allocator returns memory at once, as that of
    Dask's workers is set to, new ones would take longer than what is computed in them.
    """

    def __init__(self, sums: DenseSums, expansions: Array) -> None:
        self._sums, self._expansions = sums, expansions
        self._buffers: _Buffers | None = None

    def __call__(self, u: Array, positive: Index) -> Array:
        """Return the slopes of records, in an array that the next call may overwrite."""
        if self._buffers is None:
            self._buffers = _Buffers()
        found = self._buffers.found[: u.size] if u.size <= _BLOCK else np.empty(u.size)
        located = self._sums.located(u, positive, self._buffers)
        return self._sums.values(self._expansions, located, found, self._buffers)

    def __reduce__(self) -> tuple[object, ...]:
        return DenseSlopes, (self._sums, self._expansions)


class _Buffers:
    """Arrays of one block, which are used again for every block."""

    def __init__(self) -> None:
        self.slot = np.empty(_BLOCK, dtype=np.intp)
        self.place, self.term, self.found = np.empty((3, _BLOCK))


def _add_powers(sums: Array, slot: Index, place: Array, power: Array) -> None:
    """Add Σ z^k over the records in each slot to the k-th row; overwrites ``power``."""
    sums[0] += np.bincount(slot, minlength=sums.shape[1])
    np.copyto(power, place)
    for k, row in enumerate(sums[1:]):
        if k:
            power *= place
        row += np.bincount(slot, power, sums.shape[1])


@lru_cache(maxsize=8)
def _coefficients(degree: int) -> Array:
    """Return t[a, k] with T_a(2z) = Σ t[a, k] z^k."""
    found = np.zeros((degree + 1, degree + 1))
    for a in range(degree + 1):
        of_x = chebyshev.cheb2poly([0.0] * a + [1.0])
        found[a, : a + 1] = of_x * 2.0 ** np.arange(a + 1)
    found.setflags(write=False)  # it is shared by all calls
    return found
