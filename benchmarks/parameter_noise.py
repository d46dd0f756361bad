"""The stated noise of weights, divided by their standard deviation over many runs."""

from __future__ import annotations

import math

import numpy as np

from pairdp import NoiseSource, PrivateRanker
from pairdp.algorithms import Algorithm, MomentRelease, find_algorithm
from pairdp.comparison import SyntheticRecords

RUNS = 60
SIZES = ((200, 5, 0.5), (500, 20, 1.0), (1000, 10, 1.0))
ALGORITHMS: dict[str, Algorithm] = {
    "moments": MomentRelease(),
    "first moments": MomentRelease(second_moments=False),
    "DPGDSC": find_algorithm("DPGDSC"),
    "DPGDC2": find_algorithm("DPGDC2"),
}


def ratio(algorithm: Algorithm, n: int, d: int, epsilon: float) -> tuple[str, float]:
    """Return how the noise is known, and its root mean square relative to that of the runs."""
    split = SyntheticRecords(n, d, test=10).split(0)
    ranker = PrivateRanker(epsilon, 1e-6, data_norm=1.0, threshold=0.0, algorithm=algorithm)
    plan = ranker.plan(n, d)
    records = plan.problem.records(split.x, split.y)
    fits = [plan.run(records, NoiseSource(run), progress=False) for run in range(RUNS)]
    noises = [plan.algorithm.noise_of(plan, fit) for fit in fits]
    stated = np.array([noise.of_each(d) for noise in noises], np.float64)
    measured = np.std([fit.parameters for fit in fits], axis=0)
    return noises[0].kind, math.sqrt(np.mean(stated**2) / np.mean(measured**2))


def main() -> None:
    """Print the ratios."""
    print(f"Stated noise of weights, divided by that of {RUNS} runs, on synthetic records")
    sizes = "".join(f"  n={n} d={d} ε={e:g}".rjust(20) for n, d, e in SIZES)
    print(f"  {'':14s} {'':12s}{sizes}")
    for name, algorithm in ALGORITHMS.items():
        found = [ratio(algorithm, *size) for size in SIZES]
        cells = "".join(f"{value:20.2f}" for _, value in found)
        print(f"  {name:14s} {found[0][0]:12s}{cells}")


if __name__ == "__main__":
    main()
