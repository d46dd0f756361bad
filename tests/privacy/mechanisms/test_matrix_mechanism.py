"""The matrix mechanism of prefix sums: its factor, norms, noise and sensitivity."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_triangular, toeplitz

from pairdp.privacy import GaussianMechanism, NoiseSource, NoMechanism
from pairdp.privacy.mechanisms import repeated_release
from pairdp.privacy.mechanisms.matrix_mechanism import LONGEST, PrefixFactor, PrefixRelease


def dense(factor: PrefixFactor, n: int) -> np.ndarray:
    """Return C, entry by entry."""
    pairs = list(zip(factor.weights, factor.decays, strict=True))
    c = [1.0, *(sum(w * th ** (j - 1) for w, th in pairs) for j in range(1, n))]
    return np.tril(toeplitz(c))


def noise_matrix(factor: PrefixFactor, n: int) -> np.ndarray:
    """Return A C⁻¹."""
    inverse = solve_triangular(dense(factor, n), np.eye(n), lower=True)
    return np.tril(np.ones((n, n))) @ inverse


def square_root_error(n: int) -> float:
    """Return the column norm times the largest noise of the exact square root of A."""
    j = np.arange(1, n)
    return 1 + float(np.sum(np.cumprod((2 * j - 1) / (2 * j)) ** 2))


def tree_error(n: int) -> float:
    """Return the same for a binary tree: a record is in each level, a sum takes up to all."""
    levels = n.bit_length()
    worst = max(k for k in range(1, levels + 1) if 2**k - 1 <= n)
    return math.sqrt(levels * worst)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 54, 55, 200, 500])
def test_norms_and_deviations_are_those_of_the_dense_matrices(n: int) -> None:
    factor = PrefixFactor.of(n)
    np.testing.assert_allclose(factor.coefficients(), dense(factor, n)[:, 0], rtol=1e-12)
    norms = np.linalg.norm(dense(factor, n), axis=0)
    assert factor.column_norm() == pytest.approx(norms[0], rel=1e-12)
    assert norms.max() == norms[0]
    rows = np.linalg.norm(noise_matrix(factor, n), axis=1)
    np.testing.assert_allclose(factor.deviations(), rows, rtol=1e-10)
    ones = [factor.deviation(t) for t in range(1, n + 1)]
    np.testing.assert_allclose(ones, rows, rtol=1e-10)


@pytest.mark.parametrize("n", [10**k for k in range(1, 7)])
def test_it_is_as_good_as_the_square_root(n: int) -> None:
    factor = PrefixFactor.of(n)
    deviations = factor.deviations()
    assert np.all(np.diff(deviations) > 0)
    error = factor.column_norm() * float(deviations[-1])
    assert 1 <= error / square_root_error(n) < 1.0003
    assert error < math.sqrt(n)
    assert error < 0.6 * tree_error(n)
    assert factor.weights.size <= 4 + math.log(n) / 2
    assert factor.deviation(n) == pytest.approx(float(deviations[-1]), rel=1e-7)


def test_it_is_as_good_at_lengths_between() -> None:
    lengths = np.unique(np.geomspace(1, 10**5, 300).astype(int))
    for n in map(int, lengths):
        factor = PrefixFactor.of(n)
        assert factor.column_norm() * factor.deviation(n) < 1.0006 * square_root_error(n)


@pytest.mark.parametrize("n", [2, 100, 10**5])
def test_coefficients_are_near_those_of_the_square_root(n: int) -> None:
    j = np.arange(1, n)
    exact = np.cumprod((2 * j - 1) / (2 * j))
    np.testing.assert_allclose(PrefixFactor.of(n).coefficients()[1:], exact, rtol=0.06)


@given(made_for=st.integers(1, 10**6), steps=st.integers(1, 3000))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_both_ways_to_the_column(made_for: int, steps: int) -> None:
    factor = PrefixFactor.of(made_for)
    norm, total = factor.column_by_adding(steps)
    assert factor.column_norm(steps) == pytest.approx(norm, rel=1e-12)
    assert factor.column_sum(steps) == pytest.approx(total, rel=1e-12)
    assert total == pytest.approx(float(factor.coefficients(steps).sum()), rel=1e-12)
    assert factor.column_norm(steps) <= factor.column_norm(steps + 1)
    assert np.all((factor.decays > 0) & (factor.decays < 1) & (factor.weights > 0))


@pytest.mark.parametrize("n", [1, 100, 10**5, LONGEST])
def test_decays_and_what_is_missing_to_one_are_exact(n: int) -> None:
    for decay in PrefixFactor.of(n).decays:
        assert Fraction(1 - decay) == 1 - Fraction(decay)


@pytest.mark.parametrize("n", [10**6, 10**7])
def test_both_ways_to_the_column_of_long_streams(n: int) -> None:
    factor = PrefixFactor.of(n)
    norm, total = factor.column_by_adding()
    assert factor.column_norm() == pytest.approx(norm, rel=1e-11)
    assert factor.column_sum() == pytest.approx(total, rel=1e-11)


def released(
    mechanism: GaussianMechanism | NoMechanism, values: np.ndarray, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return what leaves the mechanism at each step, and the increments made of it."""
    steps, dimension = values.shape
    prefixes = PrefixRelease(PrefixFactor.of(steps), mechanism, dimension)
    generator, left, increments = NoiseSource(seed).stream("noise"), [], []
    for value in values:
        before = prefixes.decoder.pending
        increments.append(prefixes.increment(value, generator))
        left.append(increments[-1] + before)
    return np.array(left), np.array(increments)


