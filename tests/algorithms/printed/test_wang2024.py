"""Wang 2024: printed noise and its conditions, and regimes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import NoisyGradientDescent, find_algorithm
from pairdp.algorithms.printed.wang2024 import gradient_noise
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    HingePointwise,
    HingeRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    PairwiseLoss,
    PowerHingeRanking,
)
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import FixedSizeSampling, GaussianMechanism, PrivacyCurve
from pairdp.problem import Problem

# errata, W1, column "printed (best beta)": σ/G at δ = 1/n², None where there is no β.
TABLE: dict[tuple[int, int, int], dict[float, float | None]] = {
    (2, 1000, 1000): {0.5: None, 1: None, 2: 4.119, 4: 2.339},
    (2, 5000, 1000): {0.5: None, 1: 6.703, 2: 3.652, 4: 2.216},
    (2, 5000, 5000): {0.5: None, 1: 6.435, 2: 3.527, 4: 2.218},
    (2, 10000, 10000): {0.5: None, 1: 5.839, 2: 3.385, 4: 2.150},
    (1, 1000, 1000): {0.5: None, 1: 7.401, 2: 3.514, 4: 2.113},
    (1, 5000, 1000): {0.5: 14.015, 1: 5.803, 2: 3.651, 4: 2.713},
    (1, 5000, 5000): {0.5: 14.021, 1: 5.454, 2: 3.203, 4: 2.146},
    (1, 10000, 10000): {0.5: 9.820, 1: 5.217, 2: 3.196, 4: 2.215},
}
ROWS = [
    (drawn, n, steps, eps, printed)
    for (drawn, n, steps), row in TABLE.items()
    for eps, printed in row.items()
]


def formula(drawn: int, n: int, steps: int, eps: float, delta: float, beta: Any) -> Any:
    """Return σ²/G² and whether the theorem's conditions hold, as the paper writes them."""
    lam = math.log(1 / delta) / ((1 - beta) * eps) + 1
    square = {1: 14, 2: 56}[drawn] * steps / (beta * n**2 * eps) * lam
    right = square / 6 * np.log(n / (drawn * lam * (1 + square / 4)))
    return square, (square >= 2.68) & (lam - 1 <= right)


def best_on(grid: np.ndarray, drawn: int, n: int, steps: int, eps: float) -> float:
    square, met = formula(drawn, n, steps, eps, n**-2.0, grid)
    return math.sqrt(square[met].min()) if met.any() else math.inf


@pytest.mark.parametrize(("drawn", "n", "steps", "eps", "printed"), ROWS)
def test_the_table_of_printed_noise(
    drawn: int, n: int, steps: int, eps: float, printed: float | None
) -> None:
    budget = Budget(eps, n**-2.0)
    if printed is None:
        with pytest.raises(ValueError, match=rf"no β in \(0, 1\) .* of Theorem {3 * drawn - 1}"):
            gradient_noise(n, steps, budget, drawn)
        return
    # The table's β are multiples of 1e-4; between them there is less noise.
    assert best_on(np.arange(1, 10_000) * 1e-4, drawn, n, steps, eps) == pytest.approx(
        printed, abs=6e-4
    )
    found = gradient_noise(n, steps, budget, drawn)
    assert found.multiplier <= printed + 6e-4
    square, met = formula(drawn, n, steps, eps, n**-2.0, found.beta * (1 - 1e-12))
    assert math.sqrt(square) == pytest.approx(found.multiplier)
    assert met
    near = found.beta * np.linspace(0.9, 1.1, 200_001)
    assert found.multiplier == pytest.approx(best_on(near, drawn, n, steps, eps), rel=1e-5)
    wide = 10 ** np.linspace(-8, -1e-6, 200_001)
    assert found.multiplier <= best_on(wide, drawn, n, steps, eps) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("drawn", "eps", "exists"),
    [(2, 0.5, 0), (2, 1, 0), (2, 2, 0), (1, 0.5, 0), (1, 1, 0), (1, 2, 1)],
)
def test_as_many_steps_as_pairs_rarely_have_a_beta(drawn: int, eps: float, exists: int) -> None:
    n = 5000
    if exists:
        assert gradient_noise(n, n * n, Budget(eps, n**-2.0), drawn).multiplier > 10
    else:
        with pytest.raises(ValueError, match="Use calibration='certified'"):
            gradient_noise(n, n * n, Budget(eps, n**-2.0), drawn)


AUC = Problem(LogisticRanking(), L2Ball(1.0))


