"""The engine of a Dask cluster: parts are futures, which live in the memory of workers.

A function and what it shares are pickled once, and sent with the tasks. What a task returns is
added up on the workers, in groups of neighbours, and the driver receives a few sums. Dask computes
again what a lost worker had in memory, from its source: so nothing is scattered, and every future
is the result of a task.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pairdp.engines.base import Function, in_pairs
from pairdp.engines.failures import Failure, PartError

_GROUP = 16  # a power of two, so that groups add up in the order of `in_pairs`
_LARGE = 65_536


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """Runs functions on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """

    client: Any = field(repr=False)

    def map(self, function: Function, parts: Sequence[Any], *shared: Any) -> list[Any]:
        """Return the futures of ``function(part, *shared)``, which stay on the workers."""
        return self._submit(function, parts, shared)

    def map_sum(self, function: Function, parts: Sequence[Any], *shared: Any) -> Any:
        """Return the sum of ``function(part, *shared)`` over all parts."""
        sums = self._submit(function, parts, shared)
        while len(sums) > _GROUP:
            groups = [sums[i : i + _GROUP] for i in range(0, len(sums), _GROUP)]
            sums = self._map("add", _added, groups)
        return in_pairs(self.results(sums))

    def exchange(
        self, split: Function, join: Function, parts: Sequence[Any], *shared: Any
    ) -> list[Any]:
        """Return as many new parts, each of pieces of all parts, which stay on the workers.

        Every piece is a result of its own, so that it alone is sent to the worker of its new part.
        """
        split_parts = self._submit(split, parts, shared)
        pieces = [
            self._map("piece", _piece, split_parts, place=place) for place in range(len(parts))
        ]
        return self._submit(join, pieces, shared)

    def _submit(
        self, function: Function, parts: Sequence[Any], shared: tuple[Any, ...]
    ) -> list[Any]:
        payload: Any = pickled((function, shared))
        if len(payload) > _LARGE:
            # A task of its own: the driver sends it once, and workers get it from each other.
            (payload,) = self._map("shared", bytes, [payload])
        name = getattr(function, "__name__", "map").strip("_")
        return self._map(name, _applied, parts, payload=payload)

    def _map(self, name: str, function: Function, parts: Sequence[Any], **shared: Any) -> list[Any]:
        """Submit one task for each part, in one message to the scheduler."""
        # The first entry names the group of a key. A group of the tasks of all calls would be many
        # tasks of few parts, which the scheduler takes for sources: it would run them anywhere, and
        # move their parts.
        group = f"pairdp-{name}-{uuid4().hex}"
        keys = [(group, number) for number in range(len(parts))]
        return list(self.client.map(function, parts, key=keys, pure=False, **shared))

    def result(self, future: Any) -> Any:
        """Return the result of a task; an error says nothing of the data."""
        return self.results([future])[0]

    def results(self, futures: list[Any]) -> list[Any]:
        """Return the results of tasks."""
        try:
            found: list[Any] = self.client.gather(futures)
        except Exception as error:  # of the scheduler, or of tasks that are not ours
            raise _without_message(error) from None
        for one in found:
            if isinstance(one, Failure):
                raise one.as_error() from None
        return found


def pickled(what: Any) -> bytes:
    """Return an object as workers can read it; an error that says why they cannot."""
    try:
        return importlib.import_module("cloudpickle").dumps(what)  # type: ignore[no-any-return]
    except Exception as error:
        raise TypeError(
            f"what the tasks need cannot be sent to the workers ({type(error).__name__} when it "
            "was pickled): a loss must be an object of plain numbers, without open files, locks or "
            "records; define it in a module that the workers can import"
        ) from None


def _applied(part: Any, payload: bytes) -> Any:
    if isinstance(part, list):
        part = next((one for one in part if isinstance(one, Failure)), part)
    if isinstance(part, Failure):
        return part
    try:
        function, shared = pickle.loads(payload)  # noqa: S301 - written by this engine
        return _sendable(function(part, *shared))
    except Exception as error:
        return Failure.of(error)


def _sendable(value: Any) -> Any:
    """Return a value that another process can read; an error for any other.

    A scheduler that cannot move a result tries again and again, for minutes. Arrays are not copied
    here: they are passed to ``buffer_callback`` instead.
    """
    try:
        pickle.dumps(value, protocol=5, buffer_callback=lambda buffer: None)
    except Exception as error:
        raise TypeError(
            f"the result of a task cannot be sent to another process ({type(error).__name__} when "
            "it was pickled): a task must return sums and arrays, not Records or their moments"
        ) from None
    return value


def _piece(pieces: Any, place: int) -> Any:
    return pieces if isinstance(pieces, Failure) else pieces[place]


def _added(values: list[Any]) -> Any:
    try:
        return in_pairs(values)
    except Exception as error:
        return Failure.of(error)


def _without_message(error: Exception) -> Exception:
    name = type(error).__name__
    if name == "KilledWorker":
        return PartError(
            "workers died several times while they computed the same part: give them more memory, "
            "or use smaller parts"
        )
    return PartError(
        f"the cluster failed with {name}; its message is withheld, as it may quote the data: see "
        "the logs of the workers"
    )
