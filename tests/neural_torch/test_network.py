"""A torch module as a score network: against the built-in one, finite differences and NaN."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pairdp import TorchModule
from pairdp.algorithms.neural import Network
from pairdp.algorithms.neural import torch_network as of_torch
from pairdp.algorithms.neural.clipped_sums import NetworkRecords
from pairdp.algorithms.neural.torch_network import TorchNetwork
from pairdp.losses import LogisticRanking
from tests.neural_torch import modules


def in_torch(parameters: np.ndarray, network: Network) -> np.ndarray:
    """Return the parameters of the built-in network in the order of the module."""
    *layers, last, linear = network.parts(parameters)
    ordered = [part for layer in layers for part in (layer[:-1].T.ravel(), layer[-1])]
    return np.concatenate([*ordered, last, linear])


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    network = Network(5, (4, 3))
    at = network.initial(0) + 0.5 * rng.normal(size=network.size)
    return at, rng.normal(size=(40, 5)), rng.choice([-1.0, 0.0, 1.0], 40)


def test_it_computes_what_the_built_in_network_computes(data, monkeypatch) -> None:
    at, rows, y = data
    own, network = Network(5, (4, 3)), TorchNetwork(TorchModule(modules.Plain), 5)
    assert (network.size, network.linear) == (own.size, own.linear)
    there = in_torch(at, own)
    monkeypatch.setattr(of_torch, "_BLOCK_NUMBERS", 7 * own.size)  # several blocks
    assert network.block == 7
    ours, theirs = NetworkRecords(own, rows, y), NetworkRecords(network, rows, y)
    np.testing.assert_allclose(theirs.scores(there), ours.scores(at), atol=1e-12)
    for only in (False, True):
        for clip in (0.3, 1e3):
            found = theirs.mean_of_clipped(there, lambda s, y: -y * s, clip, only_linear=only)
            expected = ours.mean_of_clipped(at, lambda s, y: -y * s, clip, only_linear=only)
            np.testing.assert_allclose(found, in_torch(expected, own), atol=1e-12)
            found = theirs.mean_over_pairs(there, LogisticRanking(), clip, only_linear=only)
            expected = ours.mean_over_pairs(at, LogisticRanking(), clip, only_linear=only)
            np.testing.assert_allclose(found, in_torch(expected, own), atol=1e-12)


@pytest.mark.parametrize("kind", [modules.Tied, modules.Frozen, modules.Net])
def test_gradients_are_those_of_finite_differences(kind: type) -> None:
    network = TorchNetwork(TorchModule(kind), 3, seed=5)
    rng = np.random.default_rng(1)
    at, rows, weights = network.initial(5), rng.normal(size=(6, 3)), rng.normal(size=6)
    at[network.linear] = rng.normal(size=4)
    slow = np.array(
        [
            weights @ (network.scores(at + step, rows) - network.scores(at - step, rows)) / 2e-6
            for step in 1e-6 * np.eye(network.size)
        ]
    )
    fast = network.gradient_sum(at, rows, lambda scores, norms: weights)
    np.testing.assert_allclose(fast, slow, atol=1e-7)


def test_tied_weights_are_one_parameter_and_fixed_ones_are_none() -> None:
    assert TorchNetwork(TorchModule(modules.Tied), 3).size == 9 + 3 + 4
    frozen = TorchNetwork(TorchModule(modules.Frozen), 3, seed=2)
    assert frozen.size == 2 * 4 + 4 + 1 + 4
    assert frozen.fixed_numbers.size == 3 * 4 + 4 + 4 + 1
    other = TorchNetwork(TorchModule(modules.Frozen), 3, seed=3, fixed=frozen.fixed_numbers)
    rows = np.random.default_rng(0).normal(size=(5, 3))
    at = frozen.initial(2)
    assert np.array_equal(other.scores(at, rows), frozen.scores(at, rows))
    with pytest.raises(ValueError, match="number of fixed"):
        TorchNetwork(TorchModule(modules.Net), 3, fixed=np.zeros(1)).scores(at, rows)


def test_no_buffer_carries_records_from_one_call_to_the_next() -> None:
    """Such a module is refused; if it hides that, scores are still those of one record each."""
    used, new = (TorchNetwork(TorchModule(modules.Remembering), 3) for _ in range(2))
    first, second = np.random.default_rng(0).normal(size=(2, 5, 3))
    at = used.initial(0)
    used.gradients(at, first)
    assert np.array_equal(used.scores(at, second), new.scores(at, second))
    assert not used.fixed_numbers.any()


def test_gradients_that_are_not_finite_count_as_zero_and_change_no_other_record() -> None:
    network = TorchNetwork(TorchModule(modules.NotFinite, linear=False), 2)
    at = np.array([0.5, -0.5, 0.25])
    rows = np.random.default_rng(0).uniform(-0.9, 0.9, size=(9, 2))
    bad = rows.copy()
    bad[3, 0], bad[5, 0], bad[7] = 2.0, -2.0, np.nan
    kept = ~np.isin(np.arange(9), (3, 5, 7))
    fine, found = network.gradients(at, rows), network.gradients(at, bad)
    assert np.array_equal(found.scores[kept], fine.scores[kept])
    assert not found.scores[~kept].any()
    assert not found.squares[~kept].any()
    for one, other in zip(found.parts, fine.parts, strict=True):
        assert np.array_equal(one[kept], other[kept])
        assert not one[~kept].any()
    assert np.isfinite(network.scores(at, bad)).all()
    total = network.gradient_sum(at, bad, lambda scores, norms: np.ones(9))
    np.testing.assert_allclose(
        total, network.gradient_sum(at, rows, lambda scores, norms: kept.astype(float))
    )


def test_initial_weights_come_from_the_seed_and_the_state_of_torch_stays() -> None:
    before = torch.get_rng_state()
    source = TorchModule(modules.Net)
    one, same, other = (TorchNetwork(source, 3, seed).initial(seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert torch.equal(before, torch.get_rng_state())
    given = modules.Net(3)
    state = {name: value.clone() for name, value in given.state_dict().items()}
    TorchNetwork(TorchModule(given), 3).typical_norm(0)
    assert all(torch.equal(value, given.state_dict()[name]) for name, value in state.items())
    assert given.first.weight.dtype == torch.float32
