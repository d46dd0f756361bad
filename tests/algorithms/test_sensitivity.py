"""Every algorithm's sensitivity, attacked: never exceeded, nearly attained."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    Plan,
    StreamGradientDescent,
    WithPairDesign,
)
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
    PairwiseLoss,
    SquaredHingeRanking,
)
from pairdp.privacy import GaussianMechanism
from pairdp.problem import Problem
from tests.algorithms.attacks import (
    Neighbours,
    attack,
    drawn,
    moved,
    staged,
    survives,
    tampered,
    transcript,
    without_noise,
)

BUDGET = Budget(1.0, 1e-5)
PROBLEMS = {
    "logistic": Problem(LogisticRanking(), L2Ball(1.0), 0.5),
    "one-sided logistic": Problem(LogisticRanking("one-sided"), L2Ball(2.0), data_norm=2.0),
    "squared hinge": Problem(SquaredHingeRanking(), L2Ball(0.5), 0.1, [0.3, -0.2]),
    "least squares": Problem(LeastSquaresRanking("one-sided"), L2Ball(1.0), 0.3),
    # Its slope is constant where this much regularisation keeps it: all bounds are attained.
    "rounded hinge": Problem(HingeRanking("one-sided", width=0.5), L2Ball(3.0), 30.0),
    "metric": Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.2),
    "unbounded": Problem(LogisticRanking(temperature=0.5), Unconstrained(), 1.0),
}


def largest_step(problem: Problem, n: int) -> float:
    constants = problem.constants(n)
    return 2 / (constants.smoothness + constants.strong_convexity)


ALGORITHMS: dict[str, Callable[[Problem, int], Algorithm]] = {
    "last": lambda p, n: GradientDescent(steps=5, step_size=largest_step(p, n)),
    "average": lambda p, n: GradientDescent("average", steps=5, step_size=largest_step(p, n) / 2),
    "minimiser": lambda p, n: MinimizerRelease(),
    "epochs": lambda p, n: EpochGradientDescent(step_size=largest_step(p, n)),
    "stream": lambda p, n: StreamGradientDescent(None if p.regularization else 0.7),
    "gradients": lambda p, n: NoisyGradientDescent(steps=4, step_size=largest_step(p, n)),
    "design": lambda p, n: WithPairDesign(GradientDescent("average", 5, 0.01), 2),
    "design, gradients": lambda p, n: WithPairDesign(NoisyGradientDescent("average", 4, 0.01), 2),
    "mini-batches": lambda p, n: NoisyGradientDescent(steps=4, step_size=0.1, batch_size=3),
    "class moments": lambda p, n: MomentRelease(),
    "pair moments": lambda p, n: MomentRelease("pair"),
    "one moment": lambda p, n: MomentRelease("pair", second_moments=False),
}
OF_STRONGLY_CONVEX = ("last", "minimiser")
OF_LEAST_SQUARES = ("class moments", "pair moments", "one moment")


def admits(algorithm: str, problem: str) -> bool:
    if algorithm in OF_LEAST_SQUARES:
        return problem == "least squares"
    if algorithm in ("average", "design") and problem == "unbounded":
        return False  # refused even with its steps given; see test_plans
    return algorithm not in OF_STRONGLY_CONVEX or PROBLEMS[problem].is_strongly_convex


CASES = [(a, p) for a in ALGORITHMS for p in PROBLEMS if admits(a, p)]


def planned(algorithm: str, problem: str, n: int) -> Plan:
    chosen = PROBLEMS[problem]
    return ALGORITHMS[algorithm](chosen, n).plan(chosen, n, 2, BUDGET)


def is_slow(algorithm: str, problem: str) -> bool:
    """Leave to the slow tests what others are much like."""
    alike = problem in ("one-sided logistic", "squared hinge", "unbounded")
    return alike or (algorithm == "epochs" and problem != "logistic")


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [pytest.param(*case, marks=[pytest.mark.slow] * is_slow(*case)) for case in CASES],
)
def test_no_neighbour_moves_a_release_further(algorithm: str, problem: str) -> None:
    n = {"metric": 5, "least squares": 7, "rounded hinge": 40}.get(problem, 12)
    assert survives(planned(algorithm, problem, min(n, 20) if algorithm == "epochs" else n))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.slow
def test_bounds_are_nearly_attained_and_smaller_ones_fall(algorithm: str) -> None:
    # The minimiser's bound has 2 % for its tolerance, so it is not quite attained.
    problem = "least squares" if algorithm in OF_LEAST_SQUARES else "rounded hinge"
    for n in (4, 9):
        plan = planned(algorithm, problem, n)
        assert 0.9 <= attack(plan) <= 1
        assert not survives(tampered(plan, 0.25))


def test_both_moments_are_attained() -> None:
    for statistics in ("class", "pair"):
        problem = PROBLEMS["least squares"]
        plan = MomentRelease(statistics).plan(problem, 8, 2, BUDGET)
        shares = np.max([moved(plan, pair) for pair in staged(8, 1.0, 2)], axis=0)
        assert shares == pytest.approx(1, rel=1e-6)
        assert np.all(shares <= 1)


def test_what_reaches_the_noise_is_the_output_without_noise() -> None:
    # So that the attack above is on the very thing that is released.
    pair = drawn(12, 1.0, 3, np.random.default_rng(1))
    for name in ("last", "average", "minimiser", "stream"):
        plan = planned(name, "logistic", 12)
        records = plan.problem.records(pair.x, pair.y)
        values, _, _ = transcript(plan, records)
        bare = without_noise(plan).run(records, NoiseSource(0))
        np.testing.assert_allclose(values[-1], bare.parameters, rtol=0, atol=1e-15)
        assert bare.certificate.budget is None


@pytest.mark.parametrize("place", [0, 9, 10, 14, 15, 17, 19])
def test_a_record_touches_the_part_it_is_in_and_no_other(place: int) -> None:
    plan = planned("epochs", "rounded hinge", 20)
    sizes = [release.part.size for release in plan.certificate.releases]
    assert sizes == [10, 5, 2, 3]
    part = int(np.searchsorted(np.cumsum(sizes), place, side="right"))
    for pair in staged(20, 1.0, place):
        shares = moved(plan, pair, kick=0.3)
        assert [share for i, share in enumerate(shares) if i != part] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("size", [2, 5, 10])
def test_mini_batches_move_by_one_record_of_the_batch(size: int) -> None:
    # A smaller batch has fewer pairs, so each of its records moves it further, or not at all.
    problem = PROBLEMS["rounded hinge"]
    plan = NoisyGradientDescent(steps=30, step_size=1e-3, batch_size=size).plan(
        problem, 10, 2, BUDGET
    )
    (release,) = plan.certificate.releases
    assert release.sensitivity.inputs["n"] == size
    shares = np.array(moved(plan, next(staged(10, 1.0, 4))))
    assert shares.max() == pytest.approx(1, rel=1e-3)
    assert np.mean(shares == 0) == pytest.approx(1 - size / 10, abs=0.25)


def iterates(plan: Plan, pair: Neighbours, steps: int) -> np.ndarray:
    """Return how far the iterates 1 … T of two neighbouring runs without noise are apart."""
    distances = []
    for count in range(1, steps + 1):
        shorter = NoisyGradientDescent("last", count, plan.settings.step_size)
        ends = [
            shorter.plan(plan.problem, len(y), 2).run(plan.problem.records(x, y)).parameters
            for x, y in pair.both()
        ]
        distances.append(np.linalg.norm(ends[0] - ends[1]))
    return np.array(distances)


@pytest.mark.parametrize("problem", ["logistic", "rounded hinge", "metric", "least squares"])
@pytest.mark.slow
def test_iterates_drift_and_contract_as_the_last_iterate_bound_says(problem: str) -> None:
    chosen = PROBLEMS[problem]
    step = largest_step(chosen, 8)
    plan = NoisyGradientDescent("last", 6, step).plan(chosen, 8, 2, BUDGET)
    (release,) = plan.certificate.releases
    assert release.sensitivity.bound == "last iterate of noisy gradient descent"
    inputs = release.sensitivity.inputs
    drift, c = inputs["step_size"] * inputs["record_diameter"] / inputs["n"], inputs["contraction"]
    rng = np.random.default_rng(0)
    pairs = [*staged(8, 1.0, 3), *(drawn(8, 1.0, i % 8, rng) for i in range(6))]
    for pair in pairs:
        apart = np.concatenate([[0.0], iterates(plan, pair, 6)])
        assert np.all(apart[1:] <= (c * apart[:-1] + drift) * (1 + 1e-9))


class Linear(PairwiseLoss):
    """y·y'·w₁: D_h = 4G is attained, and with a regulariser every step is linear."""

    convex = True

    def value(self, parameters, x, y, other_x, other_y):
        return y * other_y * parameters[0]

    def gradient(self, parameters, x, y, other_x, other_y):
        return np.outer(y * other_y, np.eye(len(parameters))[0])

    def lipschitz(self, domain):
        return 1.0

    def smoothness(self, domain):
        return 0.0


