"""Grids and convolutions of privacy losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.convolution import (
    ComposedLoss,
    Tilt,
    complex_log1p,
)
from pairdp.privacy.accounting.discretization import DiscreteLoss, discretize
from pairdp.privacy.accounting.dominating_pairs import (
    FixedSizeSamplingPair,
    GaussianPair,
    PoissonSamplingPair,
)
from pairdp.privacy.accounting.pair_composition import PairComposition

NO_TILT = Tilt(0.0, 2.0, 2.0)


def grid_delta(loss: DiscreteLoss, epsilon: float) -> float:
    above = loss.losses > epsilon
    weights = -np.expm1(epsilon - loss.losses[above])
    return loss.infinite + float(weights @ loss.masses[above])


@given(mu=st.floats(0.05, 5.0), rate=st.floats(1e-4, 1.0), width=st.floats(1e-3, 0.2))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_grid_is_a_pair_of_laws_above_the_exact_curve(mu: float, rate: float, width: float) -> None:
    pair = GaussianPair(mu) if rate == 1 else FixedSizeSamplingPair(mu, rate)
    loss = discretize(pair, width, -60.0)
    assert loss.masses.min() >= 0
    assert loss.masses.sum() + loss.infinite == pytest.approx(1.0, abs=1e-12)
    # The second law puts mass exp(-l) times the first's on every finite loss.
    assert float(loss.masses @ np.exp(-loss.losses)) <= 1 + 1e-9
    for epsilon in (0.0, 0.37 * width, 3 * width, 5.5 * width, 1.0):
        p, q = pair.tails(np.array([epsilon]))
        exact = float(p[0] - math.exp(epsilon) * q[0])
        assert grid_delta(loss, epsilon) >= exact * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize("k", [0, 3, 10])
def test_grid_is_exact_at_its_points(k: int) -> None:
    width, mu = 0.05, 1.2
    loss = discretize(GaussianPair(mu), width, -80.0)
    assert grid_delta(loss, k * width) == pytest.approx(gaussian.delta(k * width, mu), rel=1e-9)


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_convolution_against_the_plain_one(steps: int) -> None:
    loss = discretize(FixedSizeSamplingPair(1.1, 0.2), 0.05, -50.0)
    direct = np.array([1.0])
    for _ in range(steps):
        direct = np.convolve(direct, loss.masses)
    half = steps * loss.half
    losses = loss.width * np.arange(-half, half + 1)
    composed = ComposedLoss([(loss, steps)])
    for epsilon in (0.0, 0.31, 1.0, 2.5):
        above = losses > epsilon
        exact = float(-np.expm1(epsilon - losses[above]) @ direct[above]) + composed.infinite
        for tilt in (NO_TILT, Tilt(1.0, 2.0, 2.0)):
            found = math.exp(composed.log_delta(epsilon, tilt).bound)
            assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-5) + 1e-10
        # A poor tilt gives a poor bound, but still a bound.
        steep = math.exp(composed.log_delta(epsilon, Tilt(4.0, 1.0, 3.0)).bound)
        assert steep >= exact * (1 - 1e-12)


def test_different_steps_convolve() -> None:
    width = 0.02
    first, second = GaussianPair(0.5), PoissonSamplingPair(1.5, 0.3)
    a, b = discretize(first, width, -50.0), discretize(second, width, -50.0)
    direct = np.convolve(np.convolve(a.masses, b.masses), b.masses)
    half = a.half + 2 * b.half
    losses = width * np.arange(-half, half + 1)
    above = losses > 0.5
    exact = float(-np.expm1(0.5 - losses[above]) @ direct[above])
    found = math.exp(ComposedLoss([(a, 1), (b, 2)]).log_delta(0.5, NO_TILT).bound)
    assert found == pytest.approx(exact, rel=1e-6)


@given(mu=st.floats(0.1, 6.0), steps=st.sampled_from([1, 10, 1000]), epsilon=st.floats(0.0, 25.0))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_composed_gaussians_are_sharp_for_any_delta(mu: float, steps: int, epsilon: float) -> None:
    exact = gaussian.log_delta(epsilon, mu)
    if exact < math.log(1e-250):
        return
    composed = PairComposition([(GaussianPair(mu / math.sqrt(steps)), steps)])
    found = composed.log_delta(epsilon)
    assert exact - 1e-9 <= found <= exact + 0.02


def test_a_million_steps_are_sharp() -> None:
    for epsilon in (0.5, 2.0, 8.0):
        composed = PairComposition([(GaussianPair(1e-3), 10**6)])
        exact = gaussian.log_delta(epsilon, 1.0)
        assert exact - 1e-9 <= composed.log_delta(epsilon) <= exact + 0.02


@given(
    mu=st.floats(0.3, 3.0),
    log_rate=st.floats(-5, -0.1),
    steps=st.integers(1, 3000),
    epsilon=st.floats(0.1, 4.0),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_finer_grid_changes_little(
    mu: float, log_rate: float, steps: int, epsilon: float
) -> None:
    composed = PairComposition([(FixedSizeSamplingPair(mu, 10**log_rate), steps)])
    if composed.rough_log_delta(epsilon) > math.log(1e-14):
        coarse, fine = composed.log_delta(epsilon), composed.log_delta(epsilon, refine=4.0)
        assert fine - 5e-3 <= coarse <= fine + 0.05


def test_grids_of_different_widths_are_refused() -> None:
    losses = [(discretize(GaussianPair(1.0), w, -30.0), 1) for w in (0.1, 0.2)]
    with pytest.raises(ValueError, match="same grid width"):
        ComposedLoss(losses)


def test_log1p_keeps_its_digits_near_zero_and_near_minus_one() -> None:
    for z in (1e-12 + 1e-13j, -1e-9j, 0.3 - 2j, -1 + 1e-9j, -1 + 3e-12 + 1e-12j, -0.5 + 0.1j):
        with mp.workdps(50):
            exact = complex(mp.log(1 + mp.mpmathify(z)))
        found = complex(complex_log1p(np.array([z]))[0])
        assert abs(found - exact) <= 1e-15 * max(1.0, abs(exact)) * (
            1 if abs(z) > 0.1 else abs(z)
        ) + 4e-16 / max(abs(1 + z), 1e-3)


@pytest.mark.parametrize("refine", [1.0, 20.0])
@pytest.mark.parametrize(
    ("mu", "epsilon"), [(0.23997708313696547, 2.538740515641744), (1.0, 7.0), (3.0, 22.5)]
)
def test_a_single_step_is_bounded_from_above(mu: float, epsilon: float, refine: float) -> None:
    found = PairComposition([(GaussianPair(mu), 1)]).log_delta(epsilon, refine)
    exact = gaussian.log_delta(epsilon, mu)
    assert exact <= found <= exact + 0.02


def test_a_single_poisson_step_is_sharp() -> None:
    pair = PoissonSamplingPair(0.9500686731099155, 0.9498088054038257)
    epsilon = 7.143199386535321
    p, q = pair.tails(np.array([epsilon]))
    exact = math.log(p[0] - math.exp(epsilon) * q[0])
    assert exact <= PairComposition([(pair, 1)]).log_delta(epsilon) <= exact + 0.05
