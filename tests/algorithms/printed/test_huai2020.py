"""OffPairStrC and OffPairC with the schedule of their theorem, against the pseudo-code."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import Algorithm, StreamGradientDescent, find_algorithm
from pairdp.algorithms.random_points import random_point
from pairdp.constraints import L2Ball, PSDFrobeniusBall, PSDNuclearBall, Unconstrained
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.problem import Problem
from tests.algorithms.attacks import Neighbours, attack, moved
from tests.oracles import huai2020

BUDGET = Budget(1.0, 1e-3)
STRICT, GENERAL = (find_algorithm(name) for name in ("OffPairStrC", "OffPairC"))
N = 50
CASES = {
    "OffPairStrC": (STRICT, Problem(LogisticRanking(temperature=8.0), L2Ball(1.0), 0.5)),
    "OffPairStrC, metric": (
        STRICT,
        Problem(LogisticMetric(temperature=8.0), PSDFrobeniusBall(1.0), 0.5),
    ),
    "OffPairC": (GENERAL, Problem(LogisticRanking(temperature=32.0), L2Ball(1.0))),
    "OffPairC, regularised": (
        GENERAL,
        Problem(LogisticRanking(temperature=8.0), L2Ball(1.0), 0.4),
    ),
}


def data(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None], rng.choice([-1.0, 1.0], n)


def transcribed(algorithm: Algorithm, problem: Problem, seed: int) -> list[np.ndarray]:
    """Return w_1 … w_n of the pseudo-code, from the public random points of a run."""
    alpha = problem.regularization
    gradient = (huai2020.logistic_metric if problem.loss.matrix else huai2020.logistic_ranking)(
        problem.loss.temperature
    )
    center = problem.constraint.initial(2)
    gradient = huai2020.regularised(gradient, alpha, center)
    if algorithm is GENERAL:
        gradient = huai2020.regularised(gradient, N**-0.5, center)
        alpha += N**-0.5
    smoothness = problem.loss.smoothness(problem.domain()) + alpha
    draws = NoiseSource(seed).stream("random points")
    count = math.ceil(huai2020.step_time(smoothness, alpha))
    random = [random_point(problem.constraint, 2, draws) for _ in range(count)]
    project = huai2020.onto_cone_and_ball if problem.loss.matrix else huai2020.onto_ball
    return huai2020.pairwise_giga(*data(), gradient, project, alpha, random)


@pytest.mark.parametrize("name", CASES)
def test_without_noise_every_step_is_that_of_the_pseudo_code(name: str) -> None:
    algorithm, problem = CASES[name]
    plan = algorithm.plan(problem, N, 2, schedule="theorem")
    steps: list[np.ndarray] = []
    take = Problem.projected_step

    def recorded(self: Problem, *args: object) -> np.ndarray:
        steps.append(take(self, *args))  # type: ignore[arg-type]
        return steps[-1]

    with patch.object(Problem, "projected_step", recorded):
        found = plan.run(problem.records(*data()), NoiseSource(7)).parameters
    expected = transcribed(algorithm, problem, 7)
    assert len(steps) == plan.settings.steps == N - plan.settings.burn_in > 0
    np.testing.assert_allclose(steps, expected[plan.settings.burn_in :], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found, huai2020.average_of_all(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_printed_noise_is_that_of_algorithm_3_and_holds(name: str) -> None:
    algorithm, problem = CASES[name]
    plan = algorithm.plan(problem, N, 2, BUDGET, calibration="printed")
    assert plan.task.schedule == "theorem"
    lipschitz = problem.loss.lipschitz(problem.domain()) + problem.regularization
    alpha = problem.regularization
    if algorithm is GENERAL:
        lipschitz, alpha = lipschitz + N**-0.5 * 2, alpha + N**-0.5
    variance = 128 * lipschitz**2 * math.log(N) ** 2 * math.log(1.25 / BUDGET.delta)
    variance /= alpha**2 * N**2 * BUDGET.epsilon**2
    (release,) = plan.certificate.releases
    assert release.mechanism.scale == pytest.approx(math.sqrt(variance))
    assert plan.claim_is_proved
    assert verify(plan.certificate)
    assert all("departs from the paper" in line for line in str(plan).splitlines()[-2:-1])


def test_what_departs_from_the_paper_is_listed() -> None:
    problem = Problem(LogisticRanking("one-sided", 16.0), L2Ball(1.0))
    plan = GENERAL.plan(problem, N, 2, Budget(1.0), schedule="theorem")
    for words in ("drawn", "rounded up to", r"α = O(n^(-1/2))", "both orders", "pure ε"):
        assert any(words in sentence for sentence in plan.departures)
    assert not GENERAL.plan(problem, N, 2, BUDGET).departures
    given = StreamGradientDescent(0.3, "theorem").plan(problem, N, 2, BUDGET, schedule="theorem")
    assert any("strong_convexity = 0.3 is given" in sentence for sentence in given.departures)
    needed = StreamGradientDescent(0.3).plan(problem, N, 2, BUDGET, schedule="theorem")
    assert any("not that of the theorem" in sentence for sentence in needed.departures)


@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_moves_the_average_further(name: str) -> None:
    algorithm, problem = CASES[name]
    plan = algorithm.plan(problem, 30, 2, BUDGET, schedule="theorem")
    assert 0.05 < attack(plan, tries=1, climbs=4) <= 1


@pytest.mark.parametrize(("algorithm", "strength"), [(STRICT, 1.0), (GENERAL, 0.0)])
def test_the_sensitivity_of_the_theorem_schedule_is_attained(
    algorithm: Algorithm, strength: float
) -> None:
    # Slopes hardly change on a loss this flat, so that drifts are as large as they can be.
    problem = Problem(HingeRanking(temperature=1e6, width=0.5), L2Ball(1.0), strength)
    n = 24
    plan = algorithm.plan(problem, n, 2, BUDGET, schedule="theorem")
    burn_in = plan.settings.burn_in
    shares = []
    for place in range(n):
        x, y = np.tile([-1.0, 0.0], (n, 1)), -np.ones(n)
        shares += moved(plan, Neighbours(x, y, place, np.array([1.0, 0.0]), 1.0))
    assert 0.999 < max(shares) <= 1
    # Records of the burn-in are equal partners of every later one.
    assert np.ptp(shares[:burn_in]) < 1e-6


def test_no_record_changes_the_random_points() -> None:
    algorithm, problem = CASES["OffPairStrC"]
    plan = algorithm.plan(problem, N, 2, schedule="theorem")
    found = []
    for sign in (1, -1):
        x, y = data()
        with patch.object(Problem, "projected_step", lambda self, w, *args: w):
            found.append(plan.run(problem.records(sign * x, y), NoiseSource(7)).parameters)
    np.testing.assert_array_equal(*found)


def test_a_burn_in_that_leaves_no_record_is_refused_with_its_arithmetic() -> None:
    ranking = Problem(LogisticRanking(), L2Ball(1.0))
    with pytest.raises(
        ValueError, match=r"L = 4\.129 and α = 0\.1291.*no n up to 1e\+10 is enough"
    ):
        GENERAL.plan(ranking, 60, 2, BUDGET, calibration="printed")
    ridge = Problem(LogisticRanking(), L2Ball(1.0), 1.0)
    with pytest.raises(ValueError, match=r"= 400 with L = 5 and α = 1 .*at least 401 records"):
        STRICT.plan(ridge, 400, 2, BUDGET, schedule="theorem")
    assert STRICT.plan(ridge, 401, 2, BUDGET, schedule="theorem").settings.steps == 1
    with pytest.raises(ValueError, match="bounded constraint set to draw random points"):
        STRICT.plan(
            Problem(LogisticRanking(), Unconstrained(), 1.0), 500, 2, BUDGET, schedule="theorem"
        )


def test_the_strongly_convex_and_the_convex_algorithm_differ() -> None:
    convex = Problem(LogisticRanking(), L2Ball(1.0))
    ridge = Problem(LogisticRanking(), L2Ball(1.0), 0.1)
    with pytest.raises(ValueError, match="use OffPairC, which adds a regulariser"):
        STRICT.plan(convex, 100, 2, BUDGET)
    assert STRICT.plan(ridge, 100, 2, BUDGET).problem == ridge
    assert GENERAL.plan(convex, 100, 2, BUDGET).problem.regularization == pytest.approx(0.1)
    assert GENERAL.plan(ridge, 100, 2, BUDGET).problem.regularization == pytest.approx(0.2)
    lipschitz = convex.loss.lipschitz(convex.domain())
    needed = StreamGradientDescent()
    assert needed.plan(convex, 100, 2, BUDGET).problem.regularization == lipschitz / 10
    assert needed.plan(ridge, 100, 2, BUDGET).problem == ridge


@pytest.mark.parametrize(
    "constraint", [L2Ball(2.0), PSDFrobeniusBall(2.0), PSDNuclearBall(2.0)], ids=str
)
def test_random_points_are_spread_over_the_set(constraint: L2Ball) -> None:
    rng = np.random.default_rng(0)
    points = np.array([random_point(constraint, 3, rng) for _ in range(1000)])
    for point in points[:50]:
        np.testing.assert_allclose(constraint.project(point), point, atol=1e-12)
    if not constraint.matrix:
        # The volume within a radius r is (r/B)³, uniform on [0, 1]: its mean is off by 6 standard
        # errors in fewer than 1 of 10⁸ runs.
        volumes = (np.linalg.norm(points, axis=1) / 2) ** 3
        assert volumes.mean() == pytest.approx(0.5, abs=6 * math.sqrt(1 / 12 / 1000))
        assert np.abs(points.mean(axis=0)).max() < 6 * 2 * math.sqrt(1 / 5 / 1000)
