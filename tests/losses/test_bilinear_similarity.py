"""Bilinear similarity: a pointwise loss of the product of two records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget
from pairdp.algorithms import NoisyGradientDescent
from pairdp.constraints import FrobeniusBall
from pairdp.losses import (
    BilinearSimilarity,
    Domain,
    HingePointwise,
    LeastSquaresPointwise,
    LogisticPointwise,
    PairwiseLoss,
    PointwiseLoss,
    PowerHingePointwise,
    find_loss,
)
from pairdp.losses.base import slow_sums
from pairdp.losses.convexity import declared_convex
from pairdp.privacy import NoiseSource
from pairdp.problem import Problem
from tests.testing.examined import examine

EVERY = [
    LogisticPointwise(),
    HingePointwise(),
    HingePointwise(0.3),
    PowerHingePointwise(1.5),
    LeastSquaresPointwise(),
]
sizes = st.floats(0.1, 4.0)


@pytest.mark.parametrize("pointwise", EVERY, ids=repr)
@given(norm=sizes, radius=sizes, seed=st.integers(0, 999))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_no_pair_exceeds_a_constant(
    pointwise: PointwiseLoss, norm: float, radius: float, seed: int
) -> None:
    loss, domain, rng = (
        BilinearSimilarity(pointwise),
        Domain(norm, radius),
        np.random.default_rng(seed),
    )
    x = rng.normal(size=(3, 200, 2))
    x *= norm / np.linalg.norm(x, axis=2, keepdims=True)
    y = rng.integers(0, 3, (3, 200)).astype(float)
    w: Any = rng.normal(size=(2, 2))
    w = radius * (w + w.T) / np.linalg.norm(w + w.T)
    first = loss.gradient(w, x[0], y[0], x[2], y[2]).reshape(200, -1)
    second = loss.gradient(w, x[1], y[1], x[2], y[2]).reshape(200, -1)
    allowed = 1 + 1e-9
    assert np.linalg.norm(first, axis=1).max() <= loss.lipschitz(domain) * allowed
    assert np.linalg.norm(first - second, axis=1).max() <= loss.pair_diameter(domain) * allowed


@given(norm=sizes, radius=sizes)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_gradients_attain_their_bounds(norm: float, radius: float) -> None:
    domain = Domain(norm, radius)
    x, w = norm * np.array([[0.6, 0.8]]), radius * np.outer([0.6, 0.8], [0.6, 0.8])
    same, other = np.zeros(1), np.ones(1)
    for pointwise in EVERY:
        loss = BilinearSimilarity(pointwise)
        # Equal records of different classes, the most similar of all.
        steepest = loss.gradient(w, x, same, x, other)
        assert np.linalg.norm(steepest) == pytest.approx(loss.lipschitz(domain))
    hinge = BilinearSimilarity(HingePointwise())
    flipped = [hinge.gradient(0 * w, x, y, x, other) for y in (same, other)]
    assert np.linalg.norm(flipped[0] - flipped[1]) == pytest.approx(hinge.pair_diameter(domain))


@pytest.mark.parametrize("pointwise", [LogisticPointwise(), HingePointwise()], ids=repr)
def test_the_search_finds_no_more_than_what_is_declared(pointwise: PointwiseLoss) -> None:
    report = examine(BilinearSimilarity(pointwise), [Domain(1.2, 0.7)])
    assert report.passed, report
    assert report.worst("lipschitz").ratio > 0.999
    # One partner is common to both products, which the bound does not use.
    assert report.worst("pair_diameter").ratio > 0.85


def test_formulas() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30, 3)), rng.integers(0, 2, (2, 30)).astype(float)
    w = rng.normal(size=(3, 3))
    w = w + w.T
    scores = np.array([a @ w @ b for a, b in zip(*x, strict=True)])
    signs = np.where(y[0] == y[1], 1.0, -1.0)
    arguments = (w, x[0], y[0], x[1], y[1])
    found = BilinearSimilarity(HingePointwise()).value(*arguments)
    np.testing.assert_allclose(found, np.maximum(1 - signs * scores, 0), atol=1e-12)
    gradients = BilinearSimilarity().gradient(*arguments)
    for k, (a, b) in enumerate(zip(*x, strict=True)):
        slope = -signs[k] / (1 + np.exp(signs[k] * scores[k]))
        np.testing.assert_allclose(gradients[k], slope * (np.outer(a, b) + np.outer(b, a)) / 2)


def test_a_private_similarity_separates_two_classes() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    x = rng.normal(size=(3000, 3)) / 8 + np.outer(2 * y - 1, [0.5, 0.0, 0.0])
    problem = Problem(BilinearSimilarity(), FrobeniusBall(4.0))
    algorithm = NoisyGradientDescent(steps=20, batch_size=300)
    plan = algorithm.plan(problem, 3000, 3, Budget(2.0, 1e-6))
    found = plan.run(problem.records(x, y), NoiseSource.from_random_state(0), progress=False)
    assert np.argmax(np.abs(np.diag(found.parameters))) == 0
    assert found.parameters[0, 0] > 0.3
    assert "O(n²d)" in plan.reasons[-1]


def test_what_it_inherits_and_refuses() -> None:
    assert declared_convex(BilinearSimilarity())
    assert BilinearSimilarity(HingePointwise(0.2)).width == 0.2
    assert slow_sums(BilinearSimilarity())
    assert find_loss("bilinear_similarity", PairwiseLoss) == BilinearSimilarity()
    with pytest.raises(TypeError, match="must be a PointwiseLoss"):
        BilinearSimilarity("logistic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="label_bound of at least 1"):
        BilinearSimilarity(LeastSquaresPointwise(0.5))
