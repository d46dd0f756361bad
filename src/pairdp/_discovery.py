"""Importing every module of a package, for registries that their modules fill."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules


def import_modules(package: str) -> None:
    """Import a package's public modules, so that whatever registers itself there is known.

    Parameters
    ----------
    package : str
        Its full name. Modules whose name starts with an underscore are left out.
    """
    import_module(package)
    for module in iter_modules(sys.modules[package].__path__):
        if not module.name.startswith("_"):
            import_module(f"{package}.{module.name}")
