"""The classes of this library whose objects can be stored, by name."""

from __future__ import annotations

from typing import Any

from pairdp._discovery import find_registered

_KNOWN: dict[str, type] = {}
_PACKAGES: dict[str, None] = {}  # packages with such classes, in the order of their import
_LIBRARY = __name__.partition(".")[0]


class Storable:
    """A class whose objects are stored as the name of the class and its dataclass fields.

    Classes of this library are registered by name when they are defined. User-defined classes are
    stored by their import path, and loaded only if the caller passes them as trusted.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not of_library(cls):
            return
        package = cls.__module__.rpartition(".")[0]
        if package != _LIBRARY:
            _PACKAGES[package] = None
        if cls.__name__.startswith("_"):
            return
        known = _KNOWN.get(cls.__name__)
        if known is not None and path_of(known) != path_of(cls):
            raise TypeError(f"two classes are named {cls.__name__}: {path_of(known)} is registered")
        _KNOWN[cls.__name__] = cls


def known_class(name: str) -> type | None:
    """Return the class of this library with a name, None if there is none.

    An unknown name is searched for in the packages that define such classes: code that decodes
    objects of a kind has imported the base class of that kind.
    """
    return find_registered(_KNOWN, name, *_PACKAGES)


def of_library(kind: type) -> bool:
    """Return whether a class is defined in this library."""
    return kind.__module__.partition(".")[0] == _LIBRARY


def path_of(kind: type) -> str:
    """Return the import path of a class, as ``module:qualified.name``."""
    return f"{kind.__module__}:{kind.__qualname__}"
