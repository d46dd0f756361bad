"""The classes whose objects can be stored: those of this library, and those a caller trusts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from importlib import import_module
from typing import Any

from pairdp._discovery import find_registered
from pairdp.storage.errors import UntrustedClassError

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


class Trusted:
    """The user-defined classes that a caller accepts in a file.

    Parameters
    ----------
    classes : iterable of class or str
        Classes, or their import paths such as ``"mypackage.losses:MyLoss"``, which are imported
        immediately. A class defined in a script (``__main__``) or inside a function cannot be
        imported by its path: pass the class itself.

    Notes
    -----
    A file never causes an import: the class it names is looked up among these.
    """

    def __init__(self, classes: Iterable[type | str] = ()) -> None:
        if isinstance(classes, str | type):
            raise TypeError("trusted must be a sequence of classes: put a single one into a list")
        found = (_imported(item) if isinstance(item, str) else item for item in classes)
        self._classes: dict[str, type] = {}
        for kind in found:
            if not isinstance(kind, type):
                raise TypeError(f"trusted must contain classes and import paths, got {kind!r}")
            self._classes[path_of(kind)] = kind

    def __iter__(self) -> Iterator[type]:
        return iter(self._classes.values())

    def __getitem__(self, path: str) -> type:
        if path not in self._classes:
            raise UntrustedClassError(
                f"it uses {path}, which is not part of pairdp: read that class, and if you trust "
                f'it, pass trusted=["{path}"] or the class itself (--trust {path} on the command '
                "line)"
            )
        return self._classes[path]


def _imported(path: str) -> type:
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise ValueError(f'a trusted class must be given as "module:Class", got {path!r}')
    if module == "__main__" or "<locals>" in name:
        raise ValueError(f"{path} cannot be imported: pass the class itself")
    try:
        found = reduce(getattr, name.split("."), import_module(module))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the trusted class {path} cannot be imported: {error}") from None
    if not isinstance(found, type):
        raise ValueError(f"{path} is not a class")
    return found
