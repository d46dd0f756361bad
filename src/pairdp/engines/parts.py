"""Parts of one data set, and the check that none of them is lost or counted twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pairdp.engines.base import Engine, Function
from pairdp.engines.failures import PartError


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Some of the records, in whatever form a function needs them.

    Attributes
    ----------
    number : int
        Which part it is, from 0.
    n : int
        Number of records, including null records.
    value : object
        What functions of this part are called with.
    """

    number: int
    n: int
    value: Any

    def __sizeof__(self) -> int:
        """Return the size of all arrays: a scheduler must know that parts are large to move."""
        return object.__sizeof__(self) + array_bytes(self.value)


def array_bytes(value: Any) -> int:
    """Return the size of all arrays in a value: in tuples, lists and attributes of objects."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(array_bytes, value))
    return sum(map(array_bytes, getattr(value, "__dict__", {}).values()))


@dataclass(frozen=True, eq=False, repr=False)
class _Counted:
    """A sum, the number of records that it is over, and the sum of the marks of its parts."""

    n: int
    marks: int
    value: Any

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, _Counted):
            return NotImplemented
        counted: Any = _Counted
        found: Self = counted(self.n + other.n, self.marks + other.marks, self.value + other.value)
        return found


@dataclass(frozen=True, eq=False)
class Parts:
    """All parts of a data set on an engine. They are as private as the data.

    Every sum also adds up the numbers of records, which must be n, and a mark of each part, a
    fixed number of 64 bits: a part that is lost, counted twice, or has another number of records
    when it is read again is an error, before anything is released.

    Attributes
    ----------
    engine : Engine
        Where they are.
    handles : sequence
        What the engine knows the parts by; each is, or refers to, a `Part`.
    n : int
        Number of records in all parts.
    """

    engine: Engine
    handles: Sequence[Any] = field(repr=False)
    n: int

    def map(self, function: Function, *shared: Any) -> Parts:
        """Return parts with ``function(value, *shared)`` as their values, which stay in place."""
        handles = self.engine.map(_mapped, self.handles, function, shared)
        return Parts(self.engine, handles, self.n)

    def map_sum(self, function: Function, *shared: Any) -> Any:
        """Return the sum of ``function(value, *shared)`` over all parts.

        On a cluster the function must be defined in a module, and what is shared be picklable.
        """
        found = self.engine.map_sum(_summed, self.handles, function, shared)
        if (found.n, found.marks) != (self.n, sum(map(_mark, range(len(self.handles))))):
            raise PartError(
                f"the parts do not have the n = {self.n} records that were declared or counted, "
                "each once: a part is lost or was read twice, or the source has changed; no sum "
                "over them is used"
            )
        return found.value

    def exchange(self, split: Function, join: Function, *shared: Any) -> Parts:
        """Return as many new parts, whose values are ``join(pieces, *shared)``.

        ``split(value, count, *shared)`` returns ``count`` pieces of a part, one for each new part,
        each with the number of its records; a new part has the pieces for it of all parts, in their
        order.
        """
        count = len(self.handles)
        handles = self.engine.exchange(_split, _joined, self.handles, count, split, join, shared)
        return Parts(self.engine, handles, self.n)


@dataclass(frozen=True, eq=False, repr=False)
class _Piece:
    """What one part sends to another."""

    source: int
    place: int
    n: int
    value: Any

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + array_bytes(self.value)


def _split(
    part: Part, count: int, split: Function, join: Function, shared: tuple[Any, ...]
) -> list[_Piece]:
    pieces = split(part.value, count, *shared)
    if len(pieces) != count or sum(n for n, _ in pieces) != part.n:
        raise PartError("the pieces of a part do not have all of its records")
    return [_Piece(part.number, place, n, value) for place, (n, value) in enumerate(pieces)]


def _joined(
    pieces: list[_Piece], count: int, split: Function, join: Function, shared: tuple[Any, ...]
) -> Part:
    place = pieces[0].place
    if [(one.source, one.place) for one in pieces] != [(i, place) for i in range(count)]:
        raise PartError("a part is lost or was read twice: it did not send its records once")
    value = join([one.value for one in pieces], *shared)
    return Part(place, sum(one.n for one in pieces), value)


def _mapped(part: Part, function: Function, shared: tuple[Any, ...]) -> Part:
    return Part(part.number, part.n, function(part.value, *shared))


def _summed(part: Part, function: Function, shared: tuple[Any, ...]) -> _Counted:
    return _Counted(part.n, _mark(part.number), function(part.value, *shared))


def _mark(number: int) -> int:
    return int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:8], "little")
