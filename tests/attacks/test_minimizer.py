"""A minimiser that the solver did not find.

`MinimizerRelease` adds noise for a point within a tolerance of the minimiser. A solver that gives
up early, on ill-conditioned data or for any reason of its own, would release another point, and
how far that moves between neighbours nobody has bounded. What must hold, for every data set and
whatever the inner solver returns: the point that gets noise is within tolerance/α of the exact
minimiser, in a number of gradients that was public beforehand, without an error or a warning that
depends on the data. The solver is replaced by saboteurs here, and least squares has a closed form
to compare with.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import pairdp.algorithms.minimizer as minimizer
from pairdp import Budget, NoiseSource
from pairdp.algorithms import MinimizerRelease, Plan
from pairdp.algorithms.task import Task
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import LeastSquaresPointwise, LogisticMetric, LogisticRanking
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem
from tests.algorithms.attacks import moved, staged, without_noise

Array = NDArray[np.float64]
BUDGET = Budget(1.0, 1e-6)
N, D = 40, 6


def nothing(objective, start, **rest):
    return SimpleNamespace(x=start)


def not_a_number(objective, start, **rest):
    return SimpleNamespace(x=np.full_like(start, math.nan))


def far_away(objective, start, **rest):
    return SimpleNamespace(x=np.full_like(start, 1e200))


def failing(objective, start, **rest):
    raise ValueError("the data made me do it")


def overflowing(objective, start, **rest):
    with np.errstate(all="raise"):
        return SimpleNamespace(x=start + np.float64(1e308) * 10)


SABOTEURS = [nothing, not_a_number, far_away, failing, overflowing]


def lazily(point: Array, *rest: object) -> None:
    """Stand for spectral steps that get nowhere."""


def squares(radius: float, regularization: float) -> PointwiseProblem:
    return PointwiseProblem(LeastSquaresPointwise(), L2Ball(radius), regularization)


def collinear(seed: int) -> tuple[Array, Array]:
    """Return records whose features are nearly multiples of one another."""
    rng = np.random.default_rng(seed)
    x = np.outer(rng.normal(size=N), rng.normal(size=D)) / 4
    x += 10.0 ** -np.arange(1, D + 1) * rng.normal(size=(N, D))
    return x, rng.uniform(-1, 1, N)


def exact(problem: PointwiseProblem, x: Array, y: Array) -> Array:
    """Return the minimiser of ridge regression in a ball, by its secular equation."""
    values, vectors = np.linalg.eigh(2 * x.T @ x / len(y))
    along = vectors.T @ (2 * x.T @ y / len(y))
    low, high = problem.regularization, problem.regularization + 1e6
    if np.linalg.norm(along / (values + low)) > problem.constraint.radius:
        for _ in range(200):
            middle = (low + high) / 2
            inside = np.linalg.norm(along / (values + middle)) <= problem.constraint.radius
            low, high = (low, middle) if inside else (middle, high)
        low = high
    return vectors @ (along / (values + low))


def found(plan: Plan, x: Array, y: Array) -> Array:
    """Return the point that would get noise."""
    return without_noise(plan).run(plan.problem.records(x, y), NoiseSource(0)).parameters


def stated(plan: Plan) -> float:
    """Return how far from the minimiser the plan's bound lets a point be."""
    inputs = plan.certificate.releases[0].sensitivity.inputs
    return float(inputs["tolerance"] / inputs["strong_convexity"])


@pytest.mark.parametrize("saboteur", SABOTEURS, ids=lambda s: s.__name__)
@pytest.mark.parametrize("radius", [0.3, 30.0], ids=["edge", "inside"])
@pytest.mark.parametrize("spectral", [True, False], ids=["spectral", "no spectral"])
def test_whatever_the_solver_returns_the_tolerance_holds(
    saboteur: object, radius: float, spectral: bool
) -> None:
    problem = squares(radius, 1e-3)
    plan = MinimizerRelease(1e-9).plan(problem, N, D, BUDGET)
    x, y = collinear(1)
    steps = minimizer._spectral if spectral else lazily
    with (
        warnings.catch_warnings(),
        patch("scipy.optimize.minimize", saboteur),
        patch.object(minimizer, "_spectral", steps),
    ):
        warnings.simplefilter("error")
        point = found(plan, x, y)
    records = problem.records(x, y)
    apart = np.linalg.norm(point - exact(problem, records.x, records.y))
    assert stated(plan) < 1e-5
    assert apart <= stated(plan)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("regularization", [1e-6, 1e-3])
def test_ill_conditioned_data_are_no_excuse(seed: int, regularization: float) -> None:
    problem = squares(2.0, regularization)
    plan = MinimizerRelease(1e-6).plan(problem, N, D, BUDGET)
    x, y = collinear(seed)
    records = problem.records(x, y)
    apart = np.linalg.norm(found(plan, x, y) - exact(problem, records.x, records.y))
    assert apart <= stated(plan)


