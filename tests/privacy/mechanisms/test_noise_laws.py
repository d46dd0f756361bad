"""The noise of each mechanism follows its law.

Right noise fails one comparison of laws in 1e8 seeds, and no test makes more than 40, so a
test's false-alarm rate is below 1e-6. Noise whose scale is 10 % off (more for pure noise, which is
slow to draw) is rejected as surely: a
Kolmogorov-Smirnov test rejects at 1e-8 when √n times the empirical distance exceeds 3.1, and
that is within 3 of √n times the distance of the laws but for one seed in 1e7. So √n times the
distance must exceed 6.1, which is asserted wherever it is used.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pairdp.privacy import (
    Budget,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    packed_dimension,
)
from tests.privacy.mechanisms.examples import BUDGET, Array, generator

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-8
SURELY_REJECTED = 6.1


def accepts(sample: Array, law: Any) -> bool:
    return bool(stats.kstest(sample.ravel(), law.cdf, method="asymp").pvalue >= FALSE_ALARM)


def distance(first: Any, second: Any) -> float:
    points = first.ppf(np.linspace(0.001, 0.999, 999))
    return float(np.abs(first.cdf(points) - second.cdf(points)).max())


def check_law_and_scale(
    sample: Array, law: Callable[[float], Any], scale: float, off: float = 0.1
) -> None:
    assert accepts(sample, law(scale))
    for wrong in (law((1 - off) * scale), law((1 + off) * scale)):
        assert math.sqrt(sample.size) * distance(law(scale), wrong) > SURELY_REJECTED
        assert not accepts(sample, wrong)


def normal(scale: float) -> Any:
    return stats.norm(0, scale)


def laplace(scale: float) -> Any:
    return stats.laplace(0, scale)


SIZE, FEWER = 160_000, 20_000


def test_gaussian_coordinates_are_normal() -> None:
    mechanism = GaussianMechanism.calibrate(BUDGET, 0.7, dimension=SIZE, steps=3)
    value = np.full(SIZE, 5.0)
    noise = mechanism.release(value, generator("gaussian")) - value
    check_law_and_scale(noise, normal, mechanism.scale)


def test_gaussian_coordinates_are_independent() -> None:
    noise = GaussianMechanism(1.0, 2.0).noise(SIZE, generator("gaussian")).reshape(-1, 2)
    check_law_and_scale(noise.sum(axis=1), normal, 2.0 * math.sqrt(2))
    check_law_and_scale(noise[:, 0] - noise[:, 1], normal, 2.0 * math.sqrt(2))


def test_laplace_coordinates_are_laplace() -> None:
    mechanism = LaplaceMechanism.calibrate(Budget(0.5), 0.7, dimension=FEWER)
    noise = mechanism.release(np.zeros(FEWER), generator("laplace"))
    check_law_and_scale(noise, laplace, mechanism.scale, off=0.3)


def test_laplace_coordinates_are_independent() -> None:
    noise = LaplaceMechanism(1.0, 3.0, FEWER).noise(FEWER, generator("laplace")).reshape(-1, 4)
    # The sizes are exponential, so their sum is a Gamma variable when independent.
    sums = np.abs(noise).sum(axis=1)
    check_law_and_scale(sums, lambda scale: stats.gamma(4, scale=scale), 3.0, off=0.3)
    signs = np.signbit(noise) @ [1, 2, 4, 8]
    assert stats.chisquare(np.bincount(signs, minlength=16)).pvalue >= FALSE_ALARM


KNORM = KNormMechanism.calibrate(Budget(0.4), sensitivity=0.6)
DIMENSIONS = [1, 2, 5, 20]
DRAWS = 3_000


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
    law = partial(stats.gamma, dimension, 0.0)
    check_law_and_scale(radii, law, KNORM.scale, off=0.4)


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_knorm_radius_is_not_that_of_another_dimension(dimension: int) -> None:
    radii = np.linalg.norm(knorm_noise(dimension), axis=1)
    more = 1 + dimension // 10
    for other in (dimension - more, dimension + more):
        assert not accepts(radii, stats.gamma(other, scale=KNORM.scale))


def test_knorm_of_one_dimension_is_laplace() -> None:
    assert accepts(knorm_noise(1), laplace(KNORM.scale))


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_knorm_signs_are_fair_coins(dimension: int) -> None:
    positive = (knorm_noise(dimension) > 0).sum(axis=0)
    for count in positive:
        assert stats.binomtest(int(count), DRAWS, 0.5).pvalue >= FALSE_ALARM
        for wrong in (0.4, 0.6):
            assert stats.binomtest(int(count), DRAWS, wrong).pvalue < FALSE_ALARM


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_knorm_direction_has_uniform_coordinates_on_the_sphere(dimension: int) -> None:
    law = law_of_a_direction(dimension)
    for coordinate in knorm_directions(dimension).T:
        assert accepts(coordinate, law)


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_a_direction_stretched_threefold_would_be_detected(dimension: int) -> None:
    # That turns a direction in the plane by up to arcsin(1/2), which moves the law by 1/6:
    # √n/6 = 9. In more dimensions the law moves farther.
    stretched = knorm_directions(dimension).copy()
    stretched[:, 0] *= 3
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
    mechanism = GaussianMechanism(1.0, 1.7, packed_dimension(ORDER))
    zeros = np.zeros((ORDER, ORDER))
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


@pytest.mark.parametrize(("order", "releases"), [(3, 3_000), (5, 2_000)])
def test_knorm_matrices_have_a_gamma_norm_and_a_uniform_direction(
    order: int, releases: int
) -> None:
    stream, zeros = generator("knorm matrices", order), np.zeros((order, order))
    dimension = packed_dimension(order)
    mechanism = KNormMechanism(KNORM.sensitivity, KNORM.scale, dimension)
    matrices = np.array([mechanism.release_symmetric(zeros, stream) for _ in range(releases)])
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
    norms = np.linalg.norm(matrices, axis=(1, 2))
    check_law_and_scale(norms, partial(stats.gamma, dimension, 0.0), KNORM.scale, off=0.2)
    law = law_of_a_direction(dimension)
    assert accepts(matrices[:, 0, 0] / norms, law)
    assert accepts(math.sqrt(2) * matrices[:, 0, 1] / norms, law)
    assert not accepts(matrices[:, 0, 1] / norms, law)
