"""A problem's constants, and where the regulariser enters each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.constraints import (
    FrobeniusBall,
    L2Ball,
    PSDCone,
    PSDFrobeniusBall,
    PSDNuclearBall,
    Unconstrained,
)
from pairdp.losses import (
    Domain,
    HingeMetric,
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
    PairwiseLoss,
    PowerHingeRanking,
    SquaredHingeRanking,
)
from pairdp.pairs import ACCURACY, PairDesign
from pairdp.problem import Problem
from pairdp.records import Records
from tests.oracles import all_pairs

PROBLEMS = [
    Problem(LogisticRanking(), L2Ball(1.0), 0.1),
    Problem(LogisticRanking("one-sided", 0.3), Unconstrained(), data_norm=2.0),
    Problem(HingeRanking("one-sided"), L2Ball(2.0), 0.5, np.array([0.3, -0.2, 0.1])),
    Problem(HingeRanking(width=0.2), L2Ball(0.5)),
    Problem(SquaredHingeRanking(), L2Ball(1.0), 0.01),
    Problem(PowerHingeRanking(power=1.3), L2Ball(1.0), data_norm=0.5),
    Problem(LeastSquaresRanking("one-sided"), L2Ball(1.0)),
    Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.2, np.eye(3)),
    Problem(LogisticMetric(0.5), FrobeniusBall(1.0)),
    Problem(HingeMetric(), PSDNuclearBall(2.0)),
    Problem(HingeMetric(width=0.5), PSDCone(), 0.1),
]


def draw(problem: Problem, n: int, rng: np.random.Generator) -> tuple[np.ndarray, Records]:
    labels = rng.choice([-1, 1], n)
    records = problem.records(rng.normal(size=(n, 3)) * problem.data_norm, labels)
    parameters = problem.constraint.project(rng.normal(size=problem.constraint.initial(3).shape))
    return parameters, records


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.loss} {p.constraint}")
@given(n=st.integers(2, 25), seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_value_and_gradient(problem: Problem, n: int, seed: int) -> None:
    parameters, records = draw(problem, n, np.random.default_rng(seed))
    shift = parameters - problem.center
    value = all_pairs.average_value(problem.loss, parameters, records.x, records.y)
    value += problem.regularization / 2 * np.sum(shift**2)
    assert problem.value(parameters, records) == pytest.approx(value, rel=1e-12)
    gradient = all_pairs.average_gradient(problem.loss, parameters, records.x, records.y)
    gradient = gradient + problem.regularization * shift
    norm = problem.loss.lipschitz(problem.domain(float(np.linalg.norm(parameters))))
    error = np.linalg.norm(problem.gradient(parameters, records) - gradient)
    assert error <= ACCURACY * norm
    of_records = problem.risk(records)
    both = of_records.value_and_gradient(parameters)
    assert both[0] == pytest.approx(of_records.value(parameters), rel=1e-13)
    assert np.linalg.norm(both[1] - of_records.gradient(parameters)) <= ACCURACY * norm


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.loss} {p.constraint}")
@given(n=st.integers(2, 12), seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_no_replaced_record_moves_the_gradient_by_more(problem: Problem, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parameters, records = draw(problem, n, rng)
    x, y = records.x.copy(), records.y.copy()
    if seed % 2:  # all others at the partner that is farthest
        x[1:], y[1:] = -x[0] / max(np.linalg.norm(x[0]), 1e-9) * problem.data_norm, y[1]
    other_x, other_y = x.copy(), y.copy()
    other_x[0] = problem.records(rng.normal(size=(1, 3)) * 9, [1]).x[0]
    other_y[0] = rng.choice([-1, 1])
    gradients = [
        problem.gradient(parameters, problem.records(*data))
        for data in ((x, y), (other_x, other_y))
    ]
    moved = float(np.linalg.norm(gradients[0] - gradients[1]))
    assert moved <= problem.sensitivity(n) * (1 + 1e-9)
    assert moved <= problem.sensitivity(n, float(np.linalg.norm(parameters))) * (1 + 1e-9)


def test_the_sensitivity_is_attained() -> None:
    # All others at the worst partner, and the weights against the difference.
    for loss in (LogisticRanking(), SquaredHingeRanking("one-sided"), HingeRanking()):
        problem = Problem(loss, L2Ball(1.0), 0.3)
        n, e = 20, np.array([1.0, 0.0])
        x = np.tile(-e, (n, 1))
        x[0] = e
        y = np.full(n, -1.0)
        flipped = y.copy()
        y[0] = 1.0
        gradients = [problem.gradient(-e, problem.records(x, labels)) for labels in (y, flipped)]
        moved = np.linalg.norm(gradients[0] - gradients[1])
        assert moved == pytest.approx(problem.sensitivity(n), rel=1e-9)


def test_the_regulariser_adds_to_convexity_and_smoothness_only() -> None:
    plain, ridge = (Problem(LogisticRanking(), L2Ball(1.0), r) for r in (0.0, 0.7))
    bare, added = plain.constants(100), ridge.constants(100)
    assert (bare.strong_convexity, added.strong_convexity) == (0.0, 0.7)
    assert added.smoothness == pytest.approx(bare.smoothness + 0.7)
    assert added.pair_smoothness == pytest.approx(bare.pair_smoothness + 0.7)
    for name in ("lipschitz", "holder", "pair_diameter", "record_diameter", "sensitivity"):
        assert getattr(added, name) == getattr(bare, name)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_smoothness_and_strong_convexity_hold(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(LogisticRanking(), L2Ball(1.0), float(rng.choice([0.0, 0.4])))
    first, records = draw(problem, n, rng)
    second = problem.constraint.project(first + rng.normal(size=3) * 10.0 ** rng.uniform(-3, 0))
    apart = first - second
    change = problem.gradient(first, records) - problem.gradient(second, records)
    constants, squared = problem.constants(n), float(apart @ apart)
    assert np.linalg.norm(change) <= constants.smoothness * math.sqrt(squared) * (1 + 1e-9) + 1e-15
    assert change @ apart >= constants.strong_convexity * squared * (1 - 1e-9) - 1e-15


def test_a_known_radius_gives_smaller_constants() -> None:
    problem = Problem(SquaredHingeRanking(), L2Ball(1.0))
    sizes = [problem.sensitivity(50, radius) for radius in (0.0, 0.2, 1.0, 7.0)]
    assert sizes[0] < sizes[1] < sizes[2] == sizes[3] == problem.sensitivity(50)


def test_rounding_is_part_of_the_sensitivity() -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    exact = problem.loss.record_diameter(Domain(1.0, 1.0))
    for n in (10, 10**8):
        rounding = 2 * ACCURACY * problem.loss.lipschitz(Domain(1.0, 1.0))
        assert problem.sensitivity(n) == pytest.approx(exact / n + rounding, rel=1e-14)


def test_what_a_problem_knows_of_itself() -> None:
    assert Problem(LogisticRanking(), L2Ball(1.0)).is_smooth
    assert not Problem(HingeRanking(), L2Ball(1.0)).is_smooth
    assert not Problem(PowerHingeRanking(), L2Ball(1.0)).is_smooth
    assert Problem(HingeRanking(width=0.1), L2Ball(1.0)).is_smooth
    assert Problem(LogisticRanking(), L2Ball(1.0)).is_bounded
    assert not Problem(LogisticRanking(), Unconstrained()).is_bounded
    assert Problem(LogisticRanking(), Unconstrained()).is_lipschitz
    assert not Problem(LeastSquaresRanking(), Unconstrained()).is_lipschitz
    assert Problem(LogisticRanking(), L2Ball(1.0), 1e-6).is_strongly_convex
    assert not Problem(LogisticRanking(), L2Ball(1.0)).is_strongly_convex


def test_problems_compare_by_what_they_say() -> None:
    def make(center: object = 0) -> Problem:
        return Problem(LogisticRanking(), L2Ball(1.0), 0.1, center)

    assert make() == make()
    assert hash(make()) == hash(make(np.ones(2)))
    assert make(np.ones(2)) == make([1.0, 1.0]) != make()
    assert make() != Problem(LogisticRanking(), L2Ball(2.0), 0.1)
    assert make() != "a problem"
    with pytest.raises(ValueError, match="read-only"):
        make(np.ones(2)).center[0] = 5.0


def test_a_loss_of_ones_own_needs_one_class() -> None:
    class Linear(PairwiseLoss):
        """G·yy'·w₁, the loss for which the papers' 4G/n is tight."""

        convex = True

        def value(self, parameters, x, y, other_x, other_y):
            return y * other_y * parameters[0]

        def gradient(self, parameters, x, y, other_x, other_y):
            gradients = np.zeros((len(x), len(parameters)))
            gradients[:, 0] = y * other_y
            return gradients

        def lipschitz(self, domain):
            return 1.0

    problem = Problem(Linear(), L2Ball(1.0))
    n, rng = 40, np.random.default_rng(0)
    x, y = rng.normal(size=(n, 2)), np.ones(n)
    flipped = y.copy()
    flipped[3] = -1
    before, after = (problem.gradient(np.zeros(2), problem.records(x, v)) for v in (y, flipped))
    assert np.linalg.norm(before - after) == pytest.approx(4 / n)
    assert problem.sensitivity(n) == pytest.approx(4 / n)
    design = PairDesign.draw(n, 4, rng)
    before, after = (
        problem.gradient(np.zeros(2), problem.records(x, v), design) for v in (y, flipped)
    )
    assert np.linalg.norm(before - after) == pytest.approx(4 / n)


def test_bad_problems_are_refused() -> None:
    with pytest.raises(TypeError, match=r"has no project, radius, .*, positive_semidefinite$"):
        Problem(LogisticRanking(), object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="PairwiseLoss such as"):
        Problem("logistic", L2Ball(1.0))
    with pytest.raises(TypeError, match="constraint set such as"):
        Problem(LogisticRanking(), "ball")
    with pytest.raises(ValueError, match="PSDFrobeniusBall"):
        Problem(LogisticMetric(), L2Ball(1.0))
    with pytest.raises(ValueError, match="L2Ball"):
        Problem(LogisticRanking(), PSDCone())
    with pytest.raises(ValueError, match="regularization"):
        Problem(LogisticRanking(), L2Ball(1.0), -1.0)
    for center in (3.0, np.eye(2), [math.nan, 0.0]):
        with pytest.raises(ValueError, match="center"):
            Problem(LogisticRanking(), L2Ball(1.0), 0.1, center)
    with pytest.raises(ValueError, match="symmetric"):
        Problem(LogisticMetric(), PSDCone(), 0.1, [[0.0, 1.0], [0.0, 0.0]])


def test_data_that_does_not_fit_is_refused() -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0), 0.1, [1.0, 0.0])
    records = problem.records([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    with pytest.raises(ValueError, match=r"clipped to norm 5"):
        problem.gradient(np.zeros(2), Records([[1.0, 0.0]] * 2, [1, -1], data_norm=5.0))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        problem.gradient(np.zeros(3), records)
    with pytest.raises(ValueError, match="two records"):
        problem.gradient(np.zeros(2), problem.records([[1.0, 0.0]], [1]))
    with pytest.raises(ValueError, match="the design is for n = 4"):
        problem.risk(records, PairDesign.draw(4, 2, np.random.default_rng(0)))


def test_records_of_many_classes_are_refused_by_a_ranking_problem() -> None:
    problem = Problem(HingeRanking(), L2Ball(1.0))
    records = Records(np.zeros((3, 1)), [0, 1, 2], binary=False)
    with pytest.raises(ValueError, match="these records have class names"):
        problem.gradient(np.zeros(1), records)
    with pytest.raises(ValueError, match="finite"):
        problem.gradient(np.array([np.nan]), problem.records(np.zeros((3, 1)), [1, -1, 1]))


def test_a_design_is_as_smooth_as_one_pair() -> None:
    # A matching whose pairs are all of the worst kind.
    problem, n = Problem(LogisticRanking(), L2Ball(1.0)), 10
    design = PairDesign.draw(n, 1, np.random.default_rng(0))
    x, y = np.ones((n, 1)), np.ones(n)
    for left, _ in (pair for block in design.blocks(100) for pair in zip(*block, strict=True)):
        x[left], y[left] = -1.0, -1.0
    records = problem.records(x, y)
    step = 1e-5
    ends = [problem.gradient(np.array([w]), records, design)[0] for w in (-step, step)]
    curvature = (ends[1] - ends[0]) / (2 * step)
    assert curvature == pytest.approx(problem.constants(n, design=design).smoothness, rel=1e-6)
    assert curvature > 1.5 * problem.constants(n).smoothness


def test_millions_of_equal_rows_lose_no_digits() -> None:
    # All rows alike but one, which flips its label: it pairs with one half of the others, 2
    # away, and then with the other half.
    problem, n = Problem(LogisticRanking(), L2Ball(1.0)), 2_000_000
    x = np.tile([1.0, 0.0], (n, 1))
    x[0] = [-1.0, 0.0]
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    flipped = y.copy()
    flipped[0] = -y[0]
    gradients = [problem.gradient(np.zeros(2), problem.records(x, v)) for v in (y, flipped)]
    moved = float(np.linalg.norm(gradients[0] - gradients[1]))
    exact = 2 * 2 * 0.5 * 2 * (n - 1) / (n * (n - 1))
    assert moved == pytest.approx(exact, rel=1e-7)
    assert moved <= problem.sensitivity(n, 0.0)


def test_a_corner_below_rounding_is_refused() -> None:
    with pytest.raises(ValueError, match="lost in the rounding"):
        Problem(HingeRanking(width=1e-12, temperature=1e-6), L2Ball(1.0))
    with pytest.raises(ValueError, match="bounded scores"):
        Problem(HingeRanking(width=0.1), Unconstrained())


def test_a_subclass_with_its_own_gradient_is_taken_at_its_word() -> None:
    class Twice(LogisticRanking):
        convex = True

        def value(self, *arguments):
            return 2 * super().value(*arguments)

        def gradient(self, *arguments):
            return 2 * super().gradient(*arguments)

        def lipschitz(self, domain):
            return 2 * super().lipschitz(domain)

    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=(20, 3)), rng.choice([-1, 1], 20), rng.normal(size=3) * 0.2
    plain, twice = (Problem(loss, L2Ball(1.0)) for loss in (LogisticRanking(), Twice()))
    for design in (None, PairDesign.draw(20, 4, rng)):
        once = plain.gradient(w, plain.records(x, y), design)
        np.testing.assert_allclose(twice.gradient(w, twice.records(x, y), design), 2 * once)
