"""Average regret falls with the length of the stream, on the papers' data, at one budget."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LeastSquaresRanking, LogisticMetric
from pairdp.online import OnlineAlgorithm, OnlineDescent, OnlineMoments
from pairdp.problem import Problem
from pairdp.studies.data import DATA_VARIABLE
from pairdp.studies.protocols import prepared
from pairdp.studies.regret import regret
from pairdp.studies.regret.stream_risk import step_loss

pytestmark = pytest.mark.slow

DIRECTORY = Path(os.environ.get(DATA_VARIABLE) or Path(__file__).parents[4] / "shared" / "data")
BUDGET = Budget(1.0, 1e-5)
AUC = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
SEEDS = 8


@pytest.mark.skipif(not DIRECTORY.is_dir(), reason="the papers' data sets are not here")
@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [
        (AUC, lambda n: OnlineMoments()),
        (METRIC, lambda n: OnlineDescent(batch_size=round(n**0.5))),
    ],
    ids=["AUC by moments", "metric by descent"],
)
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("diabetes", (50, 300)),
        ("retinopathy", (50, 300)),
        ("hepatitis", (40, 150)),
        ("cancer_wdbc", (50, 400)),
        ("cancer_original", (50, 400)),
    ],
)
def test_average_regret_falls(
    name: str,
    sizes: tuple[int, int],
    problem: Problem,
    algorithm: Callable[[int], OnlineAlgorithm],
) -> None:
    x, y = prepared(name, "standardised", DIRECTORY)
    found, idle = np.empty((2, SEEDS)), np.empty((2, SEEDS))
    for row, n in enumerate(sizes):
        plan = algorithm(n).plan(problem, n, x.shape[1], BUDGET)
        size = plan.settings.batch_size
        for seed in range(SEEDS):
            some = np.random.default_rng(seed).permutation(len(y))[:n]
            records = problem.records(x[some], y[some])
            models = plan.run(records, NoiseSource(seed)).statistics["models"]
            one = regret(problem, records, models, batch_size=size, tolerance=3e-3)
            found[row, seed] = one.average
            # That of a model that never learns falls too, as the best fixed one overfits less.
            still = [
                step_loss(problem.loss, np.zeros_like(models[0]), records, t) for t in range(1, n)
            ]
            idle[row, seed] = np.mean(still) - one.best_losses.mean()
    short, long = found.mean(axis=1)
    short_idle, long_idle = idle.mean(axis=1)
    assert long < 0.97 * short
    assert long < long_idle
    assert long / short < long_idle / short_idle
