"""No bound on an excess risk is below what is measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    NoisyGradientDescent,
    PairwiseSGD,
)
from pairdp.audit import TightLoss
from pairdp.constraints import L2Ball
from pairdp.privacy import Budget, NoiseSource
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem
from pairdp.theory import Facts, Proved, proved
from pairdp.theory.kang2021 import theorem_2 as kang_theorem_2
from pairdp.theory.wang2024 import noise as wang_noise
from pairdp.theory.wang2024 import theorem_6 as wang_theorem_6
from pairdp.theory.yang2021 import theorem_2, theorem_3, theorem_5
from tests.theory.populations import HINGE, METRIC, RANKING, REGULARIZED, population

N, RUNS = 400, 4
BUDGET = Budget(40.0, 1e-2)  # so large that bounds are not vacuous for few records


def facts(problem: Problem, n: int = N, budget: Budget = BUDGET) -> Facts:
    return Facts.of(problem, n, 3, budget)


def excesses(
    problem: Problem,
    algorithm: Algorithm,
    n: int = N,
    budget: Budget = BUDGET,
    calibration: str = "certified",
) -> np.ndarray:
    """Return the excess risks of private runs on independent data sets."""
    known = population(problem)
    plan = algorithm.plan(problem, n, 3, budget, calibration=calibration)  # type: ignore[arg-type]
    found = []
    for run in range(RUNS):
        records = problem.records(*known.draw(n, run))
        found.append(known.excess(plan.run(records, NoiseSource(run)).parameters))
    return np.array(found)


def last(problem: Problem) -> tuple[Proved | None, Algorithm]:
    smoothness = problem.constants(N).smoothness
    algorithm = NoisyGradientDescent(output="last", steps=15, step_size=1 / smoothness)
    return proved.noisy_last_iterate(facts(problem), 15), algorithm


def average(problem: Problem) -> tuple[Proved | None, Algorithm]:
    algorithm = NoisyGradientDescent(output="average", steps=60, step_size=0.05)
    return proved.noisy_average(facts(problem), 60, 0.05), algorithm


def output(problem: Problem) -> tuple[Proved | None, Algorithm]:
    smoothness = problem.constants(N).smoothness
    algorithm = GradientDescent(output="last", steps=40, step_size=1 / smoothness)
    return proved.noisy_output(facts(problem), 40), algorithm


@pytest.mark.parametrize(
    ("problem", "schedule"),
    [
        (REGULARIZED, last),
        (METRIC, last),
        (REGULARIZED, average),
        (RANKING, average),
        (METRIC, average),
        (REGULARIZED, output),
        (METRIC, output),
    ],
)
def test_proved_bounds_are_not_below_measured_risks(
    problem: Problem, schedule: Callable[[Problem], tuple[Proved | None, Algorithm]]
) -> None:
    bound, algorithm = schedule(problem)
    assert bound is not None
    measured = excesses(problem, algorithm)
    assert measured.mean() <= bound.value
    assert bound.value < facts(problem).zero_excess  # else nothing was tested


def test_the_noise_of_the_last_iterate_costs_as_much_as_is_proved() -> None:
    """For F = Gw₁ + (λ/2)|w|² with small G, the last step forgets all but its own noise."""
    problem = Problem(TightLoss(0.01), L2Ball(100.0), regularization=1.0)
    known = Facts.of(problem, 100, 5, Budget(0.05, 1e-6))
    bound = proved.noisy_last_iterate(known, 12)
    assert bound is not None
    mu = gdp_mu(known.budget.epsilon, known.budget.delta)
    sigma = np.sqrt(12) * known.record_diameter / (known.n * mu)
    rng, first = np.random.default_rng(0), np.eye(5)[0]
    points = np.zeros((2000, 5))
    for _ in range(12):
        noise = sigma * rng.normal(size=points.shape)
        points -= (0.01 * first + points + noise) / known.risk_smoothness
    excess = np.mean(np.sum((points + 0.01 * first) ** 2, axis=1)) / 2
    assert excess == pytest.approx(bound.value, rel=0.05)


def test_proved_bound_of_averages_with_output_noise() -> None:
    bound = proved.noisy_average_output(facts(RANKING))
    assert bound is not None
    eta = 1 / RANKING.constants(N).smoothness
    steps = int(bound.setting.split("T = ")[1].split(",")[0])
    algorithm = GradientDescent(output="average", steps=steps, step_size=eta)
    assert excesses(RANKING, algorithm).mean() <= bound.value < facts(RANKING).zero_excess


def test_proved_bound_of_epochs() -> None:
    bound = proved.epochs(facts(RANKING))
    assert bound is not None
    eta = float(bound.setting.split("η = ")[1])
    measured = excesses(RANKING, EpochGradientDescent(step_size=eta))
    assert measured.mean() <= bound.value < facts(RANKING).zero_excess


def test_pure_budgets() -> None:
    budget = Budget(40.0)
    bound = proved.noisy_output(facts(REGULARIZED, budget=budget), 40)
    assert bound is not None
    smoothness = REGULARIZED.constants(N).smoothness
    algorithm = GradientDescent(output="last", steps=40, step_size=1 / smoothness)
    assert excesses(REGULARIZED, algorithm, budget=budget).mean() <= bound.value
    assert proved.noisy_average(facts(REGULARIZED, budget=budget)) is None


@pytest.mark.parametrize("problem", [REGULARIZED, METRIC])
def test_theorem_2_of_kang(problem: Problem) -> None:
    """With its own noise, for projected steps of 1/L with L of one pair."""
    bound = kang_theorem_2(facts(problem), 5)
    assert bound.value is not None
    eta = 1 / problem.constants(N).pair_smoothness
    algorithm = NoisyGradientDescent(output="last", steps=5, step_size=eta, printed_rule="kang")
    assert excesses(problem, algorithm, calibration="printed").mean() <= bound.value
    assert bound.proved is not None
    assert bound.proved.value <= bound.value


def test_the_infimum_of_kangs_theorem_2_is_at_its_tau() -> None:
    known = facts(REGULARIZED)
    bound = kang_theorem_2(known, 5)
    assert bound.value is not None
    tau = float(bound.setting.split("τ* = ")[1])

    def at(tau: float) -> float:
        g, smooth, mu = known.regularized_lipschitz, known.smoothness, known.strong_convexity
        n, p, steps = known.n, known.dimension, 5
        sigma = 8 * g * np.sqrt(steps * np.log(1 / BUDGET.delta)) / (n * BUDGET.epsilon)
        inner = 16 * g**2 * steps**2 / (smooth**2 * n**2) + p * steps**2 * sigma**2 / (
            2 * smooth**2
        )
        inner += 4 * np.sqrt(2) * np.sqrt(p) * g * steps**2 * sigma / (smooth**2 * n)
        gap = (1 - mu / smooth) ** steps * known.start_excess
        return float(2 * (tau + smooth) * inner + g**2 / (2 * tau) + gap + p * sigma**2 / (2 * mu))

    assert bound.value == pytest.approx(min(at(t) for t in np.geomspace(tau / 10, tau * 10, 2001)))
    assert bound.value == pytest.approx(at(tau), rel=1e-4)


@pytest.mark.parametrize("problem", [RANKING, HINGE])
def test_theorems_of_yang(problem: Problem) -> None:
    """Theorems 2, 3 and 5; without privacy the noise is zero, and less than with it."""
    n, steps, eta = 40, 400, 0.02
    known = Facts.of(problem, n, 3, BUDGET, failure=0.9)
    algorithm = PairwiseSGD(steps=steps, step_size=eta, order="replacement")
    where = population(problem)
    plain = algorithm.plan(problem, n, 3, None)
    for run in range(RUNS):
        records = problem.records(*where.draw(n, run))
        measured = where.excess(plain.run(records, NoiseSource(run)).parameters)
        for theorem in (theorem_2, theorem_3):
            bound = theorem(known, steps, eta)
            assert bound.value is not None
            assert bound.proved is not None
            assert measured <= bound.proved.value <= bound.value
    private = theorem_5(known, steps, eta)
    assert private.value is not None
    assert private.proved is not None
    noisy = excesses(problem, algorithm, n, calibration="printed")
    assert noisy.max() <= private.proved.value <= private.value


def test_proved_bound_of_single_pairs_with_the_noise_of_wang() -> None:
    n, budget = 1000, Budget(8.0, 1e-5)
    known = facts(RANKING, n, budget)
    bound = wang_theorem_6(known).proved
    assert bound is not None
    eta = float(bound.setting.split("η = ")[1].split(",")[0])
    algorithm = NoisyGradientDescent(
        steps=n, step_size=eta, batch_size=2, pairing="disjoint", printed_rule="wang"
    )
    printed = algorithm.plan(RANKING, n, 3, budget, calibration="printed")
    scale = printed.certificate.releases[0].mechanism.scale
    sigma = wang_noise(known, n)
    assert sigma is not None
    assert scale <= sigma * 1.01
    measured = excesses(RANKING, algorithm, n, budget, calibration="printed")
    assert measured.mean() <= bound.value


def test_a_bound_with_expanding_steps() -> None:
    n, steps, eta, runs = 60, 60, 0.02, 20
    known, where = facts(HINGE, n), population(HINGE)
    bound = proved.single_pairs(known, steps, 0.0)
    assert bound is not None
    eta = float(bound.setting.split("η = ")[1].split(",")[0])
    rng, found = np.random.default_rng(0), []
    for run in range(runs):
        rows, labels = where.draw(n, run)
        point, total = np.zeros(3), np.zeros(3)
        for _ in range(steps):
            total += point / steps
            i, j = rng.choice(n, 2, replace=False)
            pair = (rows[[i]], labels[[i]], rows[[j]], labels[[j]])
            point = HINGE.projected_step(point, eta, HINGE.loss.gradient(point, *pair)[0])
        found.append(where.excess(total))
    assert np.mean(found) <= bound.value


@pytest.mark.parametrize("failure", [0.01, 0.1])
@pytest.mark.parametrize("n", [10, 1000, 10**6])
@pytest.mark.parametrize("problem", [RANKING, REGULARIZED, HINGE, METRIC])
def test_printed_theorems_of_yang_exceed_what_is_proved(
    problem: Problem, n: int, failure: float
) -> None:
    known = Facts.of(problem, n, 40, Budget(1.0, 1e-6), failure=failure)
    for theorem in (theorem_2, theorem_3, theorem_5):
        bound = theorem(known)
        assert bound.proved is not None
        if bound.value is not None:
            assert bound.proved.value <= bound.value
