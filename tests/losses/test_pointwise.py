"""Losses of one record: closed forms, the certified bound by a second route, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from pairdp.losses import (
    Domain,
    HingePointwise,
    Holder,
    LeastSquaresPointwise,
    LogisticPointwise,
    PointwiseLoss,
)
from pairdp.testing.loss_checker import check_pointwise_loss

sizes = st.floats(0.05, 20.0)
EVERY_LOSS = [
    *(LogisticPointwise(t) for t in (0.5, 1.0, 3.0)),
    *(HingePointwise(h) for h in (0.0, 0.3, 4.0)),
    *(LeastSquaresPointwise(bound) for bound in (0.5, 1.0, 3.0)),
]


@given(norm=sizes, radius=sizes, setting=st.floats(0.1, 10.0))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_closed_forms(norm: float, radius: float, setting: float) -> None:
    domain = Domain(norm, radius)
    logistic = LogisticPointwise(setting)
    slope = float(expit(norm * radius / setting))
    assert logistic.lipschitz(domain) == pytest.approx(norm / setting * slope)
    assert logistic.smoothness(domain) == pytest.approx(norm**2 / (4 * setting**2))
    squares = LeastSquaresPointwise(setting)
    assert squares.lipschitz(domain) == pytest.approx(2 * norm * (norm * radius + setting))
    assert squares.smoothness(domain) == pytest.approx(2 * norm**2)
    assert squares.holder(domain) == Holder(1.0, squares.smoothness(domain))
    rounded = HingePointwise(setting)
    derivative_bound = min(1.0, (1 + norm * radius) / setting)
    assert rounded.lipschitz(domain) == pytest.approx(norm * derivative_bound)
    assert rounded.smoothness(domain) == pytest.approx(norm**2 / setting)
    sharp = HingePointwise().constants(domain)
    assert (sharp.lipschitz, sharp.pair_diameter, sharp.record_diameter) == (
        norm,
        2 * norm,
        2 * norm,
    )
    assert sharp.holder == Holder(0.0, norm)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
@given(norm=sizes, radius=sizes, factor=st.floats(0.0, 1.0))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_constants_grow_with_the_radius(
    loss: PointwiseLoss, norm: float, radius: float, factor: float
) -> None:
    small, large = (loss.constants(Domain(norm, size)) for size in (factor * radius, radius))
    assert small.lipschitz <= large.lipschitz
    assert small.smoothness <= large.smoothness
    assert small.record_diameter <= large.record_diameter * 1.001
    assert large.record_diameter <= 2 * large.lipschitz
    assert large.pair_diameter == large.record_diameter


def test_unbounded_weights_and_only_the_start() -> None:
    assert LogisticPointwise().record_diameter(Domain(2.0)) == 4.0
    assert LogisticPointwise(2.0).record_diameter(Domain(2.0, 0.0)) == 1.0
    assert HingePointwise(3.0).lipschitz(Domain(2.0)) == 2.0
    assert HingePointwise(4.0).lipschitz(Domain(2.0, 0.0)) == 0.5
    assert LeastSquaresPointwise().lipschitz(Domain(2.0)) == math.inf
    assert LeastSquaresPointwise(3.0).record_diameter(Domain(2.0, 0.0)) == pytest.approx(24.0)


def farthest_apart(margin_bound: float) -> float:
    """Return how far two logistic gradients are apart, over a grid of angles, times τ/R."""
    cosines = np.cos(np.linspace(0.0, math.pi, 241))
    lengths = np.linspace(0.0, 1.0, 101)[:, None]
    largest = 0.0
    for b in np.linspace(0.0, margin_bound, 21):
        along = (lengths * expit(lengths * b * cosines)).max(axis=0)
        sums = np.minimum(np.add.outer(np.arange(241), np.arange(241)), 240)
        squares = np.add.outer(along**2, along**2) - 2 * np.outer(along, along) * cosines[sums]
        largest = max(largest, float(np.sqrt(squares.max())))
    return largest


@pytest.mark.parametrize("margin_bound", [0.05, 0.5, 1.0, 3.0, 10.0, 50.0])
def test_a_second_route_to_the_certified_bound(margin_bound: float) -> None:
    declared = LogisticPointwise(2.0).record_diameter(Domain(0.5, 4 * margin_bound)) * 2.0 / 0.5
    expected = farthest_apart(margin_bound)
    assert expected <= declared <= expected * 1.003


@pytest.mark.parametrize("domain", [Domain(1.0, 1.0), Domain(0.5, 12.0)], ids=repr)
def test_the_certified_bound_lies_between_search_and_twice_the_gradient(domain: Domain) -> None:
    loss = LogisticPointwise()
    found = (
        check_pointwise_loss(loss, domains=[domain], features=[2]).worst("record_diameter").found
    )
    declared = loss.record_diameter(domain)
    assert found <= declared <= found * 1.002
    assert declared <= 2 * loss.lipschitz(domain)


@given(norm=sizes, radius=sizes, bound=st.floats(0.1, 10.0))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_least_squares_bound_against_its_worst_case(
    norm: float, radius: float, bound: float
) -> None:
    # With unit vectors u, v: x = R(cos σ·u + sin σ·v), x' = R(cos σ·u - sin σ·v), w = Bv, y = -Y,
    # y' = Y move the gradient by 4R·cos σ·(RB·sin σ + Y); no example does more.
    loss, domain = LeastSquaresPointwise(bound), Domain(norm, radius)
    sine = np.linspace(0.0, 1.0, 20001)
    attained = 4 * norm * (np.sqrt(1 - sine**2) * (norm * radius * sine + bound)).max()
    at = 0.4
    x = norm * np.array([[math.sqrt(1 - at**2), at], [math.sqrt(1 - at**2), -at]])
    first, second = loss.gradient(np.array([0.0, radius]), x, np.array([-bound, bound]))
    moved = float(np.linalg.norm(first - second))
    expected = 4 * norm * math.sqrt(1 - at**2) * (norm * radius * at + bound)
    assert moved == pytest.approx(expected)
    assert attained <= loss.record_diameter(domain) * (1 + 1e-6)
    assert loss.record_diameter(domain) <= (2 * norm**2 * radius + 4 * norm * bound) * (1 + 1e-12)


def draw(seed: int, count: int = 50) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], count)
    return rng.standard_normal(3), rng.standard_normal((count, 3)), y


def test_values() -> None:
    w, x, y = draw(0)
    scores = x @ w
    logistic = LogisticPointwise(2.0).value(w, x, y)
    np.testing.assert_allclose(logistic, np.log1p(np.exp(-y * scores / 2.0)))
    np.testing.assert_allclose(HingePointwise().value(w, x, y), np.maximum(1 - y * scores, 0))
    np.testing.assert_allclose(LeastSquaresPointwise().value(w, x, y), (scores - y) ** 2)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_gradients_are_finite_differences(loss: PointwiseLoss) -> None:
    w, x, y = draw(1)
    gradients = loss.gradient(w, x, y)
    step = 1e-6
    for k in range(3):
        shift = step * np.eye(3)[k]
        ends = [loss.value(v, x, y) for v in (w + shift, w - shift)]
        np.testing.assert_allclose(gradients[:, k], (ends[0] - ends[1]) / (2 * step), atol=1e-5)


def test_defaults_of_a_loss_of_ones_own() -> None:
    class Linear(PointwiseLoss):
        convex = True

        def value(self, parameters: Any, x: Any, y: Any) -> Any:
            return -y * (x @ parameters)

        def gradient(self, parameters: Any, x: Any, y: Any) -> Any:
            return -y[:, None] * x

        def lipschitz(self, domain: Domain) -> float:
            return domain.data_norm

    report = check_pointwise_loss(Linear(), domains=[Domain(0.5, 2.0)])
    assert report.passed
    assert report.worst("record_diameter").ratio == pytest.approx(1.0)
    assert Linear().holder(Domain()) == Holder(0.0, 2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogisticPointwise(0.0), "temperature must be positive"),
        (lambda: HingePointwise(-1.0), "width must be finite and at least 0"),
        (lambda: LeastSquaresPointwise(0.0), "label_bound must be positive"),
        (lambda: LeastSquaresPointwise(math.inf), "label_bound must be positive and finite"),
    ],
)
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()
