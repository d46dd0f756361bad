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

from pairdp.algorithms.scorecard.partition import Counted, Edges

Array = NDArray[np.float64]
_UNIFORM_ENDS, _UNIFORM_SHARES = 0.5, 0.1
"""How much a uniform distribution counts beside noisy counts within a bin."""


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
    """Return parts of bins, of which one with a share s of all records has about s·resolution.

    The ends of parts are quantiles within a bin of half the estimated distribution of records and
    half a uniform one, so that neither noise nor an outlying record leaves a wide part undivided.

    Parameters
    ----------
    cells : Counted
        The cells of the adaptive partition, that the bins were merged from.
    bins : Counted
        The bins.
    resolution : int
        The number of parts of all bins together, about; a bin is never less than one.
    """
    widths = np.diff(cells.edges)
    density = np.repeat(np.maximum(cells.counts[: cells.cells], 0.0) / widths, widths)
    total = max(float(bins.counts[: bins.cells].sum()), 1e-9)
    edges, parents, shares = [np.zeros(1, np.int64)], [], []
    for place in range(bins.cells):
        start, stop = bins.edges[place : place + 2]
        uniform = np.full(stop - start, 1 / (stop - start))
        inside = density[start:stop]
        own = inside / inside.sum() if inside.sum() > 0 else uniform
        parts = max(1, int(resolution * bins.counts[place] / total))
        mixed = np.cumsum(_mixed(own, uniform, _UNIFORM_ENDS))
        inner = np.searchsorted(mixed, np.arange(1, parts) / parts) + 1
        ends = np.unique(np.concatenate([[0], inner, [stop - start]]).clip(0, stop - start))
        below = np.cumsum(np.append(0.0, _mixed(own, uniform, _UNIFORM_SHARES)))
        edges.append(start + ends[1:])
        parents.append(np.full(ends.size - 1, place))
        shares.append(np.diff(below[ends]) / below[-1])
    missing = bins.counts.size - bins.cells
    return Refined(
        np.concatenate(edges).astype(np.int64),
        np.concatenate([*parents, np.full(missing, bins.cells)]).astype(np.int64),
        np.concatenate([*shares, np.ones(missing)]),
    )


def _mixed(own: Array, uniform: Array, share: float) -> Array:
    return np.asarray((1 - share) * own + share * uniform)
