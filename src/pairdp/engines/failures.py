"""Errors of tasks in other processes, without anything that they may say of the data.

A scheduler logs the arguments of a task that raised an error, and sends the error with its
message. Arguments are records, and a message of numpy or of a user's function may quote them. So
tasks catch every error, and return what may be known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from dis import opmap
from types import TracebackType
from typing import Any, Self


class PartError(RuntimeError):
    """A task failed on some part of the data."""


@dataclass(frozen=True)
class Failure:
    """What is known of an error in a task: its type, and its message if this library wrote it.

    It absorbs whatever is added to it, so that the sum over all parts is the failure.
    """

    kind: str
    message: str | None

    def __add__(self, other: Any) -> Self:
        return self

    def __radd__(self, other: Any) -> Self:
        return self

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Return what may be known of an error.

        Messages that this library raises say what is wrong without any value of the data. Those of
        compiled functions that it calls, such as int() or a dictionary, may quote them.
        """
        last = _last(error.__traceback__)
        own = last is not None and _is_own(last) and _is_raised(last)
        return cls(type(error).__name__, str(error) if own else None)

    def as_error(self) -> Exception:
        """Return the error to raise: one of the same type if its message is known."""
        known = {"ValueError": ValueError, "TypeError": TypeError, "SchemaError": ValueError}
        if self.message is not None and self.kind in known:
            return known[self.kind](self.message)
        if self.message is not None:
            return PartError(self.message)
        return PartError(
            f"a task failed with {self.kind}; its message is withheld, as it may quote the data: "
            "try the same function on public records in one process"
        )


def _is_own(found: TracebackType) -> bool:
    module = str(found.tb_frame.f_globals.get("__name__", ""))
    return module == "pairdp" or module.startswith("pairdp.")


def _is_raised(found: TracebackType) -> bool:
    """Return whether a raise statement is being executed, and no call of a compiled function."""
    return found.tb_frame.f_code.co_code[found.tb_lasti] == opmap["RAISE_VARARGS"]


def _last(found: TracebackType | None) -> TracebackType | None:
    while found is not None and found.tb_next is not None:
        found = found.tb_next
    return found
