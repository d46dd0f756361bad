"""Codes of classes, and the shrinkage of what separates them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.algorithms.class_separation import MOST_CLASSES, ClassCode, shrunk


@given(counts=st.lists(st.floats(10, 1e6), min_size=2, max_size=80), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_code_vectors_lie_in_the_unit_ball_and_sums_are_decoded(
    counts: list[float], seed: int
) -> None:
    code = ClassCode.of(np.array(counts), 0.5)
    k = min(len(counts), MOST_CLASSES)
    assert len(code.places) == k
    norms = np.linalg.norm(code.vectors, axis=0)
    assert np.all(norms <= 1)
    assert np.all(norms > 1 - 1e-6)
    sums = np.random.default_rng(seed).normal(size=(len(counts), 3))
    used = sums[code.places]
    wanted = used - np.outer(code.shares, used.sum(axis=0))
    decoded = code.decoder @ code.encoded(sums)[:k]
    np.testing.assert_allclose(decoded, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_the_code_has_less_noise_than_separate_sums(k: int) -> None:
    # Of B = S - p·ΣS, per class: 1 - 1/k if each sum has noise of variance 1, and this squared.
    decoder = ClassCode.of(np.full(k, 100.0), 0.5).decoder
    np.testing.assert_allclose(np.sum(decoder**2, axis=1), (1 - 1 / k) ** 2, rtol=1e-4)
    uneven = np.array([900.0, *np.full(k - 1, 100.0)])
    code = ClassCode.of(uneven, 0.5)
    separate = np.eye(k) - np.outer(code.shares, np.ones(k))
    assert np.sum(code.decoder**2) <= 1.001 * np.sum(separate**2)


def test_buckets_that_noise_explains_are_no_classes() -> None:
    rng = np.random.default_rng(0)
    alarms = [len(ClassCode.of(rng.normal(size=256), 1.0).places) for _ in range(2000)]
    assert max(alarms) == 0  # two false alarms at once have a probability of about 5e-5
    counts = rng.normal(size=256)
    counts[[3, 200]] += 50
    assert ClassCode.of(counts, 1.0).places.tolist() == [3, 200]
    empty = ClassCode.of(np.array([0.0, 60.0]), 1.0)
    assert not empty.encoded(np.ones((2, 3))).any()
    assert empty.separation(np.ones((2, 3)), 1.0, 10).reliability == 0


def test_features_without_signal_are_shrunk_more_than_others() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1, 30))
    values[0, :3] = [8.0, -9.0, 10.0]
    found, factors, _ = shrunk(values)
    np.testing.assert_array_equal(found, values * factors)
    assert np.all(factors[:3] > 0.9)
    assert np.median(factors[3:]) < 0.2
    assert np.all((factors >= 0) & (factors < 1))


def test_shrinkage_has_less_error_than_none_and_than_james_and_stein() -> None:
    rng, errors = np.random.default_rng(0), np.zeros(3)
    for _ in range(200):
        truth = 5 * rng.normal(size=(2, 20)) * (rng.random(20) < 0.2)
        values = truth + rng.normal(size=truth.shape)
        stein = values * max(0.0, 1 - values.size / np.sum(values**2))
        errors += [np.sum((guess - truth) ** 2) for guess in (values, stein, shrunk(values)[0])]
    assert errors[2] < 0.7 * errors[1] < 0.7 * errors[0]


def test_without_signal_little_of_it_is_reliable() -> None:
    rng = np.random.default_rng(0)
    code = ClassCode.of(np.array([500.0, 500.0]), 1.0)
    found = [code.separation(0.1 * rng.normal(size=(2, 20)), 0.1, 1000) for _ in range(200)]
    assert np.mean([each.reliability > 0.75 for each in found]) < 0.05
    strong = np.zeros((2, 20))
    strong[0] = 1.0
    assert code.separation(strong, 0.1, 1000).reliability > 0.9
    assert math.isclose(code.shares.sum(), 1.0)
