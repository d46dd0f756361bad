"""Mechanisms: their scales, their events, what they refuse, and the law of their noise.

Right noise fails one comparison of laws in 1e8 seeds, and no test makes more than 40, so a
test's false-alarm rate is below 1e-6. Noise whose scale is 10 % off is rejected as surely: a
Kolmogorov-Smirnov test rejects at 1e-8 when √n times the empirical distance exceeds 3.1, and
that is within 3 of √n times the distance of the laws but for one seed in 1e7. So √n times the
distance must exceed 6.1, which is asserted wherever it is used.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

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
    SampledEvent,
    noise_multiplier,
    pack,
    packed_dimension,
)
from pairdp.privacy.accounting import gaussian

Array = NDArray[np.float64]

FALSE_ALARM = 1e-8
SURELY_REJECTED = 6.1
BUDGET = Budget(0.8, 1e-6)


def generator(*path: int | str) -> np.random.Generator:
    return NoiseSource(seed=20240229).stream("test", *path)


def accepts(sample: Array, law: Any) -> bool:
    return bool(stats.kstest(sample.ravel(), law.cdf, method="asymp").pvalue >= FALSE_ALARM)


def distance(first: Any, second: Any) -> float:
    points = first.ppf(np.linspace(0.001, 0.999, 999))
    return float(np.abs(first.cdf(points) - second.cdf(points)).max())


def check_law_and_scale(sample: Array, law: Callable[[float], Any], scale: float) -> None:
    assert accepts(sample, law(scale))
    for wrong in (law(0.9 * scale), law(1.1 * scale)):
        assert math.sqrt(sample.size) * distance(law(scale), wrong) > SURELY_REJECTED
        assert not accepts(sample, wrong)


def normal(scale: float) -> Any:
    return stats.norm(0, scale)


def laplace(scale: float) -> Any:
    return stats.laplace(0, scale)


# --- scales ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sensitivity", [1e-9, 0.3, 1.0, 7.0, 1e9])
@pytest.mark.parametrize("steps", [1, 2, 1000])
def test_gaussian_scale_is_sensitivity_over_ratio(sensitivity: float, steps: int) -> None:
    mechanism = GaussianMechanism.calibrate(BUDGET, sensitivity, steps=steps)
    ratio = gaussian.gdp_mu(BUDGET.epsilon, BUDGET.delta)
    assert mechanism.scale == pytest.approx(sensitivity * math.sqrt(steps) / ratio, rel=1e-14)
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
    mechanism = GaussianMechanism.calibrate(budget, sensitivity, steps=steps)
    curve = PrivacyCurve(mechanism.event(steps))
    assert curve.log_delta(epsilon) <= math.log(budget.delta)
    assert curve.log_delta(epsilon) == pytest.approx(math.log(budget.delta), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("sampling", [FixedSizeSampling(50, 1000), PoissonSampling(0.05)])
def test_gaussian_scale_on_sampled_records_is_that_of_the_multiplier(sampling: Any) -> None:
    mechanism = GaussianMechanism.calibrate(BUDGET, 2.0, steps=20, sampling=sampling)
    expected = 2.0 * noise_multiplier(BUDGET, 20, sampling)
    assert mechanism.scale == pytest.approx(expected, rel=1e-12)
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
    assert mechanism.scale == pytest.approx(3.0 * steps / 0.5, rel=1e-14)


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_laplace_scale_is_that_of_the_l1_sensitivity(dimension: int, steps: int) -> None:
    mechanism = LaplaceMechanism.calibrate(Budget(0.5), 3.0, dimension=dimension, steps=steps)
    expected = math.sqrt(dimension) * 3.0 * steps / 0.5
    assert mechanism.scale == pytest.approx(expected, rel=1e-14)
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
    assert mechanism.event() == GaussianEvent(2.0 / mechanism.scale)
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


def test_gaussian_event_adds_squares_over_steps() -> None:
    assert GaussianMechanism(3.0, 6.0).event() == GaussianEvent(0.5)
    assert GaussianMechanism(3.0, 6.0).event(16) == GaussianEvent(2.0)


@pytest.mark.parametrize("sampling", [FixedSizeSampling(5, 100), PoissonSampling(0.1)])
def test_gaussian_event_on_sampled_records_names_the_sampling(sampling: Any) -> None:
    assert GaussianMechanism(3.0, 6.0).event(7, sampling) == SampledEvent(0.5, sampling, 7)


def test_knorm_event_is_pure() -> None:
    assert KNormMechanism(3.0, 6.0).event() == PureEvent(0.5, 1)
    assert KNormMechanism(3.0, 6.0).event(4) == PureEvent(0.5, 4)


def test_laplace_event_counts_the_dimension() -> None:
    assert LaplaceMechanism(3.0, 4, 12.0).event() == PureEvent(0.5, 1)
    assert LaplaceMechanism(3.0, 4, 12.0).event(3) == PureEvent(0.5, 3)


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
        KNormMechanism.calibrate(budget, sensitivity, steps=steps),
        LaplaceMechanism.calibrate(budget, sensitivity, dimension=dimension, steps=steps),
    ]
    for mechanism in mechanisms:
        spent = PrivacyCurve(mechanism.event(steps)).epsilon(0.0)
        assert spent == pytest.approx(epsilon, rel=1e-13)
        assert spent <= epsilon


ALL = [
    GaussianMechanism(1.0, 2.0),
    KNormMechanism(1.0, 2.0),
    LaplaceMechanism(1.0, 3, 2.0),
    NoMechanism(),
]
each_mechanism = pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)


@each_mechanism
@pytest.mark.parametrize("steps", [0, -1])
def test_event_of_less_than_one_step_is_refused(mechanism: Mechanism, steps: int) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        mechanism.event(steps)


@each_mechanism
@pytest.mark.parametrize("steps", [1.0, "1", None, True])
def test_event_of_steps_that_are_not_whole_is_refused(mechanism: Mechanism, steps: Any) -> None:
    with pytest.raises(TypeError, match="must be an integer"):
        mechanism.event(steps)


# --- refusals -------------------------------------------------------------------------------

OUT_OF_RANGE = [0, 0.0, -1, -1e-300, math.nan, math.inf, -math.inf]
NOT_REAL = ["1", None, True, 1j, [1.0]]


def gaussian_calibrated(sensitivity: Any = 1.0, **how: Any) -> GaussianMechanism:
    return GaussianMechanism.calibrate(BUDGET, sensitivity, **how)


def gaussian_printed(sensitivity: Any = 1.0, **how: Any) -> GaussianMechanism:
    return GaussianMechanism.calibrate(BUDGET, sensitivity, calibration="printed", **how)


def knorm_calibrated(sensitivity: Any = 1.0, **how: Any) -> KNormMechanism:
    return KNormMechanism.calibrate(BUDGET, sensitivity, **how)


def laplace_calibrated(sensitivity: Any = 1.0, **how: Any) -> LaplaceMechanism:
    return LaplaceMechanism.calibrate(BUDGET, sensitivity, **{"dimension": 3, **how})


CALIBRATED = [gaussian_calibrated, gaussian_printed, knorm_calibrated, laplace_calibrated]
WITH_STEPS = [gaussian_calibrated, knorm_calibrated, laplace_calibrated]
NAMES = ["gaussian", "knorm", "laplace"]
from_sensitivity = pytest.mark.parametrize(
    "make",
    [
        *CALIBRATED,
        lambda sensitivity: GaussianMechanism(sensitivity, 1.0),
        lambda sensitivity: KNormMechanism(sensitivity, 1.0),
        lambda sensitivity: LaplaceMechanism(sensitivity, 3, 1.0),
    ],
    ids=[*(calibrated.__name__ for calibrated in CALIBRATED), *NAMES],
)
from_scale = pytest.mark.parametrize(
    "make",
    [
        lambda scale: GaussianMechanism(1.0, scale),
        lambda scale: KNormMechanism(1.0, scale),
        lambda scale: LaplaceMechanism(1.0, 3, scale),
    ],
    ids=NAMES,
)


@from_sensitivity
@pytest.mark.parametrize("sensitivity", OUT_OF_RANGE)
def test_sensitivity_out_of_range_is_refused(make: Callable[[Any], Any], sensitivity: Any) -> None:
    with pytest.raises(ValueError, match=r"^sensitivity must be"):
        make(sensitivity)


@from_sensitivity
@pytest.mark.parametrize("sensitivity", NOT_REAL)
def test_sensitivity_that_is_no_number_is_refused(
    make: Callable[[Any], Any], sensitivity: Any
) -> None:
    with pytest.raises(TypeError, match=r"^sensitivity must be a real number"):
        make(sensitivity)


@from_scale
@pytest.mark.parametrize("scale", OUT_OF_RANGE)
def test_scale_out_of_range_is_refused(make: Callable[[Any], Any], scale: Any) -> None:
    with pytest.raises(ValueError, match=r"^scale must be"):
        make(scale)


@from_scale
@pytest.mark.parametrize("scale", NOT_REAL)
def test_scale_that_is_no_number_is_refused(make: Callable[[Any], Any], scale: Any) -> None:
    with pytest.raises(TypeError, match=r"^scale must be a real number"):
        make(scale)


@pytest.mark.parametrize("calibrated", WITH_STEPS)
@pytest.mark.parametrize("steps", [0, -3])
def test_calibrating_for_less_than_one_step_is_refused(calibrated: Any, steps: int) -> None:
    with pytest.raises(ValueError, match="steps must be at least 1"):
        calibrated(steps=steps)


@pytest.mark.parametrize("calibrated", WITH_STEPS)
@pytest.mark.parametrize("steps", [2.5, 3.0, "3", None])
def test_calibrating_for_steps_that_are_not_whole_is_refused(calibrated: Any, steps: Any) -> None:
    with pytest.raises(TypeError, match="steps must be an integer"):
        calibrated(steps=steps)


@pytest.mark.parametrize("calibrated", CALIBRATED)
@pytest.mark.parametrize("steps", [1.0, True])
def test_what_only_equals_a_whole_number_is_refused_as_well(calibrated: Any, steps: Any) -> None:
    calibrated(steps=1)
    with pytest.raises(TypeError, match="steps must be an integer"):
        calibrated(steps=steps)


@pytest.mark.parametrize("calibration", ["certified", "printed"])
def test_gaussian_refuses_a_pure_budget_and_names_who_takes_it(calibration: Any) -> None:
    with pytest.raises(ValueError, match="KNormMechanism"):
        GaussianMechanism.calibrate(Budget(1.0), 1.0, calibration=calibration)


def test_a_scale_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(ValueError, match="scale must be positive and finite"):
        KNormMechanism.calibrate(Budget(1e-300), 1e300)


@pytest.mark.parametrize("dimension", [0, -1])
def test_laplace_dimension_below_one_is_refused(dimension: int) -> None:
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        laplace_calibrated(dimension=dimension)
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        LaplaceMechanism(1.0, dimension, 1.0)


@pytest.mark.parametrize("dimension", [2.0, "2", None, True])
def test_laplace_dimension_that_is_not_whole_is_refused(dimension: Any) -> None:
    with pytest.raises(TypeError, match="dimension must be an integer"):
        laplace_calibrated(dimension=dimension)
    with pytest.raises(TypeError, match="dimension must be an integer"):
        LaplaceMechanism(1.0, dimension, 1.0)


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_laplace_refuses_another_dimension_than_its_own(size: int) -> None:
    with pytest.raises(ValueError, match=f"calibrated for dimension 3, got {size}"):
        LaplaceMechanism(1.0, 3, 1.0).release(np.zeros(size), generator())
    assert LaplaceMechanism(1.0, 3, 1.0).release(np.zeros(3), generator()).shape == (3,)


def test_laplace_refuses_a_matrix_whose_packed_dimension_differs() -> None:
    with pytest.raises(ValueError, match="calibrated for dimension 3, got 6"):
        LaplaceMechanism(1.0, 3, 1.0).release_symmetric(np.zeros((3, 3)), generator())


@each_mechanism
@pytest.mark.parametrize("shape", [(0,), (), (1, 3), (3, 1), (3, 3), (1, 1, 3)])
def test_only_a_non_empty_vector_is_released(mechanism: Mechanism, shape: Any) -> None:
    with pytest.raises(ValueError, match="non-empty vector"):
        mechanism.release(np.zeros(shape), generator())


@each_mechanism
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused(mechanism: Mechanism, bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        mechanism.release([0.0, bad, 0.0], generator())


@each_mechanism
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_matrix_that_is_not_finite_is_refused(mechanism: Mechanism, bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        mechanism.release_symmetric([[0.0, bad], [bad, 0.0]], generator())


@each_mechanism
@pytest.mark.parametrize("matrix", [[[0.0, 1.0], [2.0, 0.0]], np.zeros((2, 3)), np.zeros((0, 0))])
def test_only_a_symmetric_matrix_is_released(mechanism: Mechanism, matrix: Any) -> None:
    with pytest.raises(ValueError, match=r"symmetric|square"):
        mechanism.release_symmetric(matrix, generator())


@each_mechanism
@pytest.mark.parametrize("dimension", [0, -1])
def test_noise_of_no_dimension_is_refused(mechanism: Mechanism, dimension: int) -> None:
    with pytest.raises(ValueError, match="dimension"):
        mechanism.noise(dimension, generator())


def test_a_mechanism_cannot_be_changed() -> None:
    for mechanism in ALL[:3]:
        with pytest.raises(AttributeError):
            mechanism.scale = 0.0  # type: ignore[misc]


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
    np.testing.assert_allclose(pack(released), pack(matrix) + noise, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("mechanism", ALL[:3], ids=lambda m: type(m).__name__)
def test_noise_is_fresh_at_every_release(mechanism: Mechanism) -> None:
    stream = generator()
    first, second = (mechanism.release(np.zeros(3), stream) for _ in range(2))
    assert len(set(first) | set(second)) == 6


def test_without_a_mechanism_the_value_is_untouched() -> None:
    np.testing.assert_array_equal(NoMechanism().release([1.0, 2.0], generator()), [1.0, 2.0])


# --- laws of the noise ----------------------------------------------------------------------

SIZE = 160_000


def test_gaussian_coordinates_are_normal() -> None:
    mechanism = GaussianMechanism.calibrate(BUDGET, 0.7, steps=3)
    value = np.full(SIZE, 5.0)
    noise = mechanism.release(value, generator("gaussian")) - value
    check_law_and_scale(noise, normal, mechanism.scale)


def test_gaussian_coordinates_are_independent() -> None:
    noise = GaussianMechanism(1.0, 2.0).noise(SIZE, generator("gaussian")).reshape(-1, 2)
    check_law_and_scale(noise.sum(axis=1), normal, 2.0 * math.sqrt(2))
    check_law_and_scale(noise[:, 0] - noise[:, 1], normal, 2.0 * math.sqrt(2))


def test_laplace_coordinates_are_laplace() -> None:
    mechanism = LaplaceMechanism.calibrate(Budget(0.5), 0.7, dimension=SIZE)
    noise = mechanism.release(np.zeros(SIZE), generator("laplace"))
    check_law_and_scale(noise, laplace, mechanism.scale)


def test_laplace_coordinates_are_independent() -> None:
    noise = LaplaceMechanism(1.0, SIZE, 3.0).noise(SIZE, generator("laplace")).reshape(-1, 4)
    # The sizes are exponential, so their sum is a Gamma variable when independent.
    sums = np.abs(noise).sum(axis=1)
    check_law_and_scale(sums, lambda scale: stats.gamma(4, scale=scale), 3.0)
    signs = np.signbit(noise) @ [1, 2, 4, 8]
    assert stats.chisquare(np.bincount(signs, minlength=16)).pvalue >= FALSE_ALARM


KNORM = KNormMechanism.calibrate(Budget(0.4), sensitivity=0.6)
DIMENSIONS = [1, 2, 5, 20]
DRAWS = 40_000


@cache
def knorm_noise(dimension: int) -> Array:
    stream = generator("knorm", dimension)
    return np.array([KNORM.noise(dimension, stream) for _ in range(DRAWS)])


def knorm_directions(dimension: int) -> Array:
    noise = knorm_noise(dimension)
    return noise / np.linalg.norm(noise, axis=1, keepdims=True)


def law_of_a_direction(dimension: int) -> Any:
    """Law of one coordinate of a uniform point on the sphere."""
    shape = (dimension - 1) / 2
    return stats.beta(shape, shape, loc=-1, scale=2)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_knorm_radius_is_gamma(dimension: int) -> None:
    radii = np.linalg.norm(knorm_noise(dimension), axis=1)
    check_law_and_scale(radii, lambda scale: stats.gamma(dimension, scale=scale), KNORM.scale)


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_knorm_radius_is_not_that_of_another_dimension(dimension: int) -> None:
    radii = np.linalg.norm(knorm_noise(dimension), axis=1)
    for other in (dimension - 1, dimension + 1):
        assert not accepts(radii, stats.gamma(other, scale=KNORM.scale))


def test_knorm_of_one_dimension_is_laplace() -> None:
    assert accepts(knorm_noise(1), laplace(KNORM.scale))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_knorm_signs_are_fair_coins(dimension: int) -> None:
    positive = (knorm_noise(dimension) > 0).sum(axis=0)
    for count in positive:
        assert stats.binomtest(int(count), DRAWS, 0.5).pvalue >= FALSE_ALARM
        for wrong in (0.45, 0.55):
            assert stats.binomtest(int(count), DRAWS, wrong).pvalue < FALSE_ALARM


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_knorm_direction_has_uniform_coordinates_on_the_sphere(dimension: int) -> None:
    law = law_of_a_direction(dimension)
    for coordinate in knorm_directions(dimension).T:
        assert accepts(coordinate, law)


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_a_direction_stretched_by_a_third_would_be_noticed(dimension: int) -> None:
    # That turns a direction in the plane by up to arcsin(1/7), which moves the law by 0.045:
    # √n·0.045 = 9. In more dimensions the law moves farther.
    stretched = knorm_directions(dimension).copy()
    stretched[:, 0] *= 4 / 3
    stretched /= np.linalg.norm(stretched, axis=1, keepdims=True)
    assert not accepts(stretched[:, 0], law_of_a_direction(dimension))


def test_knorm_direction_in_the_plane_has_a_uniform_angle() -> None:
    directions = knorm_directions(2)
    angles = np.arctan2(directions[:, 1], directions[:, 0])
    assert accepts(angles, stats.uniform(-math.pi, 2 * math.pi))


@pytest.mark.parametrize("dimension", [5, 20])
def test_knorm_direction_is_uniform_along_the_diagonal_too(dimension: int) -> None:
    along = knorm_directions(dimension).sum(axis=1) / math.sqrt(dimension)
    assert accepts(along, law_of_a_direction(dimension))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_knorm_direction_does_not_depend_on_the_radius(dimension: int) -> None:
    noise = knorm_noise(dimension)
    far = np.linalg.norm(noise, axis=1) > np.median(np.linalg.norm(noise, axis=1))
    directions = knorm_directions(dimension)
    for observed in (directions[:, 0], np.abs(directions[:, 0])):
        assert stats.ks_2samp(observed[far], observed[~far], method="asymp").pvalue >= FALSE_ALARM


# --- laws of the noise on symmetric matrices ------------------------------------------------

ORDER = 50
RELEASES = 1600


@cache
def gaussian_matrices() -> Array:
    stream = generator("gaussian matrices")
    mechanism, zeros = GaussianMechanism(1.0, 1.7), np.zeros((ORDER, ORDER))
    return np.array([mechanism.release_symmetric(zeros, stream) for _ in range(RELEASES)])


def test_gaussian_matrices_are_exactly_symmetric() -> None:
    matrices = gaussian_matrices()
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))


def test_gaussian_matrices_have_normal_diagonals() -> None:
    diagonals = np.diagonal(gaussian_matrices(), axis1=1, axis2=2)
    check_law_and_scale(diagonals, normal, 1.7)


@pytest.mark.parametrize("offset", [1, 2])
def test_gaussian_matrices_have_half_the_variance_off_the_diagonal(offset: int) -> None:
    beside = np.diagonal(gaussian_matrices(), offset=offset, axis1=1, axis2=2)
    check_law_and_scale(beside, normal, 1.7 / math.sqrt(2))


@pytest.mark.parametrize(("order", "releases"), [(3, 5_000), (5, 2_000)])
def test_knorm_matrices_have_a_gamma_norm_and_a_uniform_direction(
    order: int, releases: int
) -> None:
    stream, zeros = generator("knorm matrices", order), np.zeros((order, order))
    matrices = np.array([KNORM.release_symmetric(zeros, stream) for _ in range(releases)])
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
    dimension = packed_dimension(order)
    norms = np.linalg.norm(matrices, axis=(1, 2))
    check_law_and_scale(norms, lambda scale: stats.gamma(dimension, scale=scale), KNORM.scale)
    law = law_of_a_direction(dimension)
    assert accepts(matrices[:, 0, 0] / norms, law)
    assert accepts(math.sqrt(2) * matrices[:, 0, 1] / norms, law)
    assert not accepts(matrices[:, 0, 1] / norms, law)


# --- the pure guarantee ---------------------------------------------------------------------


def log_density_knorm(mechanism: KNormMechanism, point: Array, centre: Array) -> float:
    return -float(np.linalg.norm(point - centre)) / mechanism.scale


def log_density_laplace(mechanism: LaplaceMechanism, point: Array, centre: Array) -> float:
    return -float(np.abs(point - centre).sum()) / mechanism.scale


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[float, float, Array, Array, Array]:
    """An ε, a sensitivity, two centres that far apart, and a point anywhere."""
    dimension = draw(st.integers(1, 6))
    coordinates = st.lists(st.floats(-50, 50), min_size=dimension, max_size=dimension)
    epsilon, sensitivity = draw(st.floats(0.01, 20)), draw(st.floats(0.01, 20))
    centre, point = np.array(draw(coordinates)), np.array(draw(coordinates))
    step = np.array(draw(coordinates.filter(lambda step: np.linalg.norm(step) > 1e-3)))
    step *= sensitivity / np.linalg.norm(step)
    return epsilon, sensitivity, centre, centre + step, point


@settings(max_examples=200, deadline=None, derandomize=True)
@given(neighbours())
def test_densities_at_neighbours_differ_by_at_most_epsilon(
    drawn: tuple[float, float, Array, Array, Array],
) -> None:
    epsilon, sensitivity, centre, other, point = drawn
    knorm = KNormMechanism.calibrate(Budget(epsilon), sensitivity)
    laplace_one = LaplaceMechanism.calibrate(Budget(epsilon), sensitivity, dimension=centre.size)
    rounding = 1e-12 * (1 + 1000 / knorm.scale)
    difference = log_density_knorm(knorm, point, centre) - log_density_knorm(knorm, point, other)
    assert abs(difference) <= epsilon + rounding
    difference = log_density_laplace(laplace_one, point, centre) - log_density_laplace(
        laplace_one, point, other
    )
    assert abs(difference) <= epsilon + rounding


@settings(max_examples=200, deadline=None, derandomize=True)
@given(neighbours(), st.floats(0, 10))
def test_knorm_attains_epsilon_in_every_direction(
    drawn: tuple[float, float, Array, Array, Array], beyond: float
) -> None:
    epsilon, sensitivity, centre, other, _ = drawn
    mechanism = KNormMechanism.calibrate(Budget(epsilon), sensitivity)
    point = other + beyond * (other - centre)
    at_other = log_density_knorm(mechanism, point, other)
    attained = at_other - log_density_knorm(mechanism, point, centre)
    assert attained == pytest.approx(epsilon, rel=1e-9, abs=1e-10 / mechanism.scale)


@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_laplace_attains_epsilon_along_the_diagonal(dimension: int) -> None:
    mechanism = LaplaceMechanism.calibrate(Budget(0.7), 2.0, dimension=dimension)
    centre = np.zeros(dimension)
    other = np.full(dimension, 2.0 / math.sqrt(dimension))
    at_other = log_density_laplace(mechanism, other, other)
    attained = at_other - log_density_laplace(mechanism, other, centre)
    assert attained == pytest.approx(0.7, rel=1e-12)


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
