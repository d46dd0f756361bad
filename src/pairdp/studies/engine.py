"""Run jobs in parallel processes, and record each as soon as it is done."""

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
_AHEAD = 2  # jobs queued for each worker


def default_workers() -> int:
    """Return the number of available cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    jobs: Iterable[Job],
    journal: Journal,
    *,
    data: Path | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> dict[str, RunResult]:
    """Run the jobs that are not in the journal, and return the result of every job.

    Parameters
    ----------
    jobs : iterable of Job
        Equal jobs are run once.
    journal : Journal
        An open journal; every finished job is added at once.
    data : Path, optional
        Directory of the data sets.
    workers : int
        Number of processes; with 1, jobs run in this process.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    """
    integer("jobs", workers)
    wanted = {job.key: job for job in jobs}
    missing = [job for key, job in wanted.items() if key not in journal.done]
    alone = workers == 1 or len(missing) < 2
    work = (_work(job, data) for job in missing)
    finished = work if alone else _in_parallel(missing, data, workers)
    with _bar(len(wanted), len(wanted) - len(missing), progress) as bar:
        for done in finished:
            journal.add(*done)
            bar.update()
    return {key: journal.done[key] for key in wanted}


def _work(job: Job, data: Path | None) -> Finished:
    start = time.perf_counter()
    result = job.run(data)
    return job.key, result, time.perf_counter() - start


def _in_parallel(jobs: list[Job], data: Path | None, workers: int) -> Iterator[Finished]:
    """Yield results as they come; queues are short, so that an interrupt takes effect soon."""
    waiting = iter(jobs)
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)),
        # Not forked: the fork of a process with threads may hang.
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
            "a worker process was killed, perhaps for lack of memory; finished jobs are kept: run "
            "the same command again to resume, with --jobs 1 to use less memory"
        ) from None
    finally:
        pool.shutdown(wait=not running, cancel_futures=True)


def _start_worker() -> None:
    """Use one thread, as other processes use the other cores, and exit silently on interrupt."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Exit when the parent process is gone, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _bar(total: int, done: int, progress: bool | None) -> Any:
    from tqdm import tqdm

    shown = sys.stderr.isatty() if progress is None else progress
    return tqdm(total=total, initial=done, desc="study", unit=" jobs", disable=not shown)
