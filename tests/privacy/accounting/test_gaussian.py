"""The Gaussian privacy curve, against high precision, integration and known facts."""

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from pairdp.privacy.accounting import gaussian

EPSILONS = [0.0, 1e-9, 1e-5, 1e-3, 0.1, 1.0, 2.0, 8.0, 50.0, 300.0, 1000.0]
MUS = [1e-8, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.7, 0.71, 1.0, 1.5, 2.0, 3.0, 6.0, 10.0, 25.0, 40.0]
DELTAS = [1e-300, 1e-100, 1e-20, 1e-10, 1e-5, 1 / 128, 0.1, 0.5, 0.9, 1 - 1e-9, 1 - 2**-53]
# Beyond this only the order of magnitude of δ is asked for: see the test of far tails.
FAR = -1e12


@cache
def exact_log_delta(epsilon: float, mu: mp.mpf) -> mp.mpf:
    """Balle and Wang's formula as printed.

    What cancels is 20 digits at μ = 1e-8 and 90 where δ is within 1e-89 of 1.
    """
    with mp.workdps(150):
        ratio = mp.mpf(mu)
        first = mp.ncdf(ratio / 2 - epsilon / ratio)
        second = mp.exp(mp.mpf(epsilon)) * mp.ncdf(-ratio / 2 - epsilon / ratio)
        return mp.log(first - second)


def times(value: float, factor: str) -> mp.mpf:
    """Multiply where rounding cannot undo a factor close to one."""
    with mp.workdps(50):
        return mp.mpf(value) * mp.mpf(factor)


def ratios_within_reach(epsilon: float) -> list[float]:
    return [mu for mu in MUS if exact_log_delta(epsilon, mu) > FAR]


def test_the_grid_reaches_tiny_deltas_and_deltas_near_one() -> None:
    logs = [float(exact_log_delta(e, mu)) for e in EPSILONS for mu in ratios_within_reach(e)]
    assert min(logs) < -1e6
    assert any(-745 < value < -500 for value in logs)
    assert -1e-80 < max(logs) < 0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_log_delta_is_that_of_high_precision(epsilon: float) -> None:
    for mu in ratios_within_reach(epsilon):
        exact = float(exact_log_delta(epsilon, mu))
        assert gaussian.log_delta(epsilon, mu) == pytest.approx(exact, rel=1e-11, abs=0), mu


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_is_accurate_relative_to_itself(epsilon: float) -> None:
    for mu in ratios_within_reach(epsilon):
        exact = float(mp.exp(exact_log_delta(epsilon, mu)))
        assert gaussian.delta(epsilon, mu) == pytest.approx(exact, rel=1e-11, abs=1e-320), mu


@pytest.mark.parametrize(("epsilon", "mu"), [(1e5, 1e-3), (1000.0, 1e-8), (2.0, 1e-12)])
def test_log_delta_stays_finite_in_far_tails(epsilon: float, mu: float) -> None:
    exact = float(exact_log_delta(epsilon, mu))
    assert gaussian.log_delta(epsilon, mu) == pytest.approx(exact, rel=1e-9)


