"""Steps a second of private networks: the built-in one, a torch module, and Opacus.

A step is one noisy mean of clipped gradients of a network of two layers with tanh, over b records.
Opacus takes the gradient of a cross-entropy and an Adam step in single precision; ours are
gradients of scores in double precision, with slopes from noisy histograms, exact noise on a grid
and an Adam step. All run in one thread, in turns.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.opacus_peer import perceptron
from benchmarks.timing import best_seconds
from pairdp import TorchModule
from pairdp.algorithms.neural import Network
from pairdp.algorithms.neural.clipped_sums import NetworkRecords
from pairdp.algorithms.neural.optimizer import Adam
from pairdp.algorithms.neural.reference_slopes import BINS, ReferenceSlopes
from pairdp.algorithms.neural.score_network import ScoreNetwork
from pairdp.algorithms.neural.torch_network import TorchNetwork
from pairdp.privacy import GaussianMechanism, NoiseSource

FEATURES, HIDDEN = 64, (96, 24)
SIZES, STEPS = (256, 4096), {256: 20, 4096: 3}


def _ours(network: ScoreNetwork, rows: NDArray[Any], y: NDArray[Any]) -> Callable[[], None]:
    records = NetworkRecords(network, rows, y)
    slopes = ReferenceSlopes.of(np.ones((2, BINS)))
    mechanism = GaussianMechanism(2 / len(y), 2 / len(y), network.size)
    generator = NoiseSource(0).stream("noise")
    adam = Adam(network.initial(0), 1000, 0.05)

    def step() -> None:
        mean = records.mean_of_clipped(adam.parameters, slopes.at, 1.0)
        adam.step(mechanism.release(mean, generator))

    return step


def _opacus(rows: NDArray[Any], y: NDArray[Any]) -> Callable[[], None]:
    import opacus
    import torch

    made = opacus.GradSampleModule(perceptron(FEATURES, HIDDEN))
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.Adam(made.parameters(), lr=0.01),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        expected_batch_size=len(y),
    )
    x = torch.tensor(rows, dtype=torch.float32)
    positive = torch.tensor(y > 0, dtype=torch.float32)
    loss = torch.nn.functional.binary_cross_entropy_with_logits

    def step() -> None:
        optimizer.zero_grad()
        loss(made(x)[:, 0], positive).backward()
        optimizer.step()

    return step


def main() -> None:
    """Print the table."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = TorchModule(perceptron(FEATURES, HIDDEN))
        networks: list[ScoreNetwork] = [Network(FEATURES, HIDDEN), TorchNetwork(module, FEATURES)]
        sizes = [network.size for network in networks]
        print(f"milliseconds a step, {sizes[0]} to {sizes[1]} parameters, one thread")
        print("| b | built-in | torch module | Opacus |")
        print("|---|---|---|---|")
        for b in SIZES:
            rows = rng.normal(size=(b, FEATURES)) / np.sqrt(FEATURES)
            y = rng.choice([-1.0, 1.0], b)
            steps = [*(_ours(network, rows, y) for network in networks), _opacus(rows, y)]

            def several(step: Callable[[], None], count: int = STEPS[b]) -> Callable[[], None]:
                return lambda: [step() for _ in range(count)] and None

            found = best_seconds([several(one) for one in steps], 5, time.process_time)
            cells = [f"{1e3 * seconds / STEPS[b]:.3g}" for seconds in found]
            print(f"| {b} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
