"""Yang 2021 with the schedule of its theorems: its pseudo-code, its numbers, its refusals."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import PairwiseSGD, find_algorithm
from pairdp.algorithms.descent import step_divergence
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import HingeMetric, HingeRanking, LogisticRanking, PairwiseLoss
from pairdp.pairs import one_against
from pairdp.problem import Problem
from tests.algorithms.attacks import staged, without_noise
from tests.algorithms.test_pairwise_sgd import (
    AbsoluteRanking,
    LinearRanking,
    _Fixed,
    allowed,
    apart,
    hockey_stick,
)
from tests.oracles import yang2021

YANG = find_algorithm("Yang2021")
BUDGET = Budget(1.0, 1e-5)
ONE_SIDED = Problem(HingeRanking("one-sided"), L2Ball(0.7))


def followed(problem: Problem, records: Any, plan: Any, monkeypatch: Any, seed: int) -> Any:
    """Return w_2 … w_T and the output of a run."""
    points: list[np.ndarray] = []
    step = Problem.projected_step

    def kept(self: Problem, *arguments: Any) -> np.ndarray:
        points.append(step(self, *arguments))
        return points[-1]

    monkeypatch.setattr(Problem, "projected_step", kept)
    output = plan.run(records, NoiseSource(seed), progress=False).parameters
    monkeypatch.setattr(Problem, "projected_step", step)
    return points, output


CASES = {
    "hinge": (ONE_SIDED, yang2021.hinge_auc, yang2021.ball(0.7), 6),
    "hinge, unbounded": (
        Problem(HingeRanking("one-sided"), Unconstrained()),
        yang2021.hinge_auc,
        lambda w: w,
        9,
    ),
    "logistic": (
        Problem(LogisticRanking("one-sided"), L2Ball(0.3)),
        yang2021.logistic_auc,
        yang2021.ball(0.3),
        5,
    ),
    "metric": (
        Problem(HingeMetric(), PSDFrobeniusBall(0.5)),
        yang2021.hinge_metric,
        yang2021.psd_ball(0.5),
        5,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("budget", [None, BUDGET], ids=["baseline", "private"])
def test_every_step_is_the_pseudo_code(name: str, budget: Any, monkeypatch: Any) -> None:
    problem, subgradient, project, n = CASES[name]
    plan = YANG.plan(problem, n, 3, budget, schedule="theorem")
    steps = n**2 if problem.is_bounded else round(n ** (4 / 3))
    assert plan.settings.steps == steps
    assert plan.settings.step_size == (n**-1.5 if problem.is_bounded else 1 / n)
    bare = plan if budget is None else without_noise(plan)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        records = problem.records(
            rng.normal(size=(n, 3)), rng.permutation(np.arange(n) % 2 * 2 - 1)
        )
        points, output = followed(problem, records, bare, monkeypatch, seed)
        drawn = NoiseSource(seed).stream("draws").integers(0, n, size=steps)
        first = np.zeros((3, 3) if problem.loss.matrix else 3)
        w, average = yang2021.algorithm_1(
            records.x, records.y, subgradient, project, n**-1.5 if problem.is_bounded else 1 / n,
            steps, [*drawn, 0], first,
        )  # fmt: skip
        assert len(points) == steps - 1  # w_{T+1} is not part of the average
        np.testing.assert_allclose(points, w[1:steps], rtol=0, atol=1e-12)
        np.testing.assert_allclose(output, project(average), rtol=0, atol=1e-12)
        assert np.abs(average).max() > 1e-3


@pytest.mark.parametrize("loss", [HingeRanking("one-sided"), LogisticRanking(), HingeMetric()])
def test_sums_with_one_record_first(loss: PairwiseLoss) -> None:
    rng = np.random.default_rng(0)
    constraint = PSDFrobeniusBall(1.0) if loss.matrix else L2Ball(1.0)
    problem = Problem(loss, constraint)  # type: ignore[arg-type]
    x = rng.normal(size=(9, 2))
    x[3] = np.nan
    records = problem.records(x, rng.choice([-1, 1], 9), invalid="null")
    counts = rng.integers(0, 3, 9).astype(float)
    w = 0.1 * rng.normal(size=(2, 2) if loss.matrix else 2)
    w = w + w.T if loss.matrix else w
    for own in range(9):
        expected = np.zeros_like(w)
        for j in range(9):
            if not (records.null[own] or records.null[j]):
                one, two = ((records.x[k : k + 1], records.y[k : k + 1]) for k in (own, j))
                expected += counts[j] * loss.gradient(w, *one, *two)[0]
        found = one_against(loss, w, records, own, records, counts, ordered=True)
        np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize(
    ("loss", "bound"),
    [
        (HingeRanking("one-sided"), (2.0, 2.0)),
        (HingeRanking("one-sided", width=1.0), (2.0, 0.0)),
        (HingeRanking(), (4.0, 4.0)),
        (AbsoluteRanking("one-sided"), (4.0, 4.0)),
    ],
    ids=str,
)
def test_one_order_of_a_one_sided_pair_counts_twice_its_mean(loss: Any, bound: Any) -> None:
    problem = Problem(loss, L2Ball(1.0))
    assert step_divergence(problem, 0.1, ordered=True) == bound
    share = 1 if loss.symmetric else 2
    mean = step_divergence(problem, 0.1)
    assert (share * mean.replaced, share * mean.common) == bound


@pytest.mark.parametrize(
    "loss",
    [HingeRanking("one-sided"), LogisticRanking("one-sided"), HingeRanking("one-sided", width=1.0)],
    ids=str,
)
@pytest.mark.parametrize("step_size", [0.02, 0.4])
def test_given_the_draws_no_neighbour_is_further(loss: Any, step_size: float) -> None:
    n, reached = 6, []
    algorithm = replace(YANG, steps=3 * n, step_size=step_size)  # type: ignore[type-var]
    plan = algorithm.plan(Problem(loss, L2Ball(2.0)), n, 2, BUDGET, schedule="theorem")
    for i, pair in enumerate([*staged(n, 1.0, 2), *staged(n, 0.3, 2)]):
        limit, moved = allowed(plan, pair.place, i % 5), apart(plan, pair, i % 5)
        assert moved <= limit * (1 + 1e-9) + 1e-12
        if limit > 0:
            reached.append(moved / limit)
    if step_size < 0.1 and plan.certificate.releases[0].sampling.base < 1e-6:
        assert max(reached) > 0.3


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_delta_of_the_whole_mechanism_by_enumeration(epsilon: float) -> None:
    # A linear one-sided loss on a line: all draws there are, each of which ends in a Gaussian.
    n, steps, delta = 3, 4, 0.05
    line = Problem(LinearRanking("one-sided"), Unconstrained())
    algorithm = PairwiseSGD(steps, 0.1, "replacement")
    plan = algorithm.plan(line, n, 1, Budget(epsilon, delta), schedule="theorem")
    baseline = algorithm.plan(line, n, 1, schedule="theorem")
    sigma = plan.certificate.releases[0].mechanism.scale
    x = np.array([[1.0], [-1.0], [-1.0]])
    labels = np.array([1.0, -1.0, -1.0]), -np.ones(3)
    centres: list[list[float]] = [[], []]
    for places in itertools.product(range(n), repeat=steps):
        fixed = replace(baseline, algorithm=_Fixed(steps, 0.1, "replacement", draws=places))
        for side, y in zip(centres, labels, strict=True):
            side.append(float(fixed.run(line.records(x, y)).parameters[0]))
    ones, others = np.array(centres[0]), np.array(centres[1])
    for pair in ((ones, others), (others, ones)):
        assert hockey_stick(*pair, sigma, epsilon) <= delta * (1 + 1e-6)


def test_printed_plans_follow_the_theorem_and_certified_ones_are_tuned() -> None:
    certified = YANG.plan(ONE_SIDED, 50, 2, BUDGET)
    assert (certified.task.schedule, certified.settings.steps) == ("tuned", 50)
    assert certified.settings.pairing is None
    plan = YANG.plan(ONE_SIDED, 50, 2, BUDGET, calibration="printed")
    assert (plan.task.schedule, plan.settings.steps) == ("theorem", 2500)
    assert plan.departures == (
        "Theorem 5 of Yang 2021 states η as an order: one is taken for its constant",
    )
    assert all("Theorem 5 of Yang 2021" in reason for reason in plan.reasons)
    baseline = YANG.plan(ONE_SIDED, 50, 2, schedule="theorem")
    assert all("Theorem 2 of Yang 2021" in reason for reason in baseline.reasons)


def test_certified_noise_of_the_theorem_is_proved() -> None:
    free = Problem(HingeRanking(), Unconstrained())
    for problem, steps in ((ONE_SIDED, 400), (free, 54)):
        plan = YANG.plan(problem, 20, 2, BUDGET, schedule="theorem")
        assert plan.settings.steps == steps
        assert plan.claim_is_proved
        assert verify(plan.certificate)
    assert any("needs a bounded set" in sentence for sentence in plan.departures)
    assert any("T = 54.2884 is rounded to 54" in sentence for sentence in plan.departures)


def test_noise_with_as_many_steps_as_pairs() -> None:
    problem = Problem(HingeRanking("one-sided"), L2Ball(1.0))
    printed, certified = (
        YANG.plan(problem, 1000, 5, BUDGET, calibration=how, schedule="theorem")
        for how in ("printed", "certified")
    )
    scales = [p.certificate.releases[0].mechanism.scale for p in (printed, certified)]
    np.testing.assert_allclose(scales, [197.5, 0.396], rtol=2e-3)


def test_what_is_given_departs_from_the_theorem() -> None:
    algorithm = PairwiseSGD(40, 0.01, "permutation")
    plan = algorithm.plan(ONE_SIDED, 20, 2, BUDGET, schedule="theorem")
    assert (plan.settings.steps, plan.settings.step_size) == (40, 0.01)
    assert len([s for s in plan.departures if "noise is certified" not in s]) == 3
    assert any("steps = 40 is given" in s and "n² = 400" in s for s in plan.departures)
    assert any("step_size = 0.01 is given" in s for s in plan.departures)
    assert any("with replacement" in s for s in plan.departures)
    assert "departs from the paper: steps = 40" in str(plan)


def test_too_many_steps_are_refused_with_the_arithmetic() -> None:
    with pytest.raises(ValueError, match=r'n² = 1e\+08, .* more than 1e\+07 .*schedule="tuned"'):
        YANG.plan(ONE_SIDED, 10_000, 2, BUDGET, calibration="printed")
    given = replace(YANG, steps=10_000)  # type: ignore[type-var]
    assert given.plan(ONE_SIDED, 10_000, 2, BUDGET, schedule="theorem").settings.steps == 10_000
