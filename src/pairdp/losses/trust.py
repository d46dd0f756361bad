"""Where the constants of a loss come from: a proof, a check in this process, or nobody knows.

Noise is calibrated to constants that a loss declares. For the losses of this library they are
proved in their docstrings. For any other loss they are its author's, and a certificate must say
so. A loss derived from one of the library's counts as any other: it may compute something else
than what was proved of its parent.

`check_pairwise_loss` and `check_pointwise_loss` record here what they found no fault with: a loss
with these parameters, on one domain. A check on one domain says nothing about another, not even
about a smaller one, whose constants the loss declares anew. The record lives in this process alone.
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
    """Return whether the constants of a loss are proved: it is of this library's own classes."""
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
    """Take the word of a certificate for whether the process that planned had checked a loss.

    Planning again compares everything else, and another process cannot know that. It never makes
    a loss one of the library's.
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
    """Return the class, the parameters and the domain; None where parameters have no hash.

    The parameters are those at the time of the call, so that an object changed after its check is
    another loss.
    """
    try:
        key = (type(loss), frozenset(_state(loss).items()), domain)
        hash(key)
    except TypeError:
        return None
    return key


def _state(loss: Loss) -> dict[str, Any]:
    """Return all that an object holds, in its dictionary and in slots."""
    slots = (name for kind in type(loss).__mro__ for name in _slots_of(kind))
    held = {name: getattr(loss, name) for name in slots if hasattr(loss, name)}
    return {**held, **getattr(loss, "__dict__", {})}


def _slots_of(kind: type) -> tuple[str, ...]:
    """Return the slots that a class adds, which its descriptors name."""
    return tuple(
        name for name, value in vars(kind).items() if isinstance(value, MemberDescriptorType)
    )
