"""Time of whole fits as n grows, and compared with scikit-learn's logistic regression."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.timing import best_seconds, random_records
from pairdp import PrivateRanker, PrivateScorecard
from pairdp.algorithms import MinimizerRelease, MomentRelease, find_algorithm
from pairdp.algorithms.plan import Plan
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresRanking, LogisticRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem

BUDGET = Budget(1.0, 1e-8)
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "PrivateRanker": PrivateRanker,
    "PrivateRanker, linear": partial(PrivateRanker, model="linear"),
    "PrivateScorecard": PrivateScorecard,
    "PrivateScorecard, products": partial(PrivateScorecard, interactions=True),
}
# Seconds of one stage of epoch gradient descent in the only public code for private pairwise
# learning, for d = 8 on another machine: n passes, each over a table of all pairs.
PUBLIC_CODE = {128: 0.05, 256: 0.24, 512: 1.3, 1024: 8.0}


def _exponent(times: dict[int, float]) -> float:
    """Return the slope of log time in log n."""
    sizes = np.log(list(times))
    return float(np.polyfit(sizes, np.log(list(times.values())), 1)[0])


def epochs() -> None:
    """Print the time of epoch gradient descent as n grows, and that of the public code."""
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    times = {}
    print("Epoch gradient descent, n passes over the records in all, d = 8")
    for n in (128, 256, 512, 1024, 4096, 16384):
        x, y = random_records(n, 8)
        plan = find_algorithm("DPEGD").plan(problem, n, 8, BUDGET)
        records = problem.records(x, y)
        (times[n],) = best_seconds([lambda plan=plan, r=records: plan.run(r)], 1 if n > 2000 else 3)
        stated = f"   (public code, one stage: {PUBLIC_CODE[n]:g} s)" if n in PUBLIC_CODE else ""
        print(f"  n = {n:6d}  {times[n]:8.3f} s{stated}")
    large = {n: t for n, t in times.items() if n >= 1024}
    print(
        f"  fitted exponent: ours {_exponent(large):.2f} (n ≥ 1024), "
        f"public code {_exponent(PUBLIC_CODE):.2f}"
    )


def fits() -> None:
    """Print fits of a million records beside scikit-learn's logistic regression."""
    n, d = 1_000_000, 20
    x, y = random_records(n, d)
    print(f"\nFits of {n} records, {d} features, ε = {BUDGET.epsilon:g}, δ = {BUDGET.delta:g}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression()
        start = time.perf_counter()
        model.fit(x, y)
        theirs = time.perf_counter() - start
    area = roc_auc_score(y, model.decision_function(x))
    print(f"  {'scikit-learn LogisticRegression':34s} {theirs:7.2f} s            AUC {area:.4f}")
    strongly = Problem(LogisticRanking(), L2Ball(1.0), regularization=0.1)
    squares = Problem(LeastSquaresRanking(), L2Ball(1.0))
    plans: dict[str, tuple[Plan, Problem]] = {
        "DPGDSC": (find_algorithm("DPGDSC").plan(strongly, n, d, BUDGET), strongly),
        "minimiser release": (MinimizerRelease().plan(strongly, n, d, BUDGET), strongly),
        "moment release": (MomentRelease().plan(squares, n, d, BUDGET), squares),
    }
    for name, (plan, problem) in plans.items():
        start = time.perf_counter()
        fit = plan.run(problem.records(x, y))
        ours = time.perf_counter() - start
        area = roc_auc_score(y, x @ fit.parameters)
        print(f"  {name:34s} {ours:7.2f} s  {ours / theirs:6.2f}x   AUC {area:.4f}")


def _fit(make: Callable[[], Any], rows: np.ndarray, classes: np.ndarray) -> None:
    make().fit(rows, classes)


def estimators() -> None:
    """Print the time of estimators beside logistic regression, best of three interleaved fits.

    The CPU time of all threads together is hardly affected by other processes. With several threads
    it contains what they wait for each other: set ``OPENBLAS_NUM_THREADS=1`` to compare it.
    """
    n, d, rounds = 1_000_000, 20, 3
    x, y = random_records(n, d)
    labels = y.astype(int)
    skewed = np.exp(2 * np.random.default_rng(1).standard_normal((n, d)))
    chance = 1 / (1 + np.exp(-np.log(skewed) @ np.linspace(-0.3, 0.3, d)))
    tables = {
        "rows of norm below 1": (x, labels, 1.0),
        "lognormal numbers": (
            skewed,
            (np.random.default_rng(2).random(n) < chance).astype(int),
            400.0,
        ),
    }
    for title, (rows, classes, norm) in tables.items():
        made: dict[str, Callable[[], Any]] = {
            "scikit-learn LogisticRegression": LogisticRegression,
            **{
                name: partial(kind, BUDGET.epsilon, BUDGET.delta, data_norm=norm, random_state=0)
                for name, kind in ESTIMATORS.items()
            },
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls = [partial(_fit, make, rows, classes) for make in made.values()]
            times = best_seconds(calls, rounds)
            used = best_seconds(calls, rounds, time.process_time)
        print(f"\nEstimators, {n} records of {d} {title}, {rounds} rounds: time, and CPU time")
        for name, seconds, cpu in zip(made, times, used, strict=True):
            print(
                f"  {name:34s} {seconds:7.2f} s  {seconds / times[0]:6.2f}x   "
                f"{cpu:7.2f} s  {cpu / used[0]:6.2f}x"
            )


def main() -> None:
    """Print all tables."""
    epochs()
    fits()
    estimators()


if __name__ == "__main__":
    main()
