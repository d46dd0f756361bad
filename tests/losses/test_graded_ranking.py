"""Graded ranking: constants that hold for all responses and are attained, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.losses import (
    Domain,
    GradedRanking,
    HingeRanking,
    LeastSquaresRanking,
    LogisticRanking,
    PowerHingeRanking,
    RankingLoss,
    SigmoidRanking,
    SquaredHingeRanking,
    find_loss,
)
from pairdp.losses.base import PairwiseLoss, slow_sums
from pairdp.losses.convexity import declared_convex
from pairdp.losses.trust import is_library_loss
from tests.testing.examined import examine

DECREASING: list[RankingLoss] = [
    LogisticRanking(temperature=0.7),
    HingeRanking(),
    HingeRanking(width=0.4),
    PowerHingeRanking(power=1.3),
    SquaredHingeRanking(),
    SigmoidRanking(),
]
EVERY = [*DECREASING, LeastSquaresRanking(temperature=0.7)]
sizes = st.floats(0.1, 8.0)


def graded(ranking: RankingLoss, bound: float = 1.0) -> GradedRanking:
    return GradedRanking(ranking, bound)


def random_pairs(seed: int, norm: float, bound: float, count: int = 100) -> list[Any]:
    """Records x, replaced records, partners, and responses of each, often at their bounds."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for _ in range(3):
        x = rng.normal(size=(count, 2))
        x *= norm / np.linalg.norm(x, axis=1, keepdims=True)
        x *= rng.choice([1.0, 0.5, 0.0], (count, 1), p=[0.7, 0.2, 0.1])
        y = np.clip(1.5 * bound * rng.uniform(-1, 1, count), -bound, bound)
        found.append((x, y))
    return found


@pytest.mark.parametrize("ranking", EVERY, ids=repr)
@given(norm=sizes, radius=st.floats(0.0, 3.0), bound=sizes, seed=st.integers(0, 99))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_no_response_exceeds_a_constant(
    ranking: RankingLoss, norm: float, radius: float, bound: float, seed: int
) -> None:
    loss, domain = graded(ranking, bound), Domain(norm, radius)
    record, other, partner = random_pairs(seed, norm, bound)
    rng = np.random.default_rng(seed)
    w, v = (radius * (u / np.linalg.norm(u)) for u in rng.normal(size=(2, 2)))
    first, second = loss.gradient(w, *record, *partner), loss.gradient(w, *other, *partner)
    allowed = 1 + 1e-9
    assert np.linalg.norm(first, axis=1).max() <= loss.lipschitz(domain) * allowed
    moved = np.linalg.norm(first - second, axis=1).max()
    assert moved <= loss.pair_diameter(domain) * allowed
    elsewhere = loss.gradient(v, *record, *partner)
    holder = loss.holder(domain)
    apart = np.linalg.norm(w - v) ** holder.exponent
    changed = np.linalg.norm(first - elsewhere, axis=1).max()
    assert changed <= holder.constant * apart * allowed + 1e-12
    if ranking.decreasing:  # also at two points, which bounds for steps use
        both = np.linalg.norm(elsewhere - second, axis=1).max()
        assert both <= loss.lipschitz(domain) * allowed


@pytest.mark.parametrize("ranking", EVERY, ids=repr)
@given(norm=sizes, radius=st.floats(0.0, 3.0), bound=sizes)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_gradients_attain_their_bounds(
    ranking: RankingLoss, norm: float, radius: float, bound: float
) -> None:
    loss, domain = graded(ranking, bound), Domain(norm, radius)
    x = np.array([[norm], [-norm], [-norm]])
    y = np.array([bound, bound, -bound])
    # The derivative of a sigmoid is largest at zero, that of the others at the smallest margin.
    w = np.array([0.0 if isinstance(ranking, SigmoidRanking) else -radius])
    steepest = loss.gradient(w, x[:1], y[:1], x[2:], y[2:])
    assert np.linalg.norm(steepest) == pytest.approx(loss.lipschitz(domain))
    # The replaced record equals the partner but for its response: no gradient is left.
    moved = steepest - loss.gradient(w, x[1:2], y[1:2], x[2:], y[2:])
    assert np.linalg.norm(moved) == pytest.approx(loss.pair_diameter(domain))
    assert loss.record_diameter(domain) == 2 * loss.pair_diameter(domain)


