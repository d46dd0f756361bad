"""Pairwise SGD and its phased form: sensitivities given the draws, δ by enumeration, runs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import ndtr

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import Algorithm, PairwiseSGD, PhasedSGD, Plan, find_algorithm
from pairdp.algorithms.descent import step_divergence
from pairdp.constraints import L2Ball, PSDFrobeniusBall, PSDNuclearBall, Unconstrained
from pairdp.losses import (
    HingeMetric,
    HingeRanking,
    LogisticMetric,
    LogisticRanking,
    PairwiseLoss,
    RankingLoss,
)
from pairdp.privacy.accounting.appearances import appearance_weights
from pairdp.problem import Problem
from pairdp.score_sums import AllPairs, Structure
from tests.algorithms.attacks import (
    Neighbours,
    attack,
    drawn,
    staged,
    survives,
    tampered,
    transcript,
)
from tests.algorithms.test_sensitivity import Linear

BUDGET = Budget(1.0, 1e-5)
LOSSES: dict[str, tuple[PairwiseLoss, object]] = {
    "hinge": (HingeRanking(), L2Ball(1.0)),
    "one-sided hinge": (HingeRanking("one-sided"), L2Ball(2.0)),
    "rounded hinge": (HingeRanking(width=1.0), L2Ball(1.0)),
    "logistic": (LogisticRanking(), L2Ball(1.0)),
    "metric hinge": (HingeMetric(), PSDFrobeniusBall(1.0)),
    "metric": (LogisticMetric(), PSDNuclearBall(1.0)),
    "linear": (Linear(), L2Ball(50.0)),
}


def problem(name: str, regularization: float = 0.0) -> Problem:
    loss, constraint = LOSSES[name]
    return Problem(loss, constraint, regularization)  # type: ignore[arg-type]


def apart(plan: Plan, pair: Neighbours, seed: int) -> float:
    """How far the averages of two neighbours are apart, drawn alike and without noise."""
    task = plan.task
    bare = plan.algorithm.plan(plan.problem, task.n, task.features, schedule=task.schedule)
    ends = [
        bare.run(plan.problem.records(x, y), NoiseSource(seed)).parameters for x, y in pair.both()
    ]
    return float(np.linalg.norm(ends[0] - ends[1]))


def allowed(plan: Plan, place: int, seed: int) -> float:
    """How far they may be apart, given the places at which the record was drawn."""
    algorithm: PairwiseSGD = plan.algorithm  # type: ignore[assignment]
    steps, n = plan.settings.steps, plan.task.n
    order = algorithm._indices(n, steps, NoiseSource(seed).stream("draws"))
    (release,) = plan.certificate.releases
    sampling, unit = release.sampling, release.sensitivity
    assert sampling is not None
    assert unit is not None
    total = float(appearance_weights(steps)[order == place].sum())
    return unit.value * (total + sampling.base) if total > 0 else 0.0  # type: ignore[union-attr]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    ("order", "step_size"), [("replacement", 0.4), ("permutation", 0.02), ("permutation", 0.4)]
)
def test_given_the_draws_no_neighbour_is_further(name: str, order: str, step_size: float) -> None:
    n = 6
    for regularization in (0.0, 0.5):
        algorithm = PairwiseSGD(3 * n, step_size, order)  # type: ignore[arg-type]
        plan = algorithm.plan(problem(name, regularization), n, 2, BUDGET)
        reached = []
        for i, pair in enumerate([*staged(n, 1.0, 2), *staged(n, 0.3, 2)]):
            seed = i % 5
            limit = allowed(plan, pair.place, seed)
            moved = apart(plan, pair, seed)
            assert moved <= limit * (1 + 1e-9) + 1e-12
            if limit > 0:
                reached.append(moved / limit)
        if step_size < 0.1 and name in ("logistic", "rounded hinge"):
            assert max(reached) > 0.3


@pytest.mark.parametrize("name", ["rounded hinge", "logistic"])
def test_the_bound_is_not_vacuous_and_a_smaller_one_falls(name: str) -> None:
    n, best = 5, 0.0
    plan = PairwiseSGD(2 * n, 0.01, "permutation").plan(problem(name), n, 2, BUDGET)
    for seed, pair in itertools.product(range(6), staged(n, 1.0, 2)):
        best = max(best, apart(plan, pair, seed) / allowed(plan, pair.place, seed))
    assert 0.3 < best <= 1 + 1e-9


def hockey_stick(ones: np.ndarray, others: np.ndarray, sigma: float, epsilon: float) -> float:
    """H of two equal mixtures of Gaussians on a line, by integration on a fine grid."""
    low, high = min(ones.min(), others.min()), max(ones.max(), others.max())
    grid = np.linspace(low - 9 * sigma, high + 9 * sigma, 20_001)
    p, q = (
        np.mean(np.diff(ndtr((grid[None, :] - centers[:, None]) / sigma), axis=1), axis=0)
        for centers in (ones, others)
    )
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(("n", "steps"), [(2, 2), (2, 4), (3, 3), (4, 4)])
@pytest.mark.parametrize("order", ["replacement", "permutation"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_delta_of_the_whole_mechanism_by_enumeration(
    n: int, steps: int, order: str, epsilon: float
) -> None:
    # A linear loss on a line: all draws there are, each of which ends in a Gaussian.
    delta = 0.05
    line = Problem(LinearRanking(), Unconstrained())
    algorithm = PairwiseSGD(steps, 0.1, order)  # type: ignore[arg-type]
    plan = algorithm.plan(line, n, 1, Budget(epsilon, delta))
    sigma = plan.certificate.releases[0].mechanism.scale
    x = np.full((n, 1), -1.0)
    x[0] = 1.0
    labels = -np.ones(n), np.r_[1.0, -np.ones(n - 1)]
    draws = itertools.product(range(n), repeat=steps)
    if order == "permutation":
        passes = itertools.product(itertools.permutations(range(n)), repeat=steps // n)
        draws = (tuple(itertools.chain(*one)) for one in passes)  # type: ignore[assignment]
    centers: list[list[float]] = [[], []]
    baseline = algorithm.plan(line, n, 1)
    for drawn_places in draws:
        fixed = _Fixed(steps, 0.1, order, draws=drawn_places)
        for side, y in zip(centers, labels, strict=True):
            run = replace(baseline, algorithm=fixed).run(line.records(x, y))
            side.append(float(run.parameters[0]))
    ones, others = np.array(centers[0]), np.array(centers[1])
    worst = max(
        hockey_stick(ones, others, sigma, epsilon), hockey_stick(others, ones, sigma, epsilon)
    )
    assert worst <= delta * (1 + 1e-6)
    # The draws are told in the proof and not in truth, and a record that meets itself is counted.
    if order == "permutation" and steps == n:
        assert worst >= delta / 5


class LinearRanking(RankingLoss):
    """φ(u) = -u: every pair of two classes pulls alike, whatever the weights are."""

    convex = True

    def phi(self, u: np.ndarray) -> np.ndarray:
        return -u

    def slope(self, u: np.ndarray) -> np.ndarray:
        return -np.ones_like(u)

    def derivative_bound(self, reach: float) -> float:
        return 1.0

    def curvature(self, reach: float) -> float:
        return 0.0

    def structure(self) -> Structure:
        return AllPairs()


class _Fixed(PairwiseSGD):
    """Pairwise SGD with given draws."""

    def __init__(self, steps: int, step_size: float, order: str, draws: tuple[int, ...]) -> None:
        super().__init__(steps, step_size, order)  # type: ignore[arg-type]
        object.__setattr__(self, "draws", draws)

    def _indices(self, n: int, steps: int, generator: object) -> np.ndarray:
        return np.array(self.draws, dtype=np.intp)  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", [100, 1000])
def test_the_gain_over_the_printed_noise(n: int) -> None:
    for loss, least in ((HingeRanking(), 10), (HingeRanking(width=0.1), 50)):
        task = Problem(loss, L2Ball(1.0))
        algorithm = PairwiseSGD(n, 1e-4, "replacement")
        certified = algorithm.plan(task, n, 5, BUDGET)
        printed = algorithm.plan(task, n, 5, BUDGET, calibration="printed")
        scales = [p.certificate.releases[0].mechanism.scale for p in (certified, printed)]
        assert scales[1] / scales[0] > least
        assert printed.claim_is_proved
        assert printed.true_epsilon < 0.1


def test_the_printed_noise_is_equation_5() -> None:
    n, steps, eta, epsilon, delta = 100, 300, 0.01, 0.7, 1e-4
    plan = PairwiseSGD(steps, eta, "replacement").plan(
        problem("hinge"), n, 2, Budget(epsilon, delta), calibration="printed"
    )
    lip = 4.0
    variance = (
        8 * eta**2 * lip**2 * math.log(2.5 / delta) / epsilon**2
        * (steps + 3 * steps**2 * math.log(math.e * steps) ** 2 * math.log(2 / delta) ** 2 / n**2)
    )  # fmt: skip
    scale = plan.certificate.releases[0].mechanism.scale
    assert scale == pytest.approx(math.sqrt(variance))


ALGORITHMS = [PairwiseSGD(), PairwiseSGD(order="replacement"), PhasedSGD()]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
@pytest.mark.parametrize("name", ["hinge", "logistic", "metric hinge", "metric"])
def test_certificates_verify_and_runs_stay_in_the_set(algorithm: Algorithm, name: str) -> None:
    task = problem(name)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.choice([-1, 1], 40)
    plan = algorithm.plan(task, 40, 3, BUDGET)
    assert plan.claim_is_proved
    fit = plan.run(task.records(x, y), NoiseSource(1))
    verify(fit.certificate)
    np.testing.assert_allclose(task.constraint.project(fit.parameters), fit.parameters, atol=1e-9)
    again = plan.run(task.records(x, y), NoiseSource(1))
    np.testing.assert_array_equal(fit.parameters, again.parameters)


@pytest.mark.parametrize("algorithm", [PairwiseSGD(), PhasedSGD()], ids=str)
def test_pure_budgets(algorithm: Algorithm) -> None:
    plan = algorithm.plan(problem("hinge"), 50, 3, Budget(1.0))
    verify(plan.certificate)
    with pytest.raises(ValueError, match='order="permutation"'):
        PairwiseSGD(order="replacement").plan(problem("hinge"), 50, 3, Budget(1.0))


@pytest.mark.parametrize("name", ["hinge", pytest.param("logistic", marks=pytest.mark.slow)])
@pytest.mark.parametrize("algorithm", [PairwiseSGD(20 * 150), PhasedSGD()], ids=["sgd", "phased"])
@pytest.mark.slow
def test_without_noise_the_risk_comes_near_its_minimum(name: str, algorithm: Algorithm) -> None:
    rng = np.random.default_rng(0)
    n = 150 if isinstance(algorithm, PairwiseSGD) else 3000
    y = rng.choice([-1.0, 1.0], n)
    x = (rng.normal(size=(n, 3)) + np.outer(y, [1, 0.5, 0])) / 3
    task = problem(name)
    records = task.records(x, y)
    found = algorithm.plan(task, n, 3).run(records, NoiseSource(0)).parameters
    loss = HingeRanking(width=0.02) if name == "hinge" else LogisticRanking()
    smooth = Problem(loss, L2Ball(1.0))
    best = find_algorithm("DPGDC2").plan(smooth, n, 3).run(records, NoiseSource(0)).parameters
    start = task.value(np.zeros(3), records)
    gap = task.value(found, records) - task.value(best, records)
    assert gap < 0.12 * (start - task.value(best, records))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.slow
def test_no_neighbour_moves_a_phase_further(name: str) -> None:
    task = problem(name)
    for step_size in (0.01, 0.5):
        assert survives(PhasedSGD(step_size).plan(task, 9, 2, BUDGET))


@pytest.mark.parametrize("name", ["linear", "rounded hinge"])
def test_the_bound_of_a_phase_is_nearly_attained(name: str) -> None:
    plan = PhasedSGD(0.01).plan(problem(name), 8, 2, BUDGET)
    assert 0.3 <= attack(plan) <= 1
    assert not survives(tampered(plan, 0.25))


def test_what_a_step_does_is_said_by_the_loss() -> None:
    hinge = step_divergence(problem("hinge"), 0.1)
    assert hinge == (4.0, 4.0)
    rounded = problem("rounded hinge")
    assert step_divergence(rounded, 0.1) == (4.0, 0.0)
    assert step_divergence(rounded, 10.0) == (4.0, 4.0)
    metric = step_divergence(problem("metric hinge"), 0.1)
    assert metric.replaced == 2 * metric.common


@pytest.mark.parametrize(
    ("algorithm", "n", "match"),
    [
        (PairwiseSGD(15), 10, "multiple of n = 10"),
        (PairwiseSGD(10, 30.0), 10, "up to 1/λ"),
        (PhasedSGD(30.0), 10, "up to 1/λ"),
        (PhasedSGD(), 3, "at least 4"),
    ],
)
def test_refusals(algorithm: Algorithm, n: int, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        algorithm.plan(problem("hinge", 0.1), n, 2, BUDGET)


def test_smooth_algorithms_point_here() -> None:
    with pytest.raises(ValueError, match="PairwiseSGD"):
        find_algorithm("DPGDC").plan(problem("hinge"), 50, 2, BUDGET)


def test_drawn_neighbours_too() -> None:
    rng = np.random.default_rng(0)
    for name in ("hinge", "logistic"):
        plan = PairwiseSGD(12, 0.3, "permutation").plan(problem(name), 6, 2, BUDGET)
        for seed in range(20):
            pair = drawn(6, 1.0, 2, rng)
            assert apart(plan, pair, seed) <= allowed(plan, pair.place, seed) * (1 + 1e-9)


@dataclass(frozen=True)
class AbsoluteRanking(RankingLoss):
    """φ(u) = |1 - u|: it falls and rises, so slopes of two signs meet."""

    convex = True

    decreasing: ClassVar[bool] = False

    def phi(self, u: np.ndarray) -> np.ndarray:
        return np.abs(1 - u)

    def slope(self, u: np.ndarray) -> np.ndarray:
        return np.sign(u - 1)

    def derivative_bound(self, reach: float) -> float:
        return 1.0

    def structure(self) -> Structure:
        return AllPairs()


def test_a_loss_that_rises_too_moves_twice_as_far() -> None:
    task = Problem(AbsoluteRanking(), L2Ball(50.0))
    assert step_divergence(task, 0.01) == (8.0, 8.0)
    plan = PhasedSGD(0.01).plan(task, 4, 1, BUDGET)
    x, y = np.array([[1.0], [-1.0], [-1.0], [1.0]]), np.array([1.0, -1.0, -1.0, 1.0])
    other = x.copy()
    other[3] = 0.9
    best = 0.0
    for kick in np.linspace(0.0, 0.5, 60):
        first, answers, _ = transcript(plan, task.records(x, y), kick)
        second, _, _ = transcript(plan, task.records(other, y), answers=answers)
        for one, two, release in zip(first, second, plan.certificate.releases, strict=True):
            moved = float(np.linalg.norm(one - two))
            best = max(best, moved / release.mechanism.sensitivity)
    assert best <= 1


def test_equation_5_is_for_draws_with_replacement() -> None:
    with pytest.raises(ValueError, match="draws with replacement"):
        PairwiseSGD(50, 0.01).plan(problem("hinge"), 50, 2, BUDGET, calibration="printed")
    with pytest.raises(ValueError, match="at least 2"):
        PairwiseSGD(1)


def test_a_far_centre_pays_for_the_rounding_near_it() -> None:
    far = Problem(LogisticRanking(), Unconstrained(), 1e6, center=1e8 * np.array([1 / 3, 0.7]))
    near = Problem(LogisticRanking(), Unconstrained(), 1e6, center=np.array([1 / 3, 0.7]))
    for algorithm in (PairwiseSGD(50, 1e-8), PhasedSGD(1e-8)):
        scales = [
            algorithm.plan(p, 50, 2, BUDGET).certificate.releases[0].mechanism.scale
            for p in (far, near)
        ]
        assert scales[0] > 8 * scales[1]


@pytest.mark.parametrize("name", ["rounded hinge", "logistic", "hinge", "metric"])
def test_no_order_moves_the_average_beyond_its_pure_bound(name: str) -> None:
    n, best = 4, 0.0
    for passes in (1, 3):
        plan = PairwiseSGD(passes * n, 0.01).plan(problem(name), n, 2, Budget(1.0))
        limit = plan.certificate.releases[0].mechanism.sensitivity
        for seed, pair in itertools.product(range(8), staged(n, 1.0, 2)):
            best = max(best, apart(plan, pair, seed) / limit)
    assert best <= 1
    if name in ("rounded hinge", "logistic"):
        assert best > 0.3
