"""Normals per CPU second: exact on the grid, plain and compiled; in floating point; OpenDP."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable

import numpy as np

from benchmarks.timing import best_seconds
from pairdp.privacy import KNormMechanism, NoiseSource
from pairdp.privacy.mechanisms.rounded_normal import rounded_normals

COUNT, OPENDP_COUNT = 1_000_000, 20_000
ROUNDS = 15
RATIO = 1.3 * 2.0**26


def rate(draw: Callable[[int], object], count: int = COUNT) -> float:
    """Return the best of a few rounds, in numbers per CPU second."""
    draw(count)
    return count / best_seconds([lambda: draw(count)], ROUNDS, time.process_time)[0]


def rates() -> dict[str, float]:
    """Return normals per CPU second by how they are drawn."""
    stream = NoiseSource().stream("noise")
    found = {
        "floating point, numpy's PCG64": rate(np.random.default_rng().standard_normal),
        "floating point, ChaCha20": rate(stream.standard_normal),
        "exact on the grid, numpy": rate(lambda count: rounded_normals(stream, RATIO, count)),
    }
    if importlib.util.find_spec("numba"):
        found["exact on the grid, compiled"] = rate(
            lambda count: rounded_normals(stream, RATIO, count, compiled=True)
        )
    if importlib.util.find_spec("opendp"):
        found["OpenDP's Gaussian mechanism"] = rate(_opendp(), OPENDP_COUNT)
    return found


def _opendp() -> Callable[[int], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), 1.0)
    return lambda count: mechanism([0.0] * count)


def main() -> None:
    """Print normals per CPU second, K-norm vectors, and the time to open a stream."""
    found = rates()
    exact = found["exact on the grid, numpy"]
    print("Noise: normals per CPU second, and as a multiple of the exact ones in numpy")
    for name, value in found.items():
        print(f"  {name:32s} {value:10.3g}   {value / exact:8.2g}x")
    if "OpenDP's Gaussian mechanism" not in found:
        print("  (OpenDP is not installed)")
    stream = NoiseSource().stream("pure")
    for dimension in (21, 441):
        mechanism = KNormMechanism(1.0, 1.0, dimension)
        per_second = rate(lambda count, m=mechanism: m.noise(m.dimension, stream), 1)  # type: ignore[misc]
        print(f"  one K-norm vector, d = {dimension:3d}        {1e3 / per_second:10.3g} ms")
    source = NoiseSource()
    start = time.process_time()
    for step in range(2000):
        source.stream("noise", step)
    print(
        f"  opening one stream               {(time.process_time() - start) / 2000 * 1e6:10.1f} µs"
    )


if __name__ == "__main__":
    main()
