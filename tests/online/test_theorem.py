"""OnPairStrC and OnPairC with the schedule of their theorems, against the pseudo-code."""

from __future__ import annotations

import math
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import Algorithm, Plan
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import HingeRanking, LogisticMetric, LogisticRanking
from pairdp.online import ONPAIRC, ONPAIRGRADIENT, ONPAIRSTRC, OnlineSession
from pairdp.privacy import GaussianMechanism
from pairdp.problem import Problem
from tests.algorithms.attacks import Neighbours, drawn, staged, transcript
from tests.oracles import huai2020

BUDGET = Budget(1.0, 1e-3)
N = 40
CASES = {
    "OnPairStrC": (ONPAIRSTRC, Problem(LogisticRanking(temperature=8.0), L2Ball(1.0), 0.5)),
    "OnPairStrC, metric": (
        ONPAIRSTRC,
        Problem(LogisticMetric(temperature=8.0), PSDFrobeniusBall(1.0), 0.5),
    ),
    "OnPairC": (ONPAIRC, Problem(LogisticRanking(temperature=8.0), L2Ball(1.0))),
    "OnPairC, regularised": (
        ONPAIRC,
        Problem(LogisticRanking(temperature=8.0), L2Ball(1.0), 0.2, np.array([0.3, -0.1])),
    ),
}


def data(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None], rng.choice([-1.0, 1.0], n)


def transcribed(
    algorithm: Algorithm, problem: Problem, random: np.ndarray, center: np.ndarray | None
) -> list[np.ndarray]:
    """Return w_1 … w_n of the pseudo-code, from the public random values of a run."""
    metric, alpha = problem.loss.matrix, problem.regularization
    gradient = (huai2020.logistic_metric if metric else huai2020.logistic_ranking)(
        problem.loss.temperature
    )
    if algorithm is ONPAIRC:
        assert center is not None
        added = N**-0.25
        # The centre of both regularisers together, as the run states it, gives that of line 3.
        point = (center * (alpha + added) - alpha * problem.center) / added
        gradient = huai2020.regularised(gradient, added, point)
    gradient = huai2020.regularised(gradient, alpha, problem.center + problem.constraint.initial(2))
    alpha += N**-0.25 if algorithm is ONPAIRC else 0.0
    smoothness = problem.loss.smoothness(problem.domain()) + alpha
    assert len(random) == math.ceil(huai2020.step_time(smoothness, alpha)) < N
    project = huai2020.onto_cone_and_ball if metric else huai2020.onto_ball
    return huai2020.pairwise_giga(*data(), gradient, project, alpha, list(random))


@pytest.mark.parametrize("name", CASES)
def test_without_noise_every_model_is_that_of_the_pseudo_code(name: str) -> None:
    algorithm, problem = CASES[name]
    plan = algorithm.plan(problem, N, 2, schedule="theorem")
    found = plan.run(problem.records(*data()), NoiseSource(7)).statistics
    burn_in = plan.settings.burn_in
    expected = transcribed(algorithm, problem, found["models"][:burn_in], found.get("center"))
    np.testing.assert_allclose(found["models"], expected, rtol=0, atol=1e-12)
    mean = huai2020.online_to_batch(expected)
    np.testing.assert_allclose(found["average"], mean, rtol=0, atol=1e-12)
    if not problem.loss.matrix:  # the projection of negative matrices is zero
        assert len(np.unique(found["models"][:burn_in], axis=0)) == burn_in
    assert np.all(np.linalg.norm(found["models"], axis=1) <= 1 + 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_printed_noise_is_that_of_every_step_and_is_not_fed_back(name: str) -> None:
    algorithm, problem = CASES[name]
    plan = algorithm.plan(problem, N, 2, BUDGET, calibration="printed")
    assert plan.task.schedule == "theorem"
    scales: list[float] = []
    add_to = GaussianMechanism.add_to

    def recorded(self: GaussianMechanism, *args: np.ndarray) -> np.ndarray:
        scales.append(self.scale)
        return add_to(self, *args)

    values, _, _ = transcript(plan, problem.records(*data()), kick=0.5)
    with patch.object(GaussianMechanism, "add_to", recorded):
        found = plan.run(problem.records(*data()), NoiseSource(3)).statistics
    burn_in = plan.settings.burn_in
    expected = transcribed(algorithm, problem, found["models"][:burn_in], found.get("center"))
    if not problem.loss.matrix:  # matrices reach the mechanism as vectors of their entries
        np.testing.assert_allclose(values, expected[burn_in:], rtol=0, atol=1e-12)
    lipschitz = problem.loss.lipschitz(problem.domain())
    lipschitz += problem.regularization * (1 + float(np.linalg.norm(problem.center)))
    alpha = problem.regularization
    if algorithm is ONPAIRC:
        lipschitz, alpha = lipschitz + N**-0.25 * 2, alpha + N**-0.25
    log = math.log(1 / BUDGET.delta)
    rho = (math.sqrt(log + BUDGET.epsilon) - math.sqrt(log)) ** 2
    assert rho + 2 * math.sqrt(rho * log) == pytest.approx(BUDGET.epsilon)
    t = np.arange(burn_in + 1, N + 1)
    variances = 32 * lipschitz**2 * (N - burn_in) / (alpha**2 * t**2 * rho)
    np.testing.assert_allclose(scales, np.sqrt(variances), rtol=1e-9)
    assert plan.claim_is_proved
    assert verify(plan.certificate)


def moves(plan: Plan, pair: Neighbours) -> float:
    """Return how far all models move in units of 1/t, as a share of the sensitivity."""
    one, other = (plan.problem.records(x, y, invalid="null") for x, y in pair.both())
    first, answers, _ = transcript(plan, one)
    second, _, _ = transcript(plan, other, answers=answers)
    t = np.arange(plan.settings.burn_in + 1, plan.task.n + 1)
    apart = np.array([np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)])
    return float(np.linalg.norm(apart * t)) / plan.certificate.releases[0].mechanism.sensitivity


