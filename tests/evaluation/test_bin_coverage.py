"""Intervals at thresholds, and bands of ROC curves, hold as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from pairdp.evaluation.ratios import CountNoise
from pairdp.evaluation.score_bins import count_bins, spread_edges
from pairdp.evaluation.threshold import NoisyBins

pytestmark = pytest.mark.slow
RUNS, BANDS = 600, 150
CELLS = [
    (300, 0.5, 0.7, 1.0, True),
    (3000, 0.1, 0.95, 0.2, True),
    (300, 0.1, 0.95, 1.0, False),
    (3000, 0.5, 0.8, 2.0, False),
]
# For cells that cover 0.95, the chance that any figure of any cell is below this is 1e-7.
FEWEST = binom.ppf(1e-7 / (3 * len(CELLS)), RUNS, 0.95)
FEWEST_BANDS = binom.ppf(1e-7 / len(CELLS), BANDS, 0.95)


@pytest.mark.parametrize(("n", "share", "auc", "epsilon", "curve"), CELLS)
def test_intervals_and_bands_cover(
    n: int, share: float, auc: float, epsilon: float, curve: bool
) -> None:
    """False alarms: 2e-7 in all cells; normal scores around zero."""
    rng = np.random.default_rng([n, int(100 * auc), curve])
    distance = ndtri(auc) * math.sqrt(2)
    edges = spread_edges(5.0) if curve else (0.0,)
    at = np.array(edges)
    true_rates, false_rates = ndtr(distance / 2 - at), ndtr(-distance / 2 - at)
    hit, wrong = float(ndtr(distance / 2)), float(ndtr(-distance / 2))
    precision = share * hit / (share * hit + (1 - share) * wrong)
    noise = CountNoise(2 / epsilon, False)
    held, whole = np.zeros(3), 0
    for run in range(RUNS):
        signs = np.where(rng.random(n) < share, 1.0, -1.0)
        counts = count_bins(rng.normal(size=n) + signs * distance / 2, signs, at)
        noisy = counts + rng.laplace(size=counts.shape) * noise.scale
        found = NoisyBins(edges, (tuple(noisy[0].tolist()), tuple(noisy[1].tolist())), noise)
        for i, (figure, exact) in enumerate(
            zip(found.at(0.0)[1:], (hit, 1 - wrong, precision), strict=True)
        ):
            held[i] += figure.interval.lower <= exact <= figure.interval.upper
        if curve and run < BANDS:
            roc = found.roc()
            intervals = (*roc.false_positive_intervals, *roc.true_positive_intervals)
            exact_rates = np.concatenate([false_rates, true_rates])
            pairs = zip(intervals, exact_rates, strict=True)
            whole += all(one.lower <= rate <= one.upper for one, rate in pairs)
    assert held.min() >= FEWEST
    assert not curve or whole >= FEWEST_BANDS
