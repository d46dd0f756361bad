"""The interface of engines, and the order in which they add up.

An engine applies a function to parts of the data, wherever these are, and adds up what it returns.
This is all that algorithms know of where data lives. Every engine adds up in the same order, that
of `in_pairs`, which depends on the number of parts alone: the same parts give the same sums, bit
for bit, in one process, in threads and on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Function = Callable[..., Any]


class Engine(Protocol):
    """Applies functions to parts. A part may be data, or a handle to data in another process."""

    def map(self, function: Function, parts: Sequence[Any], *shared: Any) -> list[Any]:
        """Return ``function(part, *shared)`` of each part, as parts for further calls."""

    def map_sum(self, function: Function, parts: Sequence[Any], *shared: Any) -> Any:
        """Return the sum of ``function(part, *shared)`` over all parts, of which there is one."""

    def exchange(
        self, split: Function, join: Function, parts: Sequence[Any], *shared: Any
    ) -> list[Any]:
        """Return as many new parts, each of pieces of all parts.

        ``split(part, *shared)`` returns a list with a piece for each new part; a new part is
        ``join(pieces, *shared)`` of the pieces for it, in the order of the parts.
        """


def in_pairs(values: Sequence[Any]) -> Any:
    """Return the sum of values with ``+``: of the sums of neighbours, pair by pair.

    Examples
    --------
    >>> in_pairs(["a", "b", "c", "d", "e"])
    'abcde'
    """
    if not values:
        raise ValueError("there are no parts to add up")
    while len(values) > 1:
        values = [
            values[i] + values[i + 1] if i + 1 < len(values) else values[i]
            for i in range(0, len(values), 2)
        ]
    return values[0]
