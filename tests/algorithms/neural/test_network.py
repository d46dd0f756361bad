"""Networks: gradients against finite differences, and rows that do not mix."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.algorithms.neural import Network
from pairdp.algorithms.neural.reference_slopes import BINS, ReferenceSlopes, count_scores
from pairdp.algorithms.neural.scores import LARGEST_ROW, NetworkScores


def parameters(network: Network, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return network.initial(seed) + 0.5 * rng.normal(size=network.size)


def jacobian(network: Network, at: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the gradient of each row's score, one parameter at a time."""
    steps = 1e-6 * np.eye(network.size)
    columns = [
        network.forward(at + step, rows).scores - network.forward(at - step, rows).scores
        for step in steps
    ]
    return np.array(columns).T / 2e-6


@pytest.mark.parametrize("hidden", [(), (3,), (4, 3), (4, 3, 2)])
def test_gradients_are_those_of_finite_differences(hidden: tuple[int, ...]) -> None:
    network = Network(5, hidden)
    rng = np.random.default_rng(1)
    at, rows, weights = parameters(network), rng.normal(size=(7, 5)), rng.normal(size=7)
    gradients = network.gradients(at, network.forward(at, rows))
    slow = jacobian(network, at, rows)
    np.testing.assert_allclose(gradients.squares, (slow**2).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(network.weighted_sum(gradients, weights), weights @ slow, atol=1e-7)


def test_gradients_in_the_linear_part_alone() -> None:
    network = Network(5, (4, 3))
    at, rows = parameters(network), np.random.default_rng(1).normal(size=(7, 5))
    gradients = network.gradients(at, network.forward(at, rows), only_linear=True)
    slow = jacobian(network, at, rows)
    expected = np.zeros(network.size)
    expected[network.linear] = slow.sum(axis=0)[network.linear]
    np.testing.assert_allclose(gradients.squares, (slow[:, network.linear] ** 2).sum(axis=1))
    np.testing.assert_allclose(
        network.weighted_sum(gradients, np.ones(7)), expected, atol=1e-7, rtol=1e-6
    )


def test_a_row_has_no_influence_on_another_to_the_last_bit() -> None:
    network = Network(6, (8, 4))
    at, rows = parameters(network), np.random.default_rng(1).normal(size=(50, 6))
    other = rows.copy()
    other[17] = [1e300, -1e300, np.nan, np.inf, 0.0, 1e-300]
    kept = np.arange(50) != 17
    with np.errstate(all="ignore"):
        passes = [network.forward(at, one) for one in (rows, other)]
        squares = [network.gradients(at, one).squares for one in passes]
    assert np.array_equal(passes[0].scores[kept], passes[1].scores[kept])
    assert np.array_equal(squares[0][kept], squares[1][kept])


def test_initial_weights_come_from_the_seed_alone() -> None:
    network = Network(6, (8, 4))
    assert np.array_equal(network.initial(3), network.initial(3))
    assert not np.array_equal(network.initial(3), network.initial(4))
    assert network.typical_norm(3) == network.typical_norm(3) > 1


def test_reference_slopes_are_the_averages_over_the_other_class() -> None:
    rng = np.random.default_rng(0)
    grid = np.linspace(-4, 4, BINS)  # scores at the centres of bins, so that nothing is rounded
    scores, y = rng.choice(grid, 300), rng.choice([-1.0, 1.0, 1.0], 300)
    found = ReferenceSlopes.of(count_scores(scores, y)).at(scores, y)
    share = (y > 0).mean()
    for i in range(20):
        others = scores[y != y[i]]
        slope = 1 / (1 + np.exp(y[i] * (scores[i] - others)))
        weight = (1 - share if y[i] > 0 else share) / max(share, 1 - share)
        assert found[i] == pytest.approx(-y[i] * weight * slope.mean(), abs=2e-4)
    assert np.abs(found).max() <= 1


def test_reference_slopes_of_any_counts_are_within_one() -> None:
    rng = np.random.default_rng(0)
    scores = np.array([-1e300, -9.0, 0.0, 3.3, 1e300])
    for counts in (np.zeros((2, BINS)), -np.ones((2, BINS)), 1e12 * rng.normal(size=(2, BINS))):
        slopes = ReferenceSlopes.of(counts)
        for y in (-1.0, 1.0):
            assert np.abs(slopes.at(scores, np.full(5, y))).max() <= 1
        assert not slopes.at(scores, np.zeros(5)).any()


def test_standardised_rows_are_clipped() -> None:
    network = Network(3, (2,))
    scores = NetworkScores(network, np.zeros(3), np.full(3, 1e-9), parameters(network))
    norms = np.linalg.norm(scores.rows(np.random.default_rng(0).normal(size=(9, 3))), axis=1)
    np.testing.assert_allclose(norms, LARGEST_ROW)


@pytest.mark.parametrize(
    ("centre", "scales", "count"),
    [
        (np.zeros(2), np.ones(3), 0),
        (np.zeros(3), np.array([1, 0, 1]), 0),
        (np.zeros(3), np.ones(3), 1),
    ],
)
def test_inconsistent_arrays_are_refused(
    centre: np.ndarray, scales: np.ndarray, count: int
) -> None:
    network = Network(3, (2,))
    with pytest.raises(ValueError, match=r"centre|parameters"):
        NetworkScores(network, centre, scales, np.zeros(network.size + count))
