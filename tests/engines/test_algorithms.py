"""Algorithms of sums on records in parts: the same release as on records in one place."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms import (
    Algorithm,
    ConditionedDescent,
    FisherMetric,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PairwiseSGD,
    ScatterMetric,
    Scorecard,
    WithPairDesign,
    WithThreshold,
)
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.engines import Threads
from pairdp.engines.scratch import Scratch
from pairdp.losses import (
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
)
from pairdp.pairs import ACCURACY, RankingSums, risk
from pairdp.partitioned_records import PartitionedRecords
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem
from pairdp.records import Records

N, D = 900, 4
RANKING = Problem(LogisticRanking(), L2Ball(2.0), 0.01)
SQUARES = Problem(LeastSquaresRanking(), L2Ball(2.0))
LINEAR = PointwiseProblem(LogisticPointwise(), L2Ball(2.0), 0.01)
PLAIN = Problem(LogisticRanking(), L2Ball(2.0))
CLASSES = PointwiseProblem(LogisticPointwise(), L2Ball(2.0))
SCORES = PointwiseProblem(LogisticPointwise(), Unconstrained())
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(2.0))
STRONG_METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(2.0), 0.1)
HINGE = Problem(HingeRanking(), L2Ball(1.0))
CASES: dict[str, tuple[Algorithm, Problem]] = {
    "moments of classes": (MomentRelease(), SQUARES),
    "moments of pairs": (MomentRelease("pair"), SQUARES),
    "descent": (GradientDescent(steps=20, step_size=0.5), RANKING),
    "minimiser": (MinimizerRelease(), RANKING),
    "noisy descent": (NoisyGradientDescent(steps=10, step_size=0.5), RANKING),
    "threshold": (WithThreshold(NoisyGradientDescent(steps=5, step_size=0.5)), RANKING),
    "least squares": (GradientDescent("average", steps=9, step_size=0.1), SQUARES),
    "linear descent": (GradientDescent(steps=20, step_size=0.5), LINEAR),
    "linear minimiser": (MinimizerRelease(), LINEAR),
    "conditioned": (ConditionedDescent(steps=3), PLAIN),
    "conditioned pairs": (ConditionedDescent(gradient="pairwise", steps=3), PLAIN),
    "conditioned features": (ConditionedDescent("quadratic", steps=3), PLAIN),
    "conditioned classes": (ConditionedDescent(steps=3), CLASSES),
    "additive scores": (Scorecard(), SCORES),
    "products": (Scorecard(interactions=True), SCORES),
    "design": (WithPairDesign(GradientDescent("average", 5, 0.1), 4), METRIC),
    "noisy design": (WithPairDesign(NoisyGradientDescent(steps=5, step_size=0.1), 4), METRIC),
    "minimiser of a design": (WithPairDesign(MinimizerRelease(), 4), STRONG_METRIC),
    "design of a hinge": (WithPairDesign(NoisyGradientDescent(steps=5, step_size=0.1), 2), HINGE),
    "scatter of means": (ScatterMetric(), METRIC),
    "scatter of pairs": (ScatterMetric("pairs"), METRIC),
    "full metric": (FisherMetric("full"), METRIC),
    "diagonal metric": (FisherMetric("diagonal"), METRIC),
}


def records_for(problem: Problem, *, null: bool = True) -> Records:
    rng = np.random.default_rng(3)
    classes = rng.integers(0, 2 if problem.loss.binary else 3, N)
    x = 0.4 * rng.standard_normal((N, D)) + 0.3 * classes[:, None]
    if null:
        x[::50] = np.nan
    y = 2.0 * classes - 1 if problem.loss.binary else np.array(["a", "b", "c"])[classes]
    return problem.records(x, y, invalid="null")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("budget", [None, Budget(1.0, 1e-6)], ids=["exact", "noisy"])
def test_parts_give_the_same_release(name: str, budget: Budget | None) -> None:
    algorithm, problem = CASES[name]
    plan = algorithm.plan(problem, N, D, budget)
    records = records_for(plan.problem)
    found = [
        plan.run(given, NoiseSource(seed=1))
        for given in (
            records,
            PartitionedRecords.split(records, 1),
            PartitionedRecords.split(records, 2),
            PartitionedRecords.split(records, 8, Threads(2)),
        )
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.parameters, found[0].parameters, rtol=1e-8, atol=1e-8)
        assert other.certificate == found[0].certificate
        for key, value in found[0].statistics.items():
            np.testing.assert_allclose(other.statistics[key], value, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", [LogisticRanking(), LeastSquaresRanking()], ids=repr)
@pytest.mark.parametrize("length", [0.0, 0.3, 30.0])
def test_gradients_of_parts_are_as_accurate_as_stated(
    loss: LogisticRanking | LeastSquaresRanking, length: float
) -> None:
    records = records_for(RANKING)
    weights = length * np.array([0.5, -0.5, 0.5, 0.5])
    whole = risk(loss, records)
    value, gradient = whole.value_and_gradient(weights)
    largest = loss.lipschitz(Problem(loss, L2Ball(max(length, 1.0))).domain())
    for count in (1, 2, 8):
        parts = risk(loss, PartitionedRecords.split(records, count))
        of_parts, gradient_of_parts = parts.value_and_gradient(weights)
        assert np.linalg.norm(gradient_of_parts - gradient) <= ACCURACY * largest
        assert np.array_equal(gradient_of_parts, parts.gradient(weights))
        assert of_parts == pytest.approx(value, rel=1e-11)
        assert parts.value(weights) == of_parts


@pytest.mark.parametrize("null", [False, True], ids=["all", "some null"])
def test_scores_that_parts_keep_change_no_bit(null: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those of other weights, nor that a part lost them between both passes."""
    records = records_for(RANKING, null=null)
    points = [np.array([0.5, -0.5, 0.5, 0.5]), np.array([0.1, 0.0, -0.3, 0.2])]
    of_parts = risk(LogisticRanking(), PartitionedRecords.split(records, 3))
    kept = [of_parts.gradient(point) for point in points * 2]
    assert of_parts.value(points[0]) == of_parts.value_and_gradient(points[0])[0]
    monkeypatch.setattr(Scratch, "take", lambda self, name: None)
    lost = [of_parts.gradient(point) for point in points * 2]
    np.testing.assert_array_equal(kept, lost)


