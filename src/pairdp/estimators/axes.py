"""The axes of a Mahalanobis metric, in an order and with signs that do not depend on the machine.

Eigenvectors are determined up to their sign, and up to rotations if eigenvalues are equal, as they
are in all directions that stay Euclidean. A public rule chooses among them; it is a function of the
released matrix alone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer

Array = NDArray[np.float64]
_SAME = 1e-9
_TIE = 1e-6


class Axes(NamedTuple):
    """The eigenvalues of M in decreasing order, and L with M = LᵀL, one axis in each row."""

    eigenvalues: Array
    components: Array


def axes_of(matrix: Array) -> Axes:
    """Return the axes of a positive semidefinite matrix.

    Eigenvalues that differ by less than 1e-9 of the largest are taken to be equal. The axes of
    equal eigenvalues are those of `_basis`, which the matrix determines: the coordinate axes, if
    all eigenvalues are equal. The largest entry of an axis is positive; if there are several, the
    first of them.
    """
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = np.maximum(values[::-1], 0.0), vectors.T[::-1]
    rows = []
    for group in groups_of(values):
        some = vectors[group]
        if len(some) > 1:
            some = _basis(some.T @ some, len(some))
            values[group] = values[group].mean()
        rows.append(np.array([_signed(row) for row in some]))
    return Axes(values, np.sqrt(values)[:, None] * np.concatenate(rows))


def groups_of(values: Array) -> list[slice]:
    """Return the runs of equal eigenvalues, given in decreasing order."""
    apart = np.flatnonzero(values[:-1] - values[1:] > _SAME * values[0]) + 1
    ends = [0, *apart.tolist(), len(values)]
    return [slice(a, b) for a, b in pairwise(ends)]


def directions_of(eigenvalues: Array) -> int:
    """Return the smallest rank of M - cI over c: d minus the largest multiplicity."""
    sizes = [int(group.stop - group.start) for group in groups_of(eigenvalues)]
    return len(eigenvalues) - max(sizes)


def check_n_components(n_components: object, n_features: int) -> int:
    """Return the number of axes to keep; None keeps all."""
    if n_components is None:
        return n_features
    kept = integer("n_components", n_components)
    if kept > n_features:
        raise ValueError(
            f"n_components must be at most the number of features, {n_features}, got {kept}"
        )
    return kept


def _basis(projection: Array, rank: int) -> Array:
    """Return the Gram-Schmidt basis of the columns of a projection, the longest remainder first.

    The longest has at least the length 1/√d, so rounding errors stay small.
    """
    rest, rows = projection.copy(), []
    for _ in range(rank):
        axis = rest[:, _largest(np.linalg.norm(rest, axis=0))]
        rows.append(axis / np.linalg.norm(axis))
        rest -= np.outer(rows[-1], rows[-1] @ rest)
    return np.array(rows)


def _signed(axis: Array) -> Array:
    return -axis if axis[_largest(np.abs(axis))] < 0 else axis


def _largest(sizes: Array) -> int:
    """Return the index of the largest number; of several, equal up to rounding, the first."""
    return int(np.argmax(sizes >= (1 - _TIE) * sizes.max()))
