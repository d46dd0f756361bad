"""Intervals of the AUC hold the AUC of the population as often as they say."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from pairdp.evaluation.noisy_auc import NoisyAUC
from pairdp.evaluation.pair_sum import pair_sum
from pairdp.privacy.bounds.centred_auc import CentredAUC

Array = NDArray[np.float64]
pytestmark = pytest.mark.slow

DATA_SETS, DRAWS = 250, 4
CELLS = [
    *itertools.product((300,), (0.5, 0.1, 0.01), (0.6, 0.95), (0.0,)),
    (3000, 0.5, 0.95, 0.0),
    (3000, 0.01, 0.6, 0.0),
    (1000, 0.1, 0.8, 0.2),
]
EPSILONS = (0.1, 0.5, 2.0)
# For cells that cover 0.95, the chance that any of them is below this is 1e-7.
FEWEST = int(binom.ppf(1e-7 / (len(CELLS) * len(EPSILONS)), DATA_SETS * DRAWS, 0.95))


def vectors(n: int, share: float, auc: float, rng: np.random.Generator, null: float) -> Array:
    """Return T, h and γZ of random data sets with normal scores."""
    found = []
    for _ in range(DATA_SETS):
        signs = np.where(rng.random(n) < share, 1.0, -1.0)
        scores = rng.normal(size=n) + math.sqrt(2) * ndtri(auc) * (signs > 0)
        scores[rng.random(n) < null] = np.nan
        found.append(CentredAUC(n).vector(*pair_sum(scores, signs)))
    return np.array(found)


def covered(released: NoisyAUC, auc: float) -> bool:
    return bool(released.tail(np.array([auc]))[0] >= 0.04)


@pytest.mark.parametrize(("n", "share", "auc", "null"), CELLS)
def test_intervals_cover(n: int, share: float, auc: float, null: float) -> None:
    """False alarms: 1e-7 in all cells; each data set is used with several draws of the noise."""
    rng = np.random.default_rng([n, int(100 * share), int(100 * auc)])
    exact = vectors(n, share, auc, rng, null)
    for epsilon in EPSILONS:
        kept = 0
        for vector in np.repeat(exact, DRAWS, axis=0):
            t, height, gone = (vector + rng.laplace(size=3) / epsilon).tolist()
            kept += covered(
                NoisyAUC(CentredAUC(n), t, height, gone if null else None, 1 / epsilon), auc
            )
        assert kept >= FEWEST, (epsilon, kept)


@dataclasses.dataclass(frozen=True)
class WithoutSampling(NoisyAUC):
    """An interval that leaves out the variance of sampling."""

    @property
    def _box(self):  # type: ignore[no-untyped-def]
        return NoisyAUC._box.func(self)._replace(variance=0.0)  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True)
class WithoutClasses(NoisyAUC):
    """An interval that leaves out the noise of the numbers of the classes."""

    @property
    def _box(self):  # type: ignore[no-untyped-def]
        return NoisyAUC._box.func(self)._replace(by_height=0.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "n", "share", "epsilon", "auc"),
    [(WithoutSampling, 1000, 0.1, 2.0, 0.8), (WithoutClasses, 20_000, 0.025, 0.1, 0.99)],
)
def test_intervals_that_leave_something_out_are_found(
    kind: type[NoisyAUC], n: int, share: float, epsilon: float, auc: float
) -> None:
    rng = np.random.default_rng(0)
    kept = 0
    for vector in np.repeat(vectors(n, share, auc, rng, 0.0), DRAWS, axis=0):
        t, height, _ = (vector + rng.laplace(size=3) / epsilon).tolist()
        kept += covered(kind(CentredAUC(n), t, height, None, 1 / epsilon), auc)
    assert kept < FEWEST
