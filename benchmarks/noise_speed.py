"""Speed of cryptographic noise, compared with numpy's default generator."""

from __future__ import annotations

import time

import numpy as np

from pairdp.privacy import NoiseSource

COUNT = 5_000_000
ROUNDS = 5


def rate(generator: np.random.Generator) -> float:
    """Return the best of a few rounds, in normals per second."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        generator.standard_normal(COUNT)
        best = min(best, time.perf_counter() - start)
    return COUNT / best


def main() -> None:
    """Print normals per second of both, their ratio, and the time to open a stream."""
    ours, theirs = rate(NoiseSource().stream("noise")), rate(np.random.default_rng())
    source = NoiseSource()
    start = time.perf_counter()
    for step in range(2000):
        source.stream("noise", step)
    opened = (time.perf_counter() - start) / 2000
    print("Noise: normals per second")
    print(f"  ChaCha20, key of the system     {ours:10.3g}")
    print(f"  numpy's default (PCG64)         {theirs:10.3g}   {theirs / ours:5.2f}x")
    print(f"  opening one stream              {opened * 1e6:10.1f} µs")


if __name__ == "__main__":
    main()