@given(norm=sizes, bound=sizes)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_a_partner_between_two_responses_attains_the_bound_of_the_hinge(
    norm: float, bound: float
) -> None:
    # With y' = 0, a response that flips from -Y to Y moves the gradient as far as two classes do.
    loss = graded(HingeRanking(), bound)
    x = np.array([[norm], [norm], [-norm]])
    y = np.array([-bound, bound, 0.0])
    up, down = (
        loss.gradient(np.zeros(1), x[i : i + 1], y[i : i + 1], x[2:], y[2:]) for i in (0, 1)
    )
    moved = float(np.linalg.norm(up - down))
    assert moved == pytest.approx(loss.pair_diameter(Domain(norm, 1.0)))


@pytest.mark.parametrize("ranking", EVERY, ids=repr)
def test_the_search_finds_no_more_than_what_is_declared_and_not_less(ranking: RankingLoss) -> None:
    report = examine(graded(ranking, 0.5))
    assert report.passed, report
    attained = ["lipschitz", "pair_diameter", "record_diameter", "holder"]
    if np.isfinite(graded(ranking).smoothness(Domain(1.0, 1.0))):
        attained.append("smoothness")
    for name in attained:
        assert report.worst(name).ratio > 0.999, name


def test_the_smoothness_of_the_risk_is_attained() -> None:
    loss, domain = graded(LogisticRanking(), 2.0), Domain(1.5, 1.0)
    step = 1e-5
    for n in (2, 4, 5):
        x = np.where(np.arange(n) < n // 2, 1.5, -1.5)[:, None]
        y = np.where(np.arange(n) < n // 2, 2.0, -2.0)
        i, j = np.nonzero(~np.eye(n, dtype=bool))
        ends = [loss.gradient(np.array([w]), x[i], y[i], x[j], y[j]).mean() for w in (-step, step)]
        curvature = (ends[1] - ends[0]) / (2 * step)
        assert curvature == pytest.approx(loss.risk_smoothness(domain, n), rel=1e-6)


def test_for_two_responses_it_is_the_two_sided_loss() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50, 3)), rng.choice([-1.0, 1.0], (2, 50))
    w = rng.normal(size=3)
    for ranking in EVERY:
        for method in ("value", "gradient"):
            ours, theirs = getattr(graded(ranking), method), getattr(ranking, method)
            pairs = (w, x[0], y[0], x[1], y[1])
            np.testing.assert_allclose(ours(*pairs), theirs(*pairs), rtol=1e-12, atol=1e-14)


def test_what_it_inherits_from_phi() -> None:
    assert declared_convex(graded(LogisticRanking()))
    assert not declared_convex(graded(SigmoidRanking()))
    assert graded(HingeRanking(width=0.3)).width == 0.3
    assert slow_sums(graded(LeastSquaresRanking())) == ()
    assert "O(n²)" in slow_sums(graded(LogisticRanking()))[0]
    assert isinstance(find_loss("graded", PairwiseLoss), GradedRanking)

    class Mine(LogisticRanking):
        pass

    assert is_library_loss(graded(LogisticRanking()))
    assert not is_library_loss(graded(Mine()))


def test_levels_are_the_nearest_ones() -> None:
    loss = GradedRanking(label_bound=2.0, levels=5)
    y = np.array([-2.0, -1.6, -1.4, 0.1, 0.9, 2.0])
    np.testing.assert_array_equal(loss.rounded(y), [-2.0, -2.0, -1.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(GradedRanking().rounded(y), y)
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 6, 3)), rng.normal(size=3)
    for method in ("value", "gradient"):
        whole = getattr(GradedRanking(label_bound=2.0), method)
        expected = whole(w, x[0], loss.rounded(y), x[1], loss.rounded(y[::-1]))
        found = getattr(loss, method)(w, x[0], y, x[1], y[::-1])
        np.testing.assert_array_equal(found, expected)
    assert slow_sums(loss) == ()
    assert loss.constants(Domain(1.0, 1.0)) == replace(loss, levels=None).constants(
        Domain(1.0, 1.0)
    )


def test_refusals() -> None:
    with pytest.raises(ValueError, match="levels must be"):
        GradedRanking(levels=1)
    with pytest.raises(ValueError, match="two-sided form"):
        GradedRanking(LogisticRanking("one-sided"))
    with pytest.raises(TypeError, match="must be a RankingLoss"):
        GradedRanking("logistic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="label_bound must be positive"):
        GradedRanking(label_bound=0.0)
