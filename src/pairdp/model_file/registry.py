"""Which estimators a model file may hold, and what it keeps of each.

An estimator registers itself in the module that defines it, so that one file adds one estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)
Shape = tuple[str | int, ...]


@dataclass(frozen=True)
class StoredEstimator:
    """What a model file keeps of an estimator besides its parameters.

    Attributes
    ----------
    kind : type
        Its class.
    arrays : mapping of str to shape
        Fitted arrays; "d" in a shape is the number of features.
    has_certificate : bool
        Whether it is released with a certificate and a plan.
    has_classes : bool
        Whether it has ``classes_``.
    check : callable, optional
        Raises ValueError for a model whose arrays contradict each other.
    """

    kind: type
    arrays: Mapping[str, Shape]
    has_certificate: bool
    has_classes: bool
    check: Callable[[Any], None] | None


_STORED: dict[str, StoredEstimator] = {}


def stored_in_model_files(
    arrays: Mapping[str, Shape],
    *,
    has_certificate: bool = True,
    has_classes: bool = False,
    check: Callable[[Any], None] | None = None,
) -> Callable[[Kind], Kind]:
    """Return a class decorator that lets model files hold an estimator; see `StoredEstimator`."""

    def register(kind: Kind) -> Kind:
        name = kind.__name__
        if name in _STORED and _STORED[name].kind.__module__ != kind.__module__:
            raise TypeError(f"two estimators are called {name}")
        _STORED[name] = StoredEstimator(kind, dict(arrays), has_certificate, has_classes, check)
        return kind

    return register


def stored_estimators() -> Mapping[str, StoredEstimator]:
    """Return the estimators that model files may hold, by name."""
    return _STORED
