"""Engines of one process: one part after the other, or several at a time in threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairdp._checks import integer
from pairdp.engines.base import Function, in_pairs


@dataclass(frozen=True)
class InProcess:
    """Computes one part after the other; a part is the data itself.

    Examples
    --------
    >>> InProcess().map_sum(len, ["ab", "c"])
    3
    """

    def map(self, function: Function, parts: Sequence[Any], *shared: Any) -> list[Any]:
        """Return ``function(part, *shared)`` of each part."""
        return [function(part, *shared) for part in parts]

    def map_sum(self, function: Function, parts: Sequence[Any], *shared: Any) -> Any:
        """Return their sum."""
        return in_pairs(self.map(function, parts, *shared))

    def exchange(
        self, split: Function, join: Function, parts: Sequence[Any], *shared: Any
    ) -> list[Any]:
        """Return as many new parts, each of pieces of all parts."""
        return self.map(join, _turned(self.map(split, parts, *shared)), *shared)


@dataclass(frozen=True)
class Threads:
    """Computes several parts at a time; a part is the data itself.

    Parameters
    ----------
    workers : int
        Number of threads.
    """

    workers: int = 2

    def __post_init__(self) -> None:
        integer("workers", self.workers)

    def map(self, function: Function, parts: Sequence[Any], *shared: Any) -> list[Any]:
        """Return ``function(part, *shared)`` of each part."""
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(partial(_called, function, shared), parts))

    def map_sum(self, function: Function, parts: Sequence[Any], *shared: Any) -> Any:
        """Return their sum."""
        return in_pairs(self.map(function, parts, *shared))

    def exchange(
        self, split: Function, join: Function, parts: Sequence[Any], *shared: Any
    ) -> list[Any]:
        """Return as many new parts, each of pieces of all parts."""
        return self.map(join, _turned(self.map(split, parts, *shared)), *shared)


def _turned(pieces: list[Any]) -> list[Any]:
    """Return the pieces for each new part, given those of each part."""
    return [list(some) for some in zip(*pieces, strict=True)]


def _called(function: Function, shared: tuple[Any, ...], part: Any) -> Any:
    return function(part, *shared)
