"""Ranking losses: the table of constants, what they are functions of, and refusals."""

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
    HingeRanking,
    Holder,
    LeastSquaresRanking,
    LogisticRanking,
    PowerHingeRanking,
    RankingLoss,
    SigmoidRanking,
    SquaredHingeRanking,
)
from pairdp.score_sums import AllPairs, Structure


def test_parameters_out_of_range_are_refused() -> None:
    for temperature in (1e-308, 1e-31, 1e31):
        with pytest.raises(ValueError, match="between 1e-30 and 1e30"):
            LogisticRanking(temperature=temperature)
    for width in (1e-300, 1e-13, 1e31):
        with pytest.raises(ValueError, match="0 or between 1e-12 and 1e30"):
            HingeRanking(width=width)


def shown(value: object) -> str:
    """Name a test case; a function has no lasting name."""
    return "function" if callable(value) else repr(value)


TWO, ONE = "two-sided", "one-sided"
UNIT = Domain(1.0, 1.0)
sizes = st.floats(0.05, 20.0)
every_loss = [
    *(LogisticRanking(form, t) for form in (TWO, ONE) for t in (0.5, 1.0, 3.0)),
    *(SigmoidRanking(form, t) for form in (TWO, ONE) for t in (0.5, 3.0)),
    *(HingeRanking(form, 1.0, width) for form in (TWO, ONE) for width in (0.0, 0.3, 4.0)),
    *(PowerHingeRanking(form, 2.0, q) for form in (TWO, ONE) for q in (1.1, 1.5, 2.0)),
    *(SquaredHingeRanking(form) for form in (TWO, ONE)),
    *(LeastSquaresRanking(form, 0.7) for form in (TWO, ONE)),
]

# Section 1 at R = B = 1: G, L, D_o, D_h.
TABLE = [
    (LogisticRanking(TWO), 3.928055, 4.0, 3.928055, 7.856110),
    (LogisticRanking(ONE), 1.761594, 1.0, 1.761594, 1.761594),
    (SigmoidRanking(TWO), 1.0, 1.539601, 1.0, 2.0),
    (SigmoidRanking(ONE), 0.5, 0.384900, 0.5, 0.5),
    (HingeRanking(TWO), 4.0, math.inf, 4.0, 8.0),
    (HingeRanking(ONE), 2.0, math.inf, 2.0, 2.0),
    (HingeRanking(ONE, width=0.25), 2.0, 16.0, 2.0, 2.0),
    (SquaredHingeRanking(ONE), 12.0, 8.0, 12.0, 12.0),
    (SquaredHingeRanking(TWO), 40.0, 32.0, 40.0, 80.0),
    (LeastSquaresRanking(ONE), 12.0, 8.0, 12.0, 12.0),
    (LeastSquaresRanking(TWO), 40.0, 32.0, 40.0, 80.0),
    (PowerHingeRanking(ONE, power=1.5), 5.196152, math.inf, 5.196152, 5.196152),
]


@pytest.mark.parametrize(("loss", "lipschitz", "smoothness", "slot", "record"), TABLE, ids=shown)
def test_the_table_at_one(
    loss: RankingLoss, lipschitz: float, smoothness: float, slot: float, record: float
) -> None:
    declared = loss.constants(UNIT)
    assert declared.lipschitz == pytest.approx(lipschitz, rel=1e-6)
    assert declared.smoothness == pytest.approx(smoothness, rel=1e-6)
    assert declared.pair_diameter == pytest.approx(slot, rel=1e-6)
    assert declared.record_diameter == pytest.approx(record, rel=1e-6)
    assert loss.sensitivity(UNIT, 50) == pytest.approx(record / 50, rel=1e-6)


def s(u: float) -> float:
    return float(expit(u))


