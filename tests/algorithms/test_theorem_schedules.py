"""Schedules of theorems: what runs is the pseudo-code of the papers, step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import Algorithm, EpochGradientDescent, Plan, find_algorithm
from pairdp.algorithms.random_points import random_point
from pairdp.constraints import Constraint, FrobeniusBall, L2Ball, PSDFrobeniusBall
from pairdp.losses import LeastSquaresRanking, LogisticMetric, LogisticRanking, RankingLoss
from pairdp.privacy import unpack
from pairdp.problem import Problem
from tests.algorithms.attacks import SEED, attack, staged, transcript, without_noise
from tests.algorithms.attacks import moved as shares
from tests.oracles import published_descent as papers

Array = NDArray[np.float64]
N, D, STRENGTH = 16, 3, 0.5
BUDGET = Budget(2.0, 1e-2)
RANKING = Problem(LogisticRanking(), L2Ball(1.0))
RIDGE = replace(RANKING, regularization=STRENGTH)
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), STRENGTH)
TIGHT = {"rtol": 0, "atol": 1e-12}


def data(n: int = N) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(n, D)), rng.choice([-1.0, 1.0], n)
    return x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None], y


def planned(name: str, problem: Problem, **settings: object) -> Plan:
    algorithm = replace(find_algorithm(name), **settings)  # type: ignore[type-var]
    return algorithm.plan(problem, N, D, BUDGET, calibration="printed")


def oracle(problem: Problem) -> tuple[papers.Gradient, papers.Gradient, Array]:
    """The gradient, the projection and the initial parameter of a problem, from the papers."""
    pair = papers.metric_gradient if problem.loss.matrix else papers.ranking_gradient
    gradient = papers.risk_gradient(pair, *data(), problem.regularization)
    if problem.loss.matrix:
        return gradient, papers.onto_metrics, np.zeros((D, D))
    return gradient, papers.onto_ball, np.zeros(D)


def ran(plan: Plan, kick: float = 0.0) -> tuple[list[Array], list[Array], Array]:
    """Return what the noise was added to, the noise, and the release."""
    values, given, parameters = transcript(plan, plan.problem.records(*data()), kick)
    zetas = [answer - value for value, answer in zip(values, given, strict=True)]
    if plan.problem.loss.matrix:
        values, zetas = [unpack(v) for v in values], [unpack(z) for z in zetas]
    return values, zetas, parameters


@pytest.mark.parametrize("problem", [RIDGE, METRIC], ids=["ranking", "metric"])
@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC"])
def test_output_noise_at_every_number_of_steps(name: str, problem: Problem) -> None:
    stated = planned(name, problem)
    eta, last = stated.settings.step_size, stated.settings.steps
    assert last > 1
    _, (zeta,), found = ran(stated, kick=3.0)
    expected = getattr(papers, name.lower())(*oracle(problem), eta, last, zeta)
    np.testing.assert_allclose(found, expected.returned, **TIGHT)
    for steps in range(1, last):
        plan = planned(name, problem, steps=steps)
        assert plan.settings.step_size == eta
        *_, early = ran(plan)
        path = expected.iterates[: steps + 1]
        returned = path[-1] if name == "DPGDSC" else sum(path[1:]) / steps
        np.testing.assert_allclose(early, returned, **TIGHT)
    assert np.linalg.norm(found) > 1  # the paper does not project what it returns


@pytest.mark.parametrize("kick", [0.0, 1.0])
@pytest.mark.parametrize("problem", [RANKING, METRIC], ids=["ranking", "metric"])
def test_dpgdc2_at_every_step(problem: Problem, kick: float) -> None:
    gradient, project, zero = oracle(problem)
    plan = planned("DPGDC2", problem)
    values, zetas, found = ran(plan, kick)
    assert len(values) == plan.settings.steps == N
    expected = papers.dpgdc2(gradient, project, zero, plan.settings.step_size, zetas)
    for value, w in zip(values, expected.iterates, strict=False):
        np.testing.assert_allclose(value, gradient(w) - problem.regularization * w, **TIGHT)
    np.testing.assert_allclose(found, expected.returned, **TIGHT)


@pytest.mark.parametrize("kick", [0.0, 2.0])
@pytest.mark.parametrize(
    ("problem", "pair"),
    [(RANKING, papers.ranking_gradient), (METRIC, papers.metric_gradient)],
    ids=["ranking", "metric"],
)
def test_dpegd_at_every_epoch(problem: Problem, pair: object, kick: float) -> None:
    _, project, zero = oracle(problem)
    plan = planned("DPEGD", problem)

    def gradient_of(x: Array, y: Array) -> papers.Gradient:
        return papers.risk_gradient(pair, x, y, problem.regularization)  # type: ignore[arg-type]

    values, zetas, found = ran(plan, kick)
    assert len(values) == 4  # log₂ n
    expected = papers.dpegd(gradient_of, project, zero, plan.settings.step_size, *data(), zetas)
    for value, zeta, w in zip(values, zetas, expected.iterates[1:], strict=True):
        np.testing.assert_allclose(value + zeta, w, **TIGHT)
    np.testing.assert_allclose(found, expected.returned, **TIGHT)


@pytest.mark.parametrize("kick", [0.0, 1.0])
@pytest.mark.parametrize("problem", [RIDGE, METRIC], ids=["ranking", "metric"])
def test_kang_at_every_step(problem: Problem, kick: float) -> None:
    gradient, _, _ = oracle(problem)
    ball = FrobeniusBall(1.0) if problem.loss.matrix else L2Ball(1.0)
    start = random_point(ball, D, NoiseSource(SEED).stream("initial point"))
    for steps in (None, 1, 12):
        plan = planned("Kang2021", problem, steps=steps)
        values, zetas, found = ran(plan, kick)
        assert len(values) == plan.settings.steps
        expected = papers.kang(gradient, start, plan.settings.step_size, zetas)
        for value, w in zip(values, expected.iterates, strict=False):
            np.testing.assert_allclose(value, gradient(w) - problem.regularization * w, **TIGHT)
        np.testing.assert_allclose(found, expected.returned, **TIGHT)
    if kick:
        assert max(np.linalg.norm(w) for w in expected.iterates) > 1  # there is no projection


def test_no_noise_without_a_budget() -> None:
    # The same schedules with ε = ∞, where they exist, and no noise.
    gradient, project, zero = oracle(RIDGE)
    for name in ("DPGDSC", "DPGDC"):
        plan = find_algorithm(name).plan(RIDGE, N, D, schedule="theorem")
        eta, steps = plan.settings.step_size, plan.settings.steps
        expected = getattr(papers, name.lower())(gradient, project, zero, eta, steps, 0.0)
        found = plan.run(RIDGE.records(*data())).parameters
        np.testing.assert_allclose(found, expected.returned, **TIGHT)
    plan = find_algorithm("DPGDC2").plan(RIDGE, N, D, schedule="theorem")
    expected = papers.dpgdc2(gradient, project, zero, plan.settings.step_size, [zero] * N)
    found = plan.run(RIDGE.records(*data())).parameters
    np.testing.assert_allclose(found, expected.returned, **TIGHT)
    with pytest.raises(ValueError, match=r"T = ln\(nε/√p\) = ln\(16·inf/√3\) = inf.*give steps"):
        find_algorithm("Kang2021").plan(RIDGE, N, D, schedule="theorem")


def test_the_random_start_is_uniform_and_reads_no_record() -> None:
    rng = np.random.default_rng(0)
    balls: tuple[Constraint, ...] = (L2Ball(5.0), FrobeniusBall(5.0))
    for ball in balls:
        p = ball.dimension(2)
        points = np.array([random_point(ball, 2, rng) for _ in range(4000)])
        norms = np.linalg.norm(points.reshape(4000, -1), axis=1) / 5
        assert norms.max() <= 1
        quantiles = np.quantile(norms**p, [0.1, 0.5, 0.9])  # volumes are uniform
        np.testing.assert_allclose(quantiles, [0.1, 0.5, 0.9], atol=0.03)
        np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.15)
    plan = without_noise(planned("Kang2021", RANKING, steps=1, step_size=1e-9))
    x, y = data()
    one, other = (
        plan.run(RANKING.records(sign * x, y), NoiseSource(5)).parameters for sign in (1, -1)
    )
    np.testing.assert_allclose(one, other, atol=1e-8)
    assert np.linalg.norm(one) > 0.01


# Privacy of what is run


def small(algorithm: Algorithm, problem: Problem, n: int = 8) -> Plan:
    return algorithm.plan(problem, n, 2, Budget(1.0, 1e-3), schedule="theorem")


@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC", "DPGDC2", "DPEGD", "Kang2021"])
def test_no_neighbour_moves_a_release_further(name: str) -> None:
    problem = replace(RIDGE, constraint=L2Ball(0.3))
    plan = small(find_algorithm(name), problem)
    assert plan.claim_is_proved
    assert verify(plan.certificate)
    assert 0.3 < attack(plan, tries=1, climbs=4) <= 1


@pytest.mark.parametrize("loss", [LogisticRanking(), LeastSquaresRanking()], ids=str)
def test_epochs_may_start_outside_the_set(loss: RankingLoss) -> None:
    problem = Problem(loss, L2Ball(0.1))
    plan = small(EpochGradientDescent(step_size=0.01), problem)
    first, *rest = plan.certificate.releases
    inside = EpochGradientDescent(step_size=0.01).plan(problem, 8, 2, Budget(1.0, 1e-3))
    for one, other in zip(rest, inside.certificate.releases[1:], strict=True):
        assert one.sensitivity.value > other.sensitivity.value  # D_h of a larger ball
    pairs = [pair for place in (4, 6) for pair in staged(8, 1.0, place)]
    for kick in (0.1, 10 * first.mechanism.scale):
        assert max(max(shares(plan, pair, kick)) for pair in pairs) <= 1
