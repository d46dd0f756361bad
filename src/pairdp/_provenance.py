"""Whether a class or a function is this library's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def is_own(thing: type | Callable[..., Any]) -> bool:
    """Return whether it is the very object that a module of this library has under its name.

    A class derived from one of the library is not: it may compute something else than what was
    proved of its parent.
    """
    home = getattr(thing, "__module__", "")
    if home.partition(".")[0] != __name__.partition(".")[0]:
        return False
    name = getattr(thing, "__qualname__", "")
    return getattr(sys.modules.get(home), name, None) is thing