def test_the_second_pass_does_not_read_the_rows_for_scores() -> None:
    records = PartitionedRecords.split(records_for(RANKING), 1)
    sums = RankingSums(LogisticRanking(), np.array([0.5, -0.5, 0.5, 0.5]), N, 1.0)
    moments = records.map_sum(lambda some: sums.moments(some))
    (part,) = records.parts.handles
    kept = part.value.scratch.take("scores")
    assert kept.values.nbytes == 8 * N
    kept.values[:] = 0.0  # so that the second pass must differ if it uses them
    part.value.scratch.put("scores", kept)
    slopes = sums.slopes_for(moments)
    found = records.map_sum(lambda some: sums.gradient_total(some, slopes)).high
    expected = records.map_sum(lambda some: sums.gradient_total(_anew(some), slopes)).high
    assert not np.allclose(found, expected)


def _anew(records: Records) -> Records:
    return records.part(slice(0, records.n))


def test_parts_of_whole_blocks_give_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    n = 8 * 4096
    records = Records(rng.standard_normal((n, 3)) / 3, rng.choice([-1.0, 1.0], n))
    plan = MomentRelease().plan(SQUARES, n, 3, None)
    found = [
        plan.run(PartitionedRecords.split(records, count)).parameters for count in (1, 2, 4, 8)
    ]
    assert all(np.array_equal(other, found[0]) for other in found[1:])


@pytest.mark.parametrize(
    ("algorithm", "problem", "alternative"),
    [
        (PairwiseSGD(), RANKING, "MomentRelease"),
        (NoisyGradientDescent(steps=5, step_size=0.1, batch_size=10), RANKING, "leave out"),
        (
            NoisyGradientDescent(steps=5, step_size=0.1),
            HINGE,
            "LogisticRanking",
        ),
        (NoisyGradientDescent(steps=5, step_size=0.1), METRIC, "WithPairDesign.*FisherMetric"),
    ],
    ids=["draws", "mini-batches", "hinge", "metric loss"],
)
def test_what_is_not_a_sum_is_refused_with_an_alternative(
    algorithm: Algorithm, problem: Problem, alternative: str
) -> None:
    plan = algorithm.plan(problem, N, D, Budget(1.0, 1e-6))
    with pytest.raises(ValueError, match=alternative):
        plan.run(PartitionedRecords.split(records_for(problem), 2))


def test_parts_without_records_are_allowed() -> None:
    records = records_for(RANKING, null=False)
    some = PartitionedRecords.split(records.part(slice(0, 3)), 7)
    weights = np.array([0.1, 0.2, 0.0, 0.0])
    expected = risk(LogisticRanking(), records.part(slice(0, 3))).gradient(weights)
    np.testing.assert_allclose(risk(LogisticRanking(), some).gradient(weights), expected)
