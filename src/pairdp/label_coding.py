"""Labels as numbers: -1 and +1, targets clipped to a public bound, or codes of classes."""

from __future__ import annotations

import hashlib
import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import RECORDS, between
from pairdp._reading import label_array, read_codes, read_labels, read_signs, read_targets

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_LARGEST_KEY = 2**47


def check_target_bound(target_bound: object) -> float | None:
    """Return a bound on the absolute value of targets, None if labels are not targets."""
    if target_bound is None:
        return None
    return between("target_bound", target_bound, *RECORDS)


def code_labels(
    y: ArrayLike, binary: bool, target_bound: float | None, *, null: bool
) -> tuple[Array, Mask]:
    """Return coded labels, and which of them cannot be read.

    Parameters
    ----------
    y : array-like of shape (n,)
        The labels.
    binary : bool
        Whether they must be -1 and +1; otherwise they name classes.
    target_bound : float or None
        If given, they are targets, which are clipped to this bound.
    null : bool
        Whether a label that cannot be read makes a null record; otherwise it is an error.
    """
    if null:
        return _lenient(y, binary, target_bound)
    coded = _strict(y, binary, target_bound)
    return coded, np.zeros(coded.shape, dtype=np.bool_)


def label_keys(y: ArrayLike, codes: Array) -> NDArray[np.int64]:
    """Return for each record an integer that is a public function of its own label alone.

    Codes number the labels that occur, so that one record can change the codes of all others. Keys
    do not depend on other records: an integer is its own key, also if it is written as text, and
    other labels have a digest of their text. Different labels may have equal keys. Equal labels
    that are written in different ways, such as ½ and 0.5, may have different ones: if a class had
    the key of its first record, that record could move all others to another key.

    Parameters
    ----------
    y : array-like of shape (n,)
        The labels.
    codes : array of shape (n,)
        Their codes; the key is 0 where the code is negative.
    """
    labels = read_labels(y)
    keys = np.zeros(len(labels), dtype=np.int64)
    named = codes >= 0
    if labels.dtype.kind != "O":  # equal labels of one numpy type have equal keys
        _, places, inverse = np.unique(codes[named], return_index=True, return_inverse=True)
        of_codes = [label_key(label) for label in labels[named][places]]
        keys[named] = np.array(of_codes, dtype=np.int64)[inverse]
        return keys
    known: dict[tuple[type, Any], int] = {}
    for place in np.flatnonzero(named):
        label = labels[place]
        if type(label) not in (str, int, float, bool):
            keys[place] = label_key(label)
            continue
        found = known.get((type(label), label))
        if found is None:
            found = known[type(label), label] = label_key(label)
        keys[place] = found
    return keys


def label_key(label: Any) -> int:
    """Return an integer of less than 48 bits that is a function of the label.

    It is the same for all types that a column of such labels may get from the label of another
    record: a number may become text or complex, and times may become objects.
    """
    if isinstance(label, datetime) and label.tzinfo is None:
        label = np.datetime64(label, "us")
    if isinstance(label, np.datetime64):
        label = str(label.astype("datetime64[us]"))
    elif isinstance(label, np.timedelta64 | timedelta):
        label = str(np.timedelta64(label, "us"))
    elif isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, complex) and label.imag == 0:
        label = label.real
    try:
        text = label.decode("latin-1") if isinstance(label, bytes) else str(label)
    except Exception:  # an integer of 5000 digits, or an object of any class
        text = ""
    number = {"True": 1.0, "False": 0.0}.get(text)
    if number is None:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
    if number.is_integer() and abs(number) < _LARGEST_KEY:
        return int(number)
    if math.isfinite(number):
        text = repr(number)  # the same for an integer, a float and their text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "little")


def _lenient(y: ArrayLike, binary: bool, target_bound: float | None) -> tuple[Array, Mask]:
    """Return coded labels, and which of them cannot be read."""
    if target_bound is not None:
        targets = read_targets(y)
        return np.clip(targets, -target_bound, target_bound), np.isnan(targets)
    if binary:
        signs = read_signs(y)
        return signs, signs == 0
    codes = read_codes(y)
    return codes, codes < 0


def _strict(y: ArrayLike, binary: bool, target_bound: float | None) -> Array:
    """Return coded labels, in an array that shares no memory with the input."""
    if np.iscomplexobj(y):
        raise ValueError("y must not contain complex numbers")
    if target_bound is not None:
        return _targets(y, target_bound)
    return _binary(y) if binary else _codes(y)


def _targets(y: ArrayLike, target_bound: float) -> Array:
    """Return a copy of the targets, clipped to the bound."""
    try:
        with np.errstate(all="ignore"):
            targets = np.array(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        # The conversion's own message would quote a value of the data.
        raise ValueError("y must be numbers for a problem with targets") from None
    if targets.ndim != 1:
        raise ValueError(f"y must have one target per record, got shape {targets.shape}")
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
        raise ValueError(f"y must have one label per record, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("y contains NaN or infinity: fill in or drop such records first")
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.float64)
    except TypeError:
        raise ValueError("y must have labels of one type, such as all strings") from None
