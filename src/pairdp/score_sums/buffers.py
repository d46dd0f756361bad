"""Arrays for the records that are read together, which are used again and again.

Where an allocator returns memory at once, as that of Dask's workers is set to, new ones would take
longer than what is computed in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

import numpy as np

IN_CACHE = 32_768
"""How many records are read together: tables of sums or coefficients stay in the cache too."""


class Buffers:
    """One array of each kind."""

    def __init__(self) -> None:
        self.slot = np.empty(IN_CACHE, dtype=np.intp)
        self.short = np.empty(IN_CACHE, dtype=np.int32)
        self.place, self.term = np.empty((2, IN_CACHE))


class _Unused(local):
    """The buffers of a thread that nobody uses now."""

    def __init__(self) -> None:
        self.buffers: list[Buffers] = []


_UNUSED = _Unused()


@contextmanager
def lent() -> Iterator[Buffers]:
    """Lend arrays of this thread, of unknown contents; nobody else has them meanwhile."""
    buffers = _UNUSED.buffers.pop() if _UNUSED.buffers else Buffers()
    try:
        yield buffers
    finally:
        _UNUSED.buffers.append(buffers)
