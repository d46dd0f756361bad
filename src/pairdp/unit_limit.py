"""Which records of each unit are used: the first k, in the order of the rows.

The choice depends on which rows belong to one unit and on nothing else: neither on features and
labels, nor on whether a row can be read.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer
from pairdp._reading import read_labels

Mask = NDArray[np.bool_]


class UnitLimit:
    """Counts the records of each unit, over all batches of one data set.

    It holds the identifiers of units in memory, and cannot be pickled. Use a new one for each data
    set.

    Parameters
    ----------
    max_records : int
        k, the number of records of a unit that are used.

    Examples
    --------
    >>> limit = UnitLimit(2)
    >>> limit.unused(["a", "a", "b", None]).tolist()
    [False, False, False, True]
    >>> limit.unused(["b", "a", "b"]).tolist()
    [False, True, True]
    """

    def __init__(self, max_records: int) -> None:
        self.max_records = integer("max_records", max_records)
        self._counts: dict[str, int] = {}

    def unused(self, groups: ArrayLike, n: int | None = None) -> Mask:
        """Return which rows of the next batch are not used: beyond the limit, or without a unit.

        Parameters
        ----------
        groups : array-like of shape (n,)
            The unit of each row. None, NaN and empty text are no unit. Identifiers are compared as
            text without surrounding spaces, so that 7, 7.0 and "7" are the same unit. A tuple has
            several units, such as the two persons of a pair: its row is used if fewer than k
            earlier used rows belong to each of them.
        n : int, optional
            The number of rows, if it is known.
        """
        names = unit_names(groups)
        if n is not None and len(names) != n:
            raise ValueError(f"groups must have a unit for each of {n} rows, got {len(names)}")
        unused = np.ones(len(names), dtype=np.bool_)
        counts, most = self._counts, self.max_records
        for i, units in enumerate(names):
            if units and all(units) and all(counts.get(name, 0) < most for name in units):
                unused[i] = False
                for name in set(units):
                    counts[name] = counts.get(name, 0) + 1
        return unused

    def __repr__(self) -> str:
        return f"UnitLimit(max_records={self.max_records})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("the units of records are raw data and cannot be pickled")


def unit_names(groups: ArrayLike) -> list[tuple[str, ...]]:
    """Return the identifiers of each row's units as text, empty if there is none."""
    try:
        values = read_labels(groups)
    except ValueError:
        raise ValueError("groups must have one unit per record, in one dimension") from None
    return [
        tuple(map(_name, value if isinstance(value, tuple) else (value,)))
        for value in values.tolist()
    ]


def _number(value: Any) -> str:
    if not np.isfinite(float(value)):
        return ""
    return str(int(value)) if int(value) == value else str(float(value))


def _name(value: Any) -> str:
    # Two names for one unit would break the guarantee; one name for two units does not.
    try:
        if value is None or not bool(value == value):  # missing values differ from themselves
            return ""
        if isinstance(value, bytes):
            return value.decode(errors="replace").strip()
        if isinstance(value, float | np.floating | Decimal):
            return _number(value)
        return str(value).strip()
    except Exception:  # methods of an entry are called, which may raise anything
        return ""
