"""The source of the constants of a loss: a proof, a check in this process, or trust.

Noise is calibrated to constants that a loss declares. For the losses of this library they are
proved in their docstrings. For any other loss they are declared by its author, and a certificate
must say so. This includes subclasses of the library's losses, which may compute something else than
their parent.

`check_pairwise_loss` and `check_pointwise_loss` record here which losses passed, with which
parameters and on which domain. A check on one domain does not apply to another, not even to a
smaller one, which has its own constants. The record is kept in this process only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import MemberDescriptorType
from typing import Any, Literal

from pairdp._provenance import is_own
from pairdp.losses.base import Domain, Loss

Source = Literal["library", "checked in this process", "on trust"]

_passed: set[Hashable] = set()
_stated: ContextVar[Source | None] = ContextVar("stated", default=None)


def is_library_loss(loss: Loss) -> bool:
    """Return whether the constants of a loss are proved: its class is part of this library."""
    if not is_own(type(loss)):
        return False
    inner = (value for value in _state(loss).values() if isinstance(value, Loss))
    return all(is_library_loss(one) for one in inner)


def constants_from(loss: Loss, domain: Domain) -> Source:
    """Return where the constants of a loss on a domain come from."""
    if is_library_loss(loss):
        return "library"
    stated = _stated.get()
    if stated is not None:
        return stated
    key = _key(loss, domain)
    return "checked in this process" if key is not None and key in _passed else "on trust"


@contextmanager
def as_stated(source: object) -> Iterator[None]:
    """Use the statement of a certificate on whether the planning process had checked a loss.

    Planning again verifies everything else, but another process cannot verify this. It never marks
    a loss as part of the library.
    """
    checked: Source = "checked in this process"
    token = _stated.set(checked if source == checked else "on trust")
    try:
        yield
    finally:
        _stated.reset(token)


def remember_passed(loss: Loss, domains: Iterable[Domain]) -> None:
    """Record that a loss passed its checks on these domains."""
    _passed.update(key for domain in domains if (key := _key(loss, domain)) is not None)


def _key(loss: Loss, domain: Domain) -> Hashable | None:
    """Return the class, the parameters and the domain; None if parameters are not hashable.

    The parameters are those at the time of the call, so that an object modified after its check
    counts as another loss.
    """
    try:
        key = (type(loss), frozenset(_state(loss).items()), domain)
        hash(key)
    except TypeError:
        return None
    return key


def _state(loss: Loss) -> dict[str, Any]:
    """Return all attributes of an object, from its dictionary and its slots."""
    slots = (name for kind in type(loss).__mro__ for name in _slots_of(kind))
    held = {name: getattr(loss, name) for name in slots if hasattr(loss, name)}
    return {**held, **getattr(loss, "__dict__", {})}


def _slots_of(kind: type) -> tuple[str, ...]:
    """Return the names of the slots that a class adds."""
    return tuple(
        name for name, value in vars(kind).items() if isinstance(value, MemberDescriptorType)
    )
