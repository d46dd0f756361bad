"""The second routes to δ(ε) agree with the curves that guarantees rest on."""

from __future__ import annotations

import math

import pytest

from pairdp.privacy import (
    ApproximateEvent,
    FixedSizeSampling,
    GaussianEvent,
    NonPrivateEvent,
    PoissonSampling,
    PrivacyCurve,
    PureEvent,
    SampledEvent,
)
from pairdp.privacy.accounting.sampling import RepeatedDraws
from pairdp.privacy.accounting.second_routes.dp_accounting import (
    accountant_delta,
    fixed_size_profile,
)
from pairdp.privacy.accounting.second_routes.enumeration import enumerated_delta

EVENTS = {
    "gaussian": GaussianEvent(0.8),
    "pure": PureEvent(0.3, 4),
    "approximate": ApproximateEvent(0.7, 1e-3),
    "without replacement": SampledEvent(1.0, FixedSizeSampling(10, 50), 3),
    "poisson": SampledEvent(1.0, PoissonSampling(0.2), 3),
    "repeated draws": SampledEvent(0.5, RepeatedDraws(10, 10), 1),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "repeated draws" else [])
        for name in EVENTS
    ],
)
def test_the_numerical_accountant_agrees(name: str) -> None:
    bound = PrivacyCurve(EVENTS[name]).delta(0.5)
    assert accountant_delta([EVENTS[name]], 0.5, 1e-3) == pytest.approx(bound, rel=0.02)


@pytest.mark.parametrize("name", ["pure", "approximate"])
def test_no_curve_is_below_the_enumeration(name: str) -> None:
    exact = enumerated_delta([EVENTS[name]], 0.5).delta
    assert exact * (1 - 1e-12) <= PrivacyCurve(EVENTS[name]).delta(0.5) <= exact * 1.01


def test_events_without_a_second_route_are_refused() -> None:
    with pytest.raises(TypeError, match="elementary event"):
        accountant_delta([NonPrivateEvent()], 0.5)
    with pytest.raises(TypeError, match="pure or"):
        enumerated_delta([GaussianEvent(1.0)], 0.5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_profile_of_a_sampled_step_extends_below_zero(epsilon: float) -> None:
    """Exchanging the neighbours gives δ(-ε) = 1 - e^-ε + e^-ε δ(ε)."""
    below, above = (fixed_size_profile(e, 1.0, 0.2) for e in (-epsilon, epsilon))
    assert below == pytest.approx(1 - math.exp(-epsilon) + math.exp(-epsilon) * above)


def test_an_approximate_event_has_no_epsilon_below_its_own_delta() -> None:
    curve = PrivacyCurve(ApproximateEvent(1.0, 1e-3))
    assert math.isinf(curve.epsilon(9e-4))
    assert curve.epsilon(1e-3) == pytest.approx(1.0)
    assert curve.epsilon(0.9) == 0
