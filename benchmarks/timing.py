"""Time and memory of calls, compared in one run; not a benchmark itself."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np


def best_seconds(
    calls: Sequence[Callable[[], object]],
    rounds: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the best time of each call; calls are interleaved, so that load affects all.

    For code of one thread, `time.process_time` leaves out what other processes take.
    """
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for place, call in enumerate(calls):
            gc.collect()
            start = clock()
            call()
            best[place] = min(best[place], clock() - start)
    return best


def traced_peak(call: Callable[[], object]) -> int:
    """Return the peak of Python and numpy memory during a call, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak_megabytes() -> float:
    """Return the peak resident memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage may count what the parent held when it forked
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_new_process(module: str, *arguments: str) -> str:
    """Return what a module prints when run with these arguments in a new process."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def random_records(n: int, d: int, positives: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Return random rows of norm below 1, and labels that depend on them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    x *= rng.uniform(0.2, 1.0, (n, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(x[:, 0] + 0.3 * rng.standard_normal(n) > 0.5 - positives, 1.0, -1.0)
    return x, y
