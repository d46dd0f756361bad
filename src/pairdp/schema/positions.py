"""JSON objects with the line of each key, so that errors can name it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pairdp.schema.errors import SchemaError

_SPACE = re.compile(r"[ \t\n\r]*")
COMMENT = "#"


@dataclass(frozen=True)
class Entry:
    """One key of an object, with its value and its line; 0 if it is not from a text.

    ``inside`` has the entries of a value that is an object.
    """

    key: str
    value: Any
    line: int = 0
    inside: tuple[Entry, ...] = ()

    @property
    def place(self) -> str:
        """Where it is, as the beginning of an error."""
        return f"line {self.line}: " if self.line else ""


def entries_in(text: str) -> tuple[Entry, ...]:
    """Return the entries of a JSON text that is one object.

    Raises
    ------
    SchemaError
        If the text is not a JSON object, or if a key occurs twice in it.
    """
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    try:
        start = _after_space(text, 0)
        if text[start : start + 1] != "{":
            raise SchemaError(f"line {_line(text, start)}: it must be a JSON object {{…}}")
        found, end = _entries(text, start, decoder)
        end = _after_space(text, end)
        if end != len(text):
            raise SchemaError(f"line {_line(text, end)}: there is more after the closing brace")
    except json.JSONDecodeError as error:
        raise SchemaError(f"line {error.lineno}: it is not JSON: {error.msg}") from None
    except RecursionError:
        raise SchemaError("it is not JSON of a schema: nested too deeply") from None
    return found


def entries_of(values: Any) -> tuple[Entry, ...]:
    """Return the entries of a mapping in Python."""
    return tuple(_inner(key, value) for key, value in values.items())


def _inner(key: Any, value: Any) -> Entry:
    if not isinstance(key, str):
        raise SchemaError(f"names of columns and options must be strings, got {key!r}")
    return Entry(key, value, 0, entries_of(value) if hasattr(value, "items") else ())


def _entries(text: str, start: int, decoder: json.JSONDecoder) -> tuple[tuple[Entry, ...], int]:
    """Return the entries of the object at a place, and where it ends."""
    found: list[Entry] = []
    lines: dict[str, int] = {}
    place = _after_space(text, start + 1)
    if text[place : place + 1] == "}":
        return (), place + 1
    while True:
        _expect(text, place, '"', "a name in double quotes")
        key, after = decoder.raw_decode(text, place)
        line = _line(text, place)
        colon = _after_space(text, after)
        _expect(text, colon, ":", "a colon after the name")
        entry, end = _value(text, key, line, _after_space(text, colon + 1), decoder)
        if key in lines:
            raise SchemaError(f"line {line}: {key!r} is there twice, first in line {lines[key]}")
        if not key.startswith(COMMENT):
            lines[key] = line
        found.append(entry)
        place = _after_space(text, end)
        if text[place : place + 1] == "}":
            return tuple(found), place + 1
        _expect(text, place, ",", "a comma or a closing brace")
        place = _after_space(text, place + 1)


def _value(
    text: str, key: str, line: int, place: int, decoder: json.JSONDecoder
) -> tuple[Entry, int]:
    if text[place : place + 1] == "{":
        inside, end = _entries(text, place, decoder)
        return Entry(key, {entry.key: entry.value for entry in inside}, line, inside), end
    value, end = decoder.raw_decode(text, place)
    return Entry(key, value, line), end


def _expect(text: str, place: int, mark: str, what: str) -> None:
    if text[place : place + 1] != mark:
        raise SchemaError(f"line {_line(text, place)}: it is not JSON: expected {what}")


def _after_space(text: str, place: int) -> int:
    matched = _SPACE.match(text, place)
    return matched.end() if matched else place


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _no_constant(name: str) -> object:
    raise SchemaError(f"{name} is not a number of JSON")
