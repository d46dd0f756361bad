"""The registry of named algorithms: those of the papers, and those of this library.

An algorithm is registered in the module that defines it, so that one file adds one algorithm.
Modules of `pairdp.algorithms` are imported when a name is not known yet. A package in it or in a
higher layer calls ``search_for_algorithms(__name__)`` when it is imported, to have its modules
searched as well. If a name is not found, packages of pairdp whose source has that call are imported
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeVar

from pairdp._checks import did_you_mean, text
from pairdp._discovery import find_registered, import_modules
from pairdp._provenance import is_own
from pairdp.algorithms.algorithm import Algorithm

Kind = Literal["pairs", "metric", "records", "given pairs", "stream"]
Named = TypeVar("Named", bound=Algorithm)


@dataclass(frozen=True)
class Entry:
    """A registered algorithm.

    Attributes
    ----------
    algorithm : Algorithm
        The algorithm with its hyper-parameters.
    kind : {"pairs", "metric", "records", "given pairs", "stream"}
        What it applies to: pairwise losses, metrics only, losses of one record, metrics from given
        pairs, or streams of pairs.
    is_published : bool
        Whether the name is from a paper.
    """

    algorithm: Algorithm
    kind: Kind
    is_published: bool


_ENTRIES: dict[str, Entry] = {}
_LIBRARY = "pairdp"
_PACKAGES: dict[str, None] = {f"{_LIBRARY}.algorithms": None}


def register_algorithm(
    name: str, algorithm: Named, kind: Kind = "pairs", *, is_published: bool = False
) -> Named:
    """Register an algorithm under a name, in this process, and return it.

    Raises
    ------
    ValueError
        If another algorithm has the name.
    """
    name, entry = text("name", name), Entry(algorithm, kind, is_published)
    if not is_own(type(algorithm)):
        _find(name)  # names of this library cannot be replaced
    if name == "auto" or _ENTRIES.get(name, entry) != entry:
        raise ValueError(f"an algorithm named {name!r} is already registered")
    _ENTRIES[name] = entry
    return algorithm


def search_for_algorithms(package: str) -> None:
    """Search the modules of a package too when an algorithm is looked up by name."""
    _PACKAGES[package] = None


def algorithms(*kinds: Kind, published: bool | None = None) -> Mapping[str, Algorithm]:
    """Return the algorithms by name, in alphabetical order.

    Parameters
    ----------
    *kinds : {"pairs", "metric", "records", "given pairs", "stream"}
        The kinds to return; by default all.
    published : bool, optional
        True for those of papers only, False for all others only.
    """
    _import_searched()
    searched: set[str] = set()
    while missing := _PACKAGES.keys() - searched:  # a package may add others
        for package in missing:
            import_modules(package)
        searched |= missing
    return MappingProxyType(
        {
            name: entry.algorithm
            for name, entry in sorted(_ENTRIES.items())
            if (not kinds or entry.kind in kinds) and published in (None, entry.is_published)
        }
    )


def find_algorithm(name: str) -> Algorithm:
    """Return the algorithm registered under a name."""
    entry = _find(name)
    if entry is None:
        known = ", ".join(sorted(_ENTRIES))
        raise ValueError(
            f"no algorithm is named {name!r}; known: {known}" + did_you_mean(name, _ENTRIES)
        )
    return entry.algorithm


def _find(name: str) -> Entry | None:
    found = find_registered(_ENTRIES, name, *_PACKAGES)
    if found is not None:
        return found
    _import_searched()
    return find_registered(_ENTRIES, name, *_PACKAGES)


def _import_searched() -> None:
    """Import the packages of higher layers that register algorithms, which name themselves."""
    import_modules(_LIBRARY, f"\n{search_for_algorithms.__name__}(__name__)")
