"""Modules that libraries import for a few of their functions, imported once one of them is used.

``sklearn.base`` imports all of ``scipy.stats``, ``scipy.optimize``, narwhals and, where it is
installed, pandas; scipy imports whatever numpy has, including its tests and its compiler of
Fortran; joblib imports asyncio. That is most of the time in which a command starts, and
commands use none of them through these libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

UNUSED = (
    "asyncio",
    "narwhals",
    "narwhals.stable",
    "narwhals.stable.v2",
    "numpy.f2py",
    "numpy.ma",
    "numpy.testing",
    "pandas",
    "scipy.fft",
    "scipy.optimize",
    "scipy.stats",
)
"""What commands do not use. Before a module, its package is listed if it is not used either."""


class _Deferred(ModuleType):
    """Stands for a module, and imports it when it is asked for an attribute."""

    def __getattr__(self, name: str) -> Any:
        _put_back(self)
        return getattr(import_module(self.__name__), name)


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Let modules that are imported meanwhile import these ones when they use them.

    Afterwards ``sys.modules`` has only those that were used, or were imported before.
    """
    found: dict[str, _Deferred] = {}
    for name in names:
        spec = None if name in sys.modules else _spec(name, found)
        if spec is not None:
            found[name] = module = _Deferred(name)
            module.__spec__ = spec  # as the import statement expects
            sys.modules[name] = module
            package, _, last = name.rpartition(".")
            if package:
                setattr(sys.modules[package], last, module)
    try:
        yield
    finally:
        for module in found.values():
            _put_back(module)


def _spec(name: str, found: dict[str, _Deferred]) -> ModuleSpec | None:
    """Return where a module is, None if it is nowhere; those of a deferred package are not sought.

    To look for a module imports its package.
    """
    package = name.rpartition(".")[0]
    return ModuleSpec(name, None) if package in found else find_spec(name)


def _put_back(module: _Deferred) -> None:
    """Forget a module that stands for another one, and the packages of it that do."""
    package, _, last = module.__name__.rpartition(".")
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    inside = sys.modules.get(package)
    if inside is not None and vars(inside).get(last) is module:
        delattr(inside, last)
    if isinstance(inside, _Deferred):
        _put_back(inside)
