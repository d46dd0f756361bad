"""Running a mechanism many times, with results that do not depend on the number of processes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer

Array = NDArray[np.float64]
Mechanism = Callable[[Any, int], Any]
_CHUNK = 100
_DELAY = 1.0


def run_many(
    mechanism: Mechanism,
    one: object,
    other: object,
    runs: int,
    *,
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> tuple[Array, Array]:
    """Return the outputs of runs on two data sets, one row per run.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, seed)`` returns an array of the same size for every run.
    one, other : object
        The data sets.
    runs : int
        Number of runs on each data set.
    seed : int
        Each run has its own seed, derived from this one and its index.
    jobs : int
        Number of processes; the outputs do not depend on it.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    """
    runs, jobs = integer("runs", runs), integer("jobs", jobs)
    integer("seed", seed, at_least=0)
    pieces = [
        (data, side, start, min(start + _CHUNK, runs))
        for side, data in enumerate((one, other))
        for start in range(0, runs, _CHUNK)
    ]
    outputs: tuple[list[Array], list[Array]] = ([], [])
    with progress_bar(2 * runs, progress) as bar:
        found = _results(mechanism, pieces, seed, jobs)
        for (_, side, start, stop), rows in zip(pieces, found, strict=True):
            outputs[side].append(rows)
            bar.update(stop - start)
    tables = tuple(rows for side in outputs for rows in side)
    if len({rows.shape[1] for rows in tables}) != 1:
        raise ValueError(_UNEVEN)
    return np.concatenate(outputs[0]), np.concatenate(outputs[1])


_UNEVEN = (
    "the mechanism returns arrays of different sizes: pad them, and include the size, which an "
    "attacker sees, as a number"
)


def _results(
    mechanism: Mechanism, pieces: list[tuple[object, int, int, int]], seed: int, jobs: int
) -> Iterator[Array]:
    if jobs == 1:
        for piece in pieces:
            yield _chunk(mechanism, seed, *piece)
        return
    from joblib import Parallel, delayed

    work = (delayed(_chunk)(mechanism, seed, *piece) for piece in pieces)
    yield from Parallel(n_jobs=jobs, return_as="generator")(work)


def _chunk(
    mechanism: Mechanism, seed: int, data: object, side: int, start: int, stop: int
) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same for every run
        rows = [
            np.ravel(np.asarray(mechanism(data, run_seed(seed, side, i)), dtype=np.float64))
            for i in range(start, stop)
        ]
    if len({row.size for row in rows}) != 1:
        raise ValueError(_UNEVEN)
    table = np.array(rows)
    if np.any(np.isnan(table)):
        raise ValueError("the mechanism returned NaN")
    return table


def run_seed(seed: int, side: int, run: int) -> int:
    """Return the seed of one run, which no other run of the audit shares."""
    return (seed << 64) | (run << 1) | side


def progress_bar(total: int, progress: bool | None) -> Any:
    """Return a progress bar; by default it is shown on a terminal only, after a delay."""
    from tqdm import tqdm

    hidden = not sys.stderr.isatty() if progress is None else not progress
    delay = 0 if progress else _DELAY
    return tqdm(total=total, desc="audit", unit=" runs", delay=delay, leave=False, disable=hidden)