@pytest.mark.slow
def test_printed_plans_carry_the_truth() -> None:
    n, budget = 1000, Budget(2.0, 1e-6)
    algorithm = NoisyGradientDescent(
        steps=n, step_size=0.01, batch_size=2, pairing="disjoint", printed_rule="wang"
    )
    plan = algorithm.plan(AUC, n, 5, budget, calibration="printed", schedule="tuned")
    release = plan.certificate.releases[0]
    lipschitz = AUC.constants(n).lipschitz
    multiplier = gradient_noise(n, n, budget, 2).multiplier
    assert release.mechanism.scale == pytest.approx(lipschitz * multiplier)
    assert release.sampling == FixedSizeSampling(2, n)
    assert release.sensitivity.value == pytest.approx(AUC.record_diameter(2) / 2)
    assert plan.claim_is_proved
    # The table's last column takes Δ = 2G; one record moves a pair's gradient by G.
    loose = GaussianMechanism(2 * lipschitz, release.mechanism.scale)
    curve = PrivacyCurve(loose.event(n, FixedSizeSampling(2, n)))
    assert curve.epsilon(budget.delta) == pytest.approx(0.1427, rel=5e-3)
    assert plan.true_epsilon == pytest.approx(0.0598, rel=5e-3)
    certified = algorithm.plan(AUC, n, 5, budget)
    assert certified.certificate.releases[0].mechanism.scale / lipschitz == pytest.approx(
        0.676, abs=1e-3
    )
    assert verify(certified.certificate)
    stated = replace(algorithm, printed_lipschitz=3.0)
    plan = stated.plan(AUC, n, 5, budget, calibration="printed", schedule="tuned")
    assert plan.certificate.releases[0].mechanism.scale == pytest.approx(3 * multiplier)


def test_printed_plans_are_refused_without_a_beta() -> None:
    for eps in (0.5, 1.0):
        with pytest.raises(ValueError, match="Wang 2024 print no noise for n = 1000, T = 1000"):
            find_algorithm("Wang2024Pairwise").plan(
                AUC, 1000, 5, Budget(eps, 1e-6), calibration="printed"
            )


def test_wang_prints_for_single_draws_alone() -> None:
    for batch in (None, 4):
        algorithm = NoisyGradientDescent(
            steps=9, step_size=0.1, batch_size=batch, printed_rule="wang"
        )
        with pytest.raises(ValueError, match="print noise for batch_size=2 alone"):
            algorithm.plan(AUC, 1000, 5, Budget(2.0, 1e-6), calibration="printed")
    pairs = NoisyGradientDescent(steps=9, step_size=0.1, pairing="disjoint")
    with pytest.raises(ValueError, match="print no formula for mini-batches"):
        pairs.plan(AUC, 1000, 5, Budget(2.0, 1e-6), calibration="printed")


def test_pointwise_preset() -> None:
    problem = PointwiseProblem(LogisticPointwise(), L2Ball(1.0))
    n, budget = 1000, Budget(1.0, 1e-6)
    algorithm = find_algorithm("Wang2024Pointwise")
    plan = algorithm.plan(problem, n, 4, budget)
    release = plan.certificate.releases[0]
    assert release.sampling == FixedSizeSampling(1, n)
    assert release.sensitivity.bound == "average over records"
    assert release.sensitivity.value == pytest.approx(problem.record_diameter(1))
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(n, 4)), rng.choice([-1, 1], n))
    assert plan.run(records, NoiseSource(0)).parameters.shape == (4,)
    printed = algorithm.plan(problem, n, 4, budget, calibration="printed")
    lipschitz = problem.constants(n).lipschitz
    assert printed.certificate.releases[0].mechanism.scale == pytest.approx(
        lipschitz * gradient_noise(n, n, budget, 1).multiplier
    )
    with pytest.raises(ValueError, match="at least 2 for a pairwise loss"):
        algorithm.plan(AUC, n, 4, budget)
    with pytest.raises(ValueError, match="a loss of one record has no pairs"):
        find_algorithm("Wang2024Pairwise").plan(problem, n, 4, budget)


def test_disjoint_pairs_cost_the_noise_of_all_pairs() -> None:
    budget = Budget(1.0, 1e-5)
    for batch in (2, 10):
        plans = [
            NoisyGradientDescent(steps=50, step_size=0.1, batch_size=batch, pairing=how).plan(
                AUC, 100, 3, budget
            )
            for how in ("all", "disjoint")
        ]
        first, second = (plan.certificate.releases[0] for plan in plans)
        assert first.mechanism == second.mechanism
        assert first.sampling == second.sampling
        assert plans[1].settings.pairing == "disjoint"
    rng = np.random.default_rng(0)
    records = AUC.records(rng.normal(size=(100, 3)), rng.choice([-1, 1], 100))
    found = [
        NoisyGradientDescent(steps=50, step_size=0.1, batch_size=2, pairing=how)
        .plan(AUC, 100, 3, budget)
        .run(records, NoiseSource(1))
        .parameters
        for how in ("all", "disjoint")
    ]
    np.testing.assert_array_equal(*found)  # a batch of two has one pair


