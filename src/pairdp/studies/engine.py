"""Running jobs over processes, each noted as soon as it is done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any

from pairdp._checks import integer
from pairdp.studies.jobs import Job, RunResult
from pairdp.studies.journal import Journal

Finished = tuple[str, RunResult, float]
_AHEAD = 2  # jobs that wait for each worker


def default_workers() -> int:
    """Return how many processes this machine runs side by side."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    jobs: Iterable[Job],
    journal: Journal,
    *,
    data: Path | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> dict[str, RunResult]:
    """Run what the journal does not have yet, and return the outcome of every job.

    Parameters
    ----------
    jobs : iterable of Job
        Equal ones are run once.
    journal : Journal
        Open; every finished job is noted in it at once.
    data : Path, optional
        Directory of the data sets.
    workers : int
        Processes; with 1 jobs are run in this one.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    """
    integer("jobs", workers)
    wanted = {job.key: job for job in jobs}
    missing = [job for key, job in wanted.items() if key not in journal.done]
    alone = workers == 1 or len(missing) < 2
    finished = _one_by_one(missing, data) if alone else _side_by_side(missing, data, workers)
    with _bar(len(wanted), len(wanted) - len(missing), progress) as bar:
        for key, outcome, seconds in finished:
            journal.add(key, outcome, seconds)
            bar.update()
    return {key: journal.done[key] for key in wanted}


def _work(job: Job, data: Path | None) -> Finished:
    start = time.perf_counter()
    outcome = job.run(data)
    return job.key, outcome, time.perf_counter() - start


def _one_by_one(jobs: list[Job], data: Path | None) -> Iterator[Finished]:
    for job in jobs:
        yield _work(job, data)


def _side_by_side(jobs: list[Job], data: Path | None, workers: int) -> Iterator[Finished]:
    """Yield what workers finish, giving them few jobs ahead, so that an interrupt ends soon."""
    waiting = iter(jobs)
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)),
        # A process of its own from the start: a fork of one with threads may hang.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
    )
    running: set[Future[Finished]] = set()
    try:
        for job in islice(waiting, _AHEAD * workers):
            running.add(pool.submit(_work, job, data))
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                for job in islice(waiting, 1):
                    running.add(pool.submit(_work, job, data))
                yield future.result()
    except BrokenProcessPool:
        raise RuntimeError(
            "a process of the study was ended from outside, perhaps for want of memory: what is "
            "done is kept, and the same command goes on from there, with --jobs 1 in less memory"
        ) from None
    finally:
        pool.shutdown(wait=not running, cancel_futures=True)


def _start_worker() -> None:
    """Use one thread, as other processes use the other cores; die of an interrupt quietly."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    """End this process when the one that started it is gone, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _bar(total: int, done: int, progress: bool | None) -> Any:
    from tqdm import tqdm

    shown = sys.stderr.isatty() if progress is None else progress
    return tqdm(total=total, initial=done, desc="study", unit=" pieces", disable=not shown)
