"""Noisy SGD steps per CPU second, compiled and in plain Python, and the cost of the compiler."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import best_seconds, in_new_process, random_records
from pairdp import Budget
from pairdp.algorithms import NoisyGradientDescent
from pairdp.algorithms.kernels import Steps, compiled_steps, plain_steps
from pairdp.algorithms.plan import Progress
from pairdp.constraints import L2Ball
from pairdp.losses import (
    HingePointwise,
    HingeRanking,
    LeastSquaresPointwise,
    LeastSquaresRanking,
    LogisticPointwise,
    LogisticRanking,
    PairwiseLoss,
    PointwiseLoss,
    PowerHingeRanking,
    SquaredHingeRanking,
)
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import GaussianMechanism, NoiseSource
from pairdp.privacy.mechanisms.rounded_normal import rounded_normals
from pairdp.problem import Problem

N, FEATURES = 2000, 20
COMPILED, PLAIN, ROUNDS = 100_000, 2_000, 9
QUIET = Progress(False)
LOSSES: dict[str, PairwiseLoss | PointwiseLoss] = {
    "logistic": LogisticRanking(),
    "hinge": HingeRanking(),
    "hinge, rounded": HingeRanking(width=0.5),
    "squared hinge": SquaredHingeRanking(),
    "1.5-norm hinge": PowerHingeRanking(power=1.5),
    "least squares": LeastSquaresRanking(),
    "logistic, one record": LogisticPointwise(),
    "hinge, one record": HingePointwise(),
    "least squares, one record": LeastSquaresPointwise(),
}


def run(loss: PairwiseLoss | PointwiseLoss, count: int) -> Steps:
    """Return so many steps on one pair, or on one record, of synthetic records."""
    paired = isinstance(loss, PairwiseLoss)
    problem = (
        Problem(loss, L2Ball(1.0), 1e-3)
        if isinstance(loss, PairwiseLoss)
        else PointwiseProblem(loss, L2Ball(1.0), 1e-3)
    )
    records = problem.records(*random_records(N, FEATURES))
    mechanism = GaussianMechanism(1.0, 2.0, FEATURES)
    return Steps(problem, records, mechanism, 1e-3, count, 2 if paired else 1, paired)


def bare_loop(count: int) -> np.ndarray:
    """Return the last iterate of the logistic steps, in as few calls as Python allows."""
    steps = run(LogisticRanking(), count)
    x, y, scale = steps.records.x, steps.records.y, 2.0
    rng = np.random.default_rng(0)
    point, total = np.zeros(FEATURES), np.zeros(FEATURES)
    for _ in range(count):
        i, j = rng.integers(N), rng.integers(N - 1)
        j += j >= i
        step = 2.0 * rng.standard_normal(FEATURES) + 1e-3 * point
        if y[i] != y[j]:
            apart = (x[i] - x[j]) * (scale if y[i] > y[j] else -scale)
            step -= apart / (1 + np.exp(point @ apart))
        point = point - 1e-3 * step
        norm = np.sqrt(point @ point)
        if norm > 1:
            point = point / norm
        total += point
    return point


def print_rates() -> None:
    """Print steps a CPU second of every loss, compiled and not, side by side."""
    print(f"  {'one pair or record a step':<28}{'compiled':>12}{'not':>12}{'ratio':>9}")
    of_compiled = {}
    for name, loss in LOSSES.items():
        many, few = run(loss, COMPILED), run(loss, PLAIN)
        compiled_steps(run(loss, 10), NoiseSource(0), QUIET)
        seconds = best_seconds(
            [
                lambda steps=many: compiled_steps(steps, NoiseSource(0), QUIET),  # type: ignore[misc]
                lambda steps=few: plain_steps(steps, NoiseSource(0), QUIET),  # type: ignore[misc]
            ],
            ROUNDS,
            time.process_time,
        )
        rates = COMPILED / seconds[0], PLAIN / seconds[1]
        of_compiled[name] = rates[0]
        print(f"  {name:<28}{rates[0]:12.3g}{rates[1]:12.3g}{rates[0] / rates[1]:8.0f}x")
    generator, ratio = NoiseSource(0).stream("noise"), 2.0**25

    def noise() -> object:
        return rounded_normals(generator, ratio, 8192 * FEATURES, compiled=True)

    loop, draw = best_seconds([lambda: bare_loop(PLAIN), noise], ROUNDS, time.process_time)
    bare, alone = PLAIN / loop, 8192 / draw
    fast = of_compiled["logistic"]
    print(f"  {'logistic, bare Python loop':<28}{fast:12.3g}{bare:12.3g}{fast / bare:8.0f}x")
    print(f"  {'the noise alone':<28}{alone:12.3g}")


def print_long_run() -> None:
    """Print how long T = n² steps take, from planning to the release."""
    problem = Problem(HingeRanking(), L2Ball(1.0))
    records = problem.records(*random_records(N, FEATURES))
    algorithm = NoisyGradientDescent(batch_size=2, steps=N * N, step_size=1e-4)
    start = time.perf_counter()
    plan = algorithm.plan(problem, N, FEATURES, Budget(1.0, 1 / N**2))
    planned = time.perf_counter() - start
    plan.run(records, progress=False)
    ran = time.perf_counter() - start - planned
    print(f"  n = {N}, T = n² = {N * N}: planned in {planned:.2f} s, run in {ran:.2f} s")


def print_costs() -> None:
    """Print what the compiler costs to install and to import."""
    size = 0.0
    for name in ("numba", "llvmlite"):
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            files = (file for file in Path(found.origin).parent.rglob("*") if file.is_file())
            size += sum(file.stat().st_size for file in files) / 2**20
    imported, cold, warm = (
        in_new_process("benchmarks.compiled_steps", what) for what in ("import", "cold", "warm")
    )
    print(f"  numba and llvmlite: {size:.0f} MB installed, {imported} s to import")
    print(f"  first compiled step of a process, import included: {cold} s, {warm} s if cached")


def main() -> None:
    """Print rates, a long run, and what the compiler costs."""
    print(f"Noisy steps a CPU second, n = {N}, d = {FEATURES}, one core")
    if importlib.util.find_spec("numba") is None:
        print("  numba is not installed: pip install pairdp[fast]")
        return
    print_rates()
    print_long_run()
    print_costs()


def _timed(what: str) -> None:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as empty:
        if what == "cold":
            os.environ["NUMBA_CACHE_DIR"] = empty
        if what == "import":
            import numba  # noqa: F401
        else:
            compiled_steps(run(LogisticRanking(), 1), NoiseSource(0), QUIET)
        print(f"{time.perf_counter() - start:.2f}")


if __name__ == "__main__":
    _timed(sys.argv[1]) if len(sys.argv) > 1 else main()
