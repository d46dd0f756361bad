"""The base class of results that are functions of raw data."""

from __future__ import annotations

from abc import ABC, abstractmethod

WARNING = "NOT PRIVATE (no certificate; computed from raw data without noise)"


class NotPrivate(ABC):
    """A result that reveals individual records; its text says so.

    It has no certificate, is not part of a release, and can be neither pickled nor stored in a
    model file.
    """

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the result in words, one line each."""

    def __str__(self) -> str:
        return "\n  ".join([f"{type(self).__name__}: {WARNING}", *self.lines()])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {WARNING}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError(
            f"a {type(self).__name__} is not private and cannot be pickled or stored: show it only "
            "to those who may see the data"
        )