def test_disjoint_pairs_of_all_records() -> None:
    # Every record is in a pair at each step: nothing is hidden, and the last iterate is not
    # known to forget.
    plan = NoisyGradientDescent("last", 20, 0.1, pairing="disjoint").plan(
        replace(AUC, regularization=0.5), 100, 3, Budget(1.0, 1e-5)
    )
    (release,) = plan.certificate.releases
    assert release.sampling is None
    assert release.count == 20
    assert release.sensitivity.value == pytest.approx(AUC.sensitivity(100))
    rng = np.random.default_rng(0)
    records = plan.problem.records(rng.normal(size=(100, 3)), rng.choice([-1, 1], 100))
    assert plan.run(records).parameters.shape == (3,)


def test_without_projection() -> None:
    for problem, batch in (
        (AUC, 2),
        (PointwiseProblem(HingePointwise(), L2Ball(1.0)), 1),
    ):
        plan = NoisyGradientDescent(steps=5, step_size=0.1, batch_size=batch, projected=False).plan(
            problem, 30, 3, Budget(1.0, 1e-5)
        )
        assert type(plan.problem) is type(problem)
        assert plan.problem.constraint == Unconstrained()


# Regimes


def expected(problem: Problem, regime: str, a: float, n: int, d: int, eps: float) -> Any:
    """Return T and η of Theorems 3, 4, 6 and 7, as the paper writes them, with c = B/G."""
    noise = eps / math.sqrt(d * math.log(n**2))
    constants = problem.constants(n)
    if regime == "general":
        steps = n if a >= 0.5 else n ** ((2 - a) / (1 + a))
        size = min(n**-0.5 if a >= 0.5 else n ** (3 * (a - 1) / (2 * (1 + a))), noise)
    elif a == 1:
        steps, size = n, noise
    else:
        steps = n ** (2 / (1 + a))
        size = min(n ** ((a * a + 2 * a - 3) / (2 * (1 + a))), n * noise / round(steps))
    bend = constants.pair_smoothness if a == 1 else constants.holder.constant
    size *= problem.constraint.radius / constants.lipschitz
    return round(steps), min(size, 2 / bend, 1)


@pytest.mark.parametrize("regime", ["general", "low-noise"])
@pytest.mark.parametrize(
    ("loss", "a"),
    [
        (LogisticRanking(), 1.0),
        (HingeRanking(), 0.0),
        (PowerHingeRanking(power=1.3), 0.3),
        (PowerHingeRanking(power=1.7), 0.7),
        (LogisticPointwise(), 1.0),
        (HingePointwise(), 0.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("eps", [0.5, 8.0])
def test_regimes_are_the_theorems(loss: Any, a: float, regime: Any, eps: float) -> None:
    n, d, paired = 400, 5, isinstance(loss, PairwiseLoss)
    problem = (Problem if paired else PointwiseProblem)(loss, L2Ball(2.0))
    algorithm = NoisyGradientDescent(batch_size=2 if paired else 1, regime=regime)
    plan = algorithm.plan(problem, n, d, Budget(eps, n**-2.0))
    steps, size = expected(problem, regime, a, n, d, eps)
    assert plan.settings.steps == steps
    assert plan.settings.step_size == pytest.approx(size)
    part = "(a)" if regime == "general" else "(b)"
    number = (6 if a == 1 else 7) if paired else (3 if a == 1 else 4)
    assert len(plan.reasons) == 2
    assert all(f"Theorem {number} {part} of Wang 2024" in reason for reason in plan.reasons)


def test_what_is_given_stays() -> None:
    budget = Budget(1.0, 1e-5)
    algorithm = NoisyGradientDescent(batch_size=2, regime="low-noise", steps=77)
    plan = algorithm.plan(AUC, 100, 3, budget)
    assert plan.settings.steps == 77
    assert len(plan.reasons) == 1
    plan = replace(algorithm, steps=None, step_size=0.125).plan(AUC, 100, 3, budget)
    assert plan.settings.step_size == 0.125
    assert plan.settings.steps == 100


def test_regimes_without_budget_or_bound() -> None:
    algorithm = NoisyGradientDescent(batch_size=2, regime="low-noise")
    plan = algorithm.plan(AUC, 100, 3)
    assert plan.settings.step_size == pytest.approx(2 / AUC.constants(100).pair_smoothness)
    assert any("at most min{2/L, 1}" in reason for reason in plan.reasons)
    free = Problem(HingeRanking(), Unconstrained())
    plan = replace(algorithm, regime="general").plan(free, 100, 3, Budget(1.0, 1e-5))
    assert any("c = 1/G" in reason for reason in plan.reasons)
    metric = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1)
    plan = replace(algorithm, regime="general").plan(metric, 100, 3, Budget(1.0, 1e-5))
    assert plan.settings.steps == 100
