"""Whether a class or a function is part of this library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def is_own(thing: type | Callable[..., Any]) -> bool:
    """Return whether an object is defined in this library, and is the one that its module has.

    A user-defined subclass is not: what was proved for its parent may not hold for it.
    """
    home = getattr(thing, "__module__", "")
    if home.partition(".")[0] != __name__.partition(".")[0]:
        return False
    name = getattr(thing, "__qualname__", "")
    return getattr(sys.modules.get(home), name, None) is thing
