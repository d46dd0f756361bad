"""The q-norm losses of one record: constants that hold and are attained for every power."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.losses import (
    Domain,
    HingePointwise,
    Holder,
    LeastSquaresPointwise,
    PointwiseLoss,
    PowerHingePointwise,
    PowerPointwise,
    find_loss,
)
from tests.testing.examined import examine

sizes = st.floats(0.1, 10.0)
powers = st.one_of(st.just(1.0), st.floats(1.01, 2.0), st.just(2.0))


def farthest_apart(loss: PointwiseLoss, domain: Domain, label: float) -> float:
    """Return how far gradients at two records are apart, whose angle has the weights in its plane.

    The records are R(cos σ, ± sin σ), with labels of opposite signs, and the weights (0, B).
    """
    sine = np.linspace(0.0, 0.999, 400)
    cosine = np.sqrt(1 - sine**2)
    one, two = (
        loss.gradient(
            np.array([0.0, domain.radius]),
            domain.data_norm * np.stack([cosine, sign * sine], axis=1),
            np.full(400, -sign * label),
        )
        for sign in (1, -1)
    )
    return float(np.linalg.norm(one - two, axis=1).max())


@given(norm=sizes, radius=sizes, bound=sizes, power=powers)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_diameter_of_targets_is_attained_and_largest(
    norm: float, radius: float, bound: float, power: float
) -> None:
    loss, domain = PowerPointwise(power, bound), Domain(norm, radius)
    declared, attained = loss.record_diameter(domain), farthest_apart(loss, domain, bound)
    assert declared * (1 - 1e-4) <= attained <= declared * (1 + 1e-9)


@given(norm=sizes, radius=sizes, power=powers)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_diameter_of_the_hinge_is_attained_and_largest(
    norm: float, radius: float, power: float
) -> None:
    loss, domain = PowerHingePointwise(power), Domain(norm, radius)
    declared, attained = loss.record_diameter(domain), farthest_apart(loss, domain, 1.0)
    assert declared * (1 - 1e-4) <= attained <= declared * (1 + 1e-9)


@pytest.mark.parametrize("make", [PowerPointwise, PowerHingePointwise])
@given(norm=sizes, radius=sizes, power=powers, seed=st.integers(0, 999))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_record_exceeds_a_constant(
    make: Any, norm: float, radius: float, power: float, seed: int
) -> None:
    loss, domain, rng = make(power), Domain(norm, radius), np.random.default_rng(seed)
    x = rng.normal(size=(80, 2))
    x *= norm * rng.choice([1.0, 0.6], (80, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    y = rng.choice([-1.0, 1.0], 80)
    w, v = (radius * u / np.linalg.norm(u) for u in rng.normal(size=(2, 2)))
    at_w, at_v = loss.gradient(w, x, y), loss.gradient(v, x, y)
    allowed = 1 + 1e-9
    assert np.linalg.norm(at_w, axis=1).max() <= loss.lipschitz(domain) * allowed
    apart = np.linalg.norm(at_w[:, None] - at_w[None], axis=2).max()
    assert apart <= loss.record_diameter(domain) * allowed
    holder = loss.holder(domain)
    distance = float(np.linalg.norm(w - v)) ** holder.exponent
    assert np.linalg.norm(at_w - at_v, axis=1).max() <= holder.constant * distance * allowed


@pytest.mark.parametrize(
    "loss",
    [
        PowerPointwise(1.0),
        PowerPointwise(1.4, 0.5),
        PowerPointwise(2.0, 3.0),
        PowerHingePointwise(1.0),
        PowerHingePointwise(1.4),
        PowerHingePointwise(2.0),
    ],
    ids=repr,
)
def test_the_search_finds_no_more_than_what_is_declared_and_not_less(loss: PointwiseLoss) -> None:
    report = examine(loss, [Domain(0.5, 6.0)])
    assert report.passed, report
    for name in ("lipschitz", "record_diameter", "holder"):
        assert report.worst(name).ratio > 0.999, name


@given(norm=sizes, radius=sizes, bound=sizes)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_the_ends_are_known_losses(norm: float, radius: float, bound: float) -> None:
    domain = Domain(norm, radius)
    squares, known = PowerPointwise(2.0, bound), LeastSquaresPointwise(bound)
    hinge, sharp = PowerHingePointwise(1.0), HingePointwise()
    for ours, theirs in ((squares, known), (hinge, sharp)):
        for name in ("lipschitz", "smoothness", "record_diameter"):
            expected = getattr(theirs, name)(domain)
            assert getattr(ours, name)(domain) == pytest.approx(expected), name
        assert ours.holder(domain).constant == pytest.approx(theirs.holder(domain).constant)
    assert PowerPointwise(1.0).holder(domain) == Holder(0.0, 2 * norm)


def test_formulas() -> None:
    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=3), rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], 40)
    scores = x @ w
    np.testing.assert_allclose(PowerPointwise(1.3).value(w, x, y), np.abs(scores - y) ** 1.3)
    hinge = PowerHingePointwise(1.3).value(w, x, y)
    np.testing.assert_allclose(hinge, np.maximum(1 - y * scores, 0) ** 1.3)


def test_unbounded_weights() -> None:
    for loss in (PowerPointwise(1.5), PowerHingePointwise(1.5)):
        assert loss.lipschitz(Domain(2.0)) == loss.record_diameter(Domain(2.0)) == math.inf
    for loss in (PowerPointwise(1.0), PowerHingePointwise(1.0)):
        assert (loss.lipschitz(Domain(2.0)), loss.record_diameter(Domain(2.0))) == (2.0, 4.0)


def test_names_and_refusals() -> None:
    assert find_loss("q_norm", PointwiseLoss) == PowerPointwise()
    assert find_loss("q_hinge", PointwiseLoss) == PowerHingePointwise()
    for make in (PowerPointwise, PowerHingePointwise):
        for power in (0.9, 2.1):
            with pytest.raises(ValueError, match="power must be"):
                make(power)
    with pytest.raises(ValueError, match="label_bound"):
        PowerPointwise(label_bound=-1.0)
