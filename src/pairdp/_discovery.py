"""Importing the modules of a package, for registries that those modules fill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TypeVar

Entry = TypeVar("Entry")


def import_modules(package: str, *words: str) -> None:
    """Import the public modules of a package, so that what they register is known.

    Parameters
    ----------
    package : str
        Its full name. Modules whose names start with an underscore are skipped, and so are those
        that need a library which is not installed.
    *words : str
        Modules whose source lacks one of these words are skipped without being imported.
    """
    for name in _public_modules(package):
        if not words or all(word in _source(name, default=word) for word in words):
            _import(name)


def find_registered(registry: Mapping[str, Entry], name: str, *packages: str) -> Entry | None:
    """Return the entry that is registered under a name, None if there is none.

    Modules are imported until the name is known: first the one from which the package exports it,
    then the others.

    Parameters
    ----------
    registry : mapping
        The registry that modules of these packages fill when they are imported.
    name : str
        The name. It may come from a file: it is never used as the name of a module.
    *packages : str
        The full names of packages.
    """
    for package in packages:
        if name not in registry:
            getattr(import_module(package), name, None)
        modules = _public_modules(package)
        while name not in registry and (module := next(modules, None)) is not None:
            _import(module)
    return registry.get(name)


def _public_modules(package: str) -> Iterator[str]:
    for module in iter_modules(import_module(package).__path__):
        if not module.name.startswith("_"):
            yield f"{package}.{module.name}"


def _source(module: str, default: str) -> str:
    spec = find_spec(module)
    source = getattr(spec and spec.loader, "get_source", lambda _: None)(module)
    return default if source is None else source


def _import(module: str) -> None:
    library = module.partition(".")[0]
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or library).partition(".")[0] == library:
            raise
