"""Time of a gradient step over all pairs: in process, in two threads, and on two Dask workers.

The processor time of the cluster is that of the driver, which runs the scheduler, and of both
workers, less what they use in the same time without any task (heartbeats, profiler).
Options: ``--largest`` adds 2·10⁷ records, which need 10 GB; ``--rounds K`` repeats each step.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pickle
import resource
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairdp.engines import DaskEngine, Parts, Threads
from pairdp.engines.parts import Part
from pairdp.losses import LogisticRanking
from pairdp.pairs import RankingSums, risk
from pairdp.partitioned_records import PartitionedRecords, arrays_of
from pairdp.records import RecordFacts, Records

FEATURES, ROWS = 20, 500_000
WORKERS = 2
_IDLE = 3.0


class Timing(NamedTuple):
    """Seconds of one step: by the clock, and of all processors."""

    clock: float
    processor: float


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


def processor_seconds() -> float:
    """Return the processor time of this process."""
    return time.process_time()


def peak_memory() -> float:
    """Return the largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(
    step: Callable[[], object], rounds: int, everyone: Callable[[], float], idle: float = 0.0
) -> Timing:
    """Return the least clock and processor times of some rounds, less an idle share of time."""
    step()
    found = []
    for _ in range(rounds):
        before, start = everyone(), time.perf_counter()
        step()
        clock = time.perf_counter() - start
        found.append(Timing(clock, everyone() - before - idle * clock))
    return Timing(min(one.clock for one in found), min(one.processor for one in found))


def in_process(
    n: int, weights: np.ndarray, rounds: int
) -> tuple[Timing, Timing, Timing, np.ndarray]:
    """Return the times in process, of parts in process and in threads, and the gradient."""
    count = n // ROWS
    whole = [rows_of(number, ROWS) for number in range(count)]
    x, y = np.concatenate([one.x for one in whole]), np.concatenate([one.y for one in whole])
    del whole
    records = Records(x, y)
    del x, y
    loss = LogisticRanking()
    alone = risk(loss, records)
    parts = risk(loss, PartitionedRecords.split(records, count))
    threads = risk(loss, PartitionedRecords.split(records, count, Threads(WORKERS)))
    return (
        timed(lambda: alone.gradient(weights), rounds, processor_seconds),
        timed(lambda: parts.gradient(weights), rounds, processor_seconds),
        timed(lambda: threads.gradient(weights), rounds, processor_seconds),
        alone.gradient(weights),
    )


def on_workers(
    client: Any, n: int, weights: np.ndarray, rounds: int
) -> tuple[Timing, float, np.ndarray]:
    """Return the times on the workers, the largest memory of one of them, and the gradient."""
    facts = RecordFacts(n, FEATURES, 1.0, binary=True)
    numbers = range(n // ROWS)
    futures = [client.submit(make_part, number, ROWS, pure=False) for number in numbers]
    records = PartitionedRecords(facts, Parts(DaskEngine(client), futures, n))
    of_parts = risk(LogisticRanking(), records)

    def everyone() -> float:
        return processor_seconds() + sum(client.run(processor_seconds).values())

    of_parts.gradient(weights)
    before = everyone()
    time.sleep(_IDLE)
    idle = (everyone() - before) / _IDLE
    timing = timed(lambda: of_parts.gradient(weights), rounds, everyone, idle)
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
    parser.add_argument("--largest", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args(list(options))
    if importlib.util.find_spec("distributed") is None:
        print("skipped: Dask is not installed; pip install 'pairdp[dask]'")
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from distributed import Client, LocalCluster

    weights = np.random.default_rng(1).standard_normal(FEATURES)
    weights /= np.linalg.norm(weights)
    sent, received = message_sizes(weights)
    print(f"One gradient over all pairs, logistic loss, {FEATURES} features, parts of {ROWS} rows")
    print(f"A part sends {sent / 1e3:.0f} KB of moments and receives {received / 1e3:.0f} KB\n")
    print(
        "| records | in process | its processor time | of parts in process | two threads "
        "| two Dask workers | processor time of the cluster | ratio | memory of a worker |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for n in (10**6, 5 * 10**6, *([2 * 10**7] if chosen.largest else [])):
        with (
            LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            cluster_time, memory, found = on_workers(client, n, weights, chosen.rounds)
        alone, parts, threads, expected = in_process(n, weights, chosen.rounds)
        if not np.allclose(found, expected, rtol=1e-9, atol=1e-14):
            raise AssertionError("the gradient of the workers is another one")
        ratio = cluster_time.processor / alone.processor
        print(
            f"| {n:.0e} | {alone.clock:.3f} s | {alone.processor:.3f} s "
            f"| {parts.processor:.3f} s | {threads.clock:.3f} s "
            f"| {cluster_time.clock:.3f} s | {cluster_time.processor:.3f} s | {ratio:.2f} "
            f"| {memory:.2f} GB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
