"""The printed noise of Huai 2020, its burn-in, and what noise on models needs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms.printed.huai2020 import model_noise
from pairdp.constraints import L2Ball
from pairdp.losses import HingeRanking, LogisticRanking
from pairdp.online import ONPAIRGRADIENT, ONPAIRSTRC, OnlineDescent
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.privacy.bounds.stream_models import stream_drift
from pairdp.problem import Problem
from tests.algorithms.attacks import drawn, staged
from tests.online.test_descent import distance

BUDGET = Budget(1.0, 1e-3)


def ridge(alpha: float) -> Problem:
    return Problem(LogisticRanking(), L2Ball(1.0), alpha)


def test_a_burn_in_longer_than_the_stream_is_told() -> None:
    with pytest.raises(ValueError, match=r"burn-in.*2\.561e\+08.*random point.*schedule=\"tuned\""):
        ONPAIRSTRC.plan(ridge(1e-3), 1000, 3, BUDGET, calibration="printed")


def test_the_printed_formula_is_that_of_algorithm_1() -> None:
    # ρ + 2√(ρ ln(1/δ)) = ε, and σ_t² = 32G²(n-T₁)/(α²t²ρ).
    scale = model_noise(2.0, 0.5, 90, BUDGET)
    rho = 32 * 2.0**2 * 90 / (0.5**2 * scale**2)
    assert rho + 2 * math.sqrt(rho * math.log(1 / BUDGET.delta)) == pytest.approx(BUDGET.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("burn_in", [True, False])
def test_printed_noise_is_certified_for_what_it_truly_gives(burn_in: bool) -> None:
    problem = Problem(LogisticRanking(temperature=4.0), L2Ball(1.0), 2.0)
    schedule = "theorem" if burn_in else "tuned"
    plan = ONPAIRSTRC.plan(problem, 60, 2, BUDGET, calibration="printed", schedule=schedule)  # type: ignore[arg-type]
    assert plan.claim_is_proved
    assert plan.true_epsilon < BUDGET.epsilon
    verify(plan.certificate)
    (release,) = plan.certificate.releases
    random = plan.settings.burn_in
    assert (random > 0) == burn_in
    units = 1 / np.arange(1, 61)
    rng = np.random.default_rng(0)
    for place in (0, 1, 20, 59):
        for pair in (*staged(60, 1.0, place), drawn(60, 1.0, place, rng)):
            moved = distance(plan, pair)
            late = units[-moved.size :]
            assert np.linalg.norm(moved / late) <= release.mechanism.sensitivity
            before = max(0, place - random - (not burn_in))
            assert np.all(moved[:before] == 0)


def test_random_points_see_no_record() -> None:
    problem = Problem(LogisticRanking(temperature=4.0), L2Ball(1.0), 2.0)
    plan = ONPAIRSTRC.plan(problem, 60, 2, BUDGET, calibration="printed")
    rng = np.random.default_rng(0)
    found = [
        plan.run(
            problem.records(rng.normal(size=(60, 2)), rng.choice([-1.0, 1.0], 60)), NoiseSource(0)
        ).statistics["models"]
        for _ in range(2)
    ]
    assert any("line 13" in sentence for sentence in plan.departures)
    random = plan.settings.burn_in
    np.testing.assert_array_equal(found[0][:random], found[1][:random])
    assert len(np.unique(found[0][:random], axis=0)) == random
    assert not np.array_equal(found[0][random], found[1][random])


def test_a_convex_problem_is_regularised_for_noise_on_models() -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    plan = OnlineDescent(noise="models").plan(problem, 100, 2, BUDGET)
    assert plan.problem.regularization == pytest.approx(
        problem.loss.lipschitz(problem.domain()) / 10
    )
    assert ONPAIRGRADIENT.plan(problem, 100, 2, BUDGET).problem.regularization == 0
    given_alpha = OnlineDescent(strong_convexity=0.3).plan(problem, 100, 2, BUDGET)
    assert given_alpha.problem.regularization == 0.3
    with pytest.raises(ValueError, match="already"):
        OnlineDescent(strong_convexity=0.3, noise="models").plan(ridge(0.1), 100, 2, BUDGET)


def test_what_is_refused_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="gradients"):
        OnlineDescent(noise="models").plan(Problem(HingeRanking(), L2Ball(1.0)), 9, 2, BUDGET)
    for schedule in ("tuned", "theorem"):
        with pytest.raises(ValueError, match="leave out buffer"):
            OnlineDescent(4, noise="models").plan(
                ridge(0.1),
                9,
                2,
                BUDGET,
                calibration="printed",
                schedule=schedule,  # type: ignore[arg-type]
            )
    with pytest.raises(ValueError, match="states noise on models"):
        OnlineDescent().plan(ridge(0.1), 9, 2, BUDGET, calibration="printed")
    with pytest.raises(ValueError, match="use larger batches"):
        OnlineDescent(noise="models").plan(ridge(0.1), 30_000, 2, BUDGET)
    with pytest.raises(ValueError, match="give buffer"):
        OnlineDescent(replacement="reservoir")
    with pytest.raises(ValueError, match="noise must be"):
        OnlineDescent(noise="both")  # type: ignore[arg-type]


@st.composite
def drifts(draw: st.DrawFn) -> dict[str, float]:
    inputs: dict[str, float] = {
        "record_diameter": draw(st.floats(0.1, 10)),
        "n": draw(st.integers(2, 40)),
        "strong_convexity": draw(st.sampled_from([1e-3, 0.1, 1.0])),
        "batch": draw(st.sampled_from([1, 1, 3])),
    }
    inputs["smoothness"] = inputs["strong_convexity"] + draw(st.floats(0.1, 5))
    if draw(st.booleans()):
        inputs |= {"buffer": draw(st.integers(1, 50)), "reservoir": draw(st.integers(0, 1))}
    if draw(st.booleans()):
        inputs["diameter"] = draw(st.floats(0.1, 3))
    return inputs


@given(inputs=drifts())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_both_routes_to_the_moves_of_models_agree_with_one_record_at_a_time(
    inputs: dict[str, float],
) -> None:
    bound = find_bound("models of a stream in units of their moves")
    value = bound.formula(**inputs)
    assert bound.second_route is not None
    assert value == pytest.approx(bound.second_route(**inputs), rel=1e-9)
    drift = stream_drift(**inputs)  # type: ignore[arg-type]
    shape, alpha = drift.shape, inputs["strong_convexity"]
    cap = inputs.get("diameter", math.inf)
    batch, n = shape.batch, shape.n
    rows = []
    for k in range(n):
        d, row = 0.0, []
        for s, eta in enumerate(drift.step_sizes):
            start = s * batch
            share = 0.0
            if k // batch == s:
                share = shape.own[s]
            elif k < start and (shape.reservoir or k >= start - shape.kept):
                share = shape.partner[s]
            d = min(cap, d * (1 - eta * alpha) + eta * inputs["record_diameter"] / 2 * share)
            row.append(d)
        rows.append(row)
    matrix = np.array(rows)
    units = matrix.max(axis=0)
    np.testing.assert_allclose(drift.moves(), units, rtol=1e-9)
    shares = np.divide(matrix, units, out=np.zeros_like(matrix), where=units > 0)
    assert value == pytest.approx(np.sqrt((shares**2).sum(axis=1).max()), rel=1e-9)


@pytest.mark.slow
def test_the_moves_are_those_that_noise_on_models_is_scaled_by() -> None:
    plan = OnlineDescent(noise="models").plan(ridge(0.5), 200, 2, BUDGET)
    (release,) = plan.certificate.releases
    units = plan.algorithm.learner(plan, np.random.default_rng(0))._units  # type: ignore[attr-defined]
    problem = plan.problem
    x = np.zeros((200, 2))
    y = np.tile([-1.0, 1.0], 100)
    runs = [
        plan.run(problem.records(x, y), NoiseSource(seed)).statistics["models"]
        for seed in range(100)
    ]
    last = np.array(runs)[:, -1]
    inside = np.linalg.norm(last, axis=1) < 1 - 1e-9
    scale = release.mechanism.scale * units[-1]
    # Without data the state stays at zero. Fewer are inside the ball, the larger the noise is:
    # a Rayleigh law, whose share of 100 is off by 0.15 in fewer than 1 of 10^6 runs.
    assert inside.mean() == pytest.approx(-math.expm1(-1 / (2 * scale**2)), abs=0.15)