def integral_over_the_privacy_loss(epsilon: float, mu: float) -> float:
    """Integrate (1 - e^(ε - l))₊ over l = μ²/2 + μz, z standard normal."""

    def integrand(z: float) -> float:
        loss = mu * mu / 2 + mu * z
        return -math.expm1(epsilon - loss) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    start = epsilon / mu - mu / 2
    points = [max(start, -15.0), max(start, 0.0), max(start, 0.0) + 1, max(start, 0.0) + 15]
    return math.fsum(
        quad(integrand, low, high, epsabs=0, epsrel=1e-10, limit=200)[0]
        for low, high in pairwise(points)
        if low < high
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_is_the_integral_over_the_privacy_loss(epsilon: float) -> None:
    within_reach = [mu for mu in MUS if epsilon / mu - mu / 2 < 30]
    assert within_reach
    for mu in within_reach:
        integral = integral_over_the_privacy_loss(epsilon, mu)
        assert gaussian.delta(epsilon, mu) == pytest.approx(integral, rel=1e-7), mu


@pytest.mark.parametrize("delta", DELTAS)
def test_ratio_is_the_exact_root(delta: float) -> None:
    with mp.workdps(150):
        target = mp.log(mp.mpf(delta))
    for epsilon in EPSILONS[1:]:
        mu = gaussian.gdp_mu(epsilon, delta)
        assert exact_log_delta(epsilon, times(mu, "0.9999999999999")) < target, epsilon
        assert exact_log_delta(epsilon, times(mu, "1.0000000000001")) > target, epsilon


@pytest.mark.parametrize("delta", DELTAS)
def test_ratio_lies_on_the_private_side(delta: float) -> None:
    for epsilon in EPSILONS[1:]:
        mu = gaussian.gdp_mu(epsilon, delta)
        assert gaussian.log_delta(epsilon, mu) <= math.log(delta), epsilon


@pytest.mark.parametrize("delta", [1e-300, 1e-250, 1e-200, 1e-100, 1e-12, 1e-5, 0.1])
def test_ratio_at_epsilon_zero_is_that_of_total_variation(delta: float) -> None:
    # δ(0) = erf(μ/√8); for small δ that is μ/√(2π).
    with mp.workdps(400):
        exact = mp.sqrt(8) * mp.erfinv(mp.mpf(delta))
    assert gaussian.gdp_mu(0.0, delta) == pytest.approx(float(exact), rel=1e-9, abs=0)


@pytest.mark.parametrize("delta", DELTAS[:-2])
def test_epsilon_is_the_exact_root_and_on_the_private_side(delta: float) -> None:
    with mp.workdps(150):
        target = mp.log(mp.mpf(delta))
    needing_epsilon = [mu for mu in MUS if exact_log_delta(0.0, mu) > target]
    assert needing_epsilon
    for mu in needing_epsilon:
        epsilon = gaussian.epsilon(mu, delta)
        assert gaussian.log_delta(epsilon, mu) <= math.log(delta), mu
        # ε enters through ε/μ, so a rounding of that is the best there can be.
        slack = 1e-12 * max(epsilon, mu)
        assert exact_log_delta(epsilon + slack, mu) < target, mu
        assert exact_log_delta(max(epsilon - slack, 0.0), mu) > target, mu


@pytest.mark.parametrize(("mu", "delta"), [(1e-8, 1e-8), (0.1, 0.04), (1.0, 0.5), (10.0, 1 - 1e-9)])
def test_epsilon_is_zero_when_delta_alone_suffices(mu: float, delta: float) -> None:
    assert exact_log_delta(0.0, mu) < math.log(delta)
    assert gaussian.epsilon(mu, delta) == 0


# --- properties -----------------------------------------------------------------------------


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


PROPERTY = settings(max_examples=200, deadline=None, derandomize=True)


@PROPERTY
@given(powers(-9, 3), powers(-6, 2), st.floats(1.001, 10))
def test_delta_increases_with_mu(epsilon: float, mu: float, factor: float) -> None:
    less, more = gaussian.log_delta(epsilon, mu), gaussian.log_delta(epsilon, mu * factor)
    assert less <= more
    assert less < more or more > -1e-100


@PROPERTY
@given(powers(-9, 3), powers(-6, 2), st.floats(1.001, 10))
def test_delta_decreases_with_epsilon(epsilon: float, mu: float, factor: float) -> None:
    more, less = gaussian.log_delta(epsilon, mu), gaussian.log_delta(epsilon * factor, mu)
    assert less <= more + 1e-13 * abs(more)
    assert less < more or epsilon < 1e-9 * mu or more > -1e-100


@PROPERTY
@given(powers(-9, 3), powers(-300, -0.1), st.floats(1.001, 10))
def test_ratio_increases_with_epsilon_and_delta(epsilon: float, delta: float, by: float) -> None:
    mu = gaussian.gdp_mu(epsilon, delta)
    assert gaussian.gdp_mu(epsilon * by, delta) >= mu * (1 - 1e-14)
    assert gaussian.gdp_mu(epsilon, delta / by) < mu


@PROPERTY
@given(powers(-6, 2), powers(-300, -0.1))
def test_ratio_undoes_epsilon(mu: float, delta: float) -> None:
    epsilon = gaussian.epsilon(mu, delta)
    assume(epsilon > 0)
    assert gaussian.gdp_mu(epsilon, delta) == pytest.approx(mu, rel=1e-11, abs=0)


@PROPERTY
@given(powers(-9, 3), powers(-300, -0.1))
def test_epsilon_undoes_ratio(epsilon: float, delta: float) -> None:
    mu = gaussian.gdp_mu(epsilon, delta)
    assert abs(gaussian.epsilon(mu, delta) - epsilon) <= 1e-12 * max(epsilon, mu)


NON_NEGATIVE = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
NORMAL = st.floats(min_value=0, allow_infinity=False, allow_nan=False, allow_subnormal=False)
ANY_DELTA = st.floats(2.3e-308, 1, exclude_max=True)
# Warnings are errors in this suite, so these tests also say that nothing warns.
EXTREME = settings(max_examples=300, deadline=None, derandomize=True)


@EXTREME
@given(NON_NEGATIVE, NON_NEGATIVE)
@example(1.7e308, 5e-324)
@example(5e-324, 1.7e308)
@example(1e300, 1.5e150)
@example(1e-300, 1e-300)
@example(1e-323, 1.5e-323)
def test_delta_of_extreme_input_is_a_probability(epsilon: float, mu: float) -> None:
    assert gaussian.log_delta(epsilon, mu) <= 0
    assert 0 <= gaussian.delta(epsilon, mu) <= 1


@EXTREME
@given(NORMAL, ANY_DELTA)
@example(1e307, 1e-300)
@example(1e-9, 5e-324)
def test_ratio_of_extreme_input_is_private(epsilon: float, delta: float) -> None:
    mu = gaussian.gdp_mu(epsilon, delta)
    assert 0 <= mu < math.inf
    assert gaussian.log_delta(epsilon, mu) <= math.log(delta)


@EXTREME
@given(NORMAL, ANY_DELTA)
@example(1e150, 1e-300)
@example(1e-9, 5e-324)
def test_epsilon_of_extreme_input_is_private(mu: float, delta: float) -> None:
    epsilon = gaussian.epsilon(mu, delta)
    assert epsilon >= 0
    assert gaussian.log_delta(epsilon, mu) <= math.log(delta)


@pytest.mark.parametrize("mu", [1.4e154, 1e200, 1.7e308])
def test_epsilon_beyond_the_largest_float_is_infinite(mu: float) -> None:
    assert gaussian.epsilon(mu, 1e-5) == math.inf


def test_epsilon_just_below_the_largest_float_is_found() -> None:
    assert gaussian.epsilon(1.3e154, 1e-5) == pytest.approx(1.3e154**2 / 2, rel=1e-12)


def test_ratio_of_the_largest_epsilon_is_its_root() -> None:
    expected = math.sqrt(2) * math.sqrt(1.7e308)
    assert gaussian.gdp_mu(1.7e308, 1e-5) == pytest.approx(expected, rel=1e-12)


def test_ratio_of_small_epsilon_and_delta_is_positive() -> None:
    # At this size the curve depends on ε/μ and δ/μ alone.
    scaled = gaussian.gdp_mu(1e-20, 1e-20) / 1e-20
    assert gaussian.gdp_mu(1e-250, 1e-250) == pytest.approx(1e-250 * scaled, rel=1e-9, abs=0)


def test_epsilon_of_a_subnormal_delta_is_found() -> None:
    # log δ depends on ε/μ and log(δ/μ) alone at this size.
    scaled = gaussian.epsilon(1e-20, 2e-27) / 1e-20
    found = gaussian.epsilon(1e-302, 2e-309)
    assert found == pytest.approx(1e-302 * scaled, rel=1e-9, abs=0)


# --- ends and refusals ----------------------------------------------------------------------


def test_no_release_costs_nothing() -> None:
    assert gaussian.log_delta(1.0, 0.0) == -math.inf
    assert gaussian.delta(0.0, 0.0) == 0
    assert gaussian.epsilon(0.0, 0.0) == 0
    assert gaussian.epsilon(0.0, 1e-5) == 0


def test_no_noise_costs_everything() -> None:
    assert gaussian.log_delta(1.0, math.inf) == 0


def test_delta_zero_needs_infinite_noise() -> None:
    assert gaussian.gdp_mu(1.0, 0.0) == 0
    assert gaussian.epsilon(1.0, 0.0) == math.inf


BAD_NON_NEGATIVE = [-1.0, -1e-300, math.nan, math.inf, "1", None, True, 1j]
BAD_PROBABILITY = [-0.1, 1.0, 2.0, math.nan, math.inf, "x", None, True]


@pytest.mark.parametrize("bad", BAD_NON_NEGATIVE)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("epsilon", lambda bad: gaussian.delta(bad, 1.0)),
        ("mu", lambda bad: gaussian.delta(1.0, bad)),
        ("epsilon", lambda bad: gaussian.gdp_mu(bad, 1e-5)),
        ("mu", lambda bad: gaussian.epsilon(bad, 1e-5)),
        ("epsilon", lambda bad: gaussian.classical_multiplier(bad, 1e-5)),
    ],
    ids=["delta-epsilon", "delta-mu", "ratio", "epsilon", "classical"],
)
def test_bad_epsilon_or_mu_is_refused(name: str, call: Callable[[Any], float], bad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{name} must be"):
        call(bad)


@pytest.mark.parametrize("bad", BAD_PROBABILITY)
@pytest.mark.parametrize(
    "call",
    [
        lambda bad: gaussian.gdp_mu(1.0, bad),
        lambda bad: gaussian.epsilon(1.0, bad),
        lambda bad: gaussian.classical_multiplier(1.0, bad),
    ],
    ids=["ratio", "epsilon", "classical"],
)
def test_bad_delta_is_refused(call: Callable[[Any], float], bad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^delta must be"):
        call(bad)


@pytest.mark.parametrize("bad", [True, np.True_])
def test_truth_is_no_number_even_when_one_was_asked_before(bad: Any) -> None:
    gaussian.gdp_mu(1.0, 1e-5)
    with pytest.raises(TypeError, match="epsilon must be a real number"):
        gaussian.gdp_mu(bad, 1e-5)


# --- known facts ----------------------------------------------------------------------------


def test_multiplier_of_one_and_a_hundred_thousandth() -> None:
    assert 1 / gaussian.gdp_mu(1.0, 1e-5) == pytest.approx(3.730631634815945, rel=1e-12)


def test_printed_multiplier_of_dpgdc2_claims_too_little() -> None:
    claimed, delta = 2.0, 1e-5
    multiplier = math.sqrt(1.25 * math.log(1 / delta)) / claimed
    assert gaussian.epsilon(1 / multiplier, delta) == pytest.approx(2.115, abs=5e-4)


def true_epsilon_of_the_classical_formula(claimed: float, delta: float) -> float:
    return gaussian.epsilon(1 / gaussian.classical_multiplier(claimed, delta), delta)


def test_classical_multiplier_is_the_textbook_formula() -> None:
    expected = math.sqrt(2 * math.log(1.25e6)) / 0.5
    assert gaussian.classical_multiplier(0.5, 1e-6) == pytest.approx(expected, rel=1e-14)


def test_classical_multiplier_of_a_subnormal_delta_is_finite() -> None:
    expected = math.sqrt(2 * (math.log(1.25) - math.log(5e-324)))
    assert gaussian.classical_multiplier(1.0, 5e-324) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("delta", "limit"), [(1e-5, 8.42), (1e-10, 9.85), (1 / 128, 6.86)], ids=["e-5", "e-10", "n"]
)
def test_classical_formula_is_valid_up_to_a_limit_far_above_one(delta: float, limit: float) -> None:
    for claimed in np.linspace(0.05, limit - 0.01, 60):
        assert true_epsilon_of_the_classical_formula(float(claimed), delta) <= claimed
    for claimed in np.linspace(limit + 0.01, 30, 30):
        assert true_epsilon_of_the_classical_formula(float(claimed), delta) > claimed


def test_classical_formula_at_the_usual_delta_holds_at_8_4_and_fails_at_8_5() -> None:
    assert true_epsilon_of_the_classical_formula(8.4, 1e-5) <= 8.4
    assert true_epsilon_of_the_classical_formula(8.5, 1e-5) > 8.5


def test_exact_calibration_never_needs_more_noise_than_a_valid_classical_one() -> None:
    for epsilon, delta in product([0.1, 0.5, 1.0, 4.0], [1e-10, 1e-5, 1e-3]):
        exact = 1 / gaussian.gdp_mu(epsilon, delta)
        assert exact < gaussian.classical_multiplier(epsilon, delta)
