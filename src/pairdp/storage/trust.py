"""Classes outside this library that a caller trusts in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from importlib import import_module

from pairdp.storage.errors import UntrustedClassError
from pairdp.storage.registry import path_of


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
