"""The only door for data: rows clipped to the public bound, labels coded.

A guarantee must not rest on a promise about the data, so every row is clipped, and
nothing here says whether any was: no warning, no count, no attribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import positive

Array = NDArray[np.float64]
_BLOCK = 8192
_SQUARE_OVERFLOWS = 1e150


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
    target_bound : float, optional
        Y. With it, labels are numbers to be predicted (regression), and those beyond ±Y are
        clipped; ``binary`` is then not looked at.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        data_norm: float = 1.0,
        binary: bool = True,
        target_bound: float | None = None,
    ) -> None:
        self.data_norm = check_data_norm(data_norm)
        self.target_bound = check_target_bound(target_bound)
        self.binary = binary and target_bound is None
        self.x = _features(x)
        _clip(self.x, self.data_norm)
        self.y = _labels(y, self.binary, self.target_bound)
        if self.y.shape != (self.n,):
            raise ValueError(
                f"y must have a label for each of the {self.n} rows of x, got shape {self.y.shape}"
            )
        self.x.setflags(write=False)
        self.y.setflags(write=False)

    @classmethod
    def gather(
        cls,
        batches: Iterable[tuple[ArrayLike, ArrayLike]],
        n: int,
        features: int,
        *,
        data_norm: float = 1.0,
        binary: bool = True,
        target_bound: float | None = None,
    ) -> Records:
        """Return n records that come in batches of features and labels.

        Each batch is clipped into one table, so that nothing is held twice.
        """
        norm, largest = check_data_norm(data_norm), check_target_bound(target_bound)
        table = np.empty((n, features))
        labels: list[NDArray[Any]] = []
        filled = 0
        for x, y in batches:
            rows = _features(x)
            if rows.shape[1] != features:
                raise ValueError(f"a batch has {rows.shape[1]} features, not {features}")
            if np.shape(y) != (len(rows),) or filled + len(rows) > n:
                raise ValueError(f"the batches do not have {n} records with one label each")
            _clip(rows, norm)
            table[filled : filled + len(rows)] = rows
            # A reader may use one buffer for all of its batches.
            labels.append(np.array(y))
            filled += len(rows)
        if filled != n:
            raise ValueError(f"the batches have {filled} records, not {n}")
        coded = np.concatenate(labels)
        gathered = object.__new__(cls)
        gathered.data_norm, gathered.target_bound = norm, largest
        gathered.binary = binary and largest is None
        gathered.x, gathered.y = table, _labels(coded, gathered.binary, largest)
        table.setflags(write=False)
        gathered.y.setflags(write=False)
        return gathered

    def part(self, rows: slice) -> Records:
        """Return some of the records, without copying them."""
        return self._with(self.x[rows], self.y[rows])

    def rows(self, places: NDArray[np.integer[Any]]) -> Records:
        """Return the records at some places, copied."""
        return self._with(self.x[places], self.y[places])

    def beside(self, x: Array, y: Array) -> Records:
        """Return other records that were clipped and coded as these were, without copying them."""
        return self._with(x.view(), y.view())

    def _with(self, x: Array, y: Array) -> Records:
        some = object.__new__(Records)
        some.data_norm, some.binary, some.x, some.y = self.data_norm, self.binary, x, y
        some.target_bound = self.target_bound
        x.setflags(write=False)
        y.setflags(write=False)
        return some

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
    """Return a copy of a table of numbers: nobody outside can change what is checked here."""
    if np.iscomplexobj(x):
        raise ValueError("x must be a table of real numbers, and it has complex ones")
    try:
        values = np.array(x, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("x must be a table of numbers") from None
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"x must be a non-empty table of n rows, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("x contains NaN or infinity: fill in or drop such values first")
    return values


def check_data_norm(data_norm: object) -> float:
    """Return a bound on the norm of records that arithmetic with squares keeps."""
    value = positive("data_norm", data_norm)
    if not 1e-30 <= value <= 1e30:
        raise ValueError(f"data_norm must be between 1e-30 and 1e30, got {value!r}: rescale")
    return value


def check_target_bound(target_bound: object) -> float | None:
    """Return a bound on the size of targets, None where there are none."""
    if target_bound is None:
        return None
    value = positive("target_bound", target_bound)
    if not 1e-30 <= value <= 1e30:
        raise ValueError(f"target_bound must be between 1e-30 and 1e30, got {value!r}: rescale")
    return value


def clip_rows(x: ArrayLike, data_norm: float) -> Array:
    """Return a copy of a table of numbers with the rows above the bound shrunk to it."""
    rows = _features(x)
    _clip(rows, check_data_norm(data_norm))
    return rows


def _clip(x: Array, data_norm: float) -> None:
    """Shrink the rows above the bound to it, in place.

    A norm is computed with a relative error of at most (d/2 + 2)u for d features, u = 2⁻⁵³, and the
    factor and the product add 2u. So clipped rows have norms of at most R(1 + (d/2 + 4)u), which
    is within the slack of every sensitivity for d up to 10⁶.
    """
    for start in range(0, len(x), _BLOCK):
        rows = x[start : start + _BLOCK]
        # Squares of tiny numbers may vanish, as such rows are below any bound there is.
        if max(float(rows.max()), -float(rows.min())) < _SQUARE_OVERFLOWS:
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            rows *= (data_norm / np.maximum(norms, data_norm))[:, None]
        else:
            _clip_huge(rows, data_norm)


def _clip_huge(rows: Array, data_norm: float) -> None:
    """Clip rows in place that may have squares too large for floats."""
    largest = np.abs(rows).max(axis=1)
    huge = largest >= _SQUARE_OVERFLOWS
    # In units of its largest entry, a row has a norm between 1 and √d; such rows are above.
    unit = rows[huge] / largest[huge, None]
    norms = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    rows[huge] = unit * (data_norm / norms)[:, None]
    rest = rows[~huge]
    norms = np.sqrt(np.einsum("ij,ij->i", rest, rest))
    rows[~huge] = rest * (data_norm / np.maximum(norms, data_norm))[:, None]


def _labels(y: ArrayLike, binary: bool, target_bound: float | None) -> Array:
    """Return labels as numbers, in an array that shares no memory with what was given."""
    if np.iscomplexobj(y):
        raise ValueError("y must not have complex numbers")
    if target_bound is not None:
        return _targets(y, target_bound)
    return _binary(y) if binary else _codes(y)


def _targets(y: ArrayLike, target_bound: float) -> Array:
    """Return a copy of the targets, those beyond the bound clipped to it."""
    try:
        targets = np.array(y, dtype=np.float64)
    except (TypeError, ValueError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("y must be numbers for a problem with targets") from None
    if targets.ndim != 1:
        raise ValueError(f"y must be one target a record, got shape {targets.shape}")
    if not np.all(np.isfinite(targets)):
        raise ValueError("y contains NaN or infinity: fill in or drop such records first")
    return np.clip(targets, -target_bound, target_bound)


def _binary(y: ArrayLike) -> Array:
    try:
        labels = np.array(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must be numbers -1 and +1 for a binary problem") from None
    if not np.all((labels == 1) | (labels == -1)):
        raise ValueError("y must be -1 and +1 for a binary problem: code the labels first")
    return labels


def _codes(y: ArrayLike) -> Array:
    labels = np.array(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one label a record, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("y contains NaN or infinity: fill in or drop such records first")
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.float64)
    except TypeError:
        raise ValueError("y must hold labels of one kind, such as all strings") from None
