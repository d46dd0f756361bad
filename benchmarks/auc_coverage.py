"""Private intervals of the AUC: how often they hold it, and how wide they are.

For each number of records, share of positives, AUC and ε, with normal scores: the share of 4000
releases whose interval holds the AUC of the population, which should be at least 95 %, the median
width of the interval, and that of DeLong's interval without privacy. The last line is the smallest
share. ``python -m benchmarks auc_coverage --quick`` takes a tenth of the releases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pairdp.evaluation.noisy_auc import NoisyAUC
from pairdp.evaluation.pair_sum import pair_sum
from pairdp.privacy.bounds.centred_auc import CentredAUC

Array = NDArray[np.float64]

SIZES, SHARES, AUCS = (300, 1000, 10_000, 100_000), (0.5, 0.1, 0.01), (0.6, 0.8, 0.95)
EPSILONS = (0.1, 0.5, 1.0, 2.0)
RELEASES, MEASURED = 4000, 40
_DATA_SETS = {300: 1000, 1000: 1000, 10_000: 800, 100_000: 200}


def delong_width(scores: Array, signs: Array) -> float:
    """Return the width of DeLong's 95 % interval; NaN if a class has fewer than two records."""
    positive, negative = np.sort(scores[signs > 0]), np.sort(scores[signs < 0])
    if min(positive.size, negative.size) < 2:
        return math.nan
    below = np.searchsorted(negative, positive) / negative.size
    above = 1 - np.searchsorted(positive, negative) / positive.size
    variance = below.var(ddof=1) / positive.size + above.var(ddof=1) / negative.size
    return float(2 * ndtri(0.975) * math.sqrt(variance))


def cell(
    n: int, share: float, auc: float, releases: int, rng: np.random.Generator
) -> tuple[list[tuple[float, float]], float]:
    """Return coverage and width for each ε, and the width without privacy."""
    data_sets = min(_DATA_SETS[n], releases)
    functions, vectors, delong = CentredAUC(n), [], []
    for number in range(data_sets):
        signs = np.where(rng.random(n) < share, 1.0, -1.0)
        scores = rng.normal(size=n) + math.sqrt(2) * ndtri(auc) * (signs > 0)
        vectors.append(functions.vector(*pair_sum(scores, signs))[:2])
        if number < MEASURED:
            delong.append(delong_width(scores, signs))
    found = []
    for epsilon in EPSILONS:
        held, widths = 0, []
        for number in range(releases):
            t, height = vectors[number % data_sets] + rng.laplace(size=2) / epsilon
            noisy = NoisyAUC(functions, float(t), float(height), None, 1 / epsilon)
            if number < MEASURED:
                widths.append(noisy.interval().width)
            held += bool(noisy.tail(np.array([auc]))[0] >= 0.04)
        found.append((held / releases, float(np.median(widths))))
    return found, float(np.nanmedian(delong))


def main(options: Sequence[str] = ()) -> None:
    """Print the table."""
    releases = RELEASES // 10 if "--quick" in options else RELEASES
    print("Coverage and median width of 95 % intervals of the AUC, by ε; DeLong without privacy")
    head = "  ".join(f"ε = {epsilon:<4g}      " for epsilon in EPSILONS)
    print(f"{'n':>6} {'share':>5} {'AUC':>5}  {head}  DeLong")
    worst = 1.0
    for number, (n, share, auc) in enumerate(itertools.product(SIZES, SHARES, AUCS)):
        rng = np.random.default_rng([2026, number])
        found, delong = cell(n, share, auc, releases, rng)
        worst = min(worst, *(held for held, _ in found))
        row = "  ".join(f"{held:.3f}, {width:.3f} " for held, width in found)
        print(f"{n:6d} {share:5.2f} {auc:5.2f}  {row}   {delong:.3f}", flush=True)
    print(f"smallest coverage: {worst:.4f}")


if __name__ == "__main__":
    main()
