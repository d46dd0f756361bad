"""Importing the modules of a package, for registries that those modules fill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TypeVar

Entry = TypeVar("Entry")


def import_modules(package: str, *words: str) -> None:
    """Import a package's public modules, so that whatever registers itself there is known.

    Parameters
    ----------
    package : str
        Its full name. Modules whose name starts with an underscore are left out, and those that
        need a library which is not installed.
    *words : str
        Modules whose source lacks one of these are left out, without importing them.
    """
    for name in _public_modules(package):
        if not words or all(word in _source(name, default=word) for word in words):
            _import(name)


def find_registered(registry: Mapping[str, Entry], name: str, *packages: str) -> Entry | None:
    """Return what is registered under a name, None if nothing is.

    Modules are imported only until the name is known: first the one that exports it from its
    package, then the others.

    Parameters
    ----------
    registry : mapping
        What modules of these packages fill when they are imported.
    name : str
        What is looked for. It may come from a file: no module is imported by that name.
    *packages : str
        The full names of packages.
    """
    for package in packages:
        if name not in registry:
            getattr(import_module(package), name, None)
        for module in _public_modules(package):
            if name in registry:
                break
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
