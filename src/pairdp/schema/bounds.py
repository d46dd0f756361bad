"""Public bounds of features, read from small JSON or CSV files."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import NamedTuple

_FORMS = (
    'JSON {"age": [0, 120], …} or {"age": {"lower": 0, "upper": 120}, …}, or CSV with the columns '
    "name, lower and upper"
)


class Bounds(NamedTuple):
    """Lower and upper bounds of features by name.

    Attributes
    ----------
    lower, upper : dict of str to float
        By name, in the order of the file.
    """

    lower: dict[str, float]
    upper: dict[str, float]


def read_bounds(path: str | Path) -> Bounds:
    """Return the public bounds in a JSON or CSV file.

    Parameters
    ----------
    path : path-like
        JSON ``{"age": [0, 120], …}`` or ``{"age": {"lower": 0, "upper": 120}, …}``; or CSV with the
        columns name, lower and upper.

    Raises
    ------
    ValueError
        If the file has another form; the message says where.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"the bounds {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the bounds {path} are not UTF-8 text; accepted: {_FORMS}") from None
    rows = _from_json(path, text) if text.lstrip().startswith("{") else _from_csv(path, text)
    lower, upper = {}, {}
    for name, low, high in rows:
        if name in lower:
            raise ValueError(f"the bounds {path} have {name!r} twice")
        lower[name], upper[name] = _number(path, name, low), _number(path, name, high)
        if not lower[name] < upper[name]:
            raise ValueError(
                f"the bounds {path} of {name!r} must have lower < upper, got {low} and {high}"
            )
    if not lower:
        raise ValueError(f"the bounds {path} are empty; accepted: {_FORMS}")
    return Bounds(lower, upper)


def _from_json(path: Path, text: str) -> list[tuple[str, object, object]]:
    try:
        entries = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the bounds {path} are not JSON: {error}") from None
    rows: list[tuple[str, object, object]] = []
    for name, entry in entries:
        match entry:
            case [("lower", low), ("upper", high)] | [("upper", high), ("lower", low)]:
                rows.append((name, low, high))
            case [low, high] if not isinstance(low, tuple):
                rows.append((name, low, high))
            case _:
                raise ValueError(f"the bounds {path} of {name!r} are not a pair; use {_FORMS}")
    return rows


def _from_csv(path: Path, text: str) -> list[tuple[str, object, object]]:
    mark = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True, delimiter=mark)
    try:
        return _entries(path, reader)
    except csv.Error as error:
        raise ValueError(f"the bounds {path} are not a well-formed CSV file: {error}") from None


def _entries(path: Path, reader: csv.DictReader[str]) -> list[tuple[str, object, object]]:
    columns = {(name or "").strip().lower(): name for name in reader.fieldnames or ()}
    if not {"name", "lower", "upper"} <= columns.keys():
        raise ValueError(f"the bounds {path} lack the columns name, lower, upper; use {_FORMS}")
    rows: list[tuple[str, object, object]] = []
    for row in reader:
        values = [row[columns[key]] for key in ("name", "lower", "upper")]
        if any(value is None for value in values):
            raise ValueError(f"the bounds {path} have too few entries in line {reader.line_num}")
        if None in row:
            raise ValueError(f"the bounds {path} have too many entries in line {reader.line_num}")
        rows.append((values[0].strip(), values[1], values[2]))
    return rows


def _number(path: Path, name: str, value: object) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"the bounds {path} of {name!r} have {value!r}, not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"the bounds {path} of {name!r} must be finite, got {value!r}")
    return number
