"""AUC of streams with a learned centre and radius, against plain moments, on synthetic data.

The constants of `pairdp.online.CenteredMoments` were chosen on the shapes of data in `TUNED_ON` of
`benchmarks.auto_ranker`. What is printed is measured on those in `HELD_OUT`, which were not used.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.auto_ranker import HELD_OUT, Setting, Shape, data
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresRanking
from pairdp.online import CenteredMoments, OnlineMoments
from pairdp.privacy import Budget, NoiseSource
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem

Array = NDArray[np.float64]
PROBLEM = Problem(LeastSquaresRanking(), L2Ball(1.0))
STREAMS, SEEDS, BATCHES = 168, 4, 50
_BINS = (0.0, 20.0, 60.0, 200.0, 600.0, 2000.0, math.inf)
_FILLED = (0.1, 0.2, 0.33, 0.5)


def settings(shapes: dict[str, Shape], count: int, seed: int) -> Iterator[Setting]:
    """Yield streams of 100 to 50 000 records, with 2 to 50 features and ε from 0.3 to 5."""
    rng, names = np.random.default_rng(seed), list(shapes)
    for i in range(count):
        yield Setting(
            shape=names[i % len(names)],
            n=int(10 ** rng.uniform(2, 4.7)),
            features=round(10 ** rng.uniform(0.3, 1.7)),
            budget=Budget(10 ** rng.uniform(-0.5, 0.7), 1e-6),
            positives=rng.choice([0.05, 0.1, 0.2, 0.35, 0.5]),
            filled=rng.choice(_FILLED),
            seed=int(rng.integers(2**32)),
        )


def areas(setting: Setting) -> Array:
    """Return the AUC of the last model and the mean over the stream, without and with a centre."""
    x, y, test_x, test_y = data(setting)
    records = PROBLEM.records(x, y)
    size = max(1, setting.n // BATCHES)
    rows = []
    for algorithm in (OnlineMoments(size), CenteredMoments(size)):
        plan = algorithm.plan(PROBLEM, setting.n, setting.features, setting.budget)
        found = []
        for seed in range(SEEDS):
            models = plan.run(records, NoiseSource(seed), progress=False).statistics["models"]
            curve = _auc(test_y, test_x @ models.T)
            found.append((curve[-1], curve.mean()))
        rows.append(np.mean(found, axis=0))
    return np.array(rows)


def _auc(y: Array, scores: Array) -> Array:
    """Return the AUC of every column of scores; equal scores count one half."""
    ranks = rankdata(scores, axis=0)
    up = int((y > 0).sum())
    return np.asarray((ranks[y > 0].sum(axis=0) - up * (up + 1) / 2) / (up * (len(y) - up)))


def measure(shapes: dict[str, Shape], count: int, seed: int) -> tuple[Array, Array, Array]:
    """Return n·µ/√d and the filled part of every stream, and its areas."""
    facts, found = [], []
    for setting in settings(shapes, count, seed):
        mu = gdp_mu(setting.budget.epsilon, setting.budget.delta)
        facts.append((setting.n * mu / math.sqrt(setting.features), setting.filled))
        found.append(areas(setting))
    signal, filled = np.array(facts).T
    return signal, filled, np.array(found)


def _row(name: str, found: Array) -> str:
    gain = found[:, 1] - found[:, 0]
    error = gain.std(axis=0) / math.sqrt(max(1, len(gain) - 1))
    (last, whole), lost = gain.mean(axis=0), (gain < -0.01).mean(axis=0)
    before = found[:, 0].mean(axis=0)
    return (
        f"  {name:18s} {len(gain):4d}   {before[0]:.3f} {last:+.3f} ± {error[0]:.3f} "
        f"{gain[:, 0].min():+.3f} {lost[0]:4.0%}   {before[1]:.3f} {whole:+.3f} ± {error[1]:.3f} "
        f"{gain[:, 1].min():+.3f} {lost[1]:4.0%}"
    )


def main(shapes: dict[str, Shape] = HELD_OUT, seed: int = 2026) -> None:
    """Print the gain by public facts, and by how much of the ball the records fill."""
    start = time.perf_counter()
    signal, filled, found = measure(shapes, STREAMS, seed)
    print(
        f"{STREAMS} synthetic streams, n = 100 to 50 000, d = 2 to 50, ε = 0.3 to 5, δ = 1e-6: AUC "
        "of plain moments, gain of\n  centred ones, the worst gain, and how often more than 0.01 "
        "is lost; for the last model, and the mean over the stream"
    )
    for low, high in itertools.pairwise(_BINS):
        some = (signal >= low) & (signal < high)
        if some.any():
            print(_row(f"n·µ/√d {low:.0f} to {high:.0f}", found[some]))
    for part in _FILLED:
        print(_row(f"filled {part:.2f}", found[filled == part]))
    print(_row("all", found))
    print(f"  {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