FORMULAS: list[tuple[RankingLoss, Callable[[float, float], float], Callable[[float], float]]] = [
    (LogisticRanking(TWO), lambda r, b: 4 * r * s(4 * r * b), lambda r: 4 * r**2),
    (LogisticRanking(ONE), lambda r, b: 2 * r * s(2 * r * b), lambda r: r**2),
    (HingeRanking(TWO), lambda r, b: 4 * r, lambda r: math.inf),
    (HingeRanking(ONE, width=0.5), lambda r, b: 2 * r, lambda r: 8 * r**2),
    (SquaredHingeRanking(ONE), lambda r, b: 4 * r * (1 + 2 * r * b), lambda r: 8 * r**2),
    (SquaredHingeRanking(TWO), lambda r, b: 8 * r * (1 + 4 * r * b), lambda r: 32 * r**2),
    (LeastSquaresRanking(ONE), lambda r, b: 4 * r * (1 + 2 * r * b), lambda r: 8 * r**2),
    (LeastSquaresRanking(TWO), lambda r, b: 8 * r * (1 + 4 * r * b), lambda r: 32 * r**2),
    (
        PowerHingeRanking(ONE, power=1.2),
        lambda r, b: 2 * r * 1.2 * (1 + 2 * r * b) ** 0.2,
        lambda r: math.inf,
    ),
]


@pytest.mark.parametrize(("loss", "lipschitz", "smoothness"), FORMULAS, ids=shown)
@given(norm=sizes, radius=sizes)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_table_in_general(
    loss: RankingLoss, lipschitz: Any, smoothness: Any, norm: float, radius: float
) -> None:
    domain = Domain(norm, radius)
    assert loss.lipschitz(domain) == pytest.approx(lipschitz(norm, radius))
    assert loss.smoothness(domain) == pytest.approx(smoothness(norm))


@pytest.mark.parametrize("loss", every_loss, ids=repr)
@given(norm=sizes, radius=sizes)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_one_record_by_form(loss: RankingLoss, norm: float, radius: float) -> None:
    domain = Domain(norm, radius)
    assert loss.pair_diameter(domain) == loss.lipschitz(domain)
    assert loss.record_diameter(domain) == (2 if loss.form == TWO else 1) * loss.pair_diameter(
        domain
    )


@pytest.mark.parametrize("loss", every_loss, ids=repr)
@given(norm=sizes, radius=sizes, factor=st.floats(0.0, 1.0))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_constants_grow_with_the_radius(
    loss: RankingLoss, norm: float, radius: float, factor: float
) -> None:
    small, large = (loss.constants(Domain(norm, size)) for size in (factor * radius, radius))
    assert small.lipschitz <= large.lipschitz
    assert small.pair_diameter <= large.pair_diameter
    assert small.record_diameter <= large.record_diameter
    assert small.smoothness <= large.smoothness
    assert small.holder.constant <= large.holder.constant


@pytest.mark.parametrize("loss", every_loss, ids=repr)
@given(norm=sizes, radius=sizes, temperature=st.floats(0.1, 10.0))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_temperature_scales_the_data(
    loss: RankingLoss, norm: float, radius: float, temperature: float
) -> None:
    settings_ = {name: value for name, value in vars(loss).items() if name != "temperature"}
    hot = type(loss)(**settings_, temperature=temperature)
    unit = type(loss)(**settings_, temperature=1.0)
    scaled = unit.constants(Domain(norm / temperature, radius))
    assert hot.lipschitz(Domain(norm, radius)) == pytest.approx(scaled.lipschitz)
    assert hot.smoothness(Domain(norm, radius)) == pytest.approx(scaled.smoothness)


def test_unbounded_weights() -> None:
    free = Domain(0.5)
    assert LogisticRanking(TWO).lipschitz(free) == 2.0
    assert LogisticRanking(ONE).record_diameter(free) == 1.0
    assert HingeRanking(ONE, width=2.0).lipschitz(free) == 1.0
    assert SquaredHingeRanking().lipschitz(free) == math.inf
    assert SquaredHingeRanking().smoothness(free) == 8.0
    assert PowerHingeRanking(ONE, power=1.5).holder(free) == Holder(0.5, 1.5)


def test_only_the_start() -> None:
    start = Domain(1.0, 0.0)
    assert LogisticRanking(TWO).pair_diameter(start) == 2.0
    assert LeastSquaresRanking(ONE).lipschitz(start) == 4.0
    assert HingeRanking(ONE, width=4.0).lipschitz(start) == 0.5


def test_a_known_radius_gives_smaller_constants() -> None:
    loss = LogisticRanking()
    assert loss.lipschitz(UNIT.within(0.1)) == pytest.approx(4 * s(0.4))
    assert loss.lipschitz(UNIT.within(10.0)) == loss.lipschitz(UNIT)


