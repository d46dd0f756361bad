"""Algorithms that combine records by their positions: how far one record can move others."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import Budget
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    NoisyGradientDescent,
    PairwiseSGD,
    PhasedSGD,
    StreamGradientDescent,
    WithPairDesign,
)
from pairdp.algorithms.facts import BY_POSITION
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.pairs import BlockDesign, risk
from pairdp.problem import Problem
from pairdp.records import Records

PROBLEM = Problem(LogisticRanking(), L2Ball(1.0), regularization=0.1)
STEPS = NoisyGradientDescent(steps=3, step_size=0.1)


@pytest.mark.parametrize(
    "algorithm",
    [EpochGradientDescent(), PhasedSGD(), StreamGradientDescent(), WithPairDesign(STEPS, 4)],
)
def test_certificates_say_that_positions_matter(algorithm: Algorithm) -> None:
    plan = algorithm.plan(PROBLEM, 1000, 3, Budget(1.0, 1e-6))
    assert BY_POSITION in plan.certificate.assumptions
    assert "must not depend on their values" in " ".join(plan.certificate.statement().split())


@pytest.mark.parametrize("algorithm", [GradientDescent(), STEPS, PairwiseSGD()])
def test_others_do_not(algorithm: Algorithm) -> None:
    plan = algorithm.plan(PROBLEM, 1000, 3, Budget(1.0, 1e-6))
    assert BY_POSITION not in plan.certificate.assumptions


def test_a_record_that_moves_others_exceeds_the_bound_of_a_design() -> None:
    """This is why the statement is needed: replaced in its place, the record is within it."""
    n, loss = 4000, LogisticRanking()
    rng = np.random.default_rng(1)
    x = rng.choice([-1.0, 1.0], (n, 1))
    y = rng.choice([-1, 1], n)
    weights, design = np.array([0.0]), BlockDesign(n, 2)

    def gradient(rows: np.ndarray, labels: np.ndarray) -> float:
        return float(risk(loss, Records(rows, labels), design).gradient(weights)[0])

    bound = PROBLEM.sensitivity(n)
    replaced = x.copy()
    replaced[0] *= -1
    assert abs(gradient(x, y) - gradient(replaced, y)) <= bound
    moved = np.roll(replaced, -1, axis=0), np.roll(y, -1)  # sorted, it would be the last one
    assert abs(gradient(x, y) - gradient(*moved)) > bound
