"""The bins of numbers: an adaptive partition of their ranges from noisy counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import BRANCHES, FINE

Array = NDArray[np.float64]
Edges = NDArray[np.int64]
Release = Callable[[Array, int], Array]
"""Adds noise to a vector of counts, at a level."""


@dataclass(frozen=True)
class Counted:
    """Estimated counts of the cells of one number, functions of released counts.

    Attributes
    ----------
    edges : array of shape (cells + 1,)
        The ends of the cells, in fine cells.
    counts, variances : arrays
        The estimated counts, with that of missing numbers last if there is one, and the variances
        of their noise.
    """

    edges: Edges
    counts: Array
    variances: Array

    @property
    def cells(self) -> int:
        """The number of cells, without that of missing numbers."""
        return len(self.edges) - 1


def onto_simplex(values: Array, total: float) -> Array:
    """Return the nearest non-negative numbers with a given sum."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(ordered > excess)[-1]) if np.any(ordered > excess) else 0
    return np.asarray(np.maximum(values - excess[last], 0.0))


def partition(
    exact: Sequence[NDArray[np.int64]],
    n: int,
    bins: int,
    levels: int,
    deviation: float,
    release: Release,
) -> list[Counted]:
    """Return the cells of each number after all levels.

    At each level, noisy counts of all cells are averaged with those known from the level before, by
    their variances, and projected to non-negative counts that add up to n. Then cells with more
    than max(n/(4·bins), 3 standard deviations) records are divided into 16.

    Parameters
    ----------
    exact : sequence of arrays
        The counts of fine cells, with that of missing numbers last if there is one. They enter
        through ``release`` only.
    n, bins, levels : int
        Public: see `pairdp.algorithms.scorecard.shares`.
    deviation : float
        The standard deviation of the noise on a count.
    release : callable
        Adds noise to the counts of a level, all numbers together.
    """
    known = [_start(len(one) - FINE) for one in exact]
    for level in range(levels):
        if level:
            known = [_divided(one, n, bins) for one in known]
        cut = [_counts(one.edges, fine) for one, fine in zip(known, exact, strict=True)]
        noisy = release(np.concatenate(cut).astype(np.float64), level)
        parts = np.split(noisy, np.cumsum([len(one) for one in cut])[:-1])
        known = [
            _averaged(one, part, deviation**2, n) for one, part in zip(known, parts, strict=True)
        ]
    return known


def _start(missing: int) -> Counted:
    edges = np.arange(0, FINE + 1, FINE // BRANCHES, dtype=np.int64)
    unknown = np.full(BRANCHES + missing, np.inf)
    return Counted(edges, np.zeros(BRANCHES + missing), unknown)


def _counts(edges: Edges, fine: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.add.reduceat(fine[:FINE], edges[:-1]), fine[FINE:]])


def _averaged(known: Counted, noisy: Array, variance: float, n: int) -> Counted:
    """Return counts averaged by their variances, projected to a sum of n."""
    if variance == 0:
        return Counted(known.edges, noisy, np.zeros_like(noisy))
    inverse = 1 / known.variances  # 0 where nothing is known
    variances = 1 / (inverse + 1 / variance)
    counts = variances * (known.counts * inverse + noisy / variance)
    return Counted(known.edges, onto_simplex(counts, n), variances)


def _divided(known: Counted, n: int, bins: int) -> Counted:
    """Return the cells with large ones divided; their parts have unknown counts."""
    cells = known.cells
    counts, variances = known.counts[:cells], known.variances[:cells]
    large = counts > np.maximum(n / (4 * bins), 3 * np.sqrt(variances))
    widths = np.diff(known.edges)
    parts = np.where(large & (widths >= BRANCHES), BRANCHES, 1)
    # Widths are powers of 16, so that their parts have equal widths too.
    edges = np.cumsum(np.repeat(widths // parts, parts))
    return Counted(
        np.concatenate([[0], edges]).astype(np.int64),
        np.concatenate([np.repeat(counts / parts, parts), known.counts[cells:]]),
        np.concatenate(
            [np.repeat(np.where(parts == 1, variances, np.inf), parts), known.variances[cells:]]
        ),
    )


def merge(known: Counted, bins: int) -> Counted:
    """Return the cells merged into bins.

    A cell with more than 1/bins of all records is a bin of its own: there are fewer than ``bins``.
    The other cells between two of these are merged from left to right into bins of about equal
    counts. At most bins - b + 1 of them are closed because they are full, b the number of large
    cells, and at most b + 1 because a large cell or the end follows.
    """
    cells = known.cells
    counts = known.counts[:cells]
    large = counts > counts.sum() / bins
    full = counts[~large].sum() / max(bins - int(large.sum()), 1)
    ends: list[int] = []
    held = 0.0
    for place in range(cells):
        if large[place]:
            if not ends or ends[-1] < place:
                ends.append(place)
            held = 0.0
            ends.append(place + 1)
            continue
        held += counts[place]
        if held >= full and held > 0:
            ends.append(place + 1)
            held = 0.0
    if ends[-1:] != [cells]:
        ends.append(cells)
    starts = np.array([0, *ends[:-1]])
    starts, stops = starts[starts < ends], np.array(ends)[starts < ends]
    return Counted(
        np.concatenate([known.edges[starts], known.edges[stops[-1:]]]),
        np.concatenate([np.add.reduceat(counts, starts), known.counts[cells:]]),
        np.concatenate([np.add.reduceat(known.variances[:cells], starts), known.variances[cells:]]),
    )


def bin_of_cells(edges: Edges, missing: int) -> NDArray[np.int64]:
    """Return the bin of each fine cell, with that of missing numbers last if there is one."""
    bins = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    return np.concatenate([bins, np.full(missing, len(edges) - 1, dtype=np.int64)])
