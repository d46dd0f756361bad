r"""Pair designs in shuffled blocks, for records in parts.

The positions 0 … n-1 are dealt into blocks at random, and the records of a block form a circle in
random order, on which each is paired with those at a few distances. So every record is in exactly
m pairs, and the sensitivity of an average over them is D_h/n, that of all pairs, by the proof in
`pairdp.pairs.design`: the design is a function of n, m and a public seed alone. It depends neither
on the data nor on how they are divided into parts, since a part knows the positions of its records.

Everything random here is a hash of positions. It need not be secret, and it must be the same on all
machines, whatever versions of random generators they have: integer arithmetic is.

A pair of records is in the design with nearly the same probability for all pairs (exactly the same
if blocks have equal sizes), so the average over the design estimates that over all pairs, also if
neighbouring records are alike, as in sorted files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.pairs.design import Indices, circle_runs

_RECORDS = 8192
"""The expected number of records of a block, if there are several."""
MOST_PARTNERS = 1024
"""The largest m. A block has at least 8192 records on average if there are several: by Chernoff's
bound, the share of seeds with which one of 10⁶ blocks has fewer than 1025 is below 10⁻²⁰⁰⁰."""
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class BlockDesign:
    """Each of n records in m pairs, in shuffled blocks of some 8192 records.

    Parameters
    ----------
    n : int
        Number of records.
    m : int
        Number of pairs of each record; even, at most n - 1 and `MOST_PARTNERS`.
    seed : int
        Which design; public.

    Examples
    --------
    >>> design = BlockDesign(n=50_000, m=4)
    >>> design.blocks, design.pairs
    (6, 100000)
    """

    n: int
    m: int
    seed: int = 0

    def __post_init__(self) -> None:
        n, m = integer("n", self.n, at_least=3), integer("m", self.m, at_least=2)
        integer("seed", self.seed, at_least=0, at_most=_MASK)
        if m % 2:
            raise ValueError(f"m must be even, got {m}: use {m + 1}")
        if m > min(n - 1, MOST_PARTNERS):
            raise ValueError(
                f"m must be at most {min(n - 1, MOST_PARTNERS)}, for n = {n} records, got {m}"
            )

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return max(1, self.n // _RECORDS)

    @property
    def pairs(self) -> int:
        """Number of unordered pairs, nm/2."""
        return self.n * self.m // 2

    def dealt(self, start: int, stop: int) -> tuple[Indices, NDArray[np.uint64]]:
        """Return the block of each position from start to stop, and its place within the block.

        Records of a block are in the order of their places, which are large numbers.
        """
        places = _mixed(np.arange(start, stop, dtype=np.uint64), self.seed, 0)
        return (places % np.uint64(self.blocks)).astype(np.int64), places

    def offsets(self, block: int, size: int) -> tuple[int, ...]:
        """Return the m/2 distances between the partners of a block with so many records."""
        if size <= self.m:
            raise ValueError(
                f"block {block} of the design has {size} records, too few for {self.m} pairs of "
                "each: use another seed"
            )
        # Distances below half the circle: each gives two pairs to every record.
        ranks = _mixed(np.arange((size - 1) // 2, dtype=np.uint64), self.seed, 1 + block)
        return tuple(int(o) + 1 for o in np.sort(np.argsort(ranks, kind="stable")[: self.m // 2]))

    def runs(self, block: int, size: int, most: int) -> Iterator[tuple[slice, slice]]:
        """Iterate over the pairs of a block, as runs of at most ``most`` places on its circle."""
        return circle_runs(size, self.offsets(block, size), most)


def _mixed(numbers: NDArray[np.uint64], seed: int, stream: int) -> NDArray[np.uint64]:
    """Return random numbers of 64 bits: the numbers in a stream, hashed (splitmix64)."""
    start = _finished(_finished(np.array([seed], dtype=np.uint64)) + np.uint64(stream))
    return _finished(start + numbers * np.uint64(_GOLDEN))


def _finished(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
