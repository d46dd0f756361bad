"""Wang 2024 with the schedule of its theorems: its pseudo-code, and noise for what is run."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import NoisyGradientDescent, find_algorithm, kernels
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    HingeMetric,
    HingePointwise,
    HingeRanking,
    LogisticPointwise,
    LogisticRanking,
    SigmoidRanking,
)
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import FixedSizeSampling, GaussianMechanism, PrivacyCurve, Sensitivity
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.problem import Problem
from tests.algorithms.attacks import moved, staged, survives, tampered, with_null, without_noise
from tests.algorithms.kernel_losses import RANKING
from tests.algorithms.test_wang_enumeration import Products
from tests.oracles import wang2024, yang2021
from tests.oracles.hockey_stick import divergence, normal

PAIRS: Any = find_algorithm("Wang2024Pairwise")
RECORDS: Any = find_algorithm("Wang2024Pointwise")
BUDGET = Budget(1.0, 1e-5)
ONE_SIDED = Problem(HingeRanking("one-sided"), L2Ball(0.7))


def preset(problem: Problem) -> Any:
    return RECORDS if isinstance(problem, PointwiseProblem) else PAIRS


def iterates(plan: Any, records: Any, seed: int, compiled: bool, monkeypatch: Any) -> Any:
    """Return w_2 … w_T and the output of a run, by the plain or the compiled steps."""
    points: list[np.ndarray] = []
    step, build = Problem.projected_step, kernels._compiled

    def kept(self: Problem, *arguments: Any) -> np.ndarray:
        points.append(step(self, *arguments))
        return points[-1]

    def keeping(steps: Any) -> Any:
        advance = build(steps)

        def take(*arguments: Any) -> None:
            advance(*arguments)
            points.append(arguments[-2].copy())

        return take

    with monkeypatch.context() as patch:
        patch.setattr(kernels, "_BLOCK", 1)  # one step at a time, which the compiled code keeps
        patch.setattr(kernels, "_WORTHWHILE", 0 if compiled else math.inf)
        patch.setattr(kernels, "_compiled", keeping)
        patch.setattr(Problem, "projected_step", kept)
        output = plan.run(records, NoiseSource(seed), progress=False).parameters
    return points, output


def transcribed(plan: Any, records: Any, gradient: Any, project: Any, seed: int) -> Any:
    """Return w_1 … w_{T+1} and the average by the pseudo-code, with the same random numbers."""
    steps, eta, n = plan.settings.steps, plan.settings.step_size, records.n
    source = NoiseSource(seed)
    draws, generator = source.stream("batches"), source.stream("gradient noise")
    (release,) = plan.certificate.releases
    noise = None
    if isinstance(release.mechanism, GaussianMechanism):
        rows = [release.mechanism.noise(release.dimension, generator) for _ in range(steps)]
        noise = np.array(rows)
    arguments = (records.x, records.y, gradient, project, eta, steps)
    if preset(plan.problem) is RECORDS:
        single = [int(draws.integers(0, n, (1, 1))[0, 0]) for _ in range(steps)]
        return wang2024.algorithm_1(*arguments, single, noise)
    pairs = []
    for _ in range(steps):
        i, j = int(draws.integers(0, n, 1)[0]), int(draws.integers(0, n - 1, 1)[0])
        pairs.append((i, j + (j >= i)))
    d = records.features
    first = np.zeros((d, d) if plan.problem.loss.matrix else d)
    return wang2024.algorithm_2(*arguments, pairs, first, noise)


CASES: dict[str, Any] = {
    "logistic pairs": (
        Problem(LogisticRanking("one-sided"), L2Ball(0.3)),
        yang2021.logistic_auc,
        yang2021.ball(0.3),
    ),
    "hinge pairs": (ONE_SIDED, yang2021.hinge_auc, yang2021.ball(0.7)),
    "hinge pairs, unbounded": (
        Problem(HingeRanking("one-sided"), Unconstrained()),
        yang2021.hinge_auc,
        lambda w: w,
    ),
    "metric pairs": (
        Problem(HingeMetric(), PSDFrobeniusBall(0.5)),
        yang2021.hinge_metric,
        yang2021.psd_ball(0.5),
    ),
    "logistic records": (
        PointwiseProblem(LogisticPointwise(), L2Ball(0.4)),
        wang2024.logistic,
        yang2021.ball(0.4),
    ),
    "hinge records": (
        PointwiseProblem(HingePointwise(), Unconstrained()),
        wang2024.hinge,
        lambda w: w,
    ),
}


@pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["plain", "compiled"]
)
@pytest.mark.parametrize("regime", ["general", "low-noise"])
@pytest.mark.parametrize("name", CASES)
def test_every_step_is_the_pseudo_code(
    name: str, regime: str, compiled: bool, monkeypatch: Any
) -> None:
    problem, gradient, project = CASES[name]
    if compiled:
        pytest.importorskip("numba")
        if problem.loss.matrix:
            pytest.skip("steps on matrices are not compiled")
    n = 7 if not problem.is_smooth else 30
    algorithm = replace(preset(problem), regime=regime)
    private = algorithm.plan(problem, n, 3, BUDGET, schedule="theorem")
    assert private.settings.steps == (n if problem.is_smooth else n**2)
    rng = np.random.default_rng(3)
    records = problem.records(rng.normal(size=(n, 3)), rng.permutation(np.arange(n) % 2 * 2 - 1))
    for plan in (without_noise(private), private):
        if plan is private and (problem.loss.matrix or not problem.is_bounded):
            continue  # noise of a matrix is packed; without a bound it is large, and so is rounding
        points, output = iterates(plan, records, 5, compiled, monkeypatch)
        w, average = transcribed(plan, records, gradient, project, 5)
        grid = getattr(plan.certificate.releases[0].mechanism, "grid", 0.0)
        tolerance = 1e-12 + grid * plan.settings.step_size * plan.settings.steps
        assert len(points) == plan.settings.steps - 1  # w_{T+1} is not part of the average
        np.testing.assert_allclose(points, w[1:-1], rtol=0, atol=tolerance)
        np.testing.assert_allclose(output, average, rtol=0, atol=tolerance)
        assert np.abs(average).max() > 1e-4


@pytest.mark.parametrize("name", ["logistic, one-sided", "hinge, rounded", "least squares"])
def test_compiled_pairs_in_one_order_are_the_plain_ones(name: str) -> None:
    pytest.importorskip("numba")
    from pairdp.algorithms.plan import Progress

    problem = Problem(RANKING[name], L2Ball(0.8), 0.1, data_norm=1.5)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 4))
    x[::7] = np.nan
    records = problem.records(x, rng.choice([-1, 1], 30), invalid="null")
    mechanism = GaussianMechanism(1.0, 0.5, 4)
    for batch, ordered in itertools.product((2, 6), (False, True)):
        steps = kernels.Steps(problem, records, mechanism, 0.1, 40, batch, True, ordered)
        one, two = (
            take(steps, NoiseSource(1), Progress(False))
            for take in (kernels.plain_steps, kernels.compiled_steps)
        )
        np.testing.assert_allclose(one, two, atol=1e-9)
        if ordered and not problem.loss.symmetric:
            other = replace(steps, ordered=False)
            assert not np.allclose(one, kernels.plain_steps(other, NoiseSource(1), Progress(False)))


@pytest.mark.parametrize("problem", [ONE_SIDED, Problem(HingeMetric(), PSDFrobeniusBall(0.5))])
def test_no_neighbour_moves_an_ordered_pair_further(problem: Problem) -> None:
    algorithm = replace(PAIRS, steps=16, step_size=0.1)
    plan = algorithm.plan(problem, 3, 2, BUDGET, schedule="theorem")
    assert survives(plan)
    assert not survives(tampered(plan, 0.9))
    rng = np.random.default_rng(0)
    assert max(max(moved(plan, pair)) for pair in with_null(3, 1.0, 1, rng)) <= 1
    mean = algorithm.plan(problem, 3, 2, BUDGET, schedule="tuned")
    ratio = 1 if problem.loss.symmetric else 2
    bounds = [p.certificate.releases[0].sensitivity.value for p in (plan, mean)]
    assert bounds[0] == pytest.approx(ratio * bounds[1])
    assert max(max(moved(plan, pair)) for pair in staged(3, 1.0, 1)) > 0.9


@pytest.mark.parametrize("steps", [2, 3])
def test_delta_of_the_average_by_enumeration(steps: int) -> None:
    # w_{t+1} = w_t - (yy' + noise): the average of w_1 = 0 … w_T has T - 1 noisy gradients.
    n, epsilon = 3, 1.0
    algorithm = replace(PAIRS, steps=steps, step_size=1.0)
    plan = algorithm.plan(
        Problem(Products(), Unconstrained()), n, 1, Budget(epsilon, 0.05), schedule="theorem"
    )
    (release,) = plan.certificate.releases
    assert release.count == steps - 1
    assert release.sampling == FixedSizeSampling(2, n)
    weights = np.arange(steps - 1, 0, -1) / steps  # of the gradients of steps 1 … T - 1
    sigma = release.mechanism.scale * math.sqrt(float(weights @ weights))
    cell = 0.001
    grid = np.arange(-12, 12, cell)

    def density(y: np.ndarray) -> np.ndarray:
        slopes = [y[i] * y[j] for i, j in itertools.permutations(range(n), 2)]
        centres = [weights @ row for row in itertools.product(slopes, repeat=steps - 1)]
        return np.mean([normal(grid, centre / sigma) for centre in centres], axis=0)

    worst = 0.0
    for rest in itertools.product((-1.0, 1.0), repeat=n - 1):
        one, two = (density(np.array([own, *rest])) for own in (-1.0, 1.0))
        for pair in ((one, two), (two, one)):
            worst = max(worst, divergence(*pair, math.exp(epsilon), cell))
    certified = PrivacyCurve(release.mechanism.event(release.count, release.sampling))
    assert certified.delta(epsilon) <= 0.05 * (1 + 1e-9)
    assert worst <= 0.05
    if steps == 2:  # one noisy gradient is released, up to a factor
        assert worst > 0.05 / 3


def test_both_routes_to_the_sensitivity_of_ordered_pairs() -> None:
    bound = find_bound("average over ordered pairs")
    for diameter, pairs in ((4.0, 1), (0.3, 7)):
        inputs = {"diameter": diameter, "pairs": pairs}
        assert bound.formula(**inputs) == pytest.approx(diameter / pairs)
        assert bound.second_route(**inputs) == pytest.approx(diameter / pairs)
    for wrong in ({"diameter": 0.0, "pairs": 1}, {"diameter": 1.0, "pairs": 0}):
        with pytest.raises(ValueError, match="must be"):
            Sensitivity.of("average over ordered pairs", **wrong)


def test_schedules_and_regimes() -> None:
    n = 50
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    tuned = PAIRS.plan(problem, n, 3, BUDGET)
    assert (tuned.task.schedule, tuned.settings.pairing) == ("tuned", "disjoint")
    assert tuned.settings.omits_last is None
    assert tuned.certificate.releases[0].count == n
    plan = PAIRS.plan(problem, n, 3, BUDGET, schedule="theorem")
    noise = 1 / math.sqrt(3 * math.log(1e5))  # with a constant of 1, where "tuned" has B/G
    assert plan.settings.step_size == pytest.approx(min(n**-0.5, noise))
    assert tuned.settings.step_size == pytest.approx(
        min(n**-0.5, noise) / problem.constants(n).lipschitz
    )
    assert (plan.settings.pairing, plan.settings.omits_last) == ("ordered", True)
    assert plan.certificate.releases[0].count == n - 1
    assert plan.claim_is_proved
    assert verify(plan.certificate)
    assert all("Theorem 6 (a) of Wang 2024" in reason for reason in plan.reasons)
    # Without a regime the theorem is that of part (a), and the tuned schedule has its own steps.
    free = replace(PAIRS, regime=None)
    assert free.plan(problem, n, 3, BUDGET, schedule="theorem").settings == plan.settings
    low = replace(PAIRS, regime="low-noise").plan(problem, n, 3, BUDGET, schedule="theorem")
    assert all("Theorem 6 (b)" in reason for reason in low.reasons)
    printed = PAIRS.plan(problem, 1000, 3, Budget(2.0, 1e-6), calibration="printed")
    assert printed.task.schedule == "theorem"
    order, constant = printed.departures
    assert order.startswith("Theorem 6 (a) of Wang 2024 states T as an order")
    assert constant == "Theorem 6 (a) of Wang 2024 leaves the constant c of η open: it is 1"
    sharp = Problem(LogisticRanking(temperature=0.05), L2Ball(1.0))
    *_, limited = PAIRS.plan(sharp, 50, 3, schedule="theorem").departures
    assert limited.endswith("it is the largest that η ≤ min{2/L, 1} admits")


def test_departures() -> None:
    def said(algorithm: Any, problem: Problem = ONE_SIDED) -> list[str]:
        plan = algorithm.plan(problem, 20, 3, BUDGET, schedule="theorem")
        return [s for s in plan.departures if "noise is certified" not in s]

    assert len(said(PAIRS)) == 2  # the constants of T and η
    steps, _ = said(replace(PAIRS, steps=30))
    assert steps.startswith(
        "steps = 30 is given, where Theorem 7 (a) of Wang 2024 states the order"
    )
    assert "T = n^2 = 400" in steps
    _, size = said(replace(PAIRS, step_size=0.1))
    assert "step_size = 0.1 is given" in size
    assert "η = min{n^-1.5, 1/m}" in size
    *_, free = said(replace(PAIRS, projected=False))
    assert "not projected" in free
    *_, convex = said(PAIRS, Problem(SigmoidRanking(), L2Ball(1.0)))
    assert "convex" in convex


def test_refusals() -> None:
    def refused(algorithm: Any, problem: Problem, match: str, n: int = 20, **how: Any) -> None:
        with pytest.raises(ValueError, match=match):
            algorithm.plan(problem, n, 3, BUDGET, **{"schedule": "theorem", **how})

    refused(PAIRS, ONE_SIDED, r"T = n\^2 = 1e\+08, which is more than 1e\+07 steps", 10_000)
    refused(replace(PAIRS, steps=1), ONE_SIDED, "at least 2 steps")
    records = PointwiseProblem(HingePointwise(), L2Ball(1.0))
    refused(replace(RECORDS, batch_size=2), records, "on batch_size=1")
    refused(replace(PAIRS, batch_size=4), ONE_SIDED, "no theorem")
    refused(NoisyGradientDescent(batch_size=10), ONE_SIDED, "no theorem")
    # As many steps as pairs: no β, and the message has both sides of the condition.
    match = r"T = 400, .* at best, with β = .* must be at most"
    refused(PAIRS, ONE_SIDED, match, schedule=None, calibration="printed")
