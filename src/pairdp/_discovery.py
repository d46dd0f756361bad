"""Importing the modules of a package, for registries that those modules fill."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules


def import_modules(package: str) -> None:
    """Import a package's public modules, so that whatever registers itself there is known.

    Parameters
    ----------
    package : str
        Its full name. Modules whose name starts with an underscore are left out, and those that
        need a library which is not installed.
    """
    own = package.partition(".")[0]
    for module in iter_modules(import_module(package).__path__, f"{package}."):
        if not module.name.rpartition(".")[2].startswith("_"):
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:
                if (error.name or own).partition(".")[0] == own:
                    raise


def import_definition(package: str, name: str) -> None:
    """Import what a package exports under a name, or else all its public modules."""
    if not hasattr(import_module(package), name):
        import_modules(package)
