"""Modules that scikit-learn imports for a few of its functions, imported once one of them is used.

``sklearn.base`` and ``sklearn.pipeline`` import all of ``scipy.stats``, ``scipy.optimize`` and,
where it is installed, pandas: most of the time in which a command starts, and commands use none of
them through scikit-learn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """Stands for a module, and imports it when it is asked for an attribute."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Let modules that are imported meanwhile import these ones when they use them.

    Afterwards ``sys.modules`` has only those that were used, or were imported before.
    """
    found: list[_Deferred] = []
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            module = _Deferred(name)
            module.__spec__ = spec  # as the import statement expects
            sys.modules[name] = module
            found.append(module)
    try:
        yield
    finally:
        for module in found:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
