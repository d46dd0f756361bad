"""Densities of pure mechanisms at neighbours differ by ε at most, and ε is attained."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import (
    Budget,
    KNormMechanism,
    L1LaplaceMechanism,
    LaplaceMechanism,
)
from tests.privacy.mechanisms.examples import Array


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
    knorm = KNormMechanism.calibrate(Budget(epsilon), sensitivity, dimension=centre.size)
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
    other = centre + (other - centre) * (mechanism.rounded_sensitivity / sensitivity)
    point = other + beyond * (other - centre)
    at_other = log_density_knorm(mechanism, point, other)
    attained = at_other - log_density_knorm(mechanism, point, centre)
    assert attained == pytest.approx(epsilon, rel=1e-9, abs=1e-10 / mechanism.scale)


@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_laplace_attains_epsilon_along_the_diagonal(dimension: int) -> None:
    mechanism = LaplaceMechanism.calibrate(Budget(0.7), 2.0, dimension=dimension)
    centre = np.zeros(dimension)
    other = np.full(dimension, mechanism.rounded_sensitivity / math.sqrt(dimension))
    at_other = log_density_laplace(mechanism, other, other)
    attained = at_other - log_density_laplace(mechanism, other, centre)
    assert attained == pytest.approx(0.7, rel=1e-12)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(neighbours())
def test_l1_laplace_densities_differ_by_at_most_epsilon(
    drawn: tuple[float, float, Array, Array, Array],
) -> None:
    epsilon, sensitivity, centre, other, point = drawn
    step = (other - centre) * (sensitivity / np.abs(other - centre).sum())
    mechanism = L1LaplaceMechanism.for_epsilon(epsilon, sensitivity, centre.size)
    at_other = np.abs(point - centre - step).sum()
    difference = (np.abs(point - centre).sum() - at_other) / mechanism.scale
    assert abs(difference) <= epsilon + 1e-12 * (1 + 1000 / mechanism.scale)


@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_l1_laplace_attains_epsilon_along_every_axis(dimension: int) -> None:
    mechanism = L1LaplaceMechanism.for_epsilon(0.7, 2.0, dimension)
    for moved in np.eye(dimension) * mechanism.rounded_sensitivity:
        attained = np.abs(moved).sum() / mechanism.scale
        assert attained == pytest.approx(0.7, rel=1e-12)
    assert mechanism.event().epsilon == pytest.approx(0.7, rel=1e-12)  # type: ignore[union-attr]
    assert mechanism.rounding >= mechanism.grid * dimension
