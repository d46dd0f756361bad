"""Conversions of cells without warnings, which would depend on the data."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_lock = threading.Lock()
_inside: list[warnings.catch_warnings[None]] = []  # one entry, while some thread is silent
_depth = 0
_thread = threading.local()


@contextmanager
def silence() -> Iterator[None]:
    """Suppress warnings, also if several threads do so at a time.

    The filters of warnings belong to the process: the first thread to enter stores them, and the
    last one to leave restores them. Within another silence of its thread, it does nothing.
    """
    if getattr(_thread, "is_silent", False):
        yield
        return
    _enter()
    _thread.is_silent = True
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _thread.is_silent = False
        _leave()


def _enter() -> None:
    global _depth
    with _lock:
        if _depth == 0:
            stored = warnings.catch_warnings()
            stored.__enter__()
            warnings.simplefilter("ignore")
            _inside.append(stored)
        _depth += 1


def _leave() -> None:
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0:
            _inside.pop().__exit__(None, None, None)
