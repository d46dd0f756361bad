"""The estimators that a model file can store, and the arrays of each.

An estimator is registered in the module that defines it, so that adding one takes one file. The
estimators of this library are stored by name, user-defined ones by import path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sklearn.base import ClassifierMixin

from pairdp._discovery import find_registered
from pairdp.storage import Trusted
from pairdp.storage.registry import of_library, path_of

Kind = TypeVar("Kind", bound=type)
Shape = tuple[str | int, ...]
Shapes = Mapping[str, Shape] | Callable[[Any], Mapping[str, Shape]]


@dataclass(frozen=True)
class StoredEstimator:
    """What a model file stores of an estimator in addition to its parameters.

    Attributes
    ----------
    kind : type
        The class.
    arrays : mapping of str to shape, or a function that returns one
        Fitted arrays and their shapes; in a shape, "d" is the number of features, "k" any number
        from 1 to d, and "*" any number, which ``check`` checks. If they depend on the plan, a
        function of the model, of which ``plan_`` and the parameters are set.
    has_certificate : bool
        Whether it has a certificate and a plan.
    check : callable, optional
        Raises ValueError for a model whose arrays are inconsistent.
    """

    kind: type
    arrays: Shapes
    has_certificate: bool
    check: Callable[[Any], None] | None

    def arrays_of(self, model: Any) -> Mapping[str, Shape]:
        """Return the arrays of a model and their shapes."""
        return self.arrays(model) if callable(self.arrays) else self.arrays

    @property
    def name(self) -> str:
        """The name of the class in files."""
        return self.kind.__name__ if of_library(self.kind) else path_of(self.kind)

    @property
    def has_classes(self) -> bool:
        """Whether it may have ``classes_``; a ranker of graded responses has none."""
        return issubclass(self.kind, ClassifierMixin)


_STORED: dict[str, StoredEstimator] = {}
_PACKAGES: list[str] = []


def stored_in_model_files(
    arrays: Shapes,
    *,
    has_certificate: bool = True,
    check: Callable[[Any], None] | None = None,
) -> Callable[[Kind], Kind]:
    """Return a class decorator that lets model files store an estimator; see `StoredEstimator`.

    It does not apply to subclasses, which need their own decorator.
    """

    def register(kind: Kind) -> Kind:
        stored = StoredEstimator(kind, arrays, has_certificate, check)
        known = _STORED.setdefault(stored.name, stored)
        if path_of(known.kind) != path_of(kind):
            raise TypeError(f"two estimators are called {stored.name}")
        _STORED[stored.name] = stored
        return kind

    return register


def search_for_estimators(package: str) -> None:
    """Search the modules of a package for estimators whose name is not known yet."""
    if package not in _PACKAGES:
        _PACKAGES.append(package)


def stored_class(kind: type) -> StoredEstimator | None:
    """Return what model files store of a class, None if they cannot store it."""
    return next((stored for stored in _STORED.values() if stored.kind is kind), None)


def find_stored(name: object, trusted: Trusted) -> StoredEstimator:
    """Return what model files store of the class that a file names.

    Raises
    ------
    UntrustedClassError
        If it is a class outside this library that is not trusted.
    ValueError
        If there is no such estimator.
    """
    found = None
    if isinstance(name, str):
        own = ":" in name
        found = stored_class(trusted[name]) if own else find_registered(_STORED, name, *_PACKAGES)
    if found is None:
        raise ValueError(f"unknown model {name!r}")
    return found
