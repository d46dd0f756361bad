r"""Pair designs: subsets of pairs to average over if there are too many pairs.

A design puts every record in exactly m of its nm/2 unordered pairs. It is a function of public
facts alone (n, m and the random numbers of a generator) and must be drawn before any data is read;
records must keep their original positions. Under these two conditions it has no privacy cost.

**Sensitivity** (errata, G7). Let f be the average over the design of the
symmetrised gradients ½h(w;z,z'), with h(w;z,z') = ∇ℓ(w;z,z') + ∇ℓ(w;z',z). Replace the record z by
z'. The design does not depend on data, so only the m pairs with the replaced position change, and
each by \|½h(w;z,p) - ½h(w;z',p)\| ≤ D_h/2, p being the partner, which is not replaced. (A null
record keeps its position and its pairs, with h = 0, and D_h is at least \|h(w;z,p)\|; see
`pairdp.problem.Problem.exact_record_diameter`.) There are nm/2 pairs, so f changes by at most

.. math:: m · (D_h/2) / (nm/2) = D_h/n,

for any m: the same as over all pairs. The bound is attained if all other records equal the worst
partner.

**Error.** A random permutation makes every pair equally likely, so the average over a random design
is an unbiased estimate of the average over all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairDesign:
    """Unordered pairs of positions on a shuffled circle, at a few fixed distances.

    With π the permutation, an offset o gives the pairs (π(i), π(i + o mod n)) for all i, two for
    each record; the offset n/2 gives n/2 pairs, one for each record. Different offsets up to n/2
    have no pair in common. Use `draw` or `complete` instead of the constructor.

    Two designs are equal only if they are the same object.

    Parameters
    ----------
    permutation : array of int
        A permutation of 0..n-1.
    offsets : tuple of int
        Different integers from 1 to n/2.

    Examples
    --------
    >>> design = PairDesign.draw(n=6, m=3, generator=np.random.default_rng(0))
    >>> design.n, design.m, design.pairs
    (6, 3, 9)
    """

    permutation: Indices
    offsets: tuple[int, ...]

    def __post_init__(self) -> None:
        permutation = np.array(self.permutation, dtype=np.int64)
        n = integer("n", permutation.size, at_least=2)
        if permutation.ndim != 1 or not np.array_equal(np.sort(permutation), np.arange(n)):
            raise ValueError("permutation must be one-dimensional, with each of 0..n-1 once")
        permutation.flags.writeable = False
        offsets = tuple(integer("offset", offset, at_most=n // 2) for offset in self.offsets)
        if not offsets or len(set(offsets)) < len(offsets):
            raise ValueError(f"offsets must be at least one, and different; got {len(offsets)}")
        object.__setattr__(self, "permutation", permutation)
        object.__setattr__(self, "offsets", offsets)

    @classmethod
    def draw(cls, n: int, m: int, generator: np.random.Generator) -> PairDesign:
        """Return a random design, which must be drawn before the data is read.

        Parameters
        ----------
        n : int
            Number of records; at least 2.
        m : int
            Number of pairs of each record; at most n - 1, and even if n is odd.
        generator : numpy.random.Generator
            The source of the permutation and the offsets. It must be independent of the data, but
            need not be secret.
        """
        n, m = _feasible(n, m)
        permutation = generator.permutation(n)
        # For n = 2 there are no offsets to choose from, for which `choice` raises an error.
        drawn = (
            generator.choice((n - 1) // 2, size=m // 2, replace=False) if m > 1 else np.array([])
        )
        matching = (n // 2,) if m % 2 else ()
        return cls(permutation, (*(int(offset) + 1 for offset in drawn), *matching))

    @classmethod
    def complete(cls, n: int) -> PairDesign:
        """Return the design of all pairs, m = n - 1, without a permutation."""
        n = integer("n", n, at_least=2)
        return cls(np.arange(n), tuple(range(1, n // 2 + 1)))

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.permutation.size)

    @property
    def m(self) -> int:
        """Number of pairs of each record."""
        return sum(1 if 2 * offset == self.n else 2 for offset in self.offsets)

    @property
    def pairs(self) -> int:
        """Number of unordered pairs, nm/2."""
        return self.n * self.m // 2

    def runs(self, size: int) -> Iterator[tuple[slice, slice]]:
        """Iterate over all pairs as runs of at most ``size`` positions on the circle.

        With ``shuffled = X[design.permutation]``, the pairs of a run are those of the rows
        ``shuffled[left]`` and ``shuffled[right]``: views, without copying rows.
        """
        return circle_runs(self.n, self.offsets, integer("size", size))

    def blocks(self, size: int) -> Iterator[tuple[Indices, Indices]]:
        """Iterate over all pairs as two arrays of at most ``size`` positions of records."""
        for left, right in self.runs(size):
            yield self.permutation[left], self.permutation[right]


def circle_runs(n: int, offsets: tuple[int, ...], size: int) -> Iterator[tuple[slice, slice]]:
    """Iterate over the pairs of a circle of n places at some distances; see `PairDesign.runs`."""
    for offset in offsets:
        # At and after ``wrap``, the second record of a pair wraps around the circle.
        last, wrap = (offset if 2 * offset == n else n), n - offset
        for begin, end, shift in ((0, min(wrap, last), offset), (wrap, last, offset - n)):
            for start in range(begin, end, size):
                stop = min(start + size, end)
                yield slice(start, stop), slice(start + shift, stop + shift)


def _feasible(n: int, m: int) -> tuple[int, int]:
    n, m = integer("n", n, at_least=2), integer("m", m)
    if m > n - 1:
        raise ValueError(f"m must be at most n - 1 = {n - 1}, the number of other records, got {m}")
    if n % 2 and m % 2:
        raise ValueError(
            f"no design has each of n = {n} records in m = {m} pairs: n·m/2 is not an integer; "
            f"choose an even m, such as {m + 1}"
        )
    return n, m