@pytest.mark.parametrize("n", [1, 2, 40, 300])
def test_without_noise_decoding_is_the_inverse_of_encoding(n: int) -> None:
    values = np.random.default_rng(0).normal(size=(n, 3))
    encoded, increments = released(NoMechanism(), values)
    np.testing.assert_allclose(encoded, dense(PrefixFactor.of(n), n) @ values, atol=1e-12)
    np.testing.assert_allclose(increments, values, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 40, 300])
def test_the_noise_of_the_sums_is_that_of_the_matrices(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_release, "_DRAWN", 60)  # so that noise is drawn several times
    values = np.random.default_rng(0).normal(size=(n, 3))
    left, increments = released(GaussianMechanism(1.0, 2.0, 3 * n), values)
    factor = PrefixFactor.of(n)
    noise = left - dense(factor, n) @ values
    expected = np.cumsum(values, axis=0) + noise_matrix(factor, n) @ noise
    np.testing.assert_allclose(np.cumsum(increments, axis=0), expected, atol=1e-10)
    assert len(np.unique(noise)) == noise.size  # none is used twice


def test_every_released_value_is_on_the_grid() -> None:
    n, dimension = 200, 5
    mechanism = GaussianMechanism(1.0, 2.0, n * dimension)
    factor = PrefixFactor.of(n)
    prefixes, seen = PrefixRelease(factor, mechanism, dimension), []
    add_to = GaussianMechanism.add_to

    def recorded(self: GaussianMechanism, *given: Any) -> np.ndarray:
        seen.append(add_to(self, *given))
        return seen[-1]

    rng, generator = np.random.default_rng(0), NoiseSource(0).stream("noise")
    with patch.object(GaussianMechanism, "add_to", recorded):
        first = [prefixes.increment(rng.normal(size=dimension), generator) for _ in range(n)]
    steps = np.array(seen) / mechanism.grid
    assert steps.shape == (n, dimension)
    np.testing.assert_array_equal(steps, np.rint(steps))
    # All the rest follows from what was released.
    decoder = PrefixRelease(factor, NoMechanism(), dimension).decoder
    for value, increment in zip(seen, first, strict=True):
        again = value - decoder.pending
        decoder.push(again)
        np.testing.assert_array_equal(again, increment)


def test_noise_without_values_has_the_stated_deviations() -> None:
    # 4000 columns: the sample variance of each is chi squared, and off by more than 15 % with
    # probability below 2 exp(-4000·0.15²/5) < 1e-7 a step, below 1e-6 for the few looked at.
    n, copies = 64, 4000
    mechanism = GaussianMechanism(1.0, 1.0, n * copies)
    _, increments = released(mechanism, np.zeros((n, copies)))
    found = np.mean(np.cumsum(increments, axis=0) ** 2, axis=1)
    places = [0, 1, 3, 7, 15, 31, 63]
    np.testing.assert_allclose(
        found[places], PrefixFactor.of(n).deviations()[places] ** 2, rtol=0.15
    )


def test_lengths_out_of_range_are_refused() -> None:
    for steps in (0, LONGEST + 1):
        with pytest.raises(ValueError, match="steps must be"):
            PrefixFactor.of(steps)
    with pytest.raises(TypeError, match="integer"):
        PrefixFactor.of(2.0)  # type: ignore[arg-type]


@given(n=st.integers(1, 60), place=st.integers(0, 59), seed=st.integers(0, 10**6))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_no_value_moves_the_stream_further(n: int, place: int, seed: int) -> None:
    # Later values may depend on releases, but given these, only one of them differs.
    place %= n
    factor, rng = PrefixFactor.of(n), np.random.default_rng(seed)
    moved = np.zeros((n, 2))
    moved[place] = rng.normal(size=2)
    distance = np.linalg.norm(dense(factor, n) @ moved)
    limit = float(np.linalg.norm(moved[place])) * factor.column_norm()
    assert distance <= limit * (1 + 1e-12)
    if place == 0:
        assert distance == pytest.approx(limit)