def test_holder_constants() -> None:
    # The gradient of one pair jumps by G, not by 2G (section 1).
    assert HingeRanking(TWO).holder(UNIT) == Holder(0.0, 4.0)
    assert HingeRanking(ONE).holder(UNIT) == Holder(0.0, 2.0)
    assert LogisticRanking().holder(UNIT) == Holder(1.0, 4.0)
    assert LeastSquaresRanking(ONE).holder(UNIT) == Holder(1.0, 8.0)
    declared = PowerHingeRanking(ONE, power=1.25).holder(Domain(2.0, 1.0))
    assert declared.exponent == pytest.approx(0.25)
    assert declared.constant == pytest.approx(1.25 * 4.0**1.25)


def test_a_rising_loss_pays_double_unless_it_knows_better() -> None:
    class Absolute(RankingLoss):
        decreasing = False

        def phi(self, u: Any) -> Any:
            return np.abs(1 - u)

        def slope(self, u: Any) -> Any:
            return np.sign(u - 1)

        def derivative_bound(self, margin_bound: float) -> float:
            return 1.0

        def structure(self) -> Structure:
            return AllPairs()

    loss = Absolute()
    assert loss.pair_diameter(UNIT) == 8.0
    assert loss.holder(UNIT) == Holder(0.0, 8.0)


@pytest.mark.parametrize("n", [2, 4, 10, 1000])
def test_risk_smoothness_of_even_n(n: int) -> None:
    # (1.1): at most n/(2(n-1)) of the ordered pairs have curvature.
    assert LogisticRanking(TWO).risk_smoothness(UNIT, n) == pytest.approx(2 * n / (n - 1))
    assert LogisticRanking(ONE).risk_smoothness(UNIT, n) == pytest.approx(n / (4 * (n - 1)))


def test_risk_smoothness_of_odd_n() -> None:
    assert SquaredHingeRanking(TWO).risk_smoothness(UNIT, 3) == pytest.approx(32 * 4 / 6)
    assert HingeRanking().risk_smoothness(UNIT, 3) == math.inf


def draw(seed: int, count: int = 50) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    x, other = rng.standard_normal((2, count, 3))
    y, other_y = rng.choice([-1.0, 1.0], (2, count))
    return rng.standard_normal(3), x, y, other, other_y


def test_forms_are_those_of_the_papers() -> None:
    w, x, y, other, other_y = draw(0)
    apart = (x - other) @ w
    two = LogisticRanking(TWO, 2.0).value(w, x, y, other, other_y)
    np.testing.assert_allclose(two, np.log1p(np.exp(-(y - other_y) * apart / 2.0)))
    one = SquaredHingeRanking(ONE, 2.0).value(w, x, y, other, other_y)
    expected = np.maximum(1 - apart / 2.0, 0) ** 2 * ((y == 1) & (other_y == -1))
    np.testing.assert_allclose(one, expected)


FUNCTIONS: list[tuple[RankingLoss, Callable[[Any], Any]]] = [
    (LogisticRanking(), lambda u: np.log(1 + np.exp(-u))),
    (HingeRanking(), lambda u: np.where(u < 1, 1 - u, 0)),
    (
        HingeRanking(width=0.5),
        lambda u: np.where(u < 0.5, 0.75 - u, np.where(u < 1, (1 - u) ** 2, 0)),
    ),
    (PowerHingeRanking(power=1.5), lambda u: np.where(u < 1, 1 - u, 0) ** 1.5),
    (LeastSquaresRanking(), lambda u: 1 - 2 * u + u * u),
]


@pytest.mark.parametrize(("loss", "function"), FUNCTIONS, ids=shown)
def test_functions(loss: RankingLoss, function: Callable[[Any], Any]) -> None:
    u = np.linspace(-4.0, 4.0, 1600) + 1e-4
    np.testing.assert_allclose(loss.phi(u), function(u), atol=1e-12)
    step = 1e-6
    differences = (loss.phi(u + step) - loss.phi(u - step)) / (2 * step)
    np.testing.assert_allclose(loss.slope(u), differences, atol=1e-5)