@pytest.mark.parametrize(("steps", "convexity"), [(1, 0.5), (5, 0.5), (30, 0.5), (30, 0.02)])
def test_the_last_iterate_bound_is_exact_for_a_quadratic(
    steps: int, convexity: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without reaching the ball w_T is Gaussian. Its mean moves as the runs without noise do; its
    # deviation follows from how far noise of a unit length at each step moves it.
    n, eta = 10, 0.3
    problem = Problem(Linear(), L2Ball(1e3), convexity)  # never left
    plan = NoisyGradientDescent("last", steps, eta).plan(problem, n, 2, BUDGET)
    (release,) = plan.certificate.releases
    certified = release.mechanism.sensitivity / release.mechanism.scale * math.sqrt(release.count)

    flip = Neighbours(np.ones((n, 2)), np.ones(n), 0, np.ones(2), -1.0)
    ends = [
        without_noise(plan).run(problem.records(x, y), NoiseSource(0)).parameters
        for x, y in flip.both()
    ]
    records = problem.records(flip.x, flip.y)

    def last_iterate(noisy_step: int | None) -> np.ndarray:
        """Return the last iterate if one step gets noise of a standard deviation, others none."""
        calls = iter(range(steps))

        def add_to(mechanism: GaussianMechanism, vector: np.ndarray, noise: object) -> np.ndarray:
            return vector + (next(calls) == noisy_step) * np.array([mechanism.scale, 0.0])

        monkeypatch.setattr(GaussianMechanism, "add_to", add_to)
        return plan.run(records, NoiseSource(0)).parameters

    still = last_iterate(None)
    moved = [float(np.linalg.norm(last_iterate(step) - still)) for step in range(steps)]
    exact = float(np.linalg.norm(ends[0] - ends[1])) / math.hypot(*moved)
    assert exact <= certified * (1 + 1e-9)
    assert certified <= exact * 1.001


def test_a_bounded_set_forgets_more_than_composition_and_never_less() -> None:
    # With τ < T the start is forgotten: fewer steps than T matter, whatever T is.
    problem = Problem(LogisticRanking(), L2Ball(0.1))
    scales = {}
    for steps in (1, 100, 1000, 2000):
        for output in ("last", "average"):
            plan = NoisyGradientDescent(output, steps, 0.4).plan(problem, 256, 2, BUDGET)
            scales[output, steps] = plan.certificate.releases[0].mechanism.scale
    assert scales["last", 1] == pytest.approx(scales["average", 1])
    assert scales["last", 1000] < scales["average", 1000] / 2
    assert scales["last", 2000] == pytest.approx(scales["last", 1000])
