"""Functions of the parts of a table, computed by threads in the order of the parts."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")

WORKERS = min(8, os.cpu_count() or 1)


def in_threads(
    function: Callable[[_Part], _Result], parts: Iterable[_Part], workers: int = WORKERS
) -> Iterator[_Result]:
    """Yield the function of each part, in order; a few of them are computed ahead.

    Parts are taken in the thread of the caller. At most ``workers + 1`` of them are in memory.
    """
    ahead: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for part in parts:
                ahead.append(pool.submit(function, part))
                del part  # which the caller of `next` need not hold any longer
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
