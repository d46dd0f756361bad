r"""Cells: pieces divided so finely that a record needs only a few powers of its place.

A piece of degree `DEGREE` is divided into equal cells. With z in [-½, ½] the place within cell s,
T_a(x) is a polynomial of z, which interpolation at Chebyshev nodes replaces by one of low degree p:

.. math:: T_a(x) ≈ \sum_{k ≤ p} D_{aks} z^k, \qquad
    \sum_i T_a(x_i) ≈ \sum_{k,s} D_{aks} \sum_{i ∈ s} z_i^k.

So the moments of a piece are combinations of sums of p + 1 powers in its cells, and an expansion
on a piece gives p + 1 coefficients for each of its cells, to be evaluated by Horner's rule. Both
cost a few numbers for each cell; what is paid for each record is p + 1 sums and p + 1 look-ups.

**Truncation.** Let h be the strip in which f = φ' is analytic, and M its bound in half that strip.
Interpolation at p + 1 nodes in a cell of width w has an error of at most M(w/h)^{p+1}/2^p, by
Cauchy's bound on derivatives, which is at most `_TRUNCATION`·M for each of the two scores. For
p = 2, if \|f'''\| ≤ B is known, it is at most B(w/2)³/24, which is `_QUADRATIC` here.

**Packed sums.** Counts and sums of z^p, which are small, are added up in one number: a record adds
K + z^p, with K = 2¹⁷, and at most 2¹⁷ records are added up, in blocks of at most m = 2¹⁵. With c
records in a cell the sum is S = cK + Σz^p, \|Σz^p\| ≤ c/4 ≤ K/4. A block has S < 2³³, so that an
addition has an error of at most 2⁻²¹; the sum of four blocks adds 2⁻¹⁸ at most. So c is S/K rounded
to the nearest integer, and exact; S - cK is computed without an error, and Σz^p has one of at most
2⁻²⁰ per record.

**Rounding.** With u = 2⁻⁵³, the coefficient of z^k in an expansion of f is at most M(2w/h)^k, and
that of T_a in a piece 2Mρ'^{-a}, ρ' = 8.9. Errors of the mean of f, in units of uM:

- Counts are exact, and so are moments of order 0.
- Sums of z^k, 1 ≤ k < p, are of m = 2¹⁵ numbers in sequence, blocks are added up 16 in sequence,
  and these by compensated summation: an error of at most mu·2^{-k} per record, which adds up to 22
  for p = 3 and 690 for p = 6.
- Packed sums of z^p add 2⁻²⁰(2w/h)^p: 21 for p = 3, 43 for p = 6 and, with w from B, 130 for the
  logistic loss at p = 2, for which that coefficient is w²\|f''\|/2 ≤ 0.05w².
- Moments of a piece of S cells are sums of S numbers in any order, up to S·u each: with the sum of
  2ρ'^{-a} over a ≥ 1, 0.26·S in all; 88 for p = 3, 18 and fewer above, and 350 for p = 2.

The largest is below 750uM. With the (4096 + 41)u of `pairdp._sums` for the rows that are added up,
and the truncation, 5·10⁻¹⁴M in all, this is within 10⁻¹² if M is up to four times the bound of φ'
(for the logistic loss it is 1). With B, 500uM and a truncation of 2·10⁻¹³ are within it too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pairdp._sums import Total
from pairdp.score_sums.add_at import add_at
from pairdp.score_sums.base import Array, Index

DEGREE = 11
"""The degree of pieces that are divided into cells."""
BLOCK = 2**15
"""m, the largest number of records that are added up in sequence."""
_PACKED = 2**17
_UNIT = 2.0**17
_PLAIN = 16
"""How many blocks are added up in sequence."""
_TRUNCATION, _QUADRATIC = 2.5e-14, 1e-13


@dataclass(frozen=True)
class Cells:
    """How a piece is divided.

    Parameters
    ----------
    count : int
        Number of cells in a piece.
    degree : int
        p, the degree of polynomials on a cell; at least 2.
    """

    count: int
    degree: int

    def gathered(self, sums: Array, degree: int) -> Array:
        """Return the Chebyshev moments of pieces from sums of powers, (p + 1, pieces · cells)."""
        powers = _powers(self.count, self.degree, degree)
        tables = sums.reshape(self.degree + 1, -1, self.count)
        return np.asarray(sum(powers[:, k] @ tables[k].T for k in range(self.degree + 1)))

    def spread(self, expansions: Array) -> Array:
        """Return the coefficients of powers in all cells from expansions of shape (a, pieces)."""
        powers = _powers(self.count, self.degree, len(expansions) - 1)
        found = np.empty((self.degree + 1, expansions.shape[1], self.count))
        for k, table in enumerate(found):
            np.matmul(expansions.T, powers[:, k], out=table)
        return found.reshape(self.degree + 1, -1)


def widest_cell(strip: float, degree: int, third: float | None = None) -> float:
    """Return the largest width of cells of a degree, given a bound on third derivatives or none."""
    if third is not None and degree == 2:
        return 2 * math.cbrt(24 * _QUADRATIC / third)
    return float(strip * (2**degree * _TRUNCATION) ** (1 / (degree + 1)))


class PowerSums:
    """Sums of powers in slots, for some records after the others, in blocks of at most `BLOCK`.

    Parameters
    ----------
    degree : int
        p.
    slots : int
        Number of cells, of both classes.
    """

    def __init__(self, degree: int, slots: int) -> None:
        self._total = Total.zeros(degree + 1, slots)
        self._sums, self._packed = np.zeros((degree + 1, slots)), np.zeros(slots)
        self._of_block, self._counts = np.zeros((degree, slots)), np.empty(slots)
        self._in_block = self._blocks = self._records = 0

    def add(self, slot: Index, place: Array, power: Array) -> None:
        """Add the powers of at most `BLOCK` places to their slots; overwrites ``power``."""
        # As unsigned integers, negative ones are the largest.
        if slot.view(np.uintp).max(initial=0) >= self._packed.size:
            raise IndexError("a score is outside the range that these sums were made for")
        if self._in_block + slot.size > BLOCK:
            self._end_block()
        self._in_block += slot.size
        first, *others, packed = self._of_block
        add_at(first, slot, place)
        np.multiply(place, place, out=power)
        for row in others:
            add_at(row, slot, power)
            power *= place
        power += _UNIT
        add_at(packed, slot, power)

    def total(self) -> Total:
        """Return all sums: Σ z^k over the records in each slot in row k."""
        self._end_block()
        self._flush()
        return self._total

    def _end_block(self) -> None:
        """Add the sums of a block, each of which starts from 0, to those of the blocks before."""
        if self._records + self._in_block > _PACKED:
            self._unpack()
        if self._blocks == _PLAIN:
            self._flush()
        self._sums[1:-1] += self._of_block[:-1]
        self._packed += self._of_block[-1]
        self._of_block.fill(0.0)
        self._records += self._in_block
        self._blocks += 1
        self._in_block = 0

    def _unpack(self) -> None:
        """Separate counts and sums of z^p."""
        counts = np.multiply(self._packed, 1 / _UNIT, out=self._counts)
        np.rint(counts, out=counts)
        self._sums[0] += counts
        counts *= _UNIT
        self._packed -= counts
        self._sums[-1] += self._packed
        self._packed[:] = 0.0
        self._records = 0

    def _flush(self) -> None:
        self._unpack()
        self._total.add(self._sums)
        self._sums[:] = 0.0
        self._blocks = 0


@lru_cache(maxsize=8)
def _powers(cells: int, degree: int, order: int) -> Array:
    """Return D[a, k, s] with T_a(x) ≈ Σ_k D[a, k, s] z^k in cell s, for a up to ``order``."""
    angles = (np.arange(degree + 1) + 0.5) * (math.pi / (degree + 1))
    nodes = np.cos(angles) / 2
    x = (2 * np.arange(cells) + 1 + 2 * nodes[:, None]) / cells - 1
    values = np.empty((order + 1, degree + 1, cells))
    values[0], values[1] = 1.0, x
    for a in range(2, order + 1):
        values[a] = 2 * x * values[a - 1] - values[a - 2]
    found = np.linalg.inv(np.vander(nodes, increasing=True)) @ values
    found[0, 0], found[0, 1:] = 1.0, 0.0  # counts are exact
    found.setflags(write=False)  # it is shared by all calls
    return np.asarray(found)