@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_moves_the_models_further(name: str) -> None:
    algorithm, problem = CASES[name]
    plan = algorithm.plan(problem, N, 2, BUDGET, schedule="theorem")
    assert verify(plan.certificate)
    assert plan.claim_is_proved
    rng, found = np.random.default_rng(0), []
    for place in (0, plan.settings.burn_in):
        pairs = [*list(staged(N, 1.0, place))[::2], drawn(N, 1.0, place, rng)]
        found += [moves(plan, pair) for pair in pairs]
    assert 0.05 < max(found) <= 1


@pytest.mark.parametrize(("algorithm", "strength"), [(ONPAIRSTRC, 1.0), (ONPAIRC, 0.0)])
def test_the_sensitivity_of_the_theorem_schedule_is_attained(
    algorithm: Algorithm, strength: float
) -> None:
    # Slopes hardly change on a loss this flat, so that drifts are as large as they can be.
    problem = Problem(HingeRanking(temperature=1e6, width=0.5), L2Ball(1.0), strength)
    n = 24
    plan = algorithm.plan(problem, n, 2, BUDGET, schedule="theorem")
    x, y = np.tile([-1.0, 0.0], (n, 1)), -np.ones(n)
    shares = [moves(plan, Neighbours(x, y, place, np.array([1.0, 0.0]), 1.0)) for place in range(n)]
    assert 0.999 < max(shares) <= 1


def test_a_burn_in_that_leaves_no_record_is_refused_with_its_arithmetic() -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    with pytest.raises(ValueError, match=r"T₁ = .* = 2355 with .*at least 69666 records"):
        ONPAIRC.plan(problem, 60, 2, BUDGET, calibration="printed")
    plan = ONPAIRC.plan(problem, 69_666, 2, BUDGET, calibration="printed")
    alpha = 69_666**-0.25
    assert plan.settings.burn_in == math.ceil(huai2020.step_time(4 + alpha, alpha)) < 69_666
    assert huai2020.step_time(4 + 69_665**-0.25, 69_665**-0.25) > 69_664


def test_the_names_differ() -> None:
    convex = Problem(LogisticRanking(), L2Ball(1.0))
    ridge = Problem(LogisticRanking(), L2Ball(1.0), 0.5)
    with pytest.raises(ValueError, match="use OnPairC, which adds a regulariser"):
        ONPAIRSTRC.plan(convex, 100, 2, BUDGET)
    assert ONPAIRSTRC.plan(ridge, 100, 2, BUDGET).problem == ridge
    for problem in (convex, ridge):
        plan = ONPAIRC.plan(problem, 81, 2, BUDGET)
        assert plan.problem.regularization == pytest.approx(problem.regularization + 1 / 3)
        assert plan.settings.noise == "models"
        assert ONPAIRGRADIENT.plan(problem, 81, 2, BUDGET).settings.noise == "gradients"
    with pytest.raises(ValueError, match="states noise on models"):
        ONPAIRGRADIENT.plan(ridge, 1000, 2, BUDGET, schedule="theorem")


@pytest.mark.parametrize("stops", [(30,), (3, 33), (12, 25, 26)])
def test_a_paused_stream_keeps_its_centre_and_its_average(
    stops: tuple[int, ...], tmp_path: Path
) -> None:
    algorithm, problem = CASES["OnPairC"]
    for budget in (BUDGET, None):
        plan = algorithm.plan(problem, N, 2, budget, schedule="theorem")
        x, y = data()
        session = OnlineSession(plan, NoiseSource(0))
        models: list[np.ndarray] = []
        center = session._learner.drawn()["center"]
        for start, stop in zip((0, *stops), (*stops, N), strict=True):
            session.watch = models.append
            session.learn(x[start:stop], y[start:stop])
            if stop < N:
                session.save(tmp_path / "stream")
                session = OnlineSession.resume(tmp_path / "stream", NoiseSource(1))
        assert len(models) == N
        np.testing.assert_allclose(session.average, huai2020.online_to_batch(models), atol=1e-12)
        np.testing.assert_array_equal(session._learner.drawn()["center"], center)
        if budget is None:
            random = np.array(models[: plan.settings.burn_in])
            expected = transcribed(algorithm, problem, random, center)
            np.testing.assert_allclose(models, expected, rtol=0, atol=1e-12)
