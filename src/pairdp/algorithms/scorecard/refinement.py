r"""Finer bins of numbers, for points that follow a number within the bins of its labelled counts.

A small budget buys labelled counts of a few bins of a number, and points that are constant on each
of these lose what the number says within them. But the number of a record is known to every
function of it: so each bin is divided, without any count of the parts, and smooth functions that
were estimated from the labelled counts are evaluated on the parts. Everything here is a function of
released counts and public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pairdp.algorithms.scorecard.partition import Counted, Edges

Array = NDArray[np.float64]
_UNIFORM_SHARES = 0.1
"""How much a uniform distribution counts beside noisy counts within a bin."""
_OF_RECORDS, _OF_SCORES, _OF_WIDTH = 0.35, 0.3, 0.35
_TAIL = 0.004


@dataclass(frozen=True, eq=False)
class Refined:
    """The parts of the bins of a number.

    Attributes
    ----------
    edges : array of shape (parts + 1,)
        The ends of the parts, in fine cells; those of the bins are among them.
    parents : array of shape (parts,)
        The bin of each part, and that of missing numbers, if there is one, for itself.
    shares : array of shape (parts,)
        The estimated share of the records of its bin in each part.
    """

    edges: Edges
    parents: NDArray[np.int64]
    shares: Array

    def counts(self, of_bins: Array) -> Array:
        """Return counts of the parts from those of the bins."""
        return np.asarray(of_bins[self.parents] * self.shares)

    def averaging(self) -> Array:
        """Return the matrix that averages functions of the parts over the bins."""
        matrix = np.zeros((int(self.parents[-1]) + 1, self.parents.size))
        matrix[self.parents, np.arange(self.parents.size)] = self.shares
        return matrix


def refine(cells: Counted, bins: Counted, resolution: int) -> Refined:
    """Return parts of bins, about ``resolution`` of them, that are small for every use of a number.

    A part is small in three measures, of which each part of a bin has about the same: the estimated
    share of records, the difference of their normal scores, and the width within the range of
    nearly all records. The first serves functions of the rank, the second its tails, and the third
    functions of the number itself, such as a difference of two numbers that nearly agree.

    Parameters
    ----------
    cells : Counted
        The cells of the adaptive partition, that the bins were merged from.
    bins : Counted
        The bins.
    resolution : int
        The number of parts of all bins together, about; a bin is never less than one.
    """
    density = _density(cells, bins)
    measure = _measure(density)
    edges, parents, shares = [np.zeros(1, np.int64)], [], []
    for place in range(bins.cells):
        start, stop = bins.edges[place : place + 2]
        inside = measure[start:stop]
        parts = max(1, round(resolution * float(inside.sum())))
        below = np.cumsum(inside) / max(float(inside.sum()), 1e-300)
        inner = np.searchsorted(below, np.arange(1, parts) / parts) + 1
        ends = np.concatenate([[0], inner, [stop - start]]).clip(0, stop - start)
        ends = ends[np.diff(ends, prepend=-1) > 0]
        own = np.cumsum(np.append(0.0, density[start:stop]))
        if own[-1] <= 0:
            own = np.arange(stop - start + 1.0)
        edges.append(start + ends[1:])
        parents.append(np.full(ends.size - 1, place))
        shares.append(np.diff(own[ends]) / own[-1])
    missing = bins.counts.size - bins.cells
    return Refined(
        np.concatenate(edges).astype(np.int64),
        np.concatenate([*parents, np.full(missing, bins.cells)]).astype(np.int64),
        np.concatenate([*shares, np.ones(missing)]),
    )


def _density(cells: Counted, bins: Counted) -> Array:
    """Return the estimated share of records in each fine cell, among those with a number."""
    widths = np.diff(cells.edges)
    found = np.repeat(np.maximum(cells.counts[: cells.cells], 0.0) / widths, widths)
    counts = np.maximum(bins.counts[: bins.cells], 0.0)
    total = float(counts.sum())
    for place, count in enumerate(counts):
        inside = slice(*bins.edges[place : place + 2])
        width = int(bins.edges[place + 1] - bins.edges[place])
        sum_inside = float(found[inside].sum())
        own = found[inside] / sum_inside if sum_inside > 0 else np.full(width, 1 / width)
        mixed = (1 - _UNIFORM_SHARES) * own + _UNIFORM_SHARES / width
        found[inside] = (count / total if total > 0 else width / found.size) * mixed
    return found


def _measure(density: Array) -> Array:
    """Return the measure of each fine cell that parts have equal amounts of; they add up to 1."""
    below = np.cumsum(density) / float(density.sum())
    scores = ndtri(np.clip(below, _TAIL, 1 - _TAIL))
    steps = np.diff(scores, prepend=ndtri(_TAIL))
    inside = (below > _TAIL / 2) & (np.append(0.0, below[:-1]) < 1 - _TAIL / 2)
    return np.asarray(
        _OF_RECORDS * density / density.sum()
        + _OF_SCORES * steps / max(float(steps.sum()), 1e-300)
        + _OF_WIDTH * inside / max(int(inside.sum()), 1)
    )
