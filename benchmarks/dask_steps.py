"""Time of a gradient step over all pairs: in process, in two threads, and on two Dask workers.

Records are in one part for each worker. The processor time of the cluster is all that the driver,
which runs the scheduler, and both workers use during a step, with their heartbeats and profilers:
nothing is taken off, so that on a busy machine, where a step lasts longer, it is an upper bound.
Options: ``--rounds K`` repeats each step; ``--sizes N ...`` are the numbers of records. The records
are in memory once at a time: first in the workers, then in this process; 2·10⁷ take 3.4 GB.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pickle
import resource
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from pairdp.engines import DaskEngine, Parts, Threads
from pairdp.engines.parts import Part
from pairdp.losses import LogisticMetric, LogisticRanking
from pairdp.pairs import BlockDesign, RankingSums, risk
from pairdp.partitioned_records import PartitionedRecords, arrays_of
from pairdp.records import RecordFacts, Records

FEATURES, WORKERS = 20, 2
PARTS = WORKERS
SIZES = (10**6, 5 * 10**6, 2 * 10**7)


class Timing(NamedTuple):
    """Seconds of one step: by the clock, of all processors, and of this process among them."""

    clock: float
    processor: float
    own: float


def rows_of(seed: int, rows: int) -> Records:
    """Return records, made where they are used."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, FEATURES), dtype=np.float32).astype(np.float64)
    y = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    x += 0.1 * y[:, None]
    return Records(x, y)


def make_part(number: int, rows: int) -> Part:
    """Return one part of the records, inside a task."""
    return Part(number, rows, arrays_of(rows_of(number, rows), number * rows))


