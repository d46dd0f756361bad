r"""Sums of truncated powers over all pairs of two samples, in almost linear time.

.. math::
    s_i = \sum_{j:\,t_j > q_i} w_j\,(t_j - q_i)^a, \qquad 0 < a \le 2.

For an integer power one pass over the sorted sample suffices; for any power this is a fast
multipole method on the line. One binary tree contains both samples; a node is split at the centre
of the interval that its points span. The pairs of points are decomposed into *blocks*, a node A of
queries to the left of a node B of sources. If the gap between the two is at least as wide as
either, a block is summed by its Taylor series: with R the distance of the two centres, x and y a
source and a query relative to them, \|x\| ≤ r_B and \|y\| ≤ r_A,

.. math::
    (R + x - y)^a = R^a \sum_{k,l} (-1)^l \binom{a}{k+l} \binom{k+l}{k}
      \left(\frac{r_A}{R}\right)^{l} \left(\frac{r_B}{R}\right)^{k}
      \left(\frac{y}{r_A}\right)^{l} \left(\frac{x}{r_B}\right)^{k}.

The binomials are the same for all blocks, so that a block takes one power and a part of a matrix
product. The gap keeps r_B / (R - r_A) and r_A / (R - r_B) at most 1/3, and the terms k, l < 28 then
leave a relative error below 1e-15. Moments of the sources are passed up the tree and coefficients
of the queries down, without further truncation. The remaining blocks of two leaves are summed
directly.

With positive weights there is no cancellation, and the error of a block is a few units in the last
place of *its own* terms: each sum has a small relative error for any scales of the samples. Only
differences of points are used, so a shift of both does not affect accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb

from pairdp._checks import real
from pairdp.score_sums.line_tree import LEAF, LineTree, build_tree, decompose

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

_TERMS = 28
"""Number of terms of a Taylor series in each variable."""
_SIDES = np.array([1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, LEAF])
"""Numbers of points that a leaf is padded to."""
_COLUMNS = 1024
"""Number of blocks that are expanded at a time."""
_ENTRIES = 2**16
"""Number of pairs of points that are summed at a time."""
_LARGEST_LOG2 = 1000.0
_PASCAL = np.asarray(comb(*np.ogrid[:_TERMS, :_TERMS]), dtype=np.float64)


def power_sums(
    sources: ArrayLike, queries: ArrayLike, power: float, *, weights: ArrayLike | None = None
) -> Array:
    r"""Return :math:`\sum_{j: t_j > q_i} w_j (t_j - q_i)^a` for every query q_i.

    Apart from sorting, time and memory are linear in the number of points, for any distribution.

    Parameters
    ----------
    sources : array-like of shape (m,)
        The t_j, finite, in any order, possibly repeated.
    queries : array-like of shape (n,)
        The q_i, likewise. A source that equals a query contributes zero.
    power : float
        a, in (0, 2].
    weights : array-like of shape (m,), optional
        The w_j, finite; 1 by default.

    Returns
    -------
    ndarray of shape (n,)
        The sums, in the order of the queries. The error of each is about 2e-15 times the same sum
        with the absolute values of the weights, and up to 1e-14 times if the points span hundreds
        of binary orders of magnitude.

    Examples
    --------
    >>> power_sums([0.0, 1.0, 4.0], [0.0, 3.0, 4.0], 0.5).tolist()
    [3.0, 1.0, 0.0]
    """
    power = real("power", power)
    if not 0 < power <= 2:
        raise ValueError(f"power must be above 0 and at most 2, got {power!r}")
    points = _finite("sources", sources)
    at = _finite("queries", queries)
    masses = None if weights is None else _finite("weights", weights)
    if masses is not None and len(masses) != len(points):
        raise ValueError(f"got {len(points)} sources and {len(masses)} weights")
    result = np.zeros(len(at))
    if not len(points):
        return result
    points, masses = _distinct(points, masses)
    order = np.argsort(at)
    at = at[order]
    # Queries that are not below any source have no terms.
    below = np.searchsorted(at, points[-1])
    order, at = order[:below], at[:below]
    if not below:
        return result
    useful = np.searchsorted(points, at[0], side="right")
    points, masses = points[useful:], masses[useful:]
    if power * math.log2(float(points[-1]) - float(at[0])) > _LARGEST_LOG2:
        raise ValueError("the differences of sources and queries are too large for their power")
    new = _changes(at)
    result[order] = _distinct_sums(points, masses, at[new], power)[np.cumsum(new) - 1]
    return result


def _finite(name: str, values: ArrayLike) -> Array:
    """Return ``values`` as a vector of finite floats."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} must be a vector, got an array of shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must be finite")
    return vector


