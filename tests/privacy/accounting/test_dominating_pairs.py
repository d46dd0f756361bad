"""Dominating pairs against brute force over neighbouring data sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy.accounting.dominating_pairs import (
    ApproximatePair,
    DominatingPair,
    FixedSizeSamplingPair,
    GaussianPair,
    PoissonSamplingPair,
)
from pairdp.privacy.accounting.second_routes.dp_accounting import fixed_size_profile
from tests.oracles.hockey_stick import batch_mixture, divergence, normal, plane_mixture

LINE = np.linspace(-16, 16, 16_001)
CELL = float(LINE[1] - LINE[0])
ratios = st.floats(0.05, 4.0)
rates = st.floats(1e-3, 1.0, exclude_max=True)
losses = st.floats(0.0, 6.0)


def divergence_of(pair: DominatingPair, epsilon: float) -> float:
    p, q = pair.tails(np.array([epsilon]))
    return float(p[0] - math.exp(epsilon) * q[0])


@given(mu=ratios, rate=rates, epsilon=losses)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sampling_pair_has_the_proved_curve(mu: float, rate: float, epsilon: float) -> None:
    stated = fixed_size_profile(epsilon, mu, rate)
    assert divergence_of(FixedSizeSamplingPair(mu, rate), epsilon) == pytest.approx(
        stated, rel=1e-7, abs=1e-14
    )


@given(
    mu=ratios,
    values=st.lists(st.floats(0, 1), min_size=3, max_size=5),
    replacement=st.floats(0, 1),
    size=st.integers(1, 2),
    epsilon=st.floats(0, 3),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_neighbours_exceed_the_sampling_pair(
    mu: float, values: list[float], replacement: float, size: int, epsilon: float
) -> None:
    # One record of the batch moves the sum by at most 1, which is mu in units of the noise.
    neighbour = [replacement, *values[1:]]
    pair = FixedSizeSamplingPair(mu, size / len(values))
    p = batch_mixture(LINE, values, size, 1 / mu)
    q = batch_mixture(LINE, neighbour, size, 1 / mu)
    bound = divergence_of(pair, epsilon) + 1e-6
    assert divergence(p, q, math.exp(epsilon), CELL) <= bound
    assert divergence(q, p, math.exp(epsilon), CELL) <= bound


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_sampling_pair_is_attained(epsilon: float, size: int) -> None:
    mu, values = 1.3, [1.0, 0.0, 0.0, 0.0]
    p = batch_mixture(LINE, values, size, 1 / mu)
    q = batch_mixture(LINE, [0.0] * 4, size, 1 / mu)
    found = divergence(p, q, math.exp(epsilon), CELL)
    assert found == pytest.approx(
        divergence_of(FixedSizeSamplingPair(mu, size / 4), epsilon), rel=1e-5
    )


@given(mu=ratios, rate=rates, epsilon=losses)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_poisson_pair_matches_integration(mu: float, rate: float, epsilon: float) -> None:
    c = mu / 2
    p = (1 - rate) * normal(LINE, 0) + rate * normal(LINE, c)
    q = (1 - rate) * normal(LINE, 0) + rate * normal(LINE, -c)
    direct = divergence(p, q, math.exp(epsilon), CELL)
    assert divergence_of(PoissonSamplingPair(mu, rate), epsilon) == pytest.approx(direct, abs=2e-7)


@given(
    mu=st.floats(0.2, 3.0),
    rate=st.floats(0.01, 0.99),
    lengths=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    angle=st.floats(0, math.pi),
    epsilon=st.floats(0, 2),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_two_contributions_exceed_the_poisson_pair(
    mu: float, rate: float, lengths: tuple[float, float], angle: float, epsilon: float
) -> None:
    side = np.linspace(-7, 7, 281)
    x, y = np.meshgrid(side, side)
    a, b = lengths[0] * mu / 2, lengths[1] * mu / 2
    p = plane_mixture(x, y, rate, (a, 0.0))
    q = plane_mixture(x, y, rate, (b * math.cos(angle), b * math.sin(angle)))
    found = divergence(p, q, math.exp(epsilon), (side[1] - side[0]) ** 2)
    assert found <= divergence_of(PoissonSamplingPair(mu, rate), epsilon) + 1e-4


PAIRS: list[DominatingPair] = [
    GaussianPair(0.7),
    FixedSizeSamplingPair(1.3, 0.01),
    FixedSizeSamplingPair(5.0, 1e-6),
    PoissonSamplingPair(2.0, 0.05),
    PoissonSamplingPair(2.0, 1.0),
    ApproximatePair(0.5, 0.01),
]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_tails_are_tails_of_a_symmetric_pair(pair: DominatingPair) -> None:
    grid = np.linspace(0, 12, 4001)
    p, q = pair.tails(grid)
    assert np.all(np.diff(p) <= 1e-16)
    assert np.all(np.diff(q) <= 1e-16)
    assert p[0] + q[0] <= 1 + 1e-12
    # Mass of loss in a bin differs between P and Q by a factor within the bin's ends.
    p_bin, q_bin = -np.diff(p), -np.diff(q)
    heavy = q_bin > 1e-10
    ratio = np.log(p_bin[heavy] / q_bin[heavy])
    assert np.all(ratio >= grid[:-1][heavy] - 1e-4)
    assert np.all(ratio <= grid[1:][heavy] + 1e-4)


@pytest.mark.parametrize("pair", PAIRS[:-1], ids=repr)
@pytest.mark.parametrize("log_mass", [-5.0, -30.0, -200.0])
def test_reach_covers_the_mass(pair: DominatingPair, log_mass: float) -> None:
    p, _ = pair.tails(np.array([pair.loss_bound(log_mass)]))
    assert p[0] <= math.exp(log_mass) * (1 + 1e-9)


def test_full_poisson_sampling_is_the_gaussian_pair() -> None:
    grid = np.linspace(0, 5, 50)
    for sampled, plain in zip(
        PoissonSamplingPair(1.5, 1.0).tails(grid), GaussianPair(1.5).tails(grid), strict=True
    ):
        np.testing.assert_allclose(sampled, plain, rtol=1e-12)
