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


@pytest.mark.parametrize("dimension", [0, -1])
def test_laplace_dimension_below_one_is_refused(dimension: int) -> None:
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        laplace_calibrated(dimension=dimension)
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        LaplaceMechanism(1.0, dimension, 1.0)


@pytest.mark.parametrize("dimension", [2.0, "2", None, True])
def test_laplace_dimension_that_is_not_an_integer_is_refused(dimension: Any) -> None:
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
