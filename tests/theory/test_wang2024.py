"""Lemmas 17, 18 and 20 of Wang 2024, and the noise of its Theorem 5."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairdp.constraints import L2Ball
from pairdp.losses import HingeRanking, LogisticRanking, PowerHingeRanking
from pairdp.privacy import Budget
from pairdp.problem import Problem
from pairdp.theory import POINTWISE_TABLE, RISK_RATES, TABLE, Facts
from pairdp.theory.wang2024 import expansion, lemma_17, lemma_19, lemma_20, noise
from tests.theory.populations import (
    HINGE,
    RANKING,
    REGULARIZED,
    Array,
    different,
    mean_value,
    population,
)

BUDGET = Budget(1.0, 1e-6)
POWER = Problem(PowerHingeRanking(power=1.5), L2Ball(0.5), data_norm=0.5)


def facts(problem: Problem, n: int, budget: Budget = BUDGET) -> Facts:
    return Facts.of(problem, n, 3, budget)


def sgd(problem: Problem, n: int, steps: int, eta: float, sigma: float, seed: int) -> list[Array]:
    """Return w_1 … w_T of Algorithm 2 for records drawn with this seed."""
    rows, labels = population(problem).draw(n, seed)
    rng, points = np.random.default_rng(seed), [np.zeros(3)]
    for _ in range(steps):
        i, j = rng.choice(n, 2, replace=False)
        slope = problem.loss.gradient(points[-1], rows[[i]], labels[[i]], rows[[j]], labels[[j]])[0]
        noisy = slope + sigma * rng.normal(size=3)
        points.append(problem.projected_step(points[-1], eta, noisy))
    return points


@pytest.mark.parametrize("problem", [RANKING, REGULARIZED, HINGE, POWER], ids=repr)
def test_lemma_20_bounds_the_measured_optimization_error(problem: Problem) -> None:
    n, steps, eta, sigma, where = 20, 60, 0.05, 0.3, population(problem)
    bound = lemma_20(facts(problem, n), steps, eta, sigma)
    errors = []
    for seed in range(15):
        rows, labels = where.draw(n, seed)
        best = sgd(problem, n, 200, 0.2, 0.0, seed)[-1]  # any point of the set is a w*
        risks = [
            mean_value(problem, rows, labels, w, *different(n))
            for w in (*sgd(problem, n, steps, eta, sigma, seed)[:-1:6], best)
        ]
        errors.append(np.mean(risks[:-1]) - risks[-1])
    assert bound.value is not None
    assert bound.proved is not None
    assert 0 < np.mean(errors) <= bound.proved.value <= bound.value


def test_lemma_20_is_part_a_of_theorem_16_for_smooth_losses() -> None:
    known = facts(RANKING, 100)
    t, eta, sigma = 50.0, 0.1, 0.2
    smoothness, square, d = known.smoothness, known.solution_norm**2, 3
    printed = (
        (0.5 + 3 * smoothness * eta) * square
        + 3 * smoothness * t * (3 * eta**3 * sigma**2 * d + 2 * eta**2 * known.at_zero)
        + t * 3 * eta**2 * sigma**2 * d
    )
    assert lemma_20(known, t, eta, sigma).value == pytest.approx(printed / (t * eta))


def test_lemma_20_needs_smaller_steps_than_are_stated() -> None:
    known = facts(RANKING, 100)
    for factor, met in ((0.4, True), (0.6, False)):
        bound = lemma_20(known, 50, factor / known.smoothness, 0.1)
        assert (bound.value is not None) == met
        assert bound.applies == met


def test_lemma_20_takes_the_noise_of_theorem_5() -> None:
    assert lemma_20(facts(RANKING, 1000, Budget(0.5, 1e-6))).value is None
    private = lemma_20(facts(RANKING, 1000, Budget(8.0, 1e-5)))
    assert private.value is not None
    assert "σ = " in private.setting


@pytest.mark.parametrize("problem", [RANKING, HINGE, POWER], ids=repr)
def test_lemma_17_is_the_least_over_kappa_and_bounds_the_measured_gap(problem: Problem) -> None:
    n, steps, eta, where = 20, 40, 0.05, population(problem)
    known = facts(problem, n)
    bound, stability = lemma_17(known, steps, eta), lemma_19(known, steps, eta).value
    assert bound.value is not None
    assert stability is not None
    kappa, largest, a = np.geomspace(1e-4, 1e4, 4001), known.largest_loss, known.holder.exponent
    if math.isfinite(known.smoothness):
        smoothness = known.smoothness
        values = smoothness / kappa * largest + 2 * (smoothness + kappa) * stability
    else:
        first = known.at_zero + known.holder.constant
        if a > 0:
            first = (1 + 1 / a) ** (a / (1 + a)) * known.holder.constant ** (1 / (1 + a))
        values = first**2 / (2 * kappa) * largest ** (2 * a / (1 + a)) + 2 * kappa * stability
    assert bound.value == pytest.approx(float(values.min()), rel=1e-4)
    gaps = []
    for seed in range(20):
        point = sgd(problem, n, steps, eta, 0.0, seed)[-1]
        empirical = mean_value(problem, *where.draw(n, seed), point, *different(n))
        gaps.append(where.risk(point) - empirical)
    assert np.mean(gaps) <= bound.value
    if bound.proved is not None:
        assert np.mean(gaps) <= bound.proved.value


@pytest.mark.parametrize("problem", [HINGE, POWER, Problem(HingeRanking(), L2Ball(1.0))], ids=repr)
def test_no_step_expands_more_than_lemma_18_says(problem: Problem) -> None:
    eta, rng = 0.5, np.random.default_rng(0)
    rows, labels = population(problem).draw(200, 0)
    most = 0.0
    for i, j in rng.integers(200, size=(200, 2)):
        w = rng.normal(size=3)
        v = w + rng.normal(size=3) * rng.choice([1e-3, 0.1, 1.0])
        pair = (rows[[i]], labels[[i]], rows[[j]], labels[[j]])
        moved = [p - eta * problem.loss.gradient(p, *pair)[0] for p in (w, v)]
        most = max(most, float(np.sum((moved[0] - moved[1]) ** 2) - np.sum((w - v) ** 2)))
    assert most <= expansion(facts(problem, 200), eta)


def test_steps_on_smooth_losses_do_not_expand() -> None:
    assert expansion(facts(RANKING, 100), 0.1) == 0


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(10**11, 1.0, 1e-9), (10**15, 0.1, 1e-12)])
def test_a_beta_is_found_for_many_records(n: int, epsilon: float, delta: float) -> None:
    known = Facts.of(Problem(LogisticRanking(), L2Ball(1.0)), n, 5, Budget(epsilon, delta))
    sigma = noise(known, n)
    assert sigma is not None
    square = (sigma / known.regularized_lipschitz) ** 2
    order = known.log_delta / epsilon + 1  # β is so small that 1-β is 1
    beta = 56 / (n * epsilon * square) * order
    assert beta < 1e-8
    assert square >= 2.68
    assert order - 1 <= square / 6 * math.log(n / (2 * order * (1 + square / 4))) * (1 + 1e-6)


def test_the_table_of_single_records_ends_with_the_rows_of_the_paper() -> None:
    own = [row for row in TABLE if row.work == "Wang 2024"]
    assert list(POINTWISE_TABLE[-4:]) == own
    assert {row.work for row in POINTWISE_TABLE if not row.lipschitz} == {"Wang et al. 2022"}


def test_the_upper_bounds_of_xue_have_the_order_of_the_lower_bounds() -> None:
    own = [rate for rate in RISK_RATES if rate.table == rate.work == "Xue 2021"]
    assert len(own) == 4
    assert all(rate.upper[1:] == rate.lower[1:] for rate in own)