def part_sizes(n: int) -> list[int]:
    """Return the numbers of records of the parts."""
    return [n // PARTS] * PARTS


def processor_seconds() -> float:
    """Return the processor time of this process."""
    return time.process_time()


def peak_memory() -> float:
    """Return the largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(step: Callable[[], object], rounds: int, others: Callable[[], float] = float) -> Timing:
    """Return the times of the round with the least processor time; see `Timing`."""
    step()
    found = []
    for _ in range(rounds):
        other, own, start = others(), processor_seconds(), time.perf_counter()
        step()
        clock, own = time.perf_counter() - start, processor_seconds() - own
        found.append(Timing(clock, own + others() - other, own))
    return min(found, key=lambda one: one.processor)


def gathered(n: int) -> Records:
    """Return the records of all parts in this process."""
    made = (rows_of(number, rows) for number, rows in enumerate(part_sizes(n)))
    return Records.gather(((some.x, some.y) for some in made), n, FEATURES)


_MOVES = count(1)


def moved(weights: np.ndarray) -> np.ndarray:
    """Return slightly other weights in each call: scores of the same ones are kept."""
    return np.asarray(weights * (1 - 1e-6 * next(_MOVES)))


def in_process(
    n: int, weights: np.ndarray, rounds: int
) -> tuple[Timing, Timing, Timing, np.ndarray]:
    """Return the times in process, of parts in process and in threads, and the gradient."""
    records, loss = gathered(n), LogisticRanking()
    alone = risk(loss, records)
    parts = risk(loss, PartitionedRecords.split(records, PARTS))
    threads = risk(loss, PartitionedRecords.split(records, PARTS, Threads(WORKERS)))
    return (
        timed(lambda: alone.gradient(moved(weights)), rounds),
        timed(lambda: parts.gradient(moved(weights)), rounds),
        timed(lambda: threads.gradient(moved(weights)), rounds),
        alone.gradient(weights),
    )


def made_by_workers(client: Any, n: int) -> PartitionedRecords:
    """Return records in the memory of the workers."""
    facts = RecordFacts(n, FEATURES, 1.0, binary=True)
    futures = [
        client.submit(make_part, number, rows, pure=False)
        for number, rows in enumerate(part_sizes(n))
    ]
    client.gather(client.map(_number, futures, pure=False))
    return PartitionedRecords(facts, Parts(DaskEngine(client), futures, n))


def _number(part: Part) -> int:
    return part.number


def design_step(client: Any, n: int, partners: int, rounds: int) -> str:
    """Return the times of a metric gradient over a design: dealing once, then each step."""
    loss, design, matrix = LogisticMetric(), BlockDesign(n, partners), np.eye(FEATURES) / FEATURES
    records = made_by_workers(client, n)
    start = time.perf_counter()
    of_parts = risk(loss, records, design)
    found = of_parts.gradient(matrix)
    first = time.perf_counter() - start
    step = timed(lambda: of_parts.gradient(matrix), rounds)
    alone = risk(loss, gathered(n), design)
    own = timed(lambda: alone.gradient(matrix), rounds)
    if not np.allclose(found, alone.gradient(matrix), rtol=1e-9, atol=1e-14):
        raise AssertionError("the gradient of the workers is another one")
    return (
        f"A metric gradient over {partners} pairs of each of {n:.0e} records: {own.clock:.2f} s in "
        f"process, {step.clock:.2f} s on two Dask workers, which dealt the records into blocks and "
        f"took the first step in {first:.2f} s"
    )


def on_workers(
    client: Any, n: int, weights: np.ndarray, rounds: int
) -> tuple[Timing, float, np.ndarray]:
    """Return the times on the workers, the largest memory of one of them, and the gradient."""
    of_parts = risk(LogisticRanking(), made_by_workers(client, n))

    def of_workers() -> float:
        return float(sum(client.run(processor_seconds).values()))

    timing = timed(lambda: of_parts.gradient(moved(weights)), rounds, of_workers)
    return timing, max(client.run(peak_memory).values()), of_parts.gradient(weights)


def message_sizes(weights: np.ndarray) -> tuple[int, int]:
    """Return the bytes that a part sends with its moments, and receives with the slopes."""
    sums = RankingSums(LogisticRanking(), weights, 10**9, 1.0)
    moments = sums.moments(rows_of(0, 1000))
    expansions = sums._sums.slopes_for(moments.moments)
    return len(pickle.dumps(moments)), len(pickle.dumps(expansions))


def main(options: Sequence[str] = ()) -> None:
    """Print the table, as it is in docs/scale.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES)
    chosen = parser.parse_args(list(options))
    if importlib.util.find_spec("distributed") is None:
        print("skipped: Dask is not installed; pip install 'pairdp[dask]'")
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from distributed import Client, LocalCluster

    weights = np.random.default_rng(1).standard_normal(FEATURES)
    weights /= np.linalg.norm(weights)
    sent, received = message_sizes(weights)
    print(f"One gradient over all pairs, logistic loss, {FEATURES} features, {PARTS} parts")
    print(f"A part sends {sent / 1e3:.0f} KB of moments and receives {received / 1e3:.0f} KB\n")
    print(
        "| records | in process | its processor time | of parts in process | two threads "
        "| two Dask workers | processor time of the cluster | of its driver "
        "| ratio | memory of a worker |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for n in (PARTS * (int(size) // PARTS) for size in chosen.sizes):
        with (
            LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            cluster_time, memory, found = on_workers(client, n, weights, chosen.rounds)
            if n == PARTS * (int(chosen.sizes[0]) // PARTS):
                of_design = design_step(client, n, 4, 3)
        alone, parts, threads, expected = in_process(n, weights, chosen.rounds)
        if not np.allclose(found, expected, rtol=1e-9, atol=1e-14):
            raise AssertionError("the gradient of the workers is another one")
        ratio = cluster_time.processor / alone.processor
        print(
            f"| {n:.0e} | {alone.clock:.3f} s | {alone.processor:.3f} s "
            f"| {parts.processor:.3f} s | {threads.clock:.3f} s "
            f"| {cluster_time.clock:.3f} s | {cluster_time.processor:.3f} s "
            f"| {cluster_time.own:.3f} s | {ratio:.2f} | {memory:.2f} GB |",
            flush=True,
        )
    print(f"\n{of_design}")


if __name__ == "__main__":
    main()
