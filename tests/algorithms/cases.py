"""Algorithms with problems that suit them, for tests of plans and runs."""

from __future__ import annotations

import numpy as np

from pairdp import Budget
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    Plan,
    StreamGradientDescent,
)
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import (
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
)
from pairdp.problem import Problem
from pairdp.records import Records

BUDGET, PURE = Budget(1.0, 1e-5), Budget(1.0)
RIDGE = Problem(LogisticRanking(), L2Ball(1.0), 0.1)
CONVEX = Problem(LogisticRanking(), L2Ball(1.0))
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1)
N, D = 60, 3

PLANNED: dict[str, tuple[Algorithm, Problem]] = {
    "last": (GradientDescent(), RIDGE),
    "average": (GradientDescent("average"), CONVEX),
    "metric": (GradientDescent(steps=5), METRIC),
    "epochs": (EpochGradientDescent(), CONVEX),
    "noisy average": (NoisyGradientDescent(steps=20), CONVEX),
    "noisy last": (NoisyGradientDescent("last"), RIDGE),
    "mini-batches": (NoisyGradientDescent(steps=20, batch_size=10), CONVEX),
    "minimiser": (MinimizerRelease(), RIDGE),
    "stream": (StreamGradientDescent(), RIDGE),
    "stream, convex": (StreamGradientDescent(), CONVEX),
    "class moments": (MomentRelease(), SQUARES),
    "pair moments": (MomentRelease("pair"), SQUARES),
    "first moments": (MomentRelease(second_moments=False), SQUARES),
}
GRADIENT_NOISE = ("noisy average", "noisy last", "mini-batches")


def plan(name: str, budget: Budget | None = BUDGET) -> Plan:
    algorithm, problem = PLANNED[name]
    return algorithm.plan(problem, N, D, budget)


def records(problem: Problem, seed: int = 0) -> Records:
    rng = np.random.default_rng(seed)
    return problem.records(rng.normal(size=(N, D)), rng.choice([-1, 1], N))


def printed(algorithm: Algorithm, problem: Problem, n: int, budget: Budget) -> Plan:
    """Return the plan with printed noise, and the steps that are given or tuned."""
    return algorithm.plan(problem, n, D, budget, calibration="printed", schedule="tuned")


def scales(made: Plan) -> list[float]:
    return [release.mechanism.scale for release in made.certificate.releases]
