"""The only door for data: rows clipped to the public bound, labels coded.

A guarantee must not rest on a promise about the data, so every row is clipped, and
nothing here says whether any was: no warning, no count, no attribute.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import positive

Array = NDArray[np.float64]


class Records:
    """n records: features clipped to norm ``data_norm``, and their labels.

    Parameters
    ----------
    x : array-like of shape (n, d)
        Features; must be finite.
    y : array-like of shape (n,)
        Labels. With ``binary`` they must be -1 and +1; else any values that can be told apart.
    data_norm : float
        R. Rows of larger norm are shrunk to it.
    binary : bool
        Whether labels are -1 and +1 (ranking) or only name classes (metric learning).
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, *, data_norm: float = 1.0, binary: bool = True
    ) -> None:
        self.data_norm = positive("data_norm", data_norm)
        self.x = _clip(_features(x), self.data_norm)
        self.y = _binary(y) if binary else _codes(y)
        if self.y.shape != (self.n,):
            raise ValueError(
                f"y must have a label for each of the {self.n} rows of x, got shape {self.y.shape}"
            )

    def part(self, rows: slice) -> Records:
        """Return some of the records, without copying them."""
        part = object.__new__(Records)
        part.data_norm, part.x, part.y = self.data_norm, self.x[rows], self.y[rows]
        return part

    def rows(self, places: NDArray[np.integer[Any]]) -> Records:
        """Return the records at some places, copied."""
        drawn = object.__new__(Records)
        drawn.data_norm, drawn.x, drawn.y = self.data_norm, self.x[places], self.y[places]
        return drawn

    @property
    def n(self) -> int:
        """Number of records, which is public."""
        return int(self.x.shape[0])

    @property
    def features(self) -> int:
        """Number of features, which is public."""
        return int(self.x.shape[1])

    @cached_property
    def positive(self) -> NDArray[np.intp]:
        """1 for records labelled +1, else 0."""
        return (self.y > 0).astype(np.intp)

    def __repr__(self) -> str:
        return f"Records(n={self.n}, features={self.features}, data_norm={self.data_norm:g})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("records hold raw data and are not pickled: pickle the release instead")


def _features(x: ArrayLike) -> Array:
    try:
        values = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("x must be a table of numbers") from None
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"x must be a non-empty table of n rows, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("x contains NaN or infinity: fill in or drop such values first")
    return values


def _clip(x: Array, data_norm: float) -> Array:
    """Return the rows, those above the bound shrunk to it."""
    with np.errstate(over="ignore", under="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", x, x))
    huge = np.isinf(norms)
    if huge.any():
        largest = np.abs(x).max(axis=1)
        scaled = x / np.where(huge, largest, 1.0)[:, None]
        return _clip(np.where(huge[:, None], scaled * (2 * data_norm), x), data_norm)
    above = norms > data_norm
    if not above.any():
        return x
    return np.asarray(x * np.where(above, data_norm / np.maximum(norms, data_norm), 1.0)[:, None])


def _binary(y: ArrayLike) -> Array:
    try:
        labels = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must be numbers -1 and +1 for a binary problem") from None
    if not np.all((labels == 1) | (labels == -1)):
        raise ValueError("y must be -1 and +1 for a binary problem: code the labels first")
    return labels


def _codes(y: ArrayLike) -> Array:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one label a record, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("y contains NaN or infinity: fill in or drop such records first")
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.float64)
    except TypeError:
        raise ValueError("y must hold labels of one kind, such as all strings") from None
