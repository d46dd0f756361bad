r"""Sums of an analytic function of score differences, by piecewise Chebyshev expansion.

The range of scaled scores u is divided into pieces of equal width v. With x in [-1, 1] the position
within a piece, the function of two scores in pieces c and c' expands as

.. math:: f(u - u') = \sum_{a,b ≤ p} C^{(c-c')}_{ab} T_a(x) T_b(x'),

so that all sums over one class need only its *moments* Σ T_b(x') in each piece: one pass
over the records to collect them, a discrete convolution over the pieces (they depend
on c - c' alone), and one pass to evaluate. A singularity at distance h from the real axis gives a
truncation error of about :math:`ρ^{-p-1}`, ρ = z + √(1+z²) with z = 2h/v. One piece of high degree
is the classical expansion; for many records, pieces are divided into cells on which few powers
suffice (`pairdp.score_sums.cells`); `choose_pieces` finds the fastest.

If there would be many more pieces than records (scores spread over thousands of units of u), only
pieces with records are stored, near pieces interact one offset at a time, and between distant ones
the function is linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pairdp._sums import BLOCK
from pairdp.score_sums.base import Array, Function, Index
from pairdp.score_sums.cells import DEGREE, Cells, widest_cell

_TRUNCATION = 1e-15
_MESSAGE = 2048
"""The largest number of moments of records in parts: messages of 32 KB, with their remainders."""
_MARGIN = 1e-3
"""How far the pieces extend beyond the range, in pieces: rounding must not move a score out."""
_DEGREES = (8, 10, 13, 16, 20, 26, 34)
_IN_CELLS = (3, 4, 5, 6)


@dataclass(frozen=True)
class Pieces:
    """Equal pieces of the line, and the degree of the expansion on each.

    Parameters
    ----------
    low : float
        Left end of the first piece, in units of u.
    width : float
        Width of a piece.
    count : int
        Number of pieces.
    degree : int
        Degree p of the expansions.
    cells : Cells, optional
        How each piece is divided.
    """

    low: float
    width: float
    count: int
    degree: int
    cells: Cells | None = None

    @classmethod
    def covering(cls, low: float, high: float, strip: float, degree: int) -> Pieces:
        """Return as few pieces as cover a range with full accuracy, and a margin for rounding."""
        return cls._covering(low, high, strip, widest_piece(strip, degree), degree)

    @classmethod
    def in_cells(
        cls, low: float, high: float, strip: float, degree: int, third: float | None = None
    ) -> Pieces:
        """Return pieces divided into cells of a degree; for 2, given a bound on third derivatives.

        The cells of a piece are as many as it has room for, so that their number does not depend on
        the range.
        """
        cell = widest_cell(strip, degree, third)
        cells = Cells(int(widest_piece(strip, DEGREE) / cell), degree)
        return cls._covering(low, high, strip, cells.count * cell, DEGREE, cells)

    @classmethod
    def _covering(
        cls,
        low: float,
        high: float,
        strip: float,
        widest: float,
        degree: int,
        cells: Cells | None = None,
    ) -> Pieces:
        length = max(high - low, 1e-9 * strip)
        count = math.ceil(length / widest + 2 * _MARGIN)
        width = length / (count - 2 * _MARGIN)
        return cls(low - _MARGIN * width, width, count, degree, cells)

    def cost(self, n: int) -> float:
        """Return the approximate time of the sums over n records, in seconds."""
        # Array operations take about 1 µs and 1 ns per record, entries of the interaction 0.1 µs.
        order = self.degree + 1
        between = 100e-9 * self.count * order**2
        if self.cells is None:
            return 3.5 * (order + 2) * (2e-6 + 1e-9 * n) + between
        powers, slots = self.cells.degree + 1, 2 * self.count * self.cells.count
        # Tables of more than a few 10⁴ slots are too large for the fastest caches.
        each = (3 + 2.2 * powers) * (2e-6 + 1e-9 * n * (1 + slots / 200e3))
        return 100e-6 + each + between + 6e-9 * powers * slots

    @property
    def numbers(self) -> int:
        """Number of moments of both classes."""
        return 2 * (self.degree + 1) * self.count

    @property
    def slots(self) -> int:
        """Number of pieces, or of cells if they are divided."""
        return self.count * (1 if self.cells is None else self.cells.count)

    def locate(self, u: Array) -> tuple[Index, Array]:
        """Return the piece of each value, and its position in [-1, 1] within the piece."""
        place = (u - self.low) / self.width
        piece = np.minimum(place.astype(np.intp), self.count - 1)
        place -= piece
        place *= 2.0
        place -= 1.0
        return piece, place


def widest_piece(strip: float, degree: int) -> float:
    """Return the largest width at which a degree gives full accuracy."""
    growth = math.exp(-math.log(_TRUNCATION) / (degree + 1))
    height = (growth - 1 / growth) / 2
    return 2 * strip / height


@lru_cache(maxsize=64)
def choose_pieces(
    low: float,
    high: float,
    strip: float,
    n: int,
    *,
    third: float | None = None,
    in_parts: bool = False,
) -> Pieces:
    """Return the fastest pieces for n records with u between ``low`` and ``high``.

    ``third`` bounds the third derivatives of φ and φ', if it is known.

    If the records are in parts, whose moments are sent between processes and added up, there are
    at most `_MESSAGE` moments, or as few as can be.
    """
    choices = [Pieces.covering(low, high, strip, degree) for degree in _DEGREES]
    choices += [Pieces.in_cells(low, high, strip, degree) for degree in _IN_CELLS]
    if third is not None:
        choices.append(Pieces.in_cells(low, high, strip, 2, third))
    if in_parts:
        most = max(_MESSAGE, min(pieces.numbers for pieces in choices))
        choices = [pieces for pieces in choices if pieces.numbers <= most]
    return min(choices, key=lambda pieces: pieces.cost(n))


def interaction(function: Function, offsets: Array, width: float, degree: int) -> Array:
    r"""Return C[o, a, b] with f(o·v + (v/2)(x - x')) = Σ C[o, a, b] T_a(x) T_b(x')."""
    order = degree + 1
    angles = (np.arange(order) + 0.5) * (math.pi / order)
    nodes = np.cos(angles)
    to_coefficients = np.cos(np.outer(np.arange(order), angles)) * (2 / order)
    to_coefficients[0] /= 2
    difference = (width / 2) * (nodes[:, None] - nodes[None, :])
    samples = function((offsets * width)[:, None, None] + difference)
    return np.asarray(to_coefficients @ samples @ to_coefficients.T)


def chebyshev(x: Array, degree: int) -> Iterator[Array]:
    """Yield T_0(x) … T_p(x)."""
    previous, current = np.ones_like(x), x
    yield previous
    if degree:
        yield current
    twice = 2 * x
    for _ in range(2, degree + 1):
        following = twice * current
        following -= previous
        previous, current = current, following
        yield current


def slot_sums(place: Array, slot: Index, slots: int, degree: int) -> Array:
    """Return Σ T_a(x) over the records in each slot, in sequential order: (p+1, slots)."""
    return np.stack([np.bincount(slot, row, slots) for row in chebyshev(place, degree)])


def class_moments(place: Array, slot: Index, slots: int, degree: int) -> Array:
    """Return Σ T_a(x) over the records in each slot: (p+1, slots).

    Blocks of `BLOCK` records are summed separately, and then added: the error of a slot with m
    records is at most (BLOCK + m/BLOCK)u times the sum of absolute values.
    """
    blocks = max(1, -(-slot.size // BLOCK))
    own = slot.copy()
    for k in range(1, blocks):
        own[k * BLOCK : (k + 1) * BLOCK] += k * slots
    sums = slot_sums(place, own, blocks * slots, degree)
    return np.asarray(sums.reshape(degree + 1, blocks, slots).sum(axis=1))


def evaluate(expansions: Array, place: Array, slot: Index) -> Array:
    """Return Σ_a expansions[a, slot] T_a(x) for each record."""
    rows = chebyshev(place, len(expansions) - 1)
    next(rows)
    total: Array = expansions[0].take(slot)
    for row, coefficients in zip(rows, expansions[1:], strict=True):
        here = coefficients.take(slot)
        here *= row
        total += here
    return total
