"""The matrix mechanism of prefix sums: its factor, norms, noise and sensitivity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_triangular, toeplitz

from pairdp.privacy.mechanisms.matrix_mechanism import LONGEST, PrefixFactor, PrefixNoise


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
def test_both_ways_to_the_column_norm(made_for: int, steps: int) -> None:
    factor = PrefixFactor.of(made_for)
    assert factor.column_norm(steps) == pytest.approx(
        factor.column_norm_by_adding(steps), rel=1e-12
    )
    assert factor.column_norm(steps) <= factor.column_norm(steps + 1)
    assert np.all((factor.decays > 0) & (factor.decays < 1) & (factor.weights > 0))


@pytest.mark.parametrize("n", [10**6, 10**7])
def test_both_ways_to_the_column_norm_of_long_streams(n: int) -> None:
    factor = PrefixFactor.of(n)
    assert factor.column_norm() == pytest.approx(factor.column_norm_by_adding(), rel=1e-11)


@pytest.mark.parametrize("n", [1, 2, 40, 300])
def test_streamed_noise_is_that_of_the_matrices(n: int) -> None:
    factor = PrefixFactor.of(n)
    z = np.random.default_rng(0).normal(size=(n, 3))
    noise = PrefixNoise(factor, 3)
    streamed = np.array([noise.step(row) for row in z])
    np.testing.assert_allclose(streamed, noise_matrix(factor, n) @ z, atol=1e-11)


def test_increments_add_up_and_invert_the_factor() -> None:
    factor, n = PrefixFactor.of(50), 50
    z = np.random.default_rng(0).normal(size=(n, 2))
    one, other = PrefixNoise(factor, 2), PrefixNoise(factor, 2)
    added = np.array([one.increment(row) for row in z])
    np.testing.assert_allclose(dense(factor, n) @ added, z, atol=1e-12)
    np.testing.assert_allclose(np.cumsum(added, axis=0), [other.step(row) for row in z], atol=1e-12)


def test_the_noise_has_the_stated_deviations() -> None:
    # 4000 columns: the sample variance of each is chi squared, and off by more than 15 % with
    # probability below 2 exp(-4000·0.15²/5) < 1e-7 a step, below 1e-6 for the few looked at.
    factor, n, copies = PrefixFactor.of(64), 64, 4000
    rng, noise = np.random.default_rng(0), PrefixNoise(PrefixFactor.of(64), copies)
    found = np.array([np.mean(noise.step(rng.normal(size=copies)) ** 2) for _ in range(n)])
    expected = factor.deviations() ** 2
    places = [0, 1, 3, 7, 15, 31, 63]
    np.testing.assert_allclose(found[places], expected[places], rtol=0.15)


def test_a_saved_state_goes_on_and_is_a_copy() -> None:
    factor = PrefixFactor.of(30)
    z = np.random.default_rng(0).normal(size=(30, 2))
    whole, first = PrefixNoise(factor, 2), PrefixNoise(factor, 2)
    expected = np.array([whole.step(row) for row in z])
    for row in z[:12]:
        first.step(row)
    state = first.state
    kept = state.copy()
    second = PrefixNoise(factor, 2)
    second.restore(state)
    np.testing.assert_array_equal([second.step(row) for row in z[12:]], expected[12:])
    np.testing.assert_array_equal(state, kept)


def test_what_does_not_fit_is_refused() -> None:
    noise = PrefixNoise(PrefixFactor.of(10), 2)
    with pytest.raises(ValueError, match=r"shape \(2,\) is needed"):
        noise.step(np.zeros(3))
    with pytest.raises(ValueError, match="a finite state"):
        noise.restore(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="a finite state"):
        noise.restore(np.full_like(noise.state, np.nan))
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
