"""Metric losses: the table of constants, certified bounds by a second route, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from pairdp.losses import Domain, HingeMetric, Holder, LogisticMetric, MetricLoss, _supremum
from pairdp.losses._supremum import upper_bound
from pairdp.testing.loss_checker import check_pairwise_loss

sizes = st.floats(0.05, 20.0)
EVERY_LOSS = [
    *(LogisticMetric(t) for t in (0.5, 1.0, 3.0)),
    *(HingeMetric(t, h) for t, h in ((1.0, 0.0), (0.5, 0.3), (3.0, 0.0), (1.0, 2.0))),
]


def cone(norm: float = 1.0, radius: float = 1.0) -> Domain:
    return Domain(norm, radius, positive_semidefinite=True)


def s(u: float) -> float:
    return float(expit(u))


def test_the_table_at_one() -> None:
    # Section 1 at R = B = 1.
    loss = LogisticMetric()
    assert loss.lipschitz(cone()) == pytest.approx(3.810, abs=5e-4)
    assert loss.lipschitz(Domain(1.0, 1.0)) == pytest.approx(3.973, abs=5e-4)
    assert loss.smoothness(cone()) == 4.0
    assert loss.smoothness(Domain(1.0, 1.0)) == 4.0
    assert 5.0130 <= loss.pair_diameter(cone()) <= 5.0231
    assert 5.481 <= loss.pair_diameter(Domain(1.0, 1.0)) <= 2 * loss.lipschitz(Domain(1.0, 1.0))
    assert loss.record_diameter(cone()) == 2 * loss.pair_diameter(cone())
    hinge = HingeMetric().constants(cone())
    assert (hinge.lipschitz, hinge.pair_diameter, hinge.record_diameter) == (4.0, 8.0, 16.0)
    assert hinge.holder == Holder(0.0, 4.0)
    assert hinge.smoothness == math.inf


@given(norm=sizes, radius=sizes)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_table_in_general(norm: float, radius: float) -> None:
    loss, wide = LogisticMetric(), 4 * norm**2
    assert loss.lipschitz(cone(norm, radius)) == pytest.approx(
        wide * max(s(wide * radius - 1), s(1.0))
    )
    assert loss.lipschitz(Domain(norm, radius)) == pytest.approx(wide * s(1 + wide * radius))
    slope = s(max(0.0, 1 - wide * radius))
    assert loss.smoothness(cone(norm, radius)) == pytest.approx(wide**2 * slope * (1 - slope))
    hinge = HingeMetric(2.0, 0.5)
    assert hinge.lipschitz(cone(norm, radius)) == pytest.approx(wide / 2)
    assert hinge.smoothness(cone(norm, radius)) == pytest.approx(wide**2 / 2)


def test_without_a_norm_bound() -> None:
    loss = LogisticMetric()
    assert loss.pair_diameter(cone(2.0, math.inf)) == pytest.approx(16 * (1 + s(1.0)))
    assert loss.pair_diameter(cone(1.0, math.inf)) == pytest.approx(6.92, abs=5e-3)
    assert loss.pair_diameter(Domain(2.0)) == 32.0
    assert loss.lipschitz(Domain(2.0)) == 16.0
    assert loss.smoothness(cone(1.0, math.inf)) == 4.0
    assert HingeMetric().pair_diameter(Domain(1.0)) == 8.0


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_at_zero_a_flipped_label_is_the_worst(temperature: float) -> None:
    # s(M-1) + s(1-M) = 1: the gradient moves by exactly aaᵀ/τ.
    loss = LogisticMetric(temperature)
    assert loss.pair_diameter(Domain(1.5, 0.0)) == pytest.approx(9.0 / temperature)
    assert loss.pair_diameter(cone(1.5, 1e-9)) == pytest.approx(9.0 / temperature)


CERTIFIED = [
    (0.1, 4.025),
    (0.25, 4.114),
    (0.5, 4.418),
    (1.0, 5.024),
    (2.0, 5.600),
    (4.0, 6.059),
    (10.0, 6.478),
]


@pytest.mark.parametrize(("radius", "certified"), CERTIFIED)
def test_certified_values_of_the_table(radius: float, certified: float) -> None:
    assert 0.995 * certified <= LogisticMetric().pair_diameter(cone(1.0, radius)) <= certified


def sum_of_two(farthest: float, temperature: float, semidefinite: bool) -> float:
    """Bound D_o / (4R²) anew: sides may also be shorter than the triangle allows.

    The declared bound takes |a| = 2R cos ψ and |b| = 2R cos χ. Here each is at most that,
    and the length of each gradient is maximised over it.
    """
    k = 1 / temperature

    def largest(most: Any, growth: Any, offset: float) -> Any:
        # t·s(k(offset + t·growth)) rises with t until t·k·(-growth) is the peak.
        peak = brentq(lambda m: m * expit(m - k * offset) - 1, 1e-9, 1e6)
        against = np.maximum(-k * growth, 1e-300)
        t = np.minimum(most, peak / against)
        return t * k * expit(k * (offset + t * growth))

    def above(low: Any, high: Any) -> Any:
        theta = np.minimum(high[0] + high[1], math.pi / 2)
        if semidefinite:
            near, far = low[2], np.minimum(high[2] + theta, math.pi / 2)
            first, second = np.cos(near) ** 2, np.cos(far) ** 2
        else:
            far = np.minimum(high[2] + np.arccos(np.cos(theta) ** 2), math.pi)
            first, second = np.cos(low[2]), np.cos(far)
        c = largest(np.cos(low[0]) ** 2, farthest * first, -1.0)
        e = largest(np.cos(low[1]) ** 2, -farthest * second, 1.0)
        cosine = np.cos(np.minimum(low[0] + low[1], math.pi / 2))
        return np.sqrt(c**2 + e**2 + 2 * c * e * cosine**2)

    quarter = math.pi / 2
    return upper_bound(above, [(0, quarter), (0, quarter), (0, quarter * (2 - semidefinite))])


@pytest.mark.parametrize("semidefinite", [True, False])
@pytest.mark.parametrize("temperature", [0.1, 1.0])
@pytest.mark.parametrize("farthest", [0.5, 3.0, 30.0])
def test_a_second_route_to_the_certified_bound(
    farthest: float, temperature: float, semidefinite: bool
) -> None:
    domain = Domain(0.5, farthest, semidefinite)
    declared = LogisticMetric(temperature).pair_diameter(domain)
    assert declared == pytest.approx(sum_of_two(farthest, temperature, semidefinite), rel=1.5e-3)


@pytest.mark.parametrize("domain", [cone(), cone(0.5, 20.0), Domain(1.5, 0.4)], ids=repr)
def test_the_certified_bound_lies_between_search_and_closed_form(domain: Domain) -> None:
    loss = LogisticMetric()
    found = check_pairwise_loss(loss, domains=[domain], features=[2]).worst("pair_diameter").found
    declared = loss.pair_diameter(domain)
    assert found <= declared <= found * 1.002
    assert declared <= MetricLoss.pair_diameter(loss, domain)


@pytest.mark.parametrize("semidefinite", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_scaling_of_the_data(semidefinite: bool, temperature: float) -> None:
    # D_o(R, B) = R² D_o(1, R²B).
    loss = LogisticMetric(temperature)
    for norm, radius in ((2.0, 0.25), (0.5, 3.0), (0.7, 1.0)):
        unit = Domain(1.0, norm**2 * radius, semidefinite)
        assert loss.pair_diameter(Domain(norm, radius, semidefinite)) == pytest.approx(
            norm**2 * loss.pair_diameter(unit), rel=1e-6
        )


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
@given(norm=sizes, radius=sizes, factor=st.floats(0.0, 1.0), semidefinite=st.booleans())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_constants_grow_with_the_radius(
    loss: MetricLoss, norm: float, radius: float, factor: float, semidefinite: bool
) -> None:
    small, large = (Domain(norm, size, semidefinite) for size in (factor * radius, radius))
    assert loss.lipschitz(small) <= loss.lipschitz(large)
    assert loss.smoothness(small) <= loss.smoothness(large)
    assert MetricLoss.pair_diameter(loss, small) <= MetricLoss.pair_diameter(loss, large)


@pytest.mark.parametrize("semidefinite", [True, False])
def test_the_certified_bound_grows_with_the_radius(semidefinite: bool) -> None:
    radii = [0.0, 1e-7, 0.01, 0.1, 0.3, 1.0, 3.0, 30.0, 1e3, 1e7, math.inf]
    bounds = [LogisticMetric().pair_diameter(Domain(1.0, radius, semidefinite)) for radius in radii]
    for small, large in pairwise(bounds):
        assert small <= large * 1.001


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_semidefinite_sets_are_smaller(loss: MetricLoss) -> None:
    inside, outside = loss.constants(cone(1.0, 2.0)), loss.constants(Domain(1.0, 2.0))
    assert inside.lipschitz <= outside.lipschitz
    assert inside.pair_diameter <= outside.pair_diameter * 1.001


def test_risk_smoothness() -> None:
    loss = LogisticMetric()
    assert loss.risk_smoothness(cone(), 2) == pytest.approx(4.0)
    assert loss.risk_smoothness(cone(), 100) == pytest.approx(4.0 * 100 / 198)
    assert HingeMetric().risk_smoothness(cone(), 4) == math.inf


@given(seed=st.integers(0, 10**6), extreme=st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_two_sides_of_a_triangle(seed: int, extreme: bool) -> None:
    # |aaᵀ - bbᵀ| <= 4R², which D_o of records that do not change kind rests on.
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((3, 3))
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    points /= norms if extreme else np.maximum(norms, 1.0)
    a, b = points[0] - points[2], points[1] - points[2]
    assert np.linalg.norm(np.outer(a, a) - np.outer(b, b)) <= 4 + 1e-12


def draw(seed: int, count: int = 60) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    x, other = rng.standard_normal((2, count, 3))
    y, other_y = rng.integers(0, 3, (2, count)).astype(float)
    half = rng.standard_normal((3, 3))
    return (half + half.T) / 2, x, y, other, other_y


def test_values_are_those_of_the_papers() -> None:
    w, x, y, other, other_y = draw(0)
    apart = x - other
    squared = np.array([a @ w @ a for a in apart])
    sign = np.where(y == other_y, 1.0, -1.0)
    expected = np.log1p(np.exp(-sign * (1 - squared) / 2.0))
    np.testing.assert_allclose(LogisticMetric(2.0).value(w, x, y, other, other_y), expected)
    hinge = np.maximum(1 + sign * squared / 2.0, 0.0)
    np.testing.assert_allclose(HingeMetric(2.0).value(w, x, y, other, other_y), hinge)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_gradients_are_finite_differences(loss: MetricLoss) -> None:
    w, x, y, other, other_y = draw(1)
    gradients = loss.gradient(w, x, y, other, other_y)
    np.testing.assert_allclose(gradients, gradients.transpose(0, 2, 1), rtol=1e-15, atol=1e-15)
    direction = draw(2)[0]
    step = 1e-7
    ends = [loss.value(w + t * direction, x, y, other, other_y) for t in (step, -step)]
    slopes = np.einsum("kij,ij->k", gradients, direction)
    np.testing.assert_allclose(slopes, (ends[0] - ends[1]) / (2 * step), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
def test_equal_records_have_no_gradient(loss: MetricLoss) -> None:
    w, x, y, _, other_y = draw(3)
    assert not loss.gradient(w, x, y, x, other_y).any()


class TestUpperBound:
    def test_a_parabola(self) -> None:
        bound = upper_bound(lambda low, high: high[0] * (1 - low[0]), [(0.0, 1.0)])
        assert 0.25 <= bound <= 0.25 * 1.001

    @given(peak=st.floats(0.1, 0.9), other=st.floats(0.1, 0.9), gap=st.floats(1e-4, 0.1))
    @settings(max_examples=30, deadline=None, derandomize=True)
    def test_a_hill(self, peak: float, other: float, gap: float) -> None:
        def above(low: Any, high: Any) -> Any:
            away = [
                np.maximum(0.0, np.maximum(low[side] - at, at - high[side]))
                for side, at in enumerate((peak, other))
            ]
            return np.exp(-3 * (away[0] + away[1] ** 2))

        assert 1.0 <= upper_bound(above, [(0.0, 1.0), (0.0, 1.0)], gap=gap) <= 1.0 + gap

    def test_too_many_boxes_loosen_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_supremum, "_MOST_BOXES", 10)
        bound = upper_bound(lambda low, high: high[0] * (1 - low[0]), [(0.0, 1.0)])
        assert 0.25 * 1.001 < bound < 0.5

    def test_a_function_that_is_never_positive(self) -> None:
        assert upper_bound(lambda low, high: -1 - low[0], [(0.0, 1.0)]) == 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogisticMetric(0.0), "temperature must be positive"),
        (lambda: HingeMetric(-1.0), "temperature must be positive"),
        (lambda: HingeMetric(width=-0.1), "width must be finite and at least 0"),
        (lambda: HingeMetric(width=math.inf), "width must be finite and at least 0"),
        (lambda: LogisticMetric().risk_smoothness(cone(), 1), "n must be at least 2"),
    ],
)
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()
