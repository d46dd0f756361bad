"""Reading each record separately, so that one that cannot be read does not affect the others.

numpy converts a whole table at once: one string in a list of numbers turns all of them into
strings, one missing label turns integers into floats, and one integer of 400 digits is an error. An
error, or a change in how other records are read, would reveal something about that one record. So
every entry is converted separately, entries that are not finite numbers become NaN or None, and
nothing warns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._silence import silence

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Invalid = Literal["error", "null"]

_BLOCK = 1024
_COMPLEX = (complex, np.complexfloating)
"""One complex number makes all numbers of a pandas column complex: those without an imaginary part
are read as what they were."""
_UNREADABLE = Exception  # methods of an entry are called, which may raise anything


def uses_null_records(invalid: object) -> bool:
    """Return whether unreadable records become null records; otherwise they are an error."""
    if not isinstance(invalid, str) or invalid not in ("error", "null"):
        raise ValueError(f'invalid must be "error" or "null", got {invalid!r}')
    return invalid == "null"


def read_table(x: ArrayLike | Sequence[Sequence[Any]], features: int | None = None) -> Array:
    """Return a table of numbers; a row with an entry that is not a finite number is all NaN.

    Parameters
    ----------
    x : array-like of shape (n, d)
        The table, of any type. Its shape is public: errors of this function depend on it alone.
    features : int, optional
        d, if it is known: in a list, a row of another length then cannot be read either.
    """
    with silence():
        values = _floats(_cells(x, features))
    if features is not None and values.shape[1] != features:
        raise ValueError(f"x has {values.shape[1]} features, not {features}")
    finite = np.isfinite(values)
    if not finite.all():
        values[~finite.all(axis=1)] = np.nan
    return values


def read_labels(y: ArrayLike) -> NDArray[Any]:
    """Return labels in an array, without converting them to a common type."""
    if not isinstance(y, Sequence) or isinstance(y, str):
        labels = np.asarray(y)
    else:
        labels = np.empty(len(y), dtype=object)
        for i, label in enumerate(y):
            labels[i] = label
    if labels.ndim != 1:
        raise ValueError(f"y must have one label per record, got shape {labels.shape}")
    return labels


def label_array(y: ArrayLike) -> NDArray[Any]:
    """Return labels as ``np.asarray`` does, except for strings that end in NUL.

    numpy's arrays of strings drop it, which would merge different labels; such labels are kept as
    objects.
    """
    labels = np.asarray(y)
    if labels.dtype.kind not in "US" or labels.ndim != 1 or isinstance(y, np.ndarray):
        return labels
    given = np.empty(len(labels), dtype=object)
    for i, label in enumerate(cast(Sequence[Any], y)):
        given[i] = label
    return given if any(map(_ends_in_nul, given)) else labels


def check_names_of_classes(names: Iterable[object]) -> None:
    """Raise an error for names of classes that end in NUL, which arrays of strings drop."""
    if any(map(_ends_in_nul, names)):
        raise ValueError("the name of a class must not end in NUL")


def _ends_in_nul(label: object) -> bool:
    return isinstance(label, str | bytes) and label[-1:] in ("\0", b"\0")


def read_targets(y: ArrayLike) -> Array:
    """Return targets as numbers, NaN for those that are not finite numbers."""
    with silence():
        targets = _floats(read_labels(y)[:, None])[:, 0]
    targets[~np.isfinite(targets)] = np.nan
    return targets


def read_signs(y: ArrayLike, classes: Sequence[Any] | None = None) -> Array:
    """Return -1 for the first of two classes, +1 for the second, and 0 for any other label.

    Without classes, they are the numbers -1 and +1.
    """
    if classes is None:
        numbers = read_targets(y)
        return np.where(np.abs(numbers) == 1, numbers, 0.0)
    labels = read_labels(y)
    low, high = (equal_to(labels, label) for label in classes)
    return high.astype(np.float64) - low.astype(np.float64)


def only_known(y: NDArray[Any], known: ArrayLike) -> NDArray[Any]:
    """Return labels, with None in place of those that are not among the known ones."""
    labels = np.array(y, dtype=object)
    named = np.zeros(len(labels), dtype=np.bool_)
    for label in np.unique(np.asarray(known)).tolist():
        named |= equal_to(y, label)
    labels[~named] = None
    return labels


def read_codes(y: ArrayLike) -> Array:
    """Return a code for each label, the same for equal labels; -1 if it does not name a class."""
    labels = read_labels(y)
    with silence():
        named = named_labels(labels)
    codes = np.full(len(labels), -1.0)
    if labels.dtype.kind == "O":
        names = dict.fromkeys(labels[named])
        try:
            known = {label: code for code, label in enumerate(sorted(names))}
        except TypeError:  # labels of several types
            known = {label: code for code, label in enumerate(names)}
        codes[named] = [known[label] for label in labels[named]]
    else:
        codes[named] = np.unique(labels[named], return_inverse=True)[1]
    return codes


def occurring_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that name a class, each once, sorted."""
    try:
        found = np.unique(labels[named_labels(labels)])
    except TypeError:
        raise ValueError("y must have labels of one type, such as all strings") from None
    return np.array(found.tolist())


