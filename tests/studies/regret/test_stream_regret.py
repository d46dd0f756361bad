"""Regret: against loops over pairs, grids and general-purpose minimisers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from pairdp import Budget, NoiseSource
from pairdp.constraints import (
    FrobeniusBall,
    L2Ball,
    PSDFrobeniusBall,
    PSDNuclearBall,
    Unconstrained,
)
from pairdp.losses import (
    HingeMetric,
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
    PairwiseLoss,
    PowerHingeRanking,
    SigmoidRanking,
)
from pairdp.online.moments import OnlineMoments
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.studies.regret import generalized_regret, regret
from pairdp.studies.regret.best_fixed import best_fixed
from pairdp.studies.regret.stream_regret import TOLERANCE
from pairdp.studies.regret.stream_risk import step_loss, stream_risk
from tests.oracles.all_pairs import average_value

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class OddLoss(PairwiseLoss):
    """A loss of neither kind, and not symmetric: |w·(x - 2x')|² for different labels."""

    convex = True

    symmetric = False

    def value(self, parameters, x, y, other_x, other_y):  # type: ignore[no-untyped-def]
        return np.where(y != other_y, ((x - 2 * other_x) @ parameters - 1) ** 2, 0.0)

    def gradient(self, parameters, x, y, other_x, other_y):  # type: ignore[no-untyped-def]
        apart = x - 2 * other_x
        pulls = np.where(y != other_y, 2 * (apart @ parameters - 1), 0.0)
        return pulls[:, None] * apart

    def lipschitz(self, domain):  # type: ignore[no-untyped-def]
        return 6 * domain.data_norm * (3 * domain.data_norm * domain.radius + 1)


PROBLEMS = {
    "logistic": Problem(LogisticRanking(), L2Ball(1.0)),
    "one-sided": Problem(LogisticRanking("one-sided"), L2Ball(2.0), 0.3),
    "centred": Problem(LogisticRanking(), L2Ball(1.0), 0.3, np.array([0.5, -0.2])),
    "least squares": Problem(LeastSquaresRanking(), L2Ball(0.7)),
    "power hinge": Problem(PowerHingeRanking("one-sided", power=1.5), L2Ball(1.0)),
    "rounded hinge": Problem(HingeRanking(width=0.1), L2Ball(1.0)),
    "hinge": Problem(HingeRanking(), L2Ball(1.0)),
    "one-sided hinge": Problem(HingeRanking("one-sided"), L2Ball(3.0), 0.01),
    "odd": Problem(OddLoss(), L2Ball(1.0)),
    "metric": Problem(LogisticMetric(), PSDFrobeniusBall(1.0)),
    "metric, nuclear": Problem(LogisticMetric(), PSDNuclearBall(0.5), 0.1),
    "hinge metric": Problem(HingeMetric(temperature=0.5), FrobeniusBall(1.0)),
}


def stream(problem: Problem, n: int, seed: int = 0, d: int = 2) -> Records:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    return problem.records((rng.normal(size=(n, d)) + 0.8 * y[:, None]) / 2, y)


def members(problem: Problem, count: int, seed: int = 0, d: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = problem.constraint.initial(d).shape
    sizes = rng.exponential(size=count)
    return np.array([problem.constraint.project(s * rng.normal(size=shape)) for s in sizes])


def one_loss(problem: Problem, w: np.ndarray, records: Records, t: int) -> float:
    """Return L̂ of the record at place t, pair by pair."""
    total = 0.0
    for i in range(t):
        for a, b in ((t, i), (i, t)):
            rows = slice(a, a + 1), slice(b, b + 1)
            pair = (records.x[rows[0]], records.y[rows[0]], records.x[rows[1]], records.y[rows[1]])
            total += float(problem.loss.value(w, *pair)[0]) / 2
    shift = w - problem.center
    return total / t + problem.regularization / 2 * float(np.sum(shift**2))


def average(problem: Problem, w: np.ndarray, records: Records) -> float:
    return float(np.mean([one_loss(problem, w, records, t) for t in range(1, records.n)]))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("n", [2, 3, 17])
def test_stream_risk_is_that_of_the_loops(name: str, n: int) -> None:
    problem = PROBLEMS[name]
    records = stream(problem, n)
    risk = stream_risk(problem.loss, records)
    plain = Problem(problem.loss, problem.constraint)
    for w in members(problem, 3):
        value, gradient = risk.value_and_gradient(w)
        assert value == pytest.approx(average(plain, w, records), rel=1e-12)
        assert risk.value(w) == pytest.approx(value, rel=1e-12)
        np.testing.assert_array_equal(risk.gradient(w), gradient)
        rng = np.random.default_rng(1)
        turn = rng.normal(size=w.shape)
        turn = (turn + turn.T) / 2
        step = 1e-6
        slope = (risk.value(w + step * turn) - risk.value(w - step * turn)) / (2 * step)
        assert np.vdot(gradient, turn) == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("name", ["logistic", "metric"])
def test_blocks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS[name]
    records = stream(problem, 40)
    (w,) = members(problem, 1)
    value, gradient = stream_risk(problem.loss, records).value_and_gradient(w)
    monkeypatch.setattr("pairdp.studies.regret.stream_risk._BLOCK", 7)
    again, turned = stream_risk(problem.loss, records).value_and_gradient(w)
    assert again == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(turned, gradient, atol=1e-13)


@pytest.mark.parametrize("name", PROBLEMS)
def test_one_class_alone(name: str) -> None:
    problem = PROBLEMS[name]
    records = problem.records(np.random.default_rng(0).normal(size=(6, 2)) / 3, np.ones(6))
    found = regret(problem, records, members(problem, 6))
    assert found.gap <= 5 * TOLERANCE
    expected = [one_loss(problem, found.best, records, t) for t in range(1, 6)]
    np.testing.assert_allclose(found.best_losses, expected, rtol=1e-11)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_losses_are_those_of_the_model_before_each_record(name: str, batch_size: int) -> None:
    problem, n = PROBLEMS[name], 14
    records = stream(problem, n)
    models = members(problem, -(-n // batch_size))
    found = regret(problem, records, models, batch_size=batch_size)
    expected = []
    for t in range(1, n):
        done = t // batch_size
        w = models[done - 1] if done else np.zeros_like(models[0])
        expected.append(one_loss(problem, w, records, t))
    np.testing.assert_allclose(found.losses, expected, rtol=1e-11)
    best = [one_loss(problem, found.best, records, t) for t in range(1, n)]
    np.testing.assert_allclose(found.best_losses, best, rtol=1e-11)
    assert found.cumulative[-1] == found.total
    assert found.total == pytest.approx(sum(expected) - sum(best))
    assert found.average == pytest.approx(found.total / (n - 1))


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_member_is_better_than_proved(name: str) -> None:
    problem, n = PROBLEMS[name], 25
    records = stream(problem, n)
    found = regret(problem, records, members(problem, n))
    least, gap = float(np.mean(found.best_losses)), found.gap / (n - 1)
    assert 0 <= gap <= TOLERANCE
    np.testing.assert_allclose(problem.constraint.project(found.best), found.best, atol=1e-12)
    rng, risk = np.random.default_rng(2), stream_risk(problem.loss, records)
    around = [
        problem.constraint.project(found.best + size * rng.normal(size=found.best.shape))
        for size in (1e-3, 1e-2, 0.1, 1.0)
        for _ in range(100)
    ]
    for w in around:
        shift = w - problem.center
        value = risk.value(w) + problem.regularization / 2 * float(np.sum(shift**2))
        assert value >= least - gap - 1e-13


@pytest.mark.parametrize("name", [n for n in PROBLEMS if "metric" not in n])
def test_the_best_weights_are_those_of_a_general_minimiser(name: str) -> None:
    problem, n = PROBLEMS[name], 25
    records = stream(problem, n)
    found = regret(problem, records, members(problem, n))
    risk, radius = stream_risk(problem.loss, records), problem.constraint.radius

    def objective(polar: np.ndarray) -> float:
        w = min(abs(polar[0]), radius) * np.array([np.cos(polar[1]), np.sin(polar[1])])
        shift = w - problem.center
        return risk.value(w) + problem.regularization / 2 * float(np.sum(shift**2))

    starts = [(r, a) for r in (0.3 * radius, radius) for a in (0.0, 2.0, 4.0)]
    values = [
        minimize(objective, s, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11}).fun
        for s in starts
    ]
    least = float(np.mean(found.best_losses))
    assert min(values) - 1e-12 <= least + 1e-9
    assert least <= min(values) + found.gap / (n - 1) + 1e-12


@pytest.mark.parametrize("name", ["metric", "metric, nuclear"])
def test_the_best_metric_is_that_of_a_general_minimiser(name: str) -> None:
    problem, n = PROBLEMS[name], 20
    records = stream(problem, n)
    found = regret(problem, records, members(problem, n), tolerance=1e-8)
    risk = stream_risk(problem.loss, records)

    def objective(root: np.ndarray) -> float:
        half = root.reshape(2, 2)
        w = problem.constraint.project(half @ half.T)
        return risk.value(w) + problem.regularization / 2 * float(np.sum(w**2))

    rng = np.random.default_rng(0)
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000}
    values = [
        minimize(objective, rng.normal(size=4), method="Nelder-Mead", options=options).fun
        for _ in range(4)
    ]
    assert float(np.mean(found.best_losses)) == pytest.approx(min(values), abs=2e-8)


def test_an_unbounded_set_proves_nothing_without_a_regulariser() -> None:
    problem = Problem(LeastSquaresRanking(), Unconstrained())
    records = stream(problem, 30)
    found = regret(problem, records, np.zeros((30, 2)), tolerance=1e-9)
    assert np.isinf(found.gap)
    assert np.linalg.norm(stream_risk(problem.loss, records).gradient(found.best)) < 1e-7
    ridge = Problem(LeastSquaresRanking(), Unconstrained(), 0.1)
    assert regret(ridge, records, np.zeros((30, 2))).gap <= 29 * TOLERANCE


@given(n=st.integers(2, 20), seed=st.integers(0, 10**6), name=st.sampled_from(sorted(PROBLEMS)))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_fixed_member_has_no_negative_regret(n: int, seed: int, name: str) -> None:
    problem = PROBLEMS[name]
    records = stream(problem, n, seed)
    (w,) = members(problem, 1, seed)
    found = regret(problem, records, np.tile(w, (n, *([1] * w.ndim))))
    assert found.gap <= (n - 1) * TOLERANCE
    assert found.total >= -found.gap - 1e-12
    best = regret(problem, records, np.tile(found.best, (n, *([1] * w.ndim))))
    assert abs(best.total) <= 1e-12 * n


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("batch_size", "n"), [(1, None), (3, None), (3, 10)])
def test_generalized_regret(name: str, batch_size: int, n: int | None) -> None:
    problem = PROBLEMS[name]
    held_out = stream(problem, 15, seed=1)
    models = members(problem, 4)
    found = generalized_regret(problem, held_out, models, batch_size=batch_size, n=n)
    count = 4 * batch_size if n is None else n
    assert found.losses.shape == (count - 1,)

    def value(w: np.ndarray) -> float:
        penalty = problem.regularization / 2 * float(np.sum((w - problem.center) ** 2))
        return average_value(problem.loss, w, held_out.x, held_out.y) + penalty

    for t in range(1, count):
        done = t // batch_size
        w = models[done - 1] if done else np.zeros_like(models[0])
        assert found.losses[t - 1] == pytest.approx(value(w), rel=1e-10)
    np.testing.assert_allclose(found.best_losses, value(found.best), rtol=1e-10)
    assert found.gap <= (count - 1) * TOLERANCE
    for w in members(problem, 50, seed=3):
        assert value(w) >= found.best_losses[0] - found.gap / (count - 1) - 1e-12


def test_models_of_a_wrong_number_are_refused() -> None:
    problem = PROBLEMS["logistic"]
    records = stream(problem, 10)
    for models, size in ((np.zeros((9, 2)), 1), (np.zeros((10, 2)), 3), (np.zeros((10, 3)), 1)):
        with pytest.raises(ValueError, match="need finite models of shape"):
            regret(problem, records, models, batch_size=size)
    with pytest.raises(ValueError, match="need finite models"):
        regret(problem, records, np.full((10, 2), np.nan))
    with pytest.raises(ValueError, match="at least 2"):
        regret(problem, records.part(slice(0, 1)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="clipped"):
        regret(problem, Records(records.x, records.y, data_norm=2.0), np.zeros((10, 2)))


def test_private_models_of_a_stream_come_near_the_best() -> None:
    problem = Problem(LeastSquaresRanking(), L2Ball(0.5))
    records = stream(problem, 1500)
    plan = OnlineMoments(10).plan(problem, 1500, 2, Budget(2.0, 1e-5))
    models = plan.run(records, NoiseSource(0)).statistics["models"]
    zero = regret(problem, records, np.zeros_like(models), batch_size=10)
    found = regret(problem, records, models, batch_size=10)
    assert found.total < zero.total / 3
    # The second half of the stream costs less than the first.
    first = found.cumulative[749]
    assert found.total - first < first


def test_step_loss_averages_both_orders() -> None:
    problem = PROBLEMS["odd"]
    records = stream(problem, 9)
    (w,) = members(problem, 1)
    for t in range(1, 9):
        found = step_loss(problem.loss, w, records, t)
        assert found == pytest.approx(one_loss(problem, w, records, t), rel=1e-12)


def test_the_best_of_a_loss_that_is_not_convex_is_not_proved() -> None:
    problem = Problem(SigmoidRanking(), L2Ball(1.0), 0.3)
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(30, 2)), rng.choice([-1.0, 1.0], 30))
    best = best_fixed(problem, 2, lambda loss: stream_risk(loss, records), 1e-6)
    assert best.gap == math.inf
    assert best.value <= stream_risk(problem.loss, records).value(np.zeros(2))
