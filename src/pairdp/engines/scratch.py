"""What a function keeps of a part for its next call, in the process that has the part."""

from __future__ import annotations

from typing import Any


class Scratch:
    """Values that can be computed again from a part, by name; they do not leave their process.

    A part that was lost, moved or written to disk comes with an empty one, so that a function must
    give the same result, bit for bit, whether it finds what it kept or not.

    Examples
    --------
    >>> scratch = Scratch()
    >>> scratch.put("sum", 3.0)
    >>> scratch.take("sum"), scratch.take("sum")
    (3.0, None)
    """

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def take(self, name: str) -> Any:
        """Return a value and forget it, so that no other thread has it; None if there is none."""
        return self._kept.pop(name, None)

    def put(self, name: str, value: Any) -> None:
        """Keep a value for the next call."""
        self._kept[name] = value

    def __reduce__(self) -> tuple[object, ...]:
        return Scratch, ()
