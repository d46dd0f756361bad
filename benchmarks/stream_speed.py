"""Records per second of private streams, compared with river, and by size of the buffer."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.timing import best_seconds, random_records
from pairdp import Budget, OnlinePrivateRanker
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LeastSquaresRanking, LogisticMetric, LogisticRanking
from pairdp.online import (
    CenteredMoments,
    OnlineAlgorithm,
    OnlineDescent,
    OnlineMoments,
    OnlineSession,
)
from pairdp.problem import Problem

FEATURES = 20
BUDGET = Budget(1.0, 1e-6)
LOGISTIC = Problem(LogisticRanking(), L2Ball(1.0))
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
BUFFERS = (16, 64, 256, 1024, 4096)


def stream(algorithm: OnlineAlgorithm, problem: Problem, n: int) -> Callable[[], object]:
    """Return a call that learns n records, one after the other."""
    x, y = random_records(n, FEATURES)
    plan = algorithm.plan(problem, n, FEATURES, BUDGET)
    return lambda: OnlineSession(plan).learn(x, y)


def river_stream(n: int) -> Callable[[], object] | None:
    """Return the same for river's logistic regression, None where river is not installed."""
    try:
        from river.linear_model import LogisticRegression
    except ImportError:
        return None
    x, y = random_records(n, FEATURES)
    names = [f"f{i}" for i in range(FEATURES)]
    rows = [dict(zip(names, row, strict=True)) for row in x.tolist()]
    labels = (y > 0).tolist()

    def learn() -> None:
        model = LogisticRegression()
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)

    return learn


def one_by_one(n: int) -> Callable[[], object]:
    """Return a call that learns n records by the estimator's partial_fit, one each time."""
    x, y = random_records(n, FEATURES)

    def learn() -> None:
        model = OnlinePrivateRanker(
            horizon=n, algorithm="OnPairGradient", buffer=256, data_norm=1.0
        )
        for i in range(n):
            model.partial_fit(x[i : i + 1], y[i : i + 1], classes=[-1, 1])

    return learn


def main() -> None:
    """Print rates and ratios."""
    n = 5000
    calls = {
        "descent, buffer 256": stream(OnlineDescent(256), LOGISTIC, n),
        "descent, reservoir of 256": stream(OnlineDescent(256, "reservoir"), LOGISTIC, n),
        "descent, buffer 256, batches of 16": stream(
            OnlineDescent(256, batch_size=16), LOGISTIC, n
        ),
        "descent, buffer 256, noise on models": stream(
            OnlineDescent(256, noise="models"), LOGISTIC, n
        ),
        "metric, buffer 256": stream(OnlineDescent(256), METRIC, n),
        "moments": stream(OnlineMoments(), SQUARES, n),
        "centred moments": stream(CenteredMoments(), SQUARES, n),
        "moments, means only": stream(OnlineMoments(second_moments=False), SQUARES, n),
    }
    calls["descent, buffer 256, by partial_fit of one record"] = one_by_one(n)
    river = river_stream(n)
    if river is not None:
        calls["river's LogisticRegression, not private"] = river
    seconds = dict(zip(calls, best_seconds(list(calls.values()), rounds=3), strict=True))
    print(f"Streams, d = {FEATURES}: records per second, and time per record relative to river")
    against = seconds.get("river's LogisticRegression, not private", float("nan"))
    for name, taken in seconds.items():
        print(f"  {name:51s} {n / taken:9.0f}   {taken / against:6.2f}x")

    print("Descent: µs per record by size of the buffer, and relative to the next smaller one")
    taken = best_seconds([stream(OnlineDescent(b), LOGISTIC, 6000) for b in BUFFERS], rounds=3)
    for place, (buffer, now) in enumerate(zip(BUFFERS, taken, strict=True)):
        ratio = f"{now / taken[place - 1]:5.2f}x" if place else ""
        print(f"  {buffer:5d} {now / 6000 * 1e6:8.1f}   {ratio}")

    call = stream(OnlineDescent(256), LOGISTIC, 100_000)
    start = time.perf_counter()
    call()
    print(f"10⁵ records, buffer 256: {time.perf_counter() - start:.1f} s")
    if not np.isfinite(against):
        print("(river is not installed: no comparison)")


if __name__ == "__main__":
    main()
