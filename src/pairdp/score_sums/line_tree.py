"""A binary tree of two samples on the line, and its decomposition of pairs into blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

LEAF = 24
"""Largest number of points, of both samples together, in a leaf.

At least 8: an inner node then has at least five different values, and its rounded centre lies
strictly between the outer ones.
"""


@dataclass(frozen=True)
class LineTree:
    """A binary tree of two increasing samples; nodes are numbered level by level.

    Attributes
    ----------
    sources, queries : ndarray
        The samples.
    levels : list of int
        The first node of every level, and the number of nodes.
    centre, radius : ndarray of shape (nodes,)
        The point at which a node is split and expanded, and the largest distance of its points.
    source, query : ndarray of shape (2, nodes)
        The half-open ranges of a node's sources or queries.
    child : ndarray of shape (nodes,)
        The left child; the right one follows it. -1 for a leaf.
    """

    sources: Array
    queries: Array
    levels: list[int]
    centre: Array
    radius: Array
    source: Indices
    query: Indices
    child: Indices

    @cached_property
    def leaf(self) -> Mask:
        """Whether a node is a leaf."""
        return np.asarray(self.child < 0)

    @cached_property
    def has_source(self) -> Mask:
        """Whether a node has sources."""
        return np.asarray(self.source[0] < self.source[1])

    @cached_property
    def has_query(self) -> Mask:
        """Whether a node has queries."""
        return np.asarray(self.query[0] < self.query[1])


def build_tree(sources: Array, queries: Array) -> LineTree:
    """Return the tree of two increasing, non-empty samples."""
    source, query = np.array([[0], [len(sources)]]), np.array([[0], [len(queries)]])
    side = np.array([-1.0])
    levels, parts = [0], []
    while source.size:
        low, high = _span(sources, source, queries, query)
        centre = low + (high / 2 - low / 2)
        # Rounded away from the parent's centre, so no radius exceeds the distance of the centres.
        lean = side * ((high - centre) - (centre - low)) > 0
        centre[lean] = np.nextafter(centre[lean], side[lean] * np.inf)
        radius = np.maximum(high - centre, centre - low)
        cut = np.flatnonzero(source[1] - source[0] + query[1] - query[0] > LEAF)
        levels.append(levels[-1] + len(centre))
        child = np.full(len(centre), -1)
        child[cut] = levels[-1] + 2 * np.arange(len(cut))
        parts.append((centre, radius, source, query, child))
        source = _halves(sources, source[:, cut], centre[cut])
        query = _halves(queries, query[:, cut], centre[cut])
        side = np.tile([-1.0, 1.0], len(cut))
    fields = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return LineTree(sources, queries, levels, *fields)


def _span(sources: Array, source: Indices, queries: Array, query: Indices) -> tuple[Array, Array]:
    """Return the smallest and the largest point of every node."""
    low = np.full(source.shape[1], np.inf)
    high = -low
    for points, span in ((sources, source), (queries, query)):
        some = span[0] < span[1]
        low[some] = np.minimum(low[some], points[span[0, some]])
        high[some] = np.maximum(high[some], points[span[1, some] - 1])
    return low, high


def _halves(points: Array, span: Indices, cut: Array) -> Indices:
    """Return the ranges of every node's points up to its split point and above, interleaved."""
    middle = np.clip(np.searchsorted(points, cut, side="right"), span[0], span[1])
    return np.stack(
        [np.stack([span[0], middle], axis=-1).ravel(), np.stack([middle, span[1]], axis=-1).ravel()]
    )


class Blocks(NamedTuple):
    """Blocks of a node of queries (first row) and a node of sources to its right (second row).

    Attributes
    ----------
    far : ndarray of shape (2, blocks)
        Both nodes are expanded.
    to_points, from_points : ndarray of shape (2, blocks)
        Only the sources, or only the queries, are expanded: the other node is a leaf wider than the
        gap.
    near : ndarray of shape (2, blocks)
        Leaves whose pairs are summed directly, including each leaf with itself.
    visited : int
        Number of blocks that were visited.
    """

    far: Indices
    to_points: Indices
    from_points: Indices
    near: Indices
    visited: int


def decompose(tree: LineTree) -> Blocks:
    """Return blocks that contain every pair of a query and a source to its right once.

    They are a well-separated pair decomposition (Callahan and Kosaraju 1995): because nodes are
    split at their centre, the number of blocks is linear in the number of leaves. If two nodes are
    too close, the wider one is split, unless it is a leaf.
    """
    radius, leaf = tree.radius, tree.leaf
    own = np.flatnonzero(leaf & tree.has_query & tree.has_source)
    none = np.empty((2, 0), dtype=np.intp)
    found = ([none], [none], [none], [np.stack([own, own])])
    visited = len(own)
    # The smallest node with both points has one in its left child, the other in its right.
    left = tree.child[~leaf]
    block = np.stack([left, left + 1])
    while block.size:
        block = block[:, tree.has_query[block[0]] & tree.has_source[block[1]]]
        visited += block.shape[1]
        a, b = block
        # Radii, not widths: the centre of two adjacent floats equals one of them.
        distance = tree.centre[b] - tree.centre[a]
        clear_a = distance - radius[b] >= 3 * radius[a]
        clear_b = distance - radius[a] >= 3 * radius[b]
        far = clear_a & clear_b
        to_points = clear_b & ~clear_a & leaf[a] & ~leaf[b]
        from_points = clear_a & ~clear_b & leaf[b] & ~leaf[a]
        near = ~far & leaf[a] & leaf[b]
        for parts, chosen in zip(found, (far, to_points, from_points, near), strict=True):
            parts.append(block[:, chosen])
        block = block[:, ~(far | to_points | from_points | near)]
        a, b = block
        cut_a = leaf[b] | (~leaf[a] & (radius[a] >= radius[b]))
        block = np.concatenate(
            [_split(block, cut_a, 0, tree.child), _split(block, ~cut_a, 1, tree.child)], axis=1
        )
    far, to_points, from_points, near = (np.concatenate(parts, axis=1) for parts in found)
    return Blocks(far, to_points, from_points, near, visited)


def _split(block: Indices, chosen: Mask, row: int, child: Indices) -> Indices:
    """Return the chosen blocks twice, with each child of one of their nodes."""
    halves = np.repeat(block[:, chosen], 2, axis=1)
    halves[row] = child[halves[row]]
    halves[row, 1::2] += 1
    return halves