def _distinct(points: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the distinct points in increasing order, each with its total weight."""
    if weights is None:
        points = np.sort(points)
        first = np.flatnonzero(_changes(points))
        return points[first], np.diff(first, append=len(points)).astype(np.float64)
    order = np.argsort(points)
    points = points[order]
    first = np.flatnonzero(_changes(points))
    return points[first], np.add.reduceat(weights[order], first)


def _changes(values: NDArray[Any]) -> Mask:
    """Return where a value differs from the previous one; True for the first."""
    changes = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _distinct_sums(sources: Array, weights: Array, queries: Array, power: float) -> Array:
    """Return the sums for increasing sources and increasing queries."""
    summation = _Summation(build_tree(sources, queries), weights, power)
    blocks = decompose(summation.tree)
    summation.to_points(blocks.to_points)
    summation.from_points(blocks.from_points)
    summation.far(blocks.far)
    summation.downward()
    summation.near(blocks.near)
    return summation.sums


class _Summation:
    r"""The sums over one tree, and the expansions that they use.

    The moments :math:`\sum_j w_j (x_j/r)^k` of a node represent its sources; its coefficients of
    :math:`(y/r)^l` represent the contributions of other sources to its queries. Both have one row
    per node; arrays for a few nodes are transposed.

    Parameters
    ----------
    tree : LineTree
        The samples.
    weights : ndarray
        Weights of the sources.
    power : float
        a, in (0, 2].
    """

    def __init__(self, tree: LineTree, weights: Array, power: float) -> None:
        self.tree = tree
        self.sums = np.zeros(len(tree.queries))
        self._weights = weights
        self._power = power
        self._series = _series(power)
        self._moments = self._upward()
        self._coefficients = np.zeros_like(self._moments)

    def _upward(self) -> Array:
        """Return the moments: of leaves from their sources, of inner nodes from their children."""
        tree = self.tree
        moments = np.zeros((len(tree.child), _TERMS))
        for leaves, count, points, offset in _in_leaves(tree, tree.sources, tree.source):
            first = np.cumsum(count) - count
            table = np.empty((_TERMS, len(leaves)))
            term = self._weights[points].copy()
            for row in table:
                np.add.reduceat(term, first, out=row)
                term *= offset
            moments[leaves] = table.T
        for level in reversed(range(len(tree.levels) - 1)):
            for parent, child, inner, outer in _generation(tree, level):
                inner *= moments[child].T
                outer *= _PASCAL @ inner
                moments[parent] += outer.T
        return moments

    def downward(self) -> None:
        """Pass coefficients to children, and add those of leaves to the sums."""
        tree = self.tree
        for level in range(len(tree.levels) - 1):
            for parent, child, inner, outer in _generation(tree, level):
                outer *= self._coefficients[parent].T
                inner *= _PASCAL.T @ outer
                self._coefficients[child] += inner.T
        for leaves, count, points, offset in _in_leaves(tree, tree.queries, tree.query):
            total = np.zeros_like(offset)
            for row in self._coefficients[leaves].T[::-1]:
                total *= offset
                total += np.repeat(row, count)
            self.sums[points] += total

    def far(self, blocks: Indices) -> None:
        """Add blocks of two expanded nodes to the coefficients."""
        for a, b in _chunks(blocks[:, np.argsort(blocks[0])], _COLUMNS):
            distance = self.tree.centre[b] - self.tree.centre[a]
            terms = _powers(self.tree.radius[b] / distance)
            terms *= self._moments[b].T
            self._receive(a, distance, self._series @ terms)

    def from_points(self, blocks: Indices) -> None:
        """Add blocks of expanded queries and single sources to the coefficients."""
        for a, b in _chunks(blocks[:, np.argsort(blocks[0])], _COLUMNS // LEAF):
            index, inside = _padded(self.tree.source[:, b], LEAF)
            a = np.repeat(a, inside.sum(axis=1))
            distance = self.tree.sources[index[inside]] - self.tree.centre[a]
            self._receive(a, distance, self._series[:, :1] * self._weights[index[inside]])

    def _receive(self, nodes: Indices, distance: Array, terms: Array) -> None:
        """Add columns of terms to the coefficients of nodes; equal nodes are adjacent."""
        terms *= _powers(self.tree.radius[nodes] / distance)
        terms *= _raised(distance, self._power)
        first = np.flatnonzero(_changes(nodes))
        self._coefficients[nodes[first]] += np.add.reduceat(terms, first, axis=1).T

    def to_points(self, blocks: Indices) -> None:
        """Add blocks of single queries and expanded sources to the sums."""
        for a, b in _chunks(blocks, _COLUMNS // LEAF):
            index, inside = _padded(self.tree.query[:, a], LEAF)
            b = np.repeat(b, inside.sum(axis=1))
            distance = self.tree.centre[b] - self.tree.queries[index[inside]]
            terms = _powers(self.tree.radius[b] / distance)
            terms *= self._moments[b].T
            value = (self._series[0] @ terms) * _raised(distance, self._power)
            np.add.at(self.sums, index[inside], value)

    def near(self, blocks: Indices) -> None:
        """Add blocks of two leaves to the sums, pair by pair, grouped by shape."""
        tree = self.tree
        rows, columns = (
            np.searchsorted(_SIDES, span[1, node] - span[0, node])
            for span, node in zip((tree.query, tree.source), blocks, strict=True)
        )
        shape = rows * len(_SIDES) + columns
        order = np.argsort(shape, kind="stable")
        blocks, shape = blocks[:, order], shape[order]
        for first, last in pairwise(np.append(np.flatnonzero(_changes(shape)), len(shape))):
            height, width = (int(_SIDES[side]) for side in divmod(shape[first], len(_SIDES)))
            for a, b in _chunks(blocks[:, first:last], _ENTRIES // (height * width)):
                query, asked = _padded(tree.query[:, a], height)
                source, inside = _padded(tree.source[:, b], width)
                rise = tree.sources[source][:, None, :] - tree.queries[query][:, :, None]
                rise = _raised(np.maximum(rise, 0.0, out=rise), self._power)
                value = rise @ (self._weights[source] * inside)[:, :, None]
                np.add.at(self.sums, query[asked], value[asked, 0])


def _series(power: float) -> Array:
    r"""Return :math:`(-1)^l \binom{a}{k+l} \binom{k+l}{k}` in row l and column k."""
    order = np.arange(1, 2 * _TERMS - 1)
    binomials = np.append(1.0, np.cumprod((power + 1 - order) / order))
    row, column = np.ogrid[:_TERMS, :_TERMS]
    return np.asarray((-1.0) ** row * binomials[row + column] * comb(row + column, row))


def _generation(tree: LineTree, level: int) -> Iterator[tuple[Indices, Indices, Array, Array]]:
    r"""Yield the parents of a level, a child of each, and the factors of a shift.

    With d the distance from the parent's centre p to the child's c, and :math:`x_p = x_c + d`,

    .. math::
        (x_p/r_p)^k = (d/r_p)^k \sum_j \binom{k}{j} (r_c/d)^j (x_c/r_c)^j,

    where neither ratio exceeds 1 in magnitude: the child lies on one side of p. Inner factors
    are the powers of r_c/d, outer ones those of d/r_p.
    """
    first, last = tree.levels[level : level + 2]
    parents = first + np.flatnonzero(~tree.leaf[first:last])
    for (parent,) in _chunks(parents[None], _COLUMNS):
        for child in (tree.child[parent], tree.child[parent] + 1):
            distance = tree.centre[child] - tree.centre[parent]
            inner = _powers(_ratio(tree.radius[child], distance))
            yield parent, child, inner, _powers(distance / tree.radius[parent])


def _in_leaves(
    tree: LineTree, points: Array, span: Indices
) -> Iterator[tuple[Indices, Indices, slice, Array]]:
    """Yield leaves with points in order, with their points, grouped by number of points.

    Points are given as a range, and as offsets from the centre in units of the radius.
    """
    holding = np.flatnonzero(tree.leaf & (span[0] < span[1]))
    holding = holding[np.argsort(span[0, holding])]
    for (leaves,) in _chunks(holding[None], _COLUMNS):
        count = span[1, leaves] - span[0, leaves]
        members = slice(span[0, leaves[0]], span[1, leaves[-1]])
        offset = points[members] - np.repeat(tree.centre[leaves], count)
        yield leaves, count, members, _ratio(offset, np.repeat(tree.radius[leaves], count))


def _ratio(part: Array, whole: Array) -> Array:
    """Return part/whole, and 0 for 0/0."""
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole != 0)


def _powers(ratio: Array) -> Array:
    """Return the powers of every ratio, one row for each exponent, starting at 0."""
    table = np.empty((_TERMS, len(ratio)))
    table[0] = 1.0
    done, step = 1, ratio
    while done < _TERMS:
        more = min(done, _TERMS - done)
        np.multiply(table[:more], step, out=table[done : done + more])
        done, step = done + more, step * step
    return table


def _raised(values: Array, power: float) -> Array:
    """Return non-negative values to a power, by roots where that is much faster."""
    if power == 0.5:
        return np.sqrt(values)
    if power == 1.5:
        return np.asarray(values * np.sqrt(values))
    return np.asarray(values**power)


def _chunks(blocks: Indices, size: int) -> Iterator[Indices]:
    """Yield the columns of an array in chunks."""
    for start in range(0, blocks.shape[1], size):
        yield blocks[:, start : start + size]


def _padded(span: Indices, size: int) -> tuple[Indices, Mask]:
    """Return ``size`` indices from the start of every range, and a mask of those within it."""
    index = span[0][:, None] + np.arange(size)
    inside = index < span[1][:, None]
    return np.minimum(index, span[1][:, None] - 1), inside
