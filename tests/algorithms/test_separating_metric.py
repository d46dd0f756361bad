"""Which metric the differences of class means give: a function of released values."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.algorithms.class_separation import Separation
from pairdp.algorithms.separating_metric import separating_metric

D, RELEVANT = 12, 3


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
    return separating_metric(found, np.ones(D), 2000, 0.03, 0.0, total)


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
    found = separating_metric(separation(direction), unit, 2000, 0.03, 0.0)
    weights = np.diag(found)[:RELEVANT] * unit[:RELEVANT] ** 2  # of standardised features
    assert np.all(np.diff(weights) > 0)
    assert np.trace(found) == pytest.approx(D)