@pytest.mark.parametrize("loss", every_loss, ids=repr)
def test_gradients_are_finite_differences(loss: RankingLoss) -> None:
    w, x, y, other, other_y = draw(1)
    gradients = loss.gradient(w, x, y, other, other_y)
    step = 1e-6
    for k in range(3):
        shift = step * np.eye(3)[k]
        ends = [loss.value(v, x, y, other, other_y) for v in (w + shift, w - shift)]
        np.testing.assert_allclose(gradients[:, k], (ends[0] - ends[1]) / (2 * step), atol=1e-4)


@pytest.mark.parametrize("loss", every_loss, ids=repr)
def test_pairs_of_one_label_have_no_gradient(loss: RankingLoss) -> None:
    w, x, y, other, _ = draw(2)
    assert not loss.gradient(w, x, y, other, y).any()
    values = loss.value(w, x, y, other, y)
    assert np.unique(values).size == 1


def test_the_rounded_hinge_lies_below_the_sharp_one() -> None:
    u = np.linspace(-3.0, 3.0, 1001)
    gap = HingeRanking().phi(u) - HingeRanking(width=0.4).phi(u)
    assert gap.min() >= -1e-15
    assert gap.max() == pytest.approx(0.2)


def test_large_scores_do_not_overflow() -> None:
    u = np.array([-1e4, 1e4])
    np.testing.assert_allclose(LogisticRanking().phi(u), [1e4, 0.0])
    np.testing.assert_allclose(LogisticRanking().slope(u), [-1.0, 0.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogisticRanking("both"), "form must be one of two-sided, one-sided"),
        (lambda: LogisticRanking(temperature=0.0), "temperature must be positive"),
        (lambda: LogisticRanking(temperature=math.inf), "temperature must be positive and finite"),
        (lambda: HingeRanking(temperature="1"), "temperature must be a real number"),
        (lambda: HingeRanking(width=-1.0), "width must be finite and at least 0"),
        (lambda: HingeRanking(width=math.nan), "width must be a number"),
        (lambda: PowerHingeRanking(power=1.0), "power must be above 1.*use HingeRanking"),
        (lambda: PowerHingeRanking(power=2.5), "power must be above 1 and at most 2"),
        (lambda: LogisticRanking().risk_smoothness(UNIT, 1), "n must be at least 2"),
        (lambda: LogisticRanking().sensitivity(UNIT, 1), "n must be at least 2"),
        (lambda: LogisticRanking().sensitivity(UNIT, 2.0), "n must be an integer"),
        (lambda: Domain(0.0, 1.0), "data_norm must be positive"),
        (lambda: Domain(1.0, -1.0), "radius must be at least 0"),
        (lambda: Domain(1.0, math.nan), "radius must be a number"),
    ],
)
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_the_sigmoid_is_not_convex_and_bends_most_at_ln_2_plus_root_3() -> None:
    loss = SigmoidRanking()
    assert not loss.convex
    u = np.linspace(-12.0, 12.0, 240_001)
    bend = np.diff(loss.slope(u)) / np.diff(u)
    middle = (u[1:] + u[:-1]) / 2
    assert bend.min() < -0.096 < 0.096 < bend.max()
    assert middle[bend.argmax()] == pytest.approx(math.log(2 + math.sqrt(3)), abs=1e-3)
    assert loss.curvature(math.inf) == pytest.approx(math.sqrt(3) / 18)
    for margin_bound in (1e-12, 1e-3, 0.5, 1.0, 2.0):
        within = np.abs(bend[np.abs(middle) <= margin_bound]).max(initial=0.0)
        assert within <= loss.curvature(margin_bound) * (1 + 1e-6)
    assert loss.curvature(1e-12) == pytest.approx(1e-12 / 8)


def test_every_built_in_class_declares_its_own_convexity() -> None:
    import pairdp.losses as losses

    for name in losses.__all__:
        kind = getattr(losses, name)
        if isinstance(kind, type) and issubclass(kind, losses.PairwiseLoss | losses.PointwiseLoss):
            abstract = bool(getattr(kind, "__abstractmethods__", ()))
            assert abstract != ("convex" in vars(kind)), name


def test_formulas_without_a_structure_are_refused_where_they_are_defined() -> None:
    with pytest.raises(TypeError, match=r"Cubic defines phi without its `structure`.*AllPairs"):

        class Cubic(LogisticRanking):
            def phi(self, u: Any) -> Any:
                return -(u**3)
