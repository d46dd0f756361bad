"""Functions of the parts of a table, computed by threads in the order of the parts."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")

WORKERS = min(8, os.cpu_count() or 1)


@contextmanager
def working_ahead(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Return threads for what is needed next, and do not wait for them at the end.

    A table that is not read to its end is finalised by the garbage collector. It may run anywhere,
    also while a thread is started and a lock is held that joining another thread needs.
    """
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def in_threads(
    function: Callable[[_Part], _Result], parts: Iterable[_Part], workers: int = WORKERS
) -> Iterator[_Result]:
    """Yield the function of each part, in order; a few of them are computed ahead.

    Parts are taken in the thread of the caller. At most ``workers + 1`` of them are in memory.
    """
    ahead: deque[Future[_Result]] = deque()
    with working_ahead(workers) as pool:
        for part in parts:
            ahead.append(pool.submit(function, part))
            del part  # which the caller of `next` need not hold any longer
            if len(ahead) > workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
