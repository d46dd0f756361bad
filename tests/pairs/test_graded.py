"""The risk of graded responses: exact sums, bounded memory, null records, and its sensitivity."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from pairdp.constraints import L2Ball
from pairdp.losses import (
    GradedRanking,
    HingeRanking,
    LeastSquaresRanking,
    LogisticRanking,
    PowerHingeRanking,
    RankingLoss,
    SigmoidRanking,
)
from pairdp.pairs import ACCURACY, PairDesign, risk
from pairdp.pairs.graded import GradedRisk
from pairdp.problem import Problem
from pairdp.score_sums import graded
from tests.oracles.all_pairs import average_gradient, average_value

EVERY: list[RankingLoss] = [
    LogisticRanking(temperature=0.3),
    HingeRanking(temperature=0.3),
    HingeRanking(width=0.2),
    PowerHingeRanking(),
    SigmoidRanking(temperature=0.3),
    LeastSquaresRanking(temperature=0.3),
]


def draw(n: int, bound: float = 1.0, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 3)) / 3, rng.uniform(-bound, bound, n)
    y[: n // 3] = np.round(y[: n // 3])  # with ties
    w = rng.normal(size=3)
    return x, y, w / np.linalg.norm(w)


@pytest.mark.parametrize("ranking", EVERY, ids=repr)
@pytest.mark.parametrize("levels", [None, 2, 5])
@pytest.mark.parametrize("n", [2, 3, 37])
def test_value_and_gradient_are_those_of_all_pairs(
    ranking: RankingLoss, levels: int | None, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graded, "_TILE", 8)  # several tiles, the last ones smaller
    problem = Problem(GradedRanking(ranking, 2.0, levels), L2Ball(1.0))
    x, y, w = draw(n, 2.0)
    records = problem.records(x, y)
    found = risk(problem.loss, records)
    assert isinstance(found, GradedRisk)
    value, gradient = found.value_and_gradient(w)
    assert value == pytest.approx(average_value(problem.loss, w, records.x, y), rel=1e-12)
    allowed = 0.1 * ACCURACY * problem.constants(n).lipschitz
    expected = average_gradient(problem.loss, w, records.x, y)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("levels", [None, 5])
@pytest.mark.parametrize("ranking", EVERY, ids=repr)
def test_null_records_and_designs(ranking: RankingLoss, levels: int | None) -> None:
    problem = Problem(GradedRanking(ranking, levels=levels), L2Ball(1.0))
    x, y, w = draw(30)
    x[4], y[9] = np.nan, np.inf
    records = problem.records(x, y, invalid="null")
    assert records.null.sum() == 2
    kept = ~records.null
    share = 28 * 27 / (30 * 29)
    for design in (None, PairDesign.complete(30)):
        found = risk(problem.loss, records, design)
        expected = average_value(problem.loss, w, records.x[kept], records.y[kept]) * share
        assert found.value(w) == pytest.approx(expected, rel=1e-12)
        expected = average_gradient(problem.loss, w, records.x[kept], records.y[kept]) * share
        np.testing.assert_allclose(found.gradient(w), expected, rtol=1e-10, atol=1e-12)
    nothing = problem.records(x * np.nan, y, invalid="null")
    assert risk(problem.loss, nothing).value(w) == 0
    assert not risk(problem.loss, nothing).gradient(w).any()


def test_how_sums_are_computed_follows_from_the_loss_alone() -> None:
    def sums(ranking: RankingLoss, levels: int | None) -> type:
        problem = Problem(GradedRanking(ranking, levels=levels), L2Ball(1.0))
        x, y, _ = draw(5)
        return type(GradedRisk(problem.loss, problem.records(x, y))._sums)  # type: ignore[arg-type]

    assert sums(LogisticRanking(), None) is graded.TiledGradedSums
    assert sums(LogisticRanking(), 7) is graded.LevelGradedSums
    assert sums(LeastSquaresRanking(), None) is graded.QuadraticGradedSums
    assert sums(LeastSquaresRanking(), 7) is graded.QuadraticGradedSums


def test_margins_at_a_kink_do_not_depend_on_other_records() -> None:
    # All scores are exactly 1 apart, and so are all margins of neighbouring levels.
    problem, n = Problem(GradedRanking(HingeRanking(temperature=0.5), levels=3), L2Ball(1.0)), 9
    x, y = np.repeat([-0.5, 0.0, 0.5], 3)[:, None], np.repeat([-1.0, 0.0, 1.0], 3)
    w, allowed = np.ones(1), problem.sensitivity(n)
    one = problem.gradient(w, problem.records(x, y))
    for place in range(n):
        for score, label in ((0.1, 0.0), (-0.5, 1.0), (0.5, -1.0), (np.nan, 0.0)):
            other_x, other_y = x.copy(), y.copy()
            other_x[place], other_y[place] = score, label
            other = problem.gradient(w, problem.records(other_x, other_y, invalid="null"))
            assert abs(float((one - other)[0])) <= allowed


def test_responses_far_from_zero_and_large_scores_do_not_cancel() -> None:
    # All responses and all scores are close together: sums of raw squares would cancel.
    ranking = LeastSquaresRanking(temperature=1e-4)
    problem = Problem(GradedRanking(ranking), L2Ball(1.0))
    rng = np.random.default_rng(0)
    x, y = 0.9 + 1e-6 * rng.normal(size=(40, 1)), 0.9 + 1e-3 * rng.normal(size=40)
    records, w = problem.records(x, y), np.ones(1)
    expected = average_gradient(problem.loss, w, x, y)
    found = risk(problem.loss, records).gradient(w)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_memory_is_linear_in_n() -> None:
    problem = Problem(GradedRanking(), L2Ball(1.0))
    x, y, w = draw(3000)
    records = problem.records(x, y)
    tracemalloc.start()
    problem.gradient(w, records)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 4  # a matrix of all pairs would take four times as much


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("ranking", EVERY, ids=repr)
def test_the_sensitivity_of_the_gradient_holds_and_is_attained(
    ranking: RankingLoss, levels: int | None
) -> None:
    problem, n = Problem(GradedRanking(ranking, levels=levels), L2Ball(1.0)), 12
    allowed = problem.sensitivity(n)
    w = np.array([0.0 if isinstance(ranking, SigmoidRanking) else -1.0, 0.0])
    x, y = np.tile([-1.0, 0.0], (n, 1)), np.full(n, -1.0)  # all others are the worst partner
    other_x, other_y = x.copy(), y.copy()
    x[0], y[0] = [1.0, 0.0], 1.0
    gradients = [
        problem.gradient(w, problem.records(*data, invalid="null"))
        for data in ((x, y), (other_x, other_y), (np.where(x > 0, np.nan, x), y))
    ]
    moved = [float(np.linalg.norm(gradients[0] - other)) for other in gradients[1:]]
    assert moved[0] == pytest.approx(allowed)
    assert max(moved) <= allowed
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, y, w = rng.normal(size=(n, 2)), rng.uniform(-1.5, 1.5, n), rng.normal(size=2)
        w = w / np.linalg.norm(w)
        one = problem.gradient(w, problem.records(x, y))
        x[0], y[0] = rng.normal(size=2), rng.uniform(-1.5, 1.5)
        assert np.linalg.norm(one - problem.gradient(w, problem.records(x, y))) <= allowed


def test_responses_are_clipped_and_classes_refused() -> None:
    problem = Problem(GradedRanking(label_bound=0.5), L2Ball(1.0))
    x, y, w = draw(20)
    clipped = problem.gradient(w, problem.records(x, np.clip(y, -0.5, 0.5)))
    np.testing.assert_array_equal(problem.gradient(w, problem.records(x, y)), clipped)
    assert "clipped to at most 0.5 in size" in problem.labels_in_words
    wider = Problem(GradedRanking(), L2Ball(1.0)).records(x, y)
    with pytest.raises(ValueError, match="needs targets clipped to"):
        problem.risk(wider)
