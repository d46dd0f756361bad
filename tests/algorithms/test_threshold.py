"""A threshold out of one budget: its sensitivity, and what all releases cost together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget, NoiseSource, PrivateRanker, verify
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PairwiseSGD,
    WithThreshold,
    find_algorithm,
)
from pairdp.algorithms.threshold import THRESHOLD, _score_sums
from pairdp.privacy import Sensitivity
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.records import Records
from tests.algorithms.attacks import staged, transcript
from tests.algorithms.cases import CONVEX, METRIC, RIDGE, SQUARES

BUDGET = Budget(1.0, 1e-5)
INNER = {
    "last": (GradientDescent(), RIDGE),
    "minimiser": (MinimizerRelease(), RIDGE),
    "epochs": (EpochGradientDescent(), CONVEX),
    "noisy": (NoisyGradientDescent(steps=5), CONVEX),
    "mini-batches": (NoisyGradientDescent(steps=5, step_size=0.1, batch_size=10), CONVEX),
    "draws": (PairwiseSGD(), CONVEX),
    "moments": (MomentRelease(), SQUARES),
}


@given(largest=st.floats(0.1, 10.0), n=st.integers(2, 10**6))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_both_routes_agree(largest: float, n: int) -> None:
    bound = find_bound("means of scores")
    assert bound.second_route is not None
    first, second = (route(largest=largest, n=n) for route in (bound.formula, bound.second_route))
    assert first == pytest.approx(second, rel=1e-9)


def means_of(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    records = Records(scores[:, None], y)
    return np.asarray(_score_sums(records, np.ones(1), 1.0).high / records.n)


@given(
    n=st.integers(2, 9),
    seed=st.integers(0, 10**6),
    scores=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    labels=st.tuples(st.sampled_from([-1.0, 1.0]), st.sampled_from([-1.0, 1.0])),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_record_moves_the_means_further(
    n: int, seed: int, scores: tuple[float, float], labels: tuple[float, float]
) -> None:
    rng = np.random.default_rng(seed)
    s, y = rng.uniform(-1, 1, n), rng.choice([-1.0, 1.0], n)
    ends = []
    for score, label in zip(scores, labels, strict=True):
        s[0], y[0] = score, label
        ends.append(means_of(s, y))
    moved = float(np.linalg.norm(ends[0] - ends[1]))
    assert moved <= Sensitivity.of("means of scores", largest=1.0, n=n).value


def test_the_bound_is_attained() -> None:
    for score, label in ((-1.0, 1.0), (1.0, -1.0)):
        s, y = np.ones(5), np.ones(5)
        before = means_of(s, y)
        s[0], y[0] = score, label
        moved = float(np.linalg.norm(before - means_of(s, y)))
        bound = Sensitivity.of("means of scores", largest=1.0, n=5).value
        assert moved == pytest.approx(bound, rel=1e-6)
        assert moved > 0.25 * bound


@pytest.mark.parametrize("name", ["last", "minimiser", "draws"])
def test_given_the_model_no_neighbour_moves_the_threshold_further(name: str) -> None:
    algorithm, problem = INNER[name]
    plan = WithThreshold(algorithm).plan(problem, 8, 2, BUDGET)
    limit = plan.certificate.releases[-1].mechanism.sensitivity
    reached = 0.0
    for pair in staged(8, 1.0, 2):
        one, other = (problem.records(x, y) for x, y in pair.both())
        first, answers, _ = transcript(plan, one, kick=0.5)
        second, _, _ = transcript(plan, other, answers=answers)
        reached = max(reached, float(np.linalg.norm(first[-1] - second[-1])) / limit)
    assert 0.3 < reached <= 1


@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("budget", [BUDGET, Budget(4.0, 1e-8), Budget(1.0), None])
def test_all_releases_stay_within_the_budget(name: str, budget: Budget | None) -> None:
    algorithm, problem = INNER[name]
    whole = WithThreshold(algorithm, 0.2)
    if budget is not None and budget.is_pure and whole.needs_delta:
        with pytest.raises(ValueError, match="delta > 0"):
            whole.plan(problem, 40, 2, budget)
        return
    plan = whole.plan(problem, 40, 2, budget)
    assert plan.certificate.holds
    verify(plan.certificate)
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(40, 2)), rng.choice([-1, 1], 40))
    fit = plan.run(records, NoiseSource(0))
    assert fit.statistics[THRESHOLD].shape == (1,)
    named = [release.name for release in plan.certificate.releases]
    assert (THRESHOLD in named) == (name != "moments")


def test_the_advice_is_that_of_the_algorithm() -> None:
    algorithm = WithThreshold(find_algorithm("OffPairStrC"))
    with pytest.raises(ValueError, match="use OffPairC, which adds a regulariser"):
        algorithm.plan(CONVEX, 40, 2, BUDGET)
    ranker = PrivateRanker(algorithm="OffPairStrC", regularization=0.0, data_norm=1.0)
    with pytest.raises(ValueError, match="use OffPairC, which adds a regulariser"):
        ranker.plan(40, 2)


def test_a_metric_has_no_threshold() -> None:
    algorithm: Algorithm = WithThreshold(GradientDescent())
    with pytest.raises(ValueError, match="for rankers"):
        algorithm.plan(METRIC, 40, 2, BUDGET)
