"""Mechanisms: their scales, their events and their releases."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import (
    Budget,
    BudgetLedger,
    FixedSizeSampling,
    GaussianEvent,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    Mechanism,
    NoiseSource,
    NoMechanism,
    NonPrivateEvent,
    PoissonSampling,
    PrivacyCurve,
    PureEvent,
    RepeatedDraws,
    SampledEvent,
    noise_multiplier,
    pack,
)
from pairdp.privacy.accounting import gaussian
from tests.privacy.mechanisms.examples import ALL, BUDGET, each_mechanism, generator

ROUNDING = 1e-6  # what rounding to the default grid adds to the noise, at most


@pytest.mark.parametrize("sensitivity", [1e-9, 0.3, 1.0, 7.0, 1e9])
@pytest.mark.parametrize("steps", [1, 2, 1000])
def test_gaussian_scale_is_sensitivity_over_ratio(sensitivity: float, steps: int) -> None:
    mechanism = GaussianMechanism.calibrate(BUDGET, sensitivity, steps=steps)
    ratio = gaussian.gdp_mu(BUDGET.epsilon, BUDGET.delta)
    least = sensitivity * math.sqrt(steps) / ratio
    assert least < mechanism.scale < least * (1 + ROUNDING)
    assert mechanism.sensitivity == sensitivity


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    epsilon=st.floats(1e-3, 100),
    exponent=st.floats(-50, -1),
    sensitivity=st.floats(1e-6, 1e6),
    steps=st.integers(1, 10_000),
)
def test_gaussian_uses_together_spend_the_budget_and_no_more(
    epsilon: float, exponent: float, sensitivity: float, steps: int
) -> None:
    budget = Budget(epsilon, 10**exponent)
    mechanism = GaussianMechanism.calibrate(
        budget, sensitivity, steps=steps, dimension=steps % 9 + 1
    )
    curve = PrivacyCurve(mechanism.event(steps))
    assert curve.log_delta(epsilon) <= math.log(budget.delta)
    assert curve.log_delta(epsilon) == pytest.approx(math.log(budget.delta), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("sampling", [FixedSizeSampling(50, 1000), PoissonSampling(0.05)])
def test_gaussian_scale_on_sampled_records_is_that_of_the_multiplier(sampling: Any) -> None:
    mechanism = GaussianMechanism.calibrate(BUDGET, 2.0, steps=20, sampling=sampling)
    least = 2.0 * noise_multiplier(BUDGET, 20, sampling)
    assert least < mechanism.scale < least * (1 + ROUNDING)
    assert mechanism.scale < GaussianMechanism.calibrate(BUDGET, 2.0, steps=20).scale


@pytest.mark.parametrize("sampling", [FixedSizeSampling(70, 70), PoissonSampling(1.0)])
def test_sampling_every_record_is_no_sampling(sampling: Any) -> None:
    sampled = GaussianMechanism.calibrate(BUDGET, 2.0, steps=9, sampling=sampling)
    assert sampled == GaussianMechanism.calibrate(BUDGET, 2.0, steps=9)
    assert sampled.event(9, sampling) == sampled.event(9)


@pytest.mark.parametrize("steps", [1, 4, 1000])
@pytest.mark.parametrize("budget", [Budget(0.5), Budget(0.5, 1e-3)])
def test_knorm_scale_is_sensitivity_times_steps_over_epsilon(budget: Budget, steps: int) -> None:
    mechanism = KNormMechanism.calibrate(budget, 3.0, steps=steps)
    least = 3.0 * steps / 0.5
    assert least < mechanism.scale < least * (1 + ROUNDING)


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_laplace_scale_is_that_of_the_l1_sensitivity(dimension: int, steps: int) -> None:
    mechanism = LaplaceMechanism.calibrate(Budget(0.5), 3.0, dimension=dimension, steps=steps)
    least = math.sqrt(dimension) * 3.0 * steps / 0.5
    assert least < mechanism.scale < least * (1 + ROUNDING)
    assert mechanism.dimension == dimension


def test_numbers_are_kept_as_floats() -> None:
    mechanism = GaussianMechanism(np.float64(1), np.float64(2))
    assert type(mechanism.sensitivity) is float
    assert type(mechanism.scale) is float
    assert mechanism == GaussianMechanism(1.0, 2.0)


# --- the printed formula --------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.5, 20.0])
def test_printed_scale_is_the_classical_formula(epsilon: float) -> None:
    budget = Budget(epsilon, 1e-5)
    mechanism = GaussianMechanism.calibrate(budget, 2.0, calibration="printed")
    expected = 2.0 * math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon
    assert mechanism.scale == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("claimed", [0.1, 1.0, 8.4])
def test_event_of_a_valid_printed_formula_costs_less_than_claimed(claimed: float) -> None:
    mechanism = GaussianMechanism.calibrate(Budget(claimed, 1e-5), 2.0, calibration="printed")
    assert PrivacyCurve(mechanism.event()).epsilon(1e-5) < claimed


@pytest.mark.parametrize("claimed", [8.5, 12.0, 20.0])
def test_event_of_an_invalid_printed_formula_tells_the_truth(claimed: float) -> None:
    mechanism = GaussianMechanism.calibrate(Budget(claimed, 1e-5), 2.0, calibration="printed")
    assert mechanism.event().mu == pytest.approx(
        mechanism.rounded_sensitivity / mechanism.scale, rel=1e-14
    )
    assert PrivacyCurve(mechanism.event()).epsilon(1e-5) > claimed


@pytest.mark.parametrize(
    "more", [{"steps": 2}, {"sampling": PoissonSampling(0.5)}, {"steps": 1000}]
)
def test_printed_formula_is_refused_for_more_than_one_step_on_all(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one step on all records"):
        GaussianMechanism.calibrate(BUDGET, 1.0, calibration="printed", **more)


@pytest.mark.parametrize("calibration", ["classical", "", "CERTIFIED", None, 1])
def test_unknown_calibration_is_refused(calibration: Any) -> None:
    with pytest.raises(ValueError, match='"certified" or "printed"'):
        GaussianMechanism.calibrate(BUDGET, 1.0, calibration=calibration)


# --- events ---------------------------------------------------------------------------------


# Rounding four coordinates to multiples of 1/4 adds 1/4·√4 to a sensitivity of 3.5.
COARSE = (4, 0.25)


def almost(number: float) -> Any:
    return pytest.approx(number, rel=1e-14)


@pytest.mark.parametrize(("steps", "mu"), [(1, 0.5), (16, 2.0)])
def test_gaussian_event_adds_squares_over_steps(steps: int, mu: float) -> None:
    event = GaussianMechanism(3.5, 8.0, *COARSE).event(steps)
    assert isinstance(event, GaussianEvent)
    assert event.mu == almost(mu)


# The sum that records enter by chance moves by Δ/2 when one enters, and both sums are rounded.
@pytest.mark.parametrize(
    ("sensitivity", "sampling"), [(3.5, FixedSizeSampling(5, 100)), (3.0, PoissonSampling(0.1))]
)
def test_gaussian_event_on_sampled_records_names_the_sampling(
    sensitivity: float, sampling: Any
) -> None:
    event = GaussianMechanism(sensitivity, 8.0, *COARSE).event(7, sampling)
    assert isinstance(event, SampledEvent)
    assert (event.mu, event.sampling, event.steps) == (almost(0.5), sampling, 7)


def test_gaussian_event_on_repeated_draws_counts_the_rounding_once_for_all() -> None:
    event = GaussianMechanism(4.0, 8.0, *COARSE).event(1, RepeatedDraws(50, 50, base=0.5, most=6.0))
    assert isinstance(event, SampledEvent)
    assert isinstance(event.sampling, RepeatedDraws)
    found = event.mu, event.sampling.base, event.sampling.most
    assert found == (almost(0.5), almost(0.625), almost(6.125))


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(
    "mechanism", [KNormMechanism(3.5, 8.0, *COARSE), LaplaceMechanism(3.5, 16.0, *COARSE)]
)
def test_k_norm_and_laplace_events_are_pure(mechanism: Any, steps: int) -> None:
    event = mechanism.event(steps)
    assert isinstance(event, PureEvent)
    assert (event.epsilon, event.count) == (almost(0.5), steps)


def test_no_mechanism_has_no_guarantee() -> None:
    assert NoMechanism().event(5) == NonPrivateEvent()
    assert PrivacyCurve(NoMechanism().event()).epsilon(0.5) == math.inf


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    epsilon=st.floats(1e-3, 100),
    sensitivity=st.floats(1e-6, 1e6),
    steps=st.integers(1, 10_000),
    dimension=st.integers(1, 500),
)
def test_pure_uses_together_spend_epsilon_and_no_more(
    epsilon: float, sensitivity: float, steps: int, dimension: int
) -> None:
    budget = Budget(epsilon)
    mechanisms = [
        KNormMechanism.calibrate(budget, sensitivity, dimension=dimension, steps=steps),
        LaplaceMechanism.calibrate(budget, sensitivity, dimension=dimension, steps=steps),
    ]
    for mechanism in mechanisms:
        spent = PrivacyCurve(mechanism.event(steps)).epsilon(0.0)
        # The rest is for a coarser grid, which huge noise needs to fit into integers.
        assert epsilon * (1 - 1e-5) <= spent <= epsilon


@each_mechanism
@pytest.mark.parametrize("steps", [0, -1])
def test_event_of_less_than_one_step_is_refused(mechanism: Mechanism, steps: int) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        mechanism.event(steps)


@each_mechanism
@pytest.mark.parametrize("steps", [1.0, "1", None, True])
def test_event_of_a_non_integer_number_of_steps_is_refused(
    mechanism: Mechanism, steps: Any
) -> None:
    with pytest.raises(TypeError, match="must be an integer"):
        mechanism.event(steps)


# --- releases -------------------------------------------------------------------------------


@each_mechanism
def test_a_release_is_the_value_plus_the_noise_of_its_stream(mechanism: Mechanism) -> None:
    value = np.array([1.0, -20.0, 300.0])
    released = mechanism.release(value, generator("one"))
    np.testing.assert_array_equal(released, value + mechanism.noise(3, generator("one")))
    np.testing.assert_array_equal(value, [1.0, -20.0, 300.0])


@each_mechanism
def test_a_symmetric_release_is_the_matrix_plus_symmetric_noise(mechanism: Mechanism) -> None:
    matrix = np.array([[1.0, 2.0], [2.0, -5.0]])
    released = mechanism.release_symmetric(matrix, generator("one"))
    np.testing.assert_array_equal(released, released.T)
    noise = mechanism.noise(3, generator("one"))
    half_a_step = 0.0 if isinstance(mechanism, NoMechanism) else mechanism.grid / 2
    np.testing.assert_allclose(pack(released), pack(matrix) + noise, 1e-14, half_a_step + 1e-14)


@pytest.mark.parametrize("mechanism", ALL[:3], ids=lambda m: type(m).__name__)
def test_noise_is_fresh_at_every_release(mechanism: Mechanism) -> None:
    stream = generator()
    first, second = (mechanism.release(np.zeros(3), stream) for _ in range(2))
    assert len(set(first) | set(second)) == 6


def test_without_a_mechanism_the_value_is_untouched() -> None:
    np.testing.assert_array_equal(NoMechanism().release([1.0, 2.0], generator()), [1.0, 2.0])


@pytest.mark.parametrize("generator", [None, 5, NoiseSource(0), np.random.RandomState(0)])
def test_noise_comes_from_a_stream_and_nothing_else(generator: object) -> None:
    with pytest.raises(TypeError, match="stream of a NoiseSource"):
        GaussianMechanism(1.0, 1.0).release([1.0], generator)  # type: ignore[arg-type]


def test_complex_values_are_refused() -> None:
    with pytest.raises(TypeError, match="real"):
        GaussianMechanism(1.0, 1.0).release([1 + 2j], NoiseSource(0).stream("noise"))


@pytest.mark.parametrize("budget", [1.0, (1.0, 1e-5), None, "1"])
def test_a_budget_is_a_budget(budget: object) -> None:
    for calibrate in (
        lambda: GaussianMechanism.calibrate(budget, 1.0),  # type: ignore[arg-type]
        lambda: KNormMechanism.calibrate(budget, 1.0),  # type: ignore[arg-type]
        lambda: LaplaceMechanism.calibrate(budget, 1.0, dimension=2),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="budget must be a Budget"):
            calibrate()


def test_what_is_calibrated_fits_a_ledger_of_its_budget() -> None:
    for epsilon in (0.1, 0.3, 1.0, 1 / 3, 7.7):
        for steps in (1, 3, 7):
            pure, budget = Budget(epsilon), Budget(epsilon, 1e-7)
            BudgetLedger(pure).spend(
                KNormMechanism.calibrate(pure, 0.7, steps=steps).event(steps), "k-norm"
            )
            laplace = LaplaceMechanism.calibrate(pure, 0.7, dimension=5, steps=steps)
            BudgetLedger(pure).spend(laplace.event(steps), "laplace")
            normal = GaussianMechanism.calibrate(budget, 0.7, steps=steps)
            BudgetLedger(budget).spend(normal.event(steps), "gaussian")
