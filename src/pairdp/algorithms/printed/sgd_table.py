"""Comparison of the printed and the certified noise of pairwise SGD and DP-SGD.

Run with ``python -m pairdp.algorithms.printed.sgd_table``. Three tables:

- Yang 2021, equation (5): σ/(ηG) at ε = 1, δ = 1e-5, compared with the certified noise for any
  loss, for the ranking hinge, and for the smoothed hinge, also with passes in random order; T = n
  is one pass, and T = n² the number of steps of Theorem 5;
- Wang 2024, Theorems 2 and 5: σ/G at δ = 1/n² with the best β, compared with the certified noise
  for a pair diameter of 2G, as for any loss, and of G, as for ranking; T = n is the number of steps
  of Theorems 3 and 6, and T = 1000 that of the simulations;
- the certified noise of larger batches with all their pairs.
"""

from __future__ import annotations

import math

import numpy as np

from pairdp.algorithms.printed import wang2024, yang2021
from pairdp.privacy import Budget, FixedSizeSampling, RepeatedDraws, noise_multiplier

BUDGET = Budget(1.0, 1e-5)
SIZES = ((100, 1), (100, 100), (1000, 1), (1000, 10), (1000, 1000), (10_000, 1))
WANG = ((1000, 1000), (5000, 1000), (5000, 5000), (10_000, 10_000))
EPSILONS = (0.5, 1.0, 2.0, 4.0)
BATCHES = (2, 10, 50, 200, 5000)


def yang_row(n: int, steps: int, budget: Budget = BUDGET) -> dict[str, float]:
    """Return σ/(ηG) as printed and as certified for several losses."""
    corner = float(np.mean(np.sqrt(np.arange(steps))))
    sharp = noise_multiplier(budget, 1, RepeatedDraws(n, steps, base=corner))
    in_passes = noise_multiplier(budget, 1, RepeatedDraws(n, steps, "permutation", base=corner))
    return {
        "printed": yang2021.average_noise(n, steps, budget),
        "any loss": 2 * sharp,
        "any loss, in passes": 2 * in_passes,
        "hinge": sharp,
        "rounded": noise_multiplier(budget, 1, RepeatedDraws(n, steps)),
        "rounded, in passes": noise_multiplier(budget, 1, RepeatedDraws(n, steps, "permutation")),
    }


def wang_row(n: int, steps: int, epsilon: float, *, pairs: bool) -> dict[str, float]:
    """Return σ/G as printed, NaN if no β is admissible, and as certified for D = 2G and D = G."""
    budget = Budget(epsilon, n**-2.0)
    try:
        printed = wang2024.gradient_noise(n, steps, budget, 2 if pairs else 1).multiplier
    except ValueError:
        printed = math.nan
    drawn = FixedSizeSampling(2 if pairs else 1, n)
    certified = noise_multiplier(budget, steps, drawn)
    return {"printed": printed, "any loss": 2 * certified, "ranking": certified}


def batch_row(size: int) -> float:
    """Return σ/G of a step on all pairs of b of 5000 records, 1000 steps at ε = 1, ranking."""
    budget = Budget(1.0, 5000**-2.0)
    return 2 / size * noise_multiplier(budget, 1000, FixedSizeSampling(size, 5000))


def main() -> None:
    """Print the tables."""
    print("Yang 2021, equation (5): σ/(ηG) at ε = 1, δ = 1e-5 (reduction in brackets)")
    names = ("any loss", "  in passes", "hinge", "rounded", "  in passes")
    print(f"  {'n':>6s} {'T':>8s} {'printed':>10s}  " + "".join(f"{name:17s}" for name in names))
    for n, times in SIZES:
        row = yang_row(n, n * times)
        printed = row.pop("printed")
        cells = "".join(f" {s:8.1f} ({printed / s:4.0f}x)" for s in row.values())
        print(f"  {n:6d} {n * times:8d} {printed:10.0f} {cells}")
    for pairs in (True, False):
        kind = "pairs" if pairs else "records"
        print(f"\nWang 2024 on {kind}: σ/G at δ = 1/n² (reduction in brackets)")
        print(f"  {'n':>6s} {'T':>6s} {'ε':>4s}  printed   any loss          D = G")
        for n, steps in WANG:
            for epsilon in EPSILONS:
                row = wang_row(n, steps, epsilon, pairs=pairs)
                printed = row.pop("printed")
                if math.isnan(printed):
                    cells = "".join(f" {s:8.3f}        " for s in row.values())
                    print(f"  {n:6d} {steps:6d} {epsilon:4g}    no β  {cells}")
                    continue
                cells = "".join(f" {s:8.3f} ({printed / s:4.1f}x)" for s in row.values())
                print(f"  {n:6d} {steps:6d} {epsilon:4g} {printed:8.3f} {cells}")

    print("\nAll pairs of b records per step, n = 5000, T = 1000, ε = 1, ranking: σ/G")
    for size in BATCHES:
        print(f"  b = {size:4d} {batch_row(size):8.3f}")


if __name__ == "__main__":
    main()
