"""The only entry for data: rows clipped to the public bound, labels coded.

A guarantee must not rest on a promise about the data, so every row is clipped, and
nothing here says whether any was: no warning, no count, no attribute.

A **null record** stands for one that is absent or cannot be read. It has its place among the n
records, which are public, and contributes zero to every sum: each pair with it has value and
gradient zero. To a proof it is one more value that a record may have, besides all (x, y) with |x| ≤
R: where a bound is the largest change over all values of the replaced record and of the others, it
must hold with null records too, and every bound of this library does (see
`pairdp.problem.Problem.record_diameter` and `pairdp.privacy.bounds`). So the guarantee covers
removing a record from its place and adding one into a null place.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import RECORDS, between
from pairdp._reading import (
    Invalid,
    label_array,
    null_is_asked,
    read_codes,
    read_labels,
    read_signs,
    read_table,
    read_targets,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
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
    invalid : {"error", "null"}
        What to do with a record that has NaN, infinity or something that is no number among its
        features, or no label that is accepted: raise an error, or make it a null record. An error
        tells whoever sees it about the data; with "null" nothing does.

    Attributes
    ----------
    x, y : array
        The clipped features and the coded labels, as private as the data. A null record has zeros
        and a label that is none: 0 among labels -1 and +1 (and among targets), -1 among codes.
    null : array of bool
        Which records are null.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        data_norm: float = 1.0,
        binary: bool = True,
        target_bound: float | None = None,
        invalid: Invalid = "error",
    ) -> None:
        self.data_norm = check_data_norm(data_norm)
        self.target_bound = check_target_bound(target_bound)
        self.binary = binary and target_bound is None
        if null_is_asked(invalid):
            rows = clip_rows(x, self.data_norm, "null")
            self._take(rows, *_readable(y, self.binary, self.target_bound))
            return
        self.x = clip_rows(x, self.data_norm)
        self.y = _labels(y, self.binary, self.target_bound)
        if self.y.shape != (self.n,):
            raise ValueError(
                f"y must have a label for each of the {self.n} rows of x, got shape {self.y.shape}"
            )
        self.null = np.zeros(self.n, dtype=np.bool_)
        self._freeze()

    def _take(self, rows: Array, y: Array, unknown: Mask) -> None:
        """Hold clipped rows and coded labels; NaN and labels that are none make null records."""
        if y.shape != (len(rows),):
            raise ValueError(
                f"y must have a label for each of the {len(rows)} rows of x, got shape {y.shape}"
            )
        self.null = unknown | np.isnan(rows[:, 0])
        rows[self.null] = 0.0
        y[self.null] = 0.0 if self.binary or self.target_bound is not None else -1.0
        self.x, self.y = rows, y
        self._freeze()

    def _freeze(self) -> None:
        for array in (self.x, self.y, self.null):
            array.setflags(write=False)

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
        invalid: Invalid = "error",
    ) -> Records:
        """Return n records that come in batches of features and labels.

        Each batch is clipped into one table, so that nothing is held twice.
        """
        norm, largest = check_data_norm(data_norm), check_target_bound(target_bound)
        if null_is_asked(invalid):
            gathered = object.__new__(cls)
            gathered.data_norm, gathered.target_bound = norm, largest
            gathered.binary = binary and largest is None
            gathered._take(*_gathered(batches, n, features, norm, gathered.binary, largest))
            return gathered
        table: Array | None = None
        labels: list[NDArray[Any]] = []
        filled = 0
        for x, y in batches:
            rows = _features(x)
            if rows.shape[1] != features:
                raise ValueError(f"a batch has {rows.shape[1]} features, not {features}")
            if np.shape(y) != (len(rows),) or filled + len(rows) > n:
                raise ValueError(f"the batches do not have {n} records with one label each")
            _clip(rows, norm)
            table = _placed(rows, table, filled, n)
            # A reader may use one buffer for all of its batches.
            labels.append(np.array(label_array(y)))
            filled += len(rows)
        if table is None or filled != n:
            raise ValueError(f"the batches have {filled} records, not {n}")
        coded = np.concatenate(labels)
        gathered = object.__new__(cls)
        gathered.data_norm, gathered.target_bound = norm, largest
        gathered.binary = binary and largest is None
        gathered.x, gathered.y = table, _labels(coded, gathered.binary, largest)
        gathered.null = np.zeros(n, dtype=np.bool_)
        gathered._freeze()
        return gathered

    def part(self, rows: slice) -> Records:
        """Return some of the records, without copying them."""
        return self._with(self.x[rows], self.y[rows], self.null[rows])

    def rows(self, places: NDArray[np.integer[Any]]) -> Records:
        """Return the records at some places, copied."""
        return self._with(self.x[places], self.y[places], self.null[places])

    def beside(self, x: Array, y: Array) -> Records:
        """Return other records that were clipped and coded as these were, without copying them.

        Null records are known by their label, which targets cannot tell.
        """
        if self.target_bound is not None:
            raise ValueError("records with targets do not tell null records by their label")
        null = np.equal(y, 0.0) if self.binary else np.less(y, 0.0)
        return self._with(x.view(), y.view(), null)

    def _with(self, x: Array, y: Array, null: Mask) -> Records:
        some = object.__new__(Records)
        some.data_norm, some.binary, some.x, some.y = self.data_norm, self.binary, x, y
        some.target_bound, some.null = self.target_bound, null
        some._freeze()
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

    @cached_property
    def has_null(self) -> bool:
        """Whether any record is null; as private as the data."""
        return bool(self.null.any())

    @cached_property
    def evaluable(self) -> Array:
        """Labels that any loss may be evaluated at: null records have one that is accepted.

        What comes out for them is then replaced by zero. They keep their places, as rounding at the
        corner of a hinge must not depend on where among the others a record lies.
        """
        if not self.has_null:
            return self.y
        return np.where(self.null, 0.0 if self.target_bound is not None else 1.0, self.y)

    def __repr__(self) -> str:
        return f"Records(n={self.n}, features={self.features}, data_norm={self.data_norm:g})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("records hold raw data and are not pickled: pickle the release instead")


def _features(x: ArrayLike) -> Array:
    """Return a copy of a table of numbers: nobody outside can change what is checked here."""
    if np.iscomplexobj(x):
        raise ValueError("x must be a table of real numbers, and it has complex ones")
    try:
        with np.errstate(all="ignore"):  # numbers too large for floats become infinite
            values = np.array(x, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("x must be a table of numbers") from None
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"x must be a non-empty table of n rows, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("x contains NaN or infinity: fill in or drop such values first")
    return values


def check_data_norm(data_norm: object) -> float:
    """Return a bound on the norm of records that arithmetic with squares keeps."""
    return between("data_norm", data_norm, *RECORDS)


def check_target_bound(target_bound: object) -> float | None:
    """Return a bound on the size of targets, None where there are none."""
    if target_bound is None:
        return None
    return between("target_bound", target_bound, *RECORDS)


def clip_rows(
    x: ArrayLike, data_norm: float, invalid: Invalid = "error", features: int | None = None
) -> Array:
    """Return a copy of a table of numbers with the rows above the bound shrunk to it.

    Rows that cannot be read are an error, or all NaN with ``invalid="null"``.
    """
    norm = check_data_norm(data_norm)
    if not null_is_asked(invalid):
        rows = _features(x)
        _clip(rows, norm)
        return rows
    rows = read_table(x, features)
    null = np.isnan(rows[:, 0])
    rows[null] = 0.0
    _clip(rows, norm)
    rows[null] = np.nan
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


def _readable(y: ArrayLike, binary: bool, target_bound: float | None) -> tuple[Array, Mask]:
    """Return coded labels, and which of them are none."""
    if target_bound is not None:
        targets = read_targets(y)
        return np.clip(targets, -target_bound, target_bound), np.isnan(targets)
    if binary:
        signs = read_signs(y)
        return signs, signs == 0
    codes = read_codes(y)
    return codes, codes < 0


def _gathered(
    batches: Iterable[tuple[ArrayLike, ArrayLike]],
    n: int,
    features: int,
    data_norm: float,
    binary: bool,
    target_bound: float | None,
) -> tuple[Array, Array, Mask]:
    """Return clipped rows and coded labels of batches, and which of the labels are none."""
    table: Array | None = None
    names = np.empty(n, dtype=object)
    coded, unknown = np.empty(n), np.empty(n, dtype=np.bool_)
    by_name = not binary and target_bound is None
    filled = 0
    for x, y in batches:
        rows, labels = clip_rows(x, data_norm, "null", features), read_labels(y)
        place = slice(filled, filled + len(rows))
        if len(labels) != len(rows) or place.stop > n:
            raise ValueError(f"the batches do not have {n} records with one label each")
        table = _placed(rows, table, filled, n)
        if by_name:
            names[place] = labels
        else:
            coded[place], unknown[place] = _readable(labels, binary, target_bound)
        filled = place.stop
    if table is None or filled != n:
        raise ValueError(f"the batches have {filled} records, not {n}")
    if by_name:
        coded, unknown = _readable(names, False, None)
    return table, coded, unknown


def _placed(rows: Array, table: Array | None, start: int, n: int) -> Array:
    """Return the table of all n records with some rows of it; one batch of all is that table."""
    if len(rows) == n:
        return rows
    table = np.empty((n, rows.shape[1])) if table is None else table
    table[start : start + len(rows)] = rows
    return table


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
        with np.errstate(all="ignore"):
            targets = np.array(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("y must be numbers for a problem with targets") from None
    if targets.ndim != 1:
        raise ValueError(f"y must be one target a record, got shape {targets.shape}")
    if not np.all(np.isfinite(targets)):
        raise ValueError("y contains NaN or infinity: fill in or drop such records first")
    return np.clip(targets, -target_bound, target_bound)


def _binary(y: ArrayLike) -> Array:
    try:
        with np.errstate(all="ignore"):
            labels = np.array(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("y must be numbers -1 and +1 for a binary problem") from None
    if not np.all((labels == 1) | (labels == -1)):
        raise ValueError("y must be -1 and +1 for a binary problem: code the labels first")
    return labels


def _codes(y: ArrayLike) -> Array:
    labels = np.array(label_array(y))
    if labels.ndim != 1:
        raise ValueError(f"y must be one label a record, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("y contains NaN or infinity: fill in or drop such records first")
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.float64)
    except TypeError:
        raise ValueError("y must hold labels of one kind, such as all strings") from None
