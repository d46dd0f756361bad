"""Records that come in batches: what is kept of their rows, and their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid, label_array, read_labels, uses_null_records
from pairdp.label_coding import Array, Mask, code_labels, label_keys
from pairdp.unit_limit import UnitLimit

Batch = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike]
"""Features and labels and, if units are protected, the unit of each record."""


class Gathered(NamedTuple):
    """n records in one place; as private as the data.

    Attributes
    ----------
    kept : array of shape (n, ...)
        What is kept of their rows.
    y : array of shape (n,)
        Coded labels.
    unreadable : array of shape (n,)
        Which of them have a label that cannot be read, or are not used.
    keys : array or None
        The keys of names of classes.
    """

    kept: NDArray[Any]
    y: Array
    unreadable: Mask
    keys: NDArray[np.int64] | None


def gather(
    batches: Iterable[Batch],
    n: int,
    keep: Callable[[ArrayLike], NDArray[Any]],
    *,
    binary: bool,
    target_bound: float | None,
    invalid: Invalid,
    limit: UnitLimit | None,
) -> Gathered:
    """Return n records that come in batches; what is kept of a single batch is not copied.

    Parameters
    ----------
    batches : iterable of Batch
        The records.
    n : int
        Their number.
    keep : callable
        What is kept of the features of a batch: an array with an entry for each record, which
        shares no memory with them.
    binary, target_bound, invalid, limit
        See `pairdp.records.Records`.
    """
    null = uses_null_records(invalid)
    by_name = not binary and target_bound is None  # codes depend on all labels
    kept: NDArray[Any] | None = None
    names: list[NDArray[Any]] = []
    coded: Array | None = None
    unreadable: Mask | None = None
    unused = np.zeros(n, dtype=np.bool_)
    filled = 0
    for x, y, *groups in batches:
        some = keep(x)
        labels = read_labels(y) if null else label_array(y)
        if labels.shape != (len(some),) or filled + len(some) > n:
            raise ValueError(f"the batches do not have {n} records with one label each")
        kept = _place(some, kept, filled, n)
        beyond = unused_rows(limit, groups[0] if groups else None, len(some))
        if beyond is not None:
            unused[filled : filled + len(some)] = beyond
        if by_name:  # copied, since a reader may reuse one buffer for all of its batches
            names.append(np.array(labels, dtype=object if null else None))
        else:
            signs, missing = code_labels(labels, binary, target_bound, null=null)
            coded = _place(signs, coded, filled, n)
            unreadable = _place(missing, unreadable, filled, n)
        filled += len(some)
    if kept is None or filled != n:
        raise ValueError(f"the batches have {filled} records, not {n}")
    if coded is not None and unreadable is not None:
        return Gathered(kept, coded, unreadable | unused, None)
    everything = np.concatenate(names)
    coded, unreadable = code_labels(everything, binary, target_bound, null=null)
    return Gathered(kept, coded, unreadable | unused, label_keys(everything, coded))


def unused_rows(limit: UnitLimit | None, groups: ArrayLike | None, n: int) -> Mask | None:
    """Return which of n rows a limit excludes; None without a limit."""
    if (limit is None) != (groups is None):
        given = "a limit on the records of a unit" if groups is None else "groups"
        missing = "groups" if groups is None else "a limit"
        raise ValueError(f"{given} was given without {missing}: units need both")
    return None if limit is None or groups is None else limit.unused(groups, n)


def _place(some: NDArray[Any], all_of_them: NDArray[Any] | None, start: int, n: int) -> Any:
    """Return the array of all n records with these; that of a single batch is used as it is."""
    if len(some) == n:
        return some
    if all_of_them is None:
        all_of_them = np.empty_like(some, shape=(n, *some.shape[1:]))
    all_of_them[start : start + len(some)] = some
    return all_of_them
