"""Whether a class or a function is this library's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def is_own(thing: type | Callable[..., Any], within: tuple[str, ...] = ("pairdp",)) -> bool:
    """Return whether it is the very object that a module of this library has under its name.

    A class derived from one of the library is not: it may compute something else than what was
    proved of its parent.

    Parameters
    ----------
    thing : class or function
        What it is about.
    within : tuple of str
        Packages, in one of which its module must be.
    """
    home = getattr(thing, "__module__", "")
    if not any(f"{home}.".startswith(f"{package}.") for package in within):
        return False
    name = getattr(thing, "__qualname__", "")
    return getattr(sys.modules.get(home), name, None) is thing
