"""Which metric the differences of class means give: a function of released values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairdp.algorithms.class_separation import Separation
from pairdp.algorithms.neighbour_error import neighbour_error
from pairdp.algorithms.separating_metric import separating_metric

N, D, RELEVANT = 2000, 12, 3


def separation(direction: np.ndarray, reliability: float = 0.99) -> Separation:
    """Return two classes of equal size, whose means are 2·direction apart."""
    return Separation(
        direction[None],
        reliability,
        np.zeros((1, len(direction))),
        np.array([[1.0], [-1.0]]),
        np.array([0.5, 0.5]),
    )


def metric(
    direction: np.ndarray, correlations: np.ndarray | None = None, reliability: float = 0.99
) -> np.ndarray:
    """Return the metric of standardised features of equal size, without noise."""
    within = np.diag(1 - direction**2)
    if correlations is not None:
        within = np.sqrt(within) @ correlations @ np.sqrt(within)
    total = within + np.outer(direction, direction)
    found = separation(direction, reliability)
    return separating_metric(found, np.ones(D), N, 0.03, 0.0, total)


def relevant(size: float = 0.6) -> np.ndarray:
    return size * (np.arange(D) < RELEVANT)


def across(found: np.ndarray) -> float:
    """Return how much of the weight of the relevant features lies across them."""
    block = found[:RELEVANT, :RELEVANT]
    return float(block.sum() / np.trace(block) - 1) / (RELEVANT - 1)


def test_independent_features_are_weighted_on_their_own() -> None:
    found = metric(relevant())
    assert across(found) < 0.25
    assert np.diag(found)[:RELEVANT].min() > 100 * np.diag(found)[RELEVANT:].max()


def test_directions_are_stretched_where_features_alone_say_less() -> None:
    # A noise that all features share hides each of them, but not their differences.
    direction = 0.2 * np.resize([1.0, -1.0], D)
    found = metric(direction, np.full((D, D), 0.8) + 0.2 * np.eye(D))
    sign = np.sign(direction)
    assert sign @ found @ sign > 3 * np.trace(found)


def test_what_is_less_reliable_is_less_stretched() -> None:
    stretches = [np.linalg.cond(metric(relevant(), None, q)) for q in (0.99, 0.9, 0.7, 0.51)]
    assert np.all(np.diff(stretches) < 0)
    np.testing.assert_array_equal(metric(relevant(), None, 0.5), np.eye(D))


@pytest.mark.parametrize("size", [0.0, 1e-3])
def test_without_a_predicted_gain_it_is_euclidean(size: float) -> None:
    direction = np.full(D, 1e-6) + relevant(size)
    np.testing.assert_array_equal(metric(direction), np.eye(D))


def test_scales_of_features_are_those_of_their_units() -> None:
    direction, unit = relevant(), np.geomspace(0.01, 1.0, D)
    found = separating_metric(separation(direction), unit, N, 0.03, 0.0)
    weights = np.diag(found)[:RELEVANT] * unit[:RELEVANT] ** 2  # of standardised features
    assert np.all(np.diff(weights) > 0)
    assert np.trace(found) == pytest.approx(D)


def by_hand(direction: np.ndarray, q: float, hidden: float) -> tuple[float, float, np.ndarray]:
    """Return g, a and M from the formulas, without correlations and for features of equal size."""
    inverse = 1 / (1 - direction**2)
    stretch = np.outer(inverse * direction, inverse * direction) / (direction**2 @ inverse)
    features = 0.3 * np.diag(direction**2) / max(direction**2)

    def stretched(alone: float, times: float) -> np.ndarray:
        more = 10.0**alone
        rest = 0.03 / more + hidden + 0.3 * (1 - q) / q
        return np.asarray(stretch + more * features + times * rest * np.eye(D))

    tried = np.eye(D), stretched(0.0, 1.0), stretched(1.0, 1.0)
    contrasts = separation(direction, q).contrasts()
    plain, across, alone = (
        neighbour_error(metric, np.diag(1 / inverse), contrasts, N) for metric in tried
    )
    gain = plain - across
    a = min(max((plain - alone) / gain - 0.85, 0.0) / 0.15, 1.0)
    found = stretched(a, min(max(0.15 / gain, 0.2), 8.0))
    return gain, a, found * D / np.trace(found)


@pytest.mark.parametrize("hidden", [0.0, 0.2])
@pytest.mark.parametrize("q", [0.99, 0.6])
@pytest.mark.parametrize(
    ("size", "rest", "a"), [(0.6, 0.0, 1.0), (0.6, 0.15, None), (0.3, 0.3, 0.0)]
)
def test_it_is_the_formula(
    size: float, rest: float, a: float | None, q: float, hidden: float
) -> None:
    direction = np.where(np.arange(D) < RELEVANT, size, rest)
    _, alone, expected = by_hand(direction, q, hidden)
    assert alone == a if a is not None else 0 < alone < 1
    found = separating_metric(separation(direction, q), np.ones(D), N, 0.03, hidden)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_least_gain_is_that_of_so_many_records() -> None:
    sizes = np.geomspace(0.01, 0.3, 400)
    gains = [by_hand(relevant(size), 0.99, 0.0)[0] * math.sqrt(N) for size in sizes]
    metrics = (
        separating_metric(separation(relevant(size)), np.ones(D), N, 0.03, 0.0) for size in sizes
    )
    learned = [not np.array_equal(found, np.eye(D)) for found in metrics]
    assert learned == [gain > 0.2 for gain in gains]
    assert max(gain for gain in gains if gain <= 0.2) > 0.19
    assert min(gain for gain in gains if gain > 0.2) < 0.21