PROBLEMS = {
    "ranking, edge": Problem(LogisticRanking(temperature=0.3), L2Ball(0.2), 0.05),
    "ranking, unbounded": Problem(LogisticRanking(), Unconstrained(), 0.05),
    "metric": Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1),
    "far centre": Problem(LogisticRanking(), L2Ball(1.0), 0.05, np.array([30.0, -40.0])),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_both_ways_end_at_the_same_minimiser(problem: Problem) -> None:
    plan = MinimizerRelease(1e-6).plan(problem, N, 2, BUDGET)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(N, 2)), rng.choice([-1.0, 1.0], N)
    proposed = found(plan, x, y)
    with patch("scipy.optimize.minimize", failing):
        worked_out = found(plan, x, y)
    assert np.linalg.norm(proposed - worked_out) <= 2 * stated(plan)
    assert not np.array_equal(proposed, worked_out)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_no_neighbour_is_further_by_whichever_way_it_was_found(problem: Problem) -> None:
    """One data set by the solver and the next without it, as luck would have it."""
    plan = MinimizerRelease(0.05).plan(replace(problem, regularization=0.5), 8, 2, BUDGET)
    turn = iter(range(10**6))
    real = minimizer._proposed

    def sometimes(*arguments: object) -> Array | None:
        return real(*arguments) if next(turn) % 2 else None

    with patch.object(minimizer, "_proposed", sometimes):
        assert max(max(moved(plan, pair)) for pair in staged(8, 1.0, 0)) <= 1


class Counting:
    """A risk that counts the gradients that are asked of it."""

    def __init__(self, risk) -> None:
        self.risk, self.count = risk, 0

    def value(self, parameters):
        return self.risk.value(parameters)

    def gradient(self, parameters):
        self.count += 1
        if self.count > 400_000:
            raise RuntimeError("this never ends")
        return self.risk.gradient(parameters)

    def value_and_gradient(self, parameters):
        return self.value(parameters), self.gradient(parameters)


def test_the_number_of_gradients_is_public() -> None:
    problem = squares(2.0, 1e-4)
    plan = MinimizerRelease(1e-6).plan(problem, N, D, BUDGET)
    risks = []

    def counted(self, records, design=None):
        risks.append(Counting(original(self, records, design)))
        return risks[-1]

    original = PointwiseProblem.risk
    with (
        patch.object(PointwiseProblem, "risk", counted),
        patch("scipy.optimize.minimize", nothing),
        patch.object(minimizer, "_spectral", lazily),
    ):
        for seed in range(3):
            found(plan, *collinear(seed))
    assert {risk.count for risk in risks} == {plan.settings.most_steps}


def test_the_rounding_of_projections_grows_with_the_features() -> None:
    """A projection in d features is off by up to (6 + 4d)·2⁻⁵³ of what it projects."""
    problem = PROBLEMS["metric"]
    for features in (1, 30, 3000):
        goal = MinimizerRelease()._goal(Task(problem, 10**9, features, Budget(1.0, 1e-12)))
        projected = (6 + 4 * features) * 2.0**-53 * goal.smoothness * goal.largest_norm
        assert goal.error > projected


def test_what_would_take_too_long_is_refused_before_data_is_read() -> None:
    with pytest.raises(ValueError, match="larger regularization"):
        MinimizerRelease(1e-6).plan(squares(1.0, 1e-12), N, D, BUDGET)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    condition=st.floats(1.0, 300.0),
    error=st.sampled_from([0.0, 1e-6, 1e-3, 0.1]),
    adverse=st.booleans(),
    radius=st.sampled_from([0.5, 3.0, math.inf]),
    repeats=st.integers(1, 5),
)
def test_rounds_end_where_their_proof_says(
    seed: int, condition: float, error: float, adverse: bool, radius: float, repeats: int
) -> None:
    """Quadratics with the worst gradients that an error allows, random or away from the minimum."""
    from pairdp.algorithms.accelerated import LIMIT, Rounds, descend_in_rounds

    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    hessian = rotation * np.array([1.0, math.sqrt(condition), condition]) @ rotation.T
    linear = rng.normal(size=3) * rng.choice([0.1, 1.0, 10.0])
    ball = Unconstrained() if math.isinf(radius) else L2Ball(radius)
    best = constrained_minimum(hessian, linear, radius)

    class Wrong:
        def gradient(self, point):
            push = best - point if adverse else rng.normal(size=3)
            size = np.linalg.norm(push)
            return hessian @ point - linear + (error / size if size > 0 else 0.0) * push

    problem = SimpleNamespace(constraint=ball, regularizer_gradient=np.zeros_like)
    start = ball.project(rng.normal(size=3) * 5)
    rounds = Rounds(repeats, math.ceil(4 * math.sqrt(condition)) - 1)
    *_, point = descend_in_rounds(problem, Wrong(), start, condition, rounds)
    far = float(np.linalg.norm(start - best))
    allowed = far / 2**repeats + LIMIT * error
    assert np.linalg.norm(point - best) <= allowed * (1 + 1e-9) + 1e-10


def constrained_minimum(hessian: Array, linear: Array, radius: float) -> Array:
    values, vectors = np.linalg.eigh(hessian)
    along = vectors.T @ linear
    low, high = 0.0, 1e6
    if np.linalg.norm(along / values) > radius:
        for _ in range(200):
            middle = (low + high) / 2
            inside = np.linalg.norm(along / (values + middle)) <= radius
            low, high = (low, middle) if inside else (middle, high)
    else:
        high = 0.0
    return vectors @ (along / (values + high))
