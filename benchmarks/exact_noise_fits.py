"""Whole fits with exact noise and with noise in floating point: time at n = 10⁶, AUC and audits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from pairdp import Budget, PrivateRanker
from pairdp.algorithms import Algorithm, GradientDescent, NoisyGradientDescent, kernels
from pairdp.audit import TightLoss, audit_plan
from pairdp.constraints import L2Ball
from pairdp.privacy.mechanisms import additive_noise
from pairdp.problem import Problem

Array = NDArray[np.float64]
LARGE, SMALL, FEATURES = 1_000_000, 1000, 20
ROUNDS, SEEDS = 3, 60
ALGORITHMS: dict[str, str | Algorithm] = {
    "auto": "auto",
    "gradient descent, output noise": GradientDescent("average", steps=10),
    "noise on 10 gradients": NoisyGradientDescent("average", steps=10),
    "2000 batches of 256 records": NoisyGradientDescent(
        "average", steps=2000, step_size=0.1, batch_size=256
    ),
    "200000 steps on one pair": NoisyGradientDescent(
        "average", steps=200_000, step_size=0.01, batch_size=2
    ),
}
AUDITED: dict[str, Algorithm] = {
    "output noise": GradientDescent(steps=3),
    "noise on gradients": NoisyGradientDescent(steps=3, step_size=0.2),
}


def _floats(
    generator: np.random.Generator, ratio: float, size: int, *, compiled: bool = False
) -> NDArray[np.int64]:
    return np.rint(generator.standard_normal(size) * ratio).astype(np.int64)


@contextmanager
def noise_in_floating_point() -> Iterator[None]:
    """Draw normal noise in floating point, as most libraries do."""
    exact = additive_noise.rounded_normals
    additive_noise.rounded_normals = kernels.rounded_normals = _floats
    try:
        yield
    finally:
        additive_noise.rounded_normals = kernels.rounded_normals = exact


def table(n: int, seed: int) -> tuple[Array, NDArray[np.int64]]:
    """Return records of two overlapping classes in the unit ball."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, FEATURES)) + 0.3 * y[:, None]
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9), y


def fitted(x: Array, y: NDArray[np.int64], algorithm: str | Algorithm, seed: int) -> PrivateRanker:
    """Return a ranker with ε = 1."""
    model = PrivateRanker(
        epsilon=1.0, delta=1e-7, data_norm=1.0, threshold=0.0, algorithm=algorithm,
        classes=[0, 1], random_state=seed,
    )  # fmt: skip
    return model.fit(x, y)


def seconds(x: Array, y: NDArray[np.int64], algorithm: str | Algorithm) -> tuple[float, float]:
    """Return the least seconds of a fit with exact noise, and with noise in floating point."""
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        start = time.process_time()
        fitted(x, y, algorithm, 0)
        best[0] = min(best[0], time.process_time() - start)
        with noise_in_floating_point():
            start = time.process_time()
            fitted(x, y, algorithm, 0)
            best[1] = min(best[1], time.process_time() - start)
    return best[0], best[1]


def audited(algorithm: Algorithm) -> float:
    """Return a lower bound on ε that an audit of a tight example finds."""
    plan = algorithm.plan(Problem(TightLoss(), L2Ball(10.0), 0.5), 4, 2, Budget(1.0, 1e-5))
    return audit_plan(plan, climbs=0, progress=False).lower_bound


def main() -> None:
    """Print CPU seconds of fits and their ratio, AUC with its standard error, and audits."""
    x, y = table(LARGE, 0)
    print(f"Fits of n = {LARGE} records, d = {FEATURES}: CPU seconds, exact and floating point")
    for name, algorithm in ALGORITHMS.items():
        exact, floats = seconds(x, y, algorithm)
        print(f"  {name:32s} {exact:8.3f} {floats:8.3f}   {exact / floats:6.3f}x")
    x, y = table(SMALL, 1)
    test_x, test_y = table(20_000, 2)
    print(f"AUC of n = {SMALL}, {SEEDS} draws of noise: exact, floating point")
    for name, algorithm in ALGORITHMS.items():
        found = []
        for draw in range(2):
            scores = []
            for seed in range(SEEDS):
                if draw:
                    with noise_in_floating_point():
                        model = fitted(x, y, algorithm, seed)
                else:
                    model = fitted(x, y, algorithm, seed)
                scores.append(model.score(test_x, test_y))
            found += [np.mean(scores), np.std(scores) / np.sqrt(SEEDS)]
        first, first_error, second, second_error = found
        print(f"  {name:32s} {first:.4f} ± {first_error:.4f}   {second:.4f} ± {second_error:.4f}")
    print("Audited lower bounds on ε where ε = 1 is certified: exact, floating point")
    for name, algorithm in AUDITED.items():
        exact = audited(algorithm)
        with noise_in_floating_point():
            print(f"  {name:32s} {exact:.4f}   {audited(algorithm):.4f}")


if __name__ == "__main__":
    main()
