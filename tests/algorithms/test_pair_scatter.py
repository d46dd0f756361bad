"""Metrics from given pairs: attacks on every release, for pairs and for persons."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import (
    GradientDescent,
    MinimizerRelease,
    NoisyGradientDescent,
    PairScatter,
    Plan,
)
from pairdp.algorithms.pair_scatter import pair_metric
from pairdp.constraints import L2Ball, PSDCone, PSDFrobeniusBall
from pairdp.losses import LogisticMetric, LogisticPointwise, PairMetricLoss
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Sensitivity, Unit
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.problem import Problem
from tests.algorithms.attacks import (
    Neighbours,
    attack,
    moved,
    staged,
    tampered,
    transcript,
    with_null,
)

BUDGET = Budget(1.0, 1e-5)
LARGE = Budget(1e4, 1e-5)  # so little noise that differences are scaled by what they are
PROBLEM = PointwiseProblem(PairMetricLoss(), PSDFrobeniusBall(2.0), data_norm=1.5)
N = 8


def made(budget: Budget | None = BUDGET, **options: object) -> Plan:
    return PairScatter(**options).plan(PROBLEM, N, 2, budget)  # type: ignore[arg-type]


def cases(place: int) -> Iterator[Neighbours]:
    rng = np.random.default_rng(1)
    yield from staged(N, 1.5, place)
    yield from with_null(N, 1.5, place, rng)
    far, near = np.array([1.5, 0.0]), np.array([1e-3, 0.0])
    yield Neighbours(np.array([[0.0, 0.0]] * N), np.ones(N), place, far, 1.0)
    alone = np.zeros((N, 2))
    alone[place] = far
    yield Neighbours(alone, np.ones(N), place, far, -1.0)
    yield Neighbours(alone, np.ones(N), place, far[::-1], 1.0)
    for x in (far, near):  # alone with others of any size
        for label in (-1.0, 1.0):
            rows, y = np.tile(x, (N, 1)), np.full(N, label)
            yield Neighbours(rows, y, place, -x, -label)
            yield Neighbours(rows, y, place, x[::-1], label)


def test_every_release_moves_up_to_its_bound_and_never_beyond() -> None:
    plan = made(LARGE)
    shares = np.array([moved(plan, pair, kick) for pair in cases(3) for kick in (0.0, 0.3)])
    names = [release.name for release in plan.certificate.releases]
    assert shares.shape[1] == len(names) == 5
    assert np.all(shares <= 1), dict(zip(names, shares.max(axis=0), strict=True))
    assert np.all(shares.max(axis=0) >= 0.9), dict(zip(names, shares.max(axis=0), strict=True))
    # Slightly smaller bounds are found out.
    fewer = np.array([moved(tampered(plan, 0.9), pair) for pair in cases(3)])
    assert np.all(fewer.max(axis=0) > 1)


K = 3
PERSONS = np.array([[0, 1], [0, 2], [3, 0], [1, 2], [0, 3], [4, 0], [1, 3], [2, 4]])


def persons_move(
    plan: Plan, x: np.ndarray, y: np.ndarray, other: np.ndarray, flip: bool
) -> list[float]:
    """Return how far releases move if all pairs of person 0 are replaced."""
    of_person = np.any(PERSONS == 0, axis=1)
    other_x, other_y = np.where(of_person[:, None], other, x), np.where(of_person & flip, -y, y)
    first, second = (
        plan.read([(a, b, list(map(tuple, PERSONS.tolist())))], invalid="null")
        for a, b in ((x, y), (other_x, other_y))
    )
    assert int(np.sum(np.any(first.x != second.x, axis=1) | (first.y != second.y))) <= K
    values, answers, _ = transcript(plan, first)
    others, _, _ = transcript(plan, second, answers=answers)
    return [
        float(np.linalg.norm(value - found)) / release.sensitivity.value
        for value, found, release in zip(values, others, plan.certificate.releases, strict=True)
    ]


def person_cases() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, bool]]:
    e, f = np.array([1.5, 0.0]), np.array([0.0, 1.5])
    of_person = np.any(PERSONS == 0, axis=1)
    for label in (-1.0, 1.0):
        y = np.full(N, label)
        alone = np.where(of_person[:, None], e, np.zeros(2))
        yield alone, y, f, False
        yield alone, y, e, True
        yield np.zeros((N, 2)), y, e, False
        for other in (f, np.zeros(2), e, np.full(2, np.nan)):
            for flip in (False, True):
                yield np.tile(e, (N, 1)), y, other, flip


def test_all_pairs_of_a_person_move_releases_by_up_to_the_limit() -> None:
    plan = PairScatter().plan(PROBLEM, N, 2, LARGE, unit=Unit("person", K))
    single = made(LARGE)
    for ours, theirs in zip(plan.certificate.releases, single.certificate.releases, strict=True):
        assert ours.sensitivity.value == pytest.approx(K * theirs.sensitivity.value, rel=1e-6)
        assert ours.mechanism.scale == pytest.approx(K * theirs.mechanism.scale, rel=1e-3)
    shares = np.array([persons_move(plan, *case) for case in person_cases()])
    assert np.all(shares <= 1)
    assert np.all(shares.max(axis=0) >= 0.9), shares.max(axis=0)
    assert np.all(
        np.array([persons_move(tampered(plan, 0.9), *case) for case in person_cases()]).max(axis=0)
        > 1
    )
    assert verify(plan.certificate).holds


@pytest.mark.parametrize(
    "algorithm",
    [
        GradientDescent(steps=3, step_size=0.1),
        GradientDescent("average", steps=3, step_size=0.1),
        NoisyGradientDescent(steps=3, step_size=0.1),
        pytest.param(MinimizerRelease(), marks=pytest.mark.slow),
    ],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_losses_of_pairs_can_be_minimised(algorithm: object) -> None:
    problem = PointwiseProblem(PairMetricLoss(), PSDFrobeniusBall(2.0), 0.2, data_norm=1.5)
    plan = algorithm.plan(problem, N, 2, BUDGET)  # type: ignore[attr-defined]
    found = attack(plan, tries=1, climbs=4)
    assert 0.25 < found <= 1
    assert verify(plan.certificate).holds


def test_a_gradient_of_pairs_moves_by_nearly_its_bound() -> None:
    """At W = 0, two dissimilar pairs at right angles; the ball is so small that W stays there."""
    problem = PointwiseProblem(PairMetricLoss(), PSDFrobeniusBall(0.01), data_norm=1.5)
    plan = NoisyGradientDescent(steps=1, step_size=0.1).plan(problem, N, 2, BUDGET)
    found = attack(plan, tries=1, climbs=0)
    assert 0.99 <= found <= 1
    assert attack(tampered(plan, 0.98), tries=1, climbs=0) > 1


@pytest.mark.parametrize("budget", [None, BUDGET, Budget(1.0)], ids=str)
@pytest.mark.parametrize("threshold", [True, False])
def test_plans_are_public_and_verified(budget: Budget | None, threshold: bool) -> None:
    plan = made(budget, threshold=threshold)
    assert plan.claim_is_proved == (budget is not None)
    assert len(plan.certificate.releases) == 4 + threshold
    if budget is not None:
        assert verify(plan.certificate).holds
    for x in (np.zeros((N, 2)), np.full((N, 2), np.nan), np.eye(2)[np.arange(N) % 2]):
        for y in (np.ones(N), -np.ones(N), np.resize([-1.0, 1.0], N)):
            records = PROBLEM.records(x, y, invalid="null")
            fit = plan.run(records, NoiseSource(0), progress=False)
            assert np.linalg.eigvalsh(fit.parameters).min() >= -1e-12
            assert np.linalg.norm(fit.parameters) <= 2 + 1e-9
            assert ("threshold" in fit.statistics) == threshold
            if threshold:
                assert 0 < fit.statistics["threshold"][0] < math.inf


def test_without_noise_it_is_the_formula() -> None:
    rng = np.random.default_rng(2)
    y = rng.choice([-1.0, 1.0], 3000)
    x = rng.normal(size=(3000, 3)) * [0.2, 0.1, 0.05]
    x[y < 0] *= [3.0, 1.0, 1.0]
    problem = PointwiseProblem(PairMetricLoss(), PSDCone(), data_norm=50.0)
    plan = PairScatter(threshold=False).plan(problem, 3000, 3, None)
    found = plan.run(problem.records(x, y), NoiseSource(0)).parameters
    assert np.trace(found) == pytest.approx(3.0)
    clipped = x
    for factor in (2.0, 1.5):  # scaled by the mean square norm, twice
        longest = np.sqrt(factor * np.mean(np.sum(clipped**2, axis=1)))
        clipped = x * np.minimum(1, longest / np.linalg.norm(x, axis=1))[:, None]
    kinds = [clipped[y == sign] for sign in (1, -1)]
    similar, dissimilar = (rows.T @ rows / len(rows) for rows in kinds)
    level = np.trace(similar) / 3
    w = np.linalg.inv(similar / level + 0.05 * np.eye(3))
    values, vectors = np.linalg.eigh(dissimilar / level - similar / level)
    expected = w @ ((vectors * np.maximum(values, 0)) @ vectors.T + 0.05 * np.eye(3)) @ w
    expected *= 3 / np.trace(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    similar, dissimilar = similar * 0.4, dissimilar * 0.6
    exact = pair_metric([similar, dissimilar], np.array([0.4, 0.6]), noise=0.0, sure=0.0)
    np.testing.assert_allclose(3 * exact / np.trace(exact), expected, rtol=1e-9)


def test_the_threshold_separates_pairs() -> None:
    rng = np.random.default_rng(3)
    y = rng.choice([-1.0, 1.0], 4000)
    x = rng.normal(size=(4000, 2)) * 0.05
    x[:, 0] += np.where(y < 0, 0.5, 0.0)
    for budget in (None, BUDGET):
        plan = PairScatter().plan(PROBLEM, 4000, 2, budget)
        fit = plan.run(PROBLEM.records(x, y), NoiseSource(0))
        near = np.einsum("ij,jk,ik->i", x, fit.parameters, x) <= fit.statistics["threshold"][0] ** 2
        assert np.mean(near == (y > 0)) > 0.97


@pytest.mark.parametrize("bound", ["shares of classes", "signed histogram"])
def test_bounds_have_two_routes(bound: str) -> None:
    for n in (2, 7, 10**6):
        formula, second = find_bound(bound).formula(n=n), find_bound(bound).second_route(n=n)
        assert formula == pytest.approx(second, rel=1e-12)
        assert Sensitivity.of(bound, n=n).value >= formula


def test_other_problems_are_refused() -> None:
    for problem in (
        Problem(LogisticMetric(), PSDFrobeniusBall(1.0)),
        PointwiseProblem(LogisticPointwise(), L2Ball(1.0)),
    ):
        with pytest.raises(ValueError, match="PairMetricLoss"):
            PairScatter().plan(problem, 10, 2, BUDGET)
    with pytest.raises((TypeError, ValueError), match="threshold"):
        PairScatter(threshold="yes")  # type: ignore[arg-type]
