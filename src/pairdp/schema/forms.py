"""The short forms of columns, as a person writes them, and the columns that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pairdp.schema.category_column import CategoryColumn
from pairdp.schema.columns import (
    Column,
    IdentifierColumn,
    IgnoredColumn,
    LabelColumn,
    TargetColumn,
)
from pairdp.schema.date_column import DateColumn
from pairdp.schema.errors import SchemaError
from pairdp.schema.flag_column import FlagColumn
from pairdp.schema.number_column import NumberColumn
from pairdp.schema.positions import COMMENT, Entry

OPEN = "?"
"""The form of a column that is still to be described."""

_OF_ALL = {"missing", "missing_values"}
_FEATURE = _OF_ALL | {"weight"}
_OPTIONS = {
    "range": _FEATURE | {"scale", "integer"},
    "categories": _FEATURE | {"other"},
    "flag": _FEATURE,
    "date": _FEATURE | {"unit", "parts", "format"},
    "label": _OF_ALL,
    "target": _OF_ALL,
}
_WORDS: dict[str, Callable[[str], Column]] = {
    "flag": FlagColumn,
    "id": IdentifierColumn,
    "ignore": IgnoredColumn,
    "text": IgnoredColumn,
}
ACCEPTED = (
    'two numbers (a range), texts (categories), "flag", "id", "ignore", or an object with one of '
    + ", ".join(f'"{kind}"' for kind in _OPTIONS)
)


def is_open(entry: Entry) -> bool:
    """Return whether a column is still to be described."""
    return isinstance(entry.value, str) and entry.value.strip() in ("", OPEN)


def column_of(entry: Entry) -> Column:
    """Return the column that an entry of a schema describes.

    Raises
    ------
    SchemaError
        If it describes none; the message names the line, the column and what is accepted.
    """
    try:
        return _column(entry)
    except SchemaError:
        raise
    except (ValueError, TypeError) as error:
        raise SchemaError(f"{entry.place}column {entry.key!r}: {error}") from None


def _column(entry: Entry) -> Column:
    name, form = entry.key, entry.value
    if isinstance(form, Mapping):
        return _from_object(entry)
    if isinstance(form, str):
        if form in _WORDS:
            return _WORDS[form](name)
        raise ValueError(f"{form!r} is not known; accepted: {ACCEPTED}")
    if isinstance(form, list | tuple):
        if form and all(isinstance(item, str) for item in form):
            return CategoryColumn(name, tuple(form))
        if len(form) == 2 and all(map(_is_number, form)):
            return NumberColumn(name, *form)
        if form and all(map(_is_number, form)):
            raise ValueError(
                'two numbers are a range; for categories that are numbers use {"categories": […]}'
            )
    raise ValueError(f"{form!r} is no description of a column; accepted: {ACCEPTED}")


def _from_object(entry: Entry) -> Column:
    given = {item.key: item for item in entry.inside if not item.key.startswith(COMMENT)}
    if given.keys() == {"lower", "upper"}:  # of a file of bounds
        return NumberColumn(entry.key, given["lower"].value, given["upper"].value)
    kinds = [key for key in given if key in _OPTIONS]
    if len(kinds) != 1:
        found = " and ".join(f'"{kind}"' for kind in kinds) or "none of them"
        raise ValueError(
            f"an object must have exactly one of {', '.join(map(_quoted, _OPTIONS))}, and has "
            f"{found}"
        )
    kind = kinds[0]
    for key, item in given.items():
        if key != kind and key not in _OPTIONS[kind]:
            accepted = ", ".join(map(_quoted, sorted(_OPTIONS[kind])))
            raise SchemaError(
                f"{item.place}column {entry.key!r}: unknown option {key!r} of a {kind}; "
                f"accepted: {accepted}"
            )
    options = {key: _value(key, item.value) for key, item in given.items() if key != kind}
    try:
        return _MAKERS[kind](entry.key, given[kind].value, options)
    except (ValueError, TypeError) as error:
        line = _line_of(given, kind, str(error)) or entry
        raise SchemaError(f"{line.place}column {entry.key!r}: {error}") from None


def _line_of(given: Mapping[str, Entry], kind: str, message: str) -> Entry | None:
    """Return the option that an error is about: the one it begins with, or that of the kind."""
    first = message.split()[0] if message else ""
    return given.get(first) or given.get(kind)


def _value(key: str, value: Any) -> Any:
    if key in ("missing_values", "parts"):
        if not isinstance(value, list | tuple):
            raise ValueError(f"{key} must be a list, got {value!r}")
        return tuple(value)
    return value


def _number(name: str, ends: Any, options: dict[str, Any]) -> Column:
    return NumberColumn(name, *_two("range", "[lower, upper]", ends), **options)


def _categories(name: str, listed: Any, options: dict[str, Any]) -> Column:
    return CategoryColumn(name, _list("categories", listed), **options)


def _flag(name: str, values: Any, options: dict[str, Any]) -> Column:
    if values is None or values is True:
        return FlagColumn(name, None, **options)
    no, yes = _two("flag", "[value of no, value of yes]", values)
    return FlagColumn(name, (no, yes), **options)


def _date(name: str, ends: Any, options: dict[str, Any]) -> Column:
    first, last = _two("date", "[from, to]", ends)
    if "format" in options:
        options["date_format"] = options.pop("format")
    return DateColumn(name, first, last, **options)


def _label(name: str, listed: Any, options: dict[str, Any]) -> Column:
    return LabelColumn(name, _list("label", listed), **options)


def _target(name: str, ends: Any, options: dict[str, Any]) -> Column:
    return TargetColumn(name, *_two("target", "[lower, upper]", ends), **options)


_MAKERS: dict[str, Callable[[str, Any, dict[str, Any]], Column]] = {
    "range": _number,
    "categories": _categories,
    "flag": _flag,
    "date": _date,
    "label": _label,
    "target": _target,
}


def _list(what: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, list | tuple):
        raise ValueError(f"{what} must be a list, got {given!r}")
    return tuple(given)


def _two(what: str, form: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ValueError(f"{what} must be {form}, got {given!r}")
    return given[0], given[1]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quoted(word: str) -> str:
    return f'"{word}"'
