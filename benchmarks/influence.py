"""Time of influence and elastic stability, and the error of influence against exact refits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import random_records
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.diagnostics import (
    elastic_stability,
    influence,
    influence_on,
    non_private_minimizer,
)
from pairdp.losses import HingeRanking, LogisticMetric, LogisticPointwise, LogisticRanking
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem

FEATURES = 20
LAMBDA = 0.01


def _seconds(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start


def _row(name: str, problem: Problem, n: int, d: int) -> None:
    records = problem.records(*random_records(n, d))
    w, minimum = _seconds(lambda: non_private_minimizer(problem, records, progress=False))
    found, whole = _seconds(lambda: influence(problem, records, w, progress=False))
    target = np.zeros(w.shape)
    target.flat[0] = 1.0
    one, solved = _seconds(lambda: influence_on(problem, records, target, w, progress=False))
    gap = np.abs(one.values - found.on(target)).max() / np.abs(one.values).max()
    _, stable = _seconds(lambda: elastic_stability(problem, records, w, progress=False))
    print(
        f"  {name:28s} {n:9.0e} {d:4d}  {minimum:7.2f} s  {whole:7.2f} s  {solved:7.2f} s"
        f"  {stable:7.2f} s  {gap:8.0e}"
    )


def speed() -> None:
    """Print the time of all records' influence, by loss and number of records."""
    print(
        "  loss                                 n    d    minimum  influence  one target"
        "  stability  CG off by"
    )
    ball = L2Ball(20.0)
    logistic = Problem(LogisticRanking(), ball, LAMBDA)
    for n in (10**4, 10**5, 10**6):
        _row("logistic", logistic, n, FEATURES)
    _row("logistic, temperature 0.05", Problem(LogisticRanking(temperature=0.05), ball, LAMBDA),
         10**5, FEATURES)  # fmt: skip
    _row("logistic", logistic, 10**5, 200)
    _row("hinge of width 0.5", Problem(HingeRanking(width=0.5), ball, LAMBDA), 10**5, FEATURES)
    _row("logistic, single records", PointwiseProblem(LogisticPointwise(), ball, LAMBDA),
         10**5, FEATURES)  # fmt: skip
    metric = Problem(LogisticMetric(), PSDFrobeniusBall(20.0), LAMBDA)
    for n, d in ((500, 10), (2000, 10)):
        _row("logistic metric", metric, n, d)


def accuracy() -> None:
    """Print the largest error of influence over that of the change, for 20 removed records."""
    print("\n  n     largest change    largest error    error·n²")
    problem = Problem(LogisticRanking(), L2Ball(20.0), 0.1)
    for n in (50, 100, 200, 400, 800):
        x, y = random_records(n, 3)
        records = problem.records(x, y)
        w = non_private_minimizer(problem, records)
        changes = influence(problem, records, w).changes
        errors, moves = [], []
        for i in range(0, n, n // 20):
            rows = x.copy()
            rows[i] = np.nan
            refit = non_private_minimizer(problem, problem.records(rows, y, invalid="null"))
            moves.append(np.linalg.norm(refit - w))
            errors.append(np.linalg.norm(refit - w - changes[i]))
        print(f"  {n:4d}  {max(moves):14.3e}  {max(errors):15.3e}  {max(errors) * n * n:10.2f}")


def main() -> None:
    """Print both tables."""
    print(f"Influence of every record on the minimiser, λ = {LAMBDA}")
    speed()
    accuracy()


if __name__ == "__main__":
    main()