def named_labels(labels: NDArray[Any]) -> Mask:
    """Return which labels name a class: those that are not missing, infinite or unhashable."""
    kind = labels.dtype.kind
    if kind in "fcmM":
        return np.asarray(np.isfinite(labels), dtype=np.bool_)
    if kind in "biuUS":
        return np.ones(len(labels), dtype=np.bool_)
    return np.fromiter(map(_is_name, labels), np.bool_, len(labels))


def _is_name(label: Any) -> bool:
    if label is None or (isinstance(label, _COMPLEX) and label.imag != 0):
        return False
    try:
        hash(label)
        if isinstance(label, float | np.floating) and not np.isfinite(label):
            return False
        return bool(label == label)  # neither NaN nor another missing value
    except _UNREADABLE:
        return False


def equal_to(labels: NDArray[Any], label: Any) -> Mask:
    """Return which labels equal the given one."""
    numbers = labels.dtype.kind in "biuf" and isinstance(label, bool | int | float | np.number)
    if numbers or (labels.dtype.kind == "U" and isinstance(label, str)):
        return np.asarray(labels == label, dtype=np.bool_)

    def same(other: Any) -> bool:
        try:
            return bool(other == label)
        except _UNREADABLE:
            return False

    with silence():
        return np.fromiter(map(same, labels.tolist()), np.bool_, len(labels))


def _cells(x: Any, features: int | None) -> NDArray[Any]:
    """Return a table of numbers, or of objects that are not converted."""
    if not isinstance(x, Sequence) or isinstance(x, str):
        return np.asarray(x)
    try:
        table = np.asarray(x)
    except _UNREADABLE:
        return _objects(x, features)
    # Numbers of several types become the same floats together as separately.
    return table if table.ndim == 2 and table.dtype.kind in "biufc" else _objects(x, features)


def _objects(rows: Sequence[Any], features: int | None) -> NDArray[Any]:
    """Return the entries of a list of rows; a row of the wrong length has none."""
    lengths = [_length(row) for row in rows]
    width = features
    if width is None:
        if len(set(lengths)) != 1 or lengths[0] < 1:
            raise ValueError(
                "x must be a table: all of its rows must have the same, public, number of entries"
            )
        width = lengths[0]
    table = np.full((len(rows), width), None, dtype=object)
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if length == width:
            for j, entry in enumerate(row):
                table[i, j] = entry
    return table


def _length(row: Any) -> int:
    if isinstance(row, str | bytes):
        return -1
    try:
        return len(row)
    except TypeError:
        return -1


def _floats(table: NDArray[Any]) -> Array:
    """Return a new table of floats, with NaN in rows that have an entry which is not a number."""
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"x must be a non-empty table of n rows, got shape {table.shape}")
    if table.dtype.kind == "c":
        values = np.array(table.real, dtype=np.float64, order="C")  # as for any other type
        values[(table.imag != 0).any(axis=1)] = np.nan
        return values
    if table.dtype.kind in "biuf":
        return np.array(table, dtype=np.float64, order="C")
    values = np.empty(table.shape)
    for start in range(0, len(table), _BLOCK):
        some = slice(start, start + _BLOCK)
        try:
            values[some] = table[some].astype(np.float64)
        except _UNREADABLE:
            for i, row in enumerate(table[some], start):
                values[i] = _row(row)
    return values


def _row(row: NDArray[Any]) -> Array | float:
    real = np.empty_like(row)
    for i, entry in enumerate(row):
        is_real = isinstance(entry, _COMPLEX) and entry.imag == 0
        real[i] = entry.real if is_real else entry
    try:
        return real.astype(np.float64)
    except _UNREADABLE:
        return np.nan
