"""Mechanisms refuse numbers out of range, other types, and values they cannot release."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pairdp.privacy import (
    Budget,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    Mechanism,
)
from tests.privacy.mechanisms.examples import ALL, BUDGET, each_mechanism, generator

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
        lambda sensitivity: LaplaceMechanism(sensitivity, 1.0, 3),
    ],
    ids=[*(calibrated.__name__ for calibrated in CALIBRATED), *NAMES],
)
from_scale = pytest.mark.parametrize(
    "make",
    [
        lambda scale: GaussianMechanism(1.0, scale),
        lambda scale: KNormMechanism(1.0, scale),
        lambda scale: LaplaceMechanism(1.0, scale, 3),
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
def test_calibrating_for_a_non_integer_number_of_steps_is_refused(
    calibrated: Any, steps: Any
) -> None:
    with pytest.raises(TypeError, match="steps must be an integer"):
        calibrated(steps=steps)


@pytest.mark.parametrize("calibrated", CALIBRATED)
@pytest.mark.parametrize("steps", [1.0, True])
def test_values_that_only_equal_an_integer_are_refused(calibrated: Any, steps: Any) -> None:
    calibrated(steps=1)
    with pytest.raises(TypeError, match="steps must be an integer"):
        calibrated(steps=steps)


@pytest.mark.parametrize("calibration", ["certified", "printed"])
def test_gaussian_refuses_a_pure_budget_and_names_mechanisms_that_accept_it(
    calibration: Any,
) -> None:
    with pytest.raises(ValueError, match="KNormMechanism"):
        GaussianMechanism.calibrate(Budget(1.0), 1.0, calibration=calibration)


def test_a_scale_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(ValueError, match="scale must be positive and finite"):
        KNormMechanism.calibrate(Budget(1e-300), 1e300)


with_noise = pytest.mark.parametrize("mechanism", ALL[:3], ids=NAMES)


@pytest.mark.parametrize("calibrated", CALIBRATED)
@pytest.mark.parametrize("dimension", [0, -1])
def test_a_dimension_below_one_is_refused(calibrated: Any, dimension: int) -> None:
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        calibrated(dimension=dimension)
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        LaplaceMechanism(1.0, 1.0, dimension)


@pytest.mark.parametrize("calibrated", CALIBRATED)
@pytest.mark.parametrize("dimension", [2.0, "2", None, True])
def test_a_dimension_that_is_not_an_integer_is_refused(calibrated: Any, dimension: Any) -> None:
    with pytest.raises(TypeError, match="dimension must be an integer"):
        calibrated(dimension=dimension)
    with pytest.raises(TypeError, match="dimension must be an integer"):
        LaplaceMechanism(1.0, 1.0, dimension)


@with_noise
@pytest.mark.parametrize("size", [4, 100])
def test_more_numbers_than_the_dimension_are_refused(mechanism: Any, size: int) -> None:
    """Their rounding is not paid for."""
    with pytest.raises(ValueError, match=f"has dimension 3, got {size}"):
        mechanism.release(np.zeros(size), generator())
    with pytest.raises(ValueError, match="has dimension 3, got 6"):
        mechanism.release_symmetric(np.zeros((3, 3)), generator())
    assert mechanism.release(np.zeros(3), generator()).shape == (3,)


def test_only_gaussian_noise_is_added_to_parts_of_a_vector() -> None:
    """Parts with K-norm noise of their own cost the sum of their norms, which is more."""
    normal, *pure = ALL[:3]
    assert normal.release(np.zeros(2), generator()).shape == (2,)
    for mechanism in pure:
        with pytest.raises(ValueError, match="has dimension 3, got 2"):
            mechanism.release(np.zeros(2), generator())


GRIDS = [3.0, -0.5, 0.3, 2.0**-961, math.inf, math.nan, 2.0**65, 2.0**-53]


@pytest.mark.parametrize("kind", [type(mechanism) for mechanism in ALL[:3]], ids=NAMES)
@pytest.mark.parametrize("grid", GRIDS)
def test_a_grid_is_a_power_of_two_near_the_scale(kind: Any, grid: float) -> None:
    with pytest.raises(ValueError, match=r"grid"):
        kind(1.0, 1.0, 3, grid)
    assert kind(1.0, 1.0, 3, 2.0**-52).grid == 2.0**-52


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
@pytest.mark.parametrize("size", [0, -1])
def test_noise_of_no_size_is_refused(mechanism: Mechanism, size: int) -> None:
    with pytest.raises(ValueError, match="size must be at least 1"):
        mechanism.noise(size, generator())


def test_a_mechanism_cannot_be_changed() -> None:
    for mechanism in ALL[:3]:
        with pytest.raises(AttributeError):
            mechanism.scale = 0.0  # type: ignore[misc]
