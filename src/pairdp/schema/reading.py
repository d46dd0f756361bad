"""Schemas from what a person gives: a mapping, or a file of JSON or of bounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairdp.schema.bounds import read_bounds
from pairdp.schema.columns import Column
from pairdp.schema.errors import SchemaError
from pairdp.schema.forms import column_of, is_open
from pairdp.schema.number_column import NumberColumn
from pairdp.schema.positions import COMMENT, Entry, entries_in, entries_of

_OPTIONS = {"$extra": "extra", "$sparse": "sparse", "$missing_values": "missing_values"}
_COLUMNS = "$columns"


def parts_in_file(path: Path) -> dict[str, Any]:
    """Return the fields of the schema in a file: JSON, or CSV with bounds of numbers.

    Raises
    ------
    SchemaError
        If the file cannot be read or has another form; the message says in which line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SchemaError(f"the schema {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"the schema {path} is not UTF-8 text") from None
    try:
        if path.suffix.lower() in (".csv", ".tsv"):
            lower, upper = read_bounds(path)
            return {
                "columns": tuple(NumberColumn(name, lower[name], upper[name]) for name in lower)
            }
        return _parts(entries_in(text))
    except ValueError as error:
        raise SchemaError(f"the schema {path} is not valid: {error}") from None


def parts_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the schema that a mapping of short forms describes."""
    return _parts(entries_of(values))


def _parts(entries: tuple[Entry, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    described: list[Entry] = []
    for entry in entries:
        if entry.key.startswith(COMMENT):
            continue
        if not entry.key.startswith("$"):
            described.append(entry)
        elif entry.key == _COLUMNS:
            if not isinstance(entry.value, Mapping):
                raise SchemaError(f"{entry.place}{_COLUMNS} must be an object of columns")
            described += entry.inside  # their names may start with # and $
        elif entry.key in _OPTIONS:
            fields[_OPTIONS[entry.key]] = entry
        else:
            raise SchemaError(
                f"{entry.place}unknown option {entry.key!r}; accepted: "
                f"{', '.join([*_OPTIONS, _COLUMNS])}"
            )
    if still_open := [entry for entry in described if is_open(entry)]:
        named = ", ".join(f"{entry.key!r}{_in_line(entry)}" for entry in still_open)
        raise SchemaError(
            f"these columns are not described yet: {named}; give each a range, categories, "
            '"flag", a date, a label, "id" or "ignore"'
        )
    columns: dict[str, Column] = {}
    for entry in described:
        if entry.key in columns:
            raise SchemaError(f"{entry.place}the column {entry.key!r} is described twice")
        columns[entry.key] = column_of(entry)
    _check_one_response(described)
    return {
        "columns": tuple(columns.values()),
        **{name: _option(name, entry) for name, entry in fields.items()},
    }


def _check_one_response(described: list[Entry]) -> None:
    found = [
        entry
        for entry in described
        if isinstance(entry.value, Mapping) and {"label", "target"} & entry.value.keys()
    ]
    if len(found) > 1:
        raise SchemaError(
            f"{found[1].place}{found[1].key!r} is a second label: {found[0].key!r}"
            f"{_in_line(found[0])} is the label already"
        )


def _option(name: str, entry: Entry) -> Any:
    value = entry.value
    try:
        if name == "missing_values":
            if not isinstance(value, list | tuple):
                raise ValueError(f"it must be a list, got {value!r}")
            return tuple(value)
        if name == "extra" and value not in ("ignore", "refuse"):
            raise ValueError(f'it must be "ignore" or "refuse", got {value!r}')
        if name == "sparse" and (type(value) is not int or value < 1):
            raise ValueError(f"it must be a positive integer, got {value!r}")
    except ValueError as error:
        raise SchemaError(f"{entry.place}{entry.key}: {error}") from None
    return value


def _in_line(entry: Entry) -> str:
    return f" in line {entry.line}" if entry.line else ""
