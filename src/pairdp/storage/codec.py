"""Objects as plain JSON values, read back by known constructors only.

No file names code to be run: an object is written as the name of its class and its fields, and read
back by calling that class, which checks them. The class is part of this library, or a user's class
that the caller trusts. A user's class can be a value too, by its import path.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pairdp.storage.errors import UnknownObjectError
from pairdp.storage.registry import Trusted, known_class, of_library, path_of

_NO_CLASSES = Trusted()


def encode(value: Any) -> Any:
    """Return a value as JSON values.

    Raises
    ------
    UnknownObjectError
        If it is neither plain nor an object that can be rebuilt from its fields.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(item) for item in value]}
    if isinstance(value, type) and not of_library(value):
        return {"type": path_of(value)}
    if dataclasses.is_dataclass(value):
        return _encode_object(value)
    if isinstance(value, Mapping) or hasattr(value, "to_dict"):  # a pandas Series has it
        entries = dict(value)
        if all(isinstance(key, str) for key in entries):
            return {"dict": {key: encode(item) for key, item in entries.items()}}
    if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        items = np.asarray(value).tolist()
        is_list = isinstance(items, list)
        return {"array": [encode(item) for item in items]} if is_list else encode(items)
    return _encode_object(value)


def _encode_object(value: Any) -> dict[str, Any]:
    kind = type(value)
    declared = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    names = [field.name for field in declared if field.init]
    is_known = not of_library(kind) or known_class(kind.__name__) is kind
    if not is_known or len(names) < len(declared) or _more_than(value, names):
        raise UnknownObjectError(
            f"a {kind.__name__} cannot be stored: only plain values, and objects that can be "
            "rebuilt from their dataclass fields"
        )
    fields = {name: encode(getattr(value, name)) for name in names}
    called = {"object": kind.__name__} if of_library(kind) else {"class": path_of(kind)}
    return {**called, "fields": fields}


def _more_than(value: Any, names: Sequence[str]) -> bool:
    """Return whether an object has state besides these fields and cached properties."""
    if not hasattr(value, "__dict__"):
        return not dataclasses.is_dataclass(value)
    return any(
        name not in names and not isinstance(getattr(type(value), name, None), cached_property)
        for name in vars(value)
    )


def decode(value: Any, trusted: Trusted = _NO_CLASSES) -> Any:
    """Return the value that `encode` wrote; anything else is an error.

    Parameters
    ----------
    value : JSON value
        What `encode` returned.
    trusted : Trusted
        Classes outside this library that may be called.

    Raises
    ------
    UnknownObjectError
        If it names a class that is not in this library.
    UntrustedClassError
        If it names a class outside this library that is not trusted.
    """
    match value:
        case None | bool() | str() | int() | float():
            return value
        case {"float": "inf" | "-inf" | "nan" as text, **rest} if not rest:
            return float(text)
        case {"array": list(items), **rest} if not rest:
            return np.array([decode(item, trusted) for item in items])
        case {"list": list(items), **rest} if not rest:
            return [decode(item, trusted) for item in items]
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decode(item, trusted) for item in items)
        case {"dict": dict(items), **rest} if not rest:
            return {key: decode(item, trusted) for key, item in items.items()}
        case {"object": str(name), "fields": dict(fields), **rest} if not rest:
            kind = known_class(name)
            if kind is None:
                raise UnknownObjectError(f"unknown object {name!r}")
            return kind(**{key: decode(item, trusted) for key, item in fields.items()})
        case {"class": str(path), "fields": dict(fields), **rest} if not rest:
            kind = trusted[path]
            return kind(**{key: decode(item, trusted) for key, item in fields.items()})
        case {"type": str(path), **rest} if not rest:
            return trusted[path]
    raise ValueError(f"not an encoded value: {type(value).__name__}")


def user_classes(value: Any) -> Iterator[str]:
    """Yield the import paths of classes outside this library in encoded values."""
    if isinstance(value, Mapping):
        path = value.get("class")
        of_object = value.keys() == {"class", "fields"}
        of_estimator = value.keys() >= {"class", "params"} and ":" in str(path)
        if isinstance(path, str) and (of_object or of_estimator):
            yield path
        if value.keys() == {"type"} and isinstance(value["type"], str):
            yield value["type"]
        # The keys of an encoded dict are those of its user, and name no classes.
        plain = value.get("dict") if value.keys() == {"dict"} else None
        for item in (plain if isinstance(plain, Mapping) else value).values():
            yield from user_classes(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from user_classes(item)
