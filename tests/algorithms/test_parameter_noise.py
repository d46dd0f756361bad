"""The stated noise of parameters against that of many runs, with seeds that are fixed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp import Budget, NoiseSource
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    FisherMetric,
    Fit,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PhasedSGD,
    Plan,
    ScatterMetric,
    StreamGradientDescent,
    WithThreshold,
)
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import HingeRanking, LeastSquaresRanking, LogisticMetric, LogisticRanking
from pairdp.privacy import GaussianMechanism, KNormMechanism, LaplaceMechanism, Release, Sensitivity
from pairdp.problem import Problem

Array = NDArray[np.float64]
LOGISTIC = Problem(LogisticRanking(), L2Ball(1.0))
BUDGET = Budget(1.0, 1e-6)
N, D = 400, 3


def data(n: int = N, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return (rng.normal(size=(n, D)) + y[:, None] * [1.0, 0.5, -0.8] + 0.5) / 5, y


def runs(plan: Plan, count: int, x: Array, y: Array, **how: Any) -> list[Fit]:
    records = plan.problem.records(x, y, **how)
    return [plan.run(records, NoiseSource(seed), progress=False) for seed in range(count)]


def stated(algorithm: Algorithm, problem: Problem = LOGISTIC, **facts: Any) -> ParameterNoise:
    plan = algorithm.plan(problem, N, D, facts.pop("budget", BUDGET), **facts)
    return algorithm.noise_of(plan, Fit(np.ones(D), plan.certificate))


# The deviation of a mechanism


@pytest.mark.parametrize(
    "kind",
    [GaussianMechanism, KNormMechanism, LaplaceMechanism],
)
def test_the_deviation_of_each_mechanism_is_that_of_its_noise(kind: Any) -> None:
    sensitivity = Sensitivity.stated(1.0)
    mechanism = kind(sensitivity.value, 2.0, 4)
    release = Release("a vector", mechanism, sensitivity, 4)
    source = NoiseSource(1)
    drawn = np.array(
        [mechanism.release(np.zeros(4), source.stream("noise", i)) for i in range(1000)]
    )
    assert math.sqrt(np.mean(drawn**2)) == pytest.approx(deviation(release), rel=0.05)


# Noise on the output


@pytest.mark.parametrize(
    ("algorithm", "budget"),
    [
        (GradientDescent("average"), BUDGET),
        (GradientDescent("average"), Budget(1.0)),
        (StreamGradientDescent(), BUDGET),
        (MinimizerRelease(), BUDGET),
    ],
)
def test_output_noise_is_that_of_the_release(algorithm: Algorithm, budget: Budget) -> None:
    problem = replace(LOGISTIC, regularization=0.1)
    plan = algorithm.plan(problem, N, D, budget)
    found = algorithm.noise_of(plan, Fit(np.ones(D), plan.certificate))
    assert found.kind == "exact"
    assert found.deviation == deviation(plan.certificate.releases[0])
    assert "can only reduce it" in found.words
    theorem = stated(GradientDescent("average"), schedule="theorem", budget=Budget(0.9, 1e-5))
    assert "projection" not in theorem.words


def test_a_threshold_does_not_change_the_noise_of_the_weights() -> None:
    algorithm = WithThreshold(MinimizerRelease())
    plan = algorithm.plan(replace(LOGISTIC, regularization=0.1), N, D, BUDGET)
    found = algorithm.noise_of(plan, Fit(np.ones(D), plan.certificate))
    assert found.deviation == deviation(plan.certificate.releases[0])


# Noise on every step


def null_runs(algorithm: Algorithm, count: int, radius: float = 1e6) -> tuple[Plan, Array]:
    """Return the models of null records alone, whose gradients are zero: nothing but noise."""
    problem, n = Problem(LogisticRanking(), L2Ball(radius), data_norm=1.0), 40
    plan = algorithm.plan(problem, n, D, BUDGET)
    found = runs(plan, count, np.full((n, D), np.nan), np.ones(n), invalid="null")
    return plan, np.array([fit.parameters for fit in found])


def test_the_bound_of_descent_is_attained_by_null_records() -> None:
    # 1200 numbers: a bound that is 10 % too small is found (4.9 standard deviations).
    algorithm = NoisyGradientDescent("last", steps=8, step_size=0.1)
    plan, found = null_runs(algorithm, 400)
    bound = algorithm.noise_of(plan, Fit(found[0], plan.certificate))
    assert bound.kind == "bound"
    assert math.sqrt(np.mean(found**2)) == pytest.approx(bound.deviation, rel=0.06)


@pytest.mark.parametrize(
    ("algorithm", "radius", "least"),
    [
        (NoisyGradientDescent("average", steps=8, step_size=0.1), 1e6, 0.75),
        (NoisyGradientDescent("last", steps=8, step_size=0.1, batch_size=20), 1e6, 0.9),
        (EpochGradientDescent(), 1.0, 0.2),  # points are projected onto a small ball
        (PhasedSGD(), 1e6, 0.9),
    ],
)
def test_other_bounds_hold_for_null_records_and_are_close(
    algorithm: Algorithm, radius: float, least: float
) -> None:
    plan, found = null_runs(algorithm, 120, radius)
    bound = algorithm.noise_of(plan, Fit(found[0], plan.certificate))
    assert bound.kind == "bound"
    assert isinstance(bound.deviation, float)
    assert least * bound.deviation < math.sqrt(np.mean(found**2)) < 1.1 * bound.deviation


def test_the_bound_holds_for_records_and_a_regulariser() -> None:
    x, y = data()
    algorithm = NoisyGradientDescent("last", steps=10, step_size=0.3)
    plan = algorithm.plan(replace(LOGISTIC, regularization=0.5), N, D, BUDGET)
    free = algorithm.plan(replace(LOGISTIC, regularization=0.5), N, D, None)
    (without,) = runs(free, 1, x, y)
    found = runs(plan, 60, x, y)
    apart = np.array([fit.parameters for fit in found]) - without.parameters
    bound = algorithm.noise_of(plan, found[0])
    flat = algorithm.noise_of(algorithm.plan(LOGISTIC, N, D, BUDGET), found[0])
    assert isinstance(bound.deviation, float)
    assert isinstance(flat.deviation, float)
    assert math.sqrt(np.mean(apart**2)) < 1.2 * bound.deviation
    assert bound.deviation < flat.deviation


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [
        (NoisyGradientDescent(steps=5, step_size=0.1), Problem(HingeRanking(), L2Ball(1.0))),
        (NoisyGradientDescent(steps=5, step_size=100.0), LOGISTIC),
        (ScatterMetric(), Problem(LogisticMetric(), PSDFrobeniusBall(1.0))),
        (FisherMetric(), Problem(LogisticMetric(), PSDFrobeniusBall(1.0))),
    ],
    ids=["not smooth", "long steps", "scatter", "fisher"],
)
def test_without_a_proof_the_noise_is_unknown(algorithm: Algorithm, problem: Problem) -> None:
    found = stated(algorithm, problem)
    assert found.kind == "unknown"
    assert found.words.startswith("not available: ")
    assert found.of_each(3) is None


def test_the_bound_is_at_most_the_diameter_of_the_set() -> None:
    # Noise on one of so many steps alone moves the parameters by more than the set allows.
    found = stated(
        NoisyGradientDescent("last", steps=500, step_size=0.5), budget=Budget(0.01, 1e-6)
    )
    assert found.deviation == pytest.approx(2 / math.sqrt(D))


def test_without_a_budget_there_is_no_noise() -> None:
    found = stated(NoisyGradientDescent(steps=5, step_size=0.1), budget=None)
    assert (found.kind, found.deviation) == ("exact", 0.0)


# Moments


@pytest.mark.parametrize("statistics", ["class", "pair"])
@pytest.mark.parametrize(
    ("second", "radius"),
    [(True, 1e3), (True, 0.5), (False, 1.0), (False, math.inf)],
    ids=["inside", "on the sphere", "direction", "unbounded"],
)
def test_noise_of_moments_is_propagated_to_the_weights(
    statistics: str, second: bool, radius: float
) -> None:
    # For this many records, products of noises are negligible.
    x, y = data(20_000)
    ball = Unconstrained() if math.isinf(radius) else L2Ball(radius)
    algorithm = MomentRelease(statistics, second, ridge=0.02 if second else None)
    plan = algorithm.plan(Problem(LeastSquaresRanking(), ball), len(x), D, BUDGET)
    found = runs(plan, 150, x, y)
    measured = np.std([fit.parameters for fit in found], axis=0)
    noises = [algorithm.noise_of(plan, fit) for fit in found[:5]]
    assert {noise.kind for noise in noises} == {"first order"}
    expected = np.mean([noise.of_each(D) for noise in noises], axis=0)
    np.testing.assert_allclose(measured, expected, rtol=0.2)


def test_a_model_of_zeros_has_no_derivative() -> None:
    algorithm = MomentRelease()
    plan = algorithm.plan(Problem(LeastSquaresRanking(), L2Ball(1.0)), N, D, BUDGET)
    (fit,) = runs(plan, 1, *data())
    zero = replace(fit, parameters=np.zeros(D))
    assert algorithm.noise_of(plan, zero).kind == "unknown"


# The object


def test_noise_is_stored_as_json_values() -> None:
    for noise in (
        ParameterNoise("exact", "one number", 0.5),
        ParameterNoise("first order", "each", np.array([0.1, 0.2])),
        unknown_noise("of a reason"),
    ):
        again = ParameterNoise.from_dict(noise.to_dict())
        assert again.to_dict() == noise.to_dict()
    for wrong in (
        {"kind": "exact", "words": "x", "deviation": None},
        {"kind": "unknown", "words": "x", "deviation": 1.0},
        {"kind": "exact", "words": "x", "deviation": -1.0},
        {"kind": "exact", "words": "x", "deviation": "1"},
        {"kind": "exact", "words": "x", "deviation": [[1.0]]},
        {"kind": "guess", "words": "x", "deviation": 1.0},
        {"kind": "exact", "words": "", "deviation": 1.0},
        {"kind": "exact", "words": "x"},
    ):
        with pytest.raises((ValueError, TypeError)):
            ParameterNoise.from_dict(wrong)
