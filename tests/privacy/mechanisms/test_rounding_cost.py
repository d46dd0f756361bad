"""Rounding to the grid costs less than a millionth of the noise, in every plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pairdp import OnlinePrivateMetric, PrivateLinearRegressor, PrivateMetric, PrivateRanker
from pairdp.algorithms import GradientDescent, NoisyGradientDescent, Plan, WithThreshold
from pairdp.algorithms.registry import algorithms
from pairdp.online import OnlineDescent, OnlineMoments
from pairdp.privacy import (
    Budget,
    GaussianMechanism,
    KNormMechanism,
    NoMechanism,
    PoissonSampling,
    noise_multiplier,
)
from pairdp.privacy.certificates.release import HIDDEN_ITERATES
from pairdp.privacy.mechanisms import additive_noise
from tests.attacks.honest_plans import PLANS
from tests.audit.cases import METRIC, RANKING, SQUARES

MORE = 1e-6
BUDGET, PURE = Budget(1.0, 1e-7), Budget(1.0)

# Many records, features and steps, on top of the small plans of every algorithm.
LARGE: dict[str, Callable[[], Plan]] = {
    "hidden iterates": lambda: NoisyGradientDescent("last", steps=2000, step_size=0.3).plan(
        RANKING, 10**5, 100, BUDGET
    ),
    "hidden matrices": lambda: NoisyGradientDescent("last", steps=500, step_size=0.1).plan(
        replace(METRIC, regularization=0.5), 10**5, 30, BUDGET
    ),
    "average": lambda: NoisyGradientDescent(steps=1000, step_size=0.1).plan(
        RANKING, 10**6, 1000, BUDGET
    ),
    "single pairs": lambda: NoisyGradientDescent(steps=10**5, step_size=0.01, batch_size=2).plan(
        RANKING, 10**5, 20, BUDGET
    ),
    "batches": lambda: NoisyGradientDescent(steps=500, step_size=0.1, batch_size=256).plan(
        RANKING, 10**5, 20, BUDGET
    ),
    "output": lambda: GradientDescent("average", steps=10).plan(RANKING, 10**6, 10**4, BUDGET),
    "output, pure": lambda: GradientDescent("average", steps=10).plan(RANKING, 10**6, 10**4, PURE),
    "threshold": lambda: WithThreshold(GradientDescent(steps=5)).plan(RANKING, 10**4, 30, PURE),
    "stream of gradients": lambda: OnlineDescent(buffer=64, batch_size=10).plan(
        RANKING, 10**5, 30, BUDGET
    ),
    "reservoir": lambda: OnlineDescent(buffer=64, replacement="reservoir").plan(
        RANKING, 10**4, 30, BUDGET
    ),
    "stream of models": lambda: OnlineDescent(noise="models", buffer=64).plan(
        RANKING, 2000, 30, BUDGET
    ),
    "stream of matrices": lambda: OnlineDescent(noise="models").plan(METRIC, 200, 10, BUDGET),
    "stream of moments": lambda: OnlineMoments().plan(SQUARES, 10**7, 100, BUDGET),
    "ranker, pure": lambda: PrivateRanker(0.1, 0.0, data_norm=1.0).plan(10**5, 50),
    "metric, pure": lambda: PrivateMetric(1.0, 0.0, data_norm=1.0).plan(10**5, 50),
    "metric of a stream": lambda: OnlinePrivateMetric(1.0, 1e-7, data_norm=1.0).plan(1000, 5),
    "regressor, pure": lambda: PrivateLinearRegressor(
        1.0, 0.0, target_bound=2.0, data_norm=1.0
    ).plan(10**5, 50),
}
ALL = PLANS | LARGE


def scales(name: str) -> list[float]:
    """Return the scales of the noise of a plan."""
    releases = ALL[name]().certificate.releases
    return [r.mechanism.scale for r in releases if not isinstance(r.mechanism, NoMechanism)]


@pytest.mark.parametrize("name", ALL)
def test_plans_have_hardly_more_noise_than_without_rounding(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scales(name)
    monkeypatch.setattr(additive_noise, "rounding", lambda grid, dimension: 0.0)
    monkeypatch.setattr(additive_noise, "with_rounding", lambda moved, multiplier, dimension: moved)
    ideal = scales(name)
    assert len(found) == len(ideal)
    for scale, least in zip(found, ideal, strict=True):
        assert least <= scale < least * (1 + MORE)


def test_every_algorithm_and_the_last_of_hidden_iterates_are_among_the_plans() -> None:
    planned = {type(make().algorithm) for make in PLANS.values()}
    assert {type(algorithm) for algorithm in algorithms().values()} <= planned
    for name in ("hidden iterates", "hidden matrices"):
        (release,) = LARGE[name]().certificate.releases
        assert release.sensitivity.bound == HIDDEN_ITERATES


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("dimension", [1, 21, 441, 10**5, 10**8])
def test_calibration_adds_rounding_whatever_the_dimension(epsilon: float, dimension: int) -> None:
    budget = Budget(epsilon, 1e-7)
    normal = GaussianMechanism.calibrate(budget, 0.3, dimension=dimension)
    pure = KNormMechanism.calibrate(Budget(epsilon), 0.3, dimension=dimension)
    for scale, least in ((normal.scale, noise_multiplier(budget)), (pure.scale, 1 / epsilon)):
        assert 0 < scale / least / 0.3 - 1 < MORE


def test_sums_that_records_enter_by_chance_pay_twice() -> None:
    sampling = PoissonSampling(0.01)
    mechanism = GaussianMechanism.calibrate(BUDGET, 0.3, dimension=50, steps=10, sampling=sampling)
    assert 0 < mechanism.scale / noise_multiplier(BUDGET, 10, sampling) / 0.3 - 1 < MORE
