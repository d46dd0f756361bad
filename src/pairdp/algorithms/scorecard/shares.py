r"""How a scorecard divides its budget, from public facts.

With d columns of which m are numbers, µ the GDP parameter of the budget, κ = nµ/d^1.5 and
ρ = nµ/(d + 2m): if κ < 4, weights cannot be learned, and the budget is spent on counts alone.
Otherwise labelled counts get 0.3 to 0.5 of µ², more for small ρ, the partition of numbers 0.12, and
of the rest 0.26 is for second moments and 0.74 for gradients. (The numbers were chosen on adult,
german and synthetic tables.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairdp.algorithms.scorecard.cells import BRANCHES, LEVELS

STEPS = 8
"""Number of noisy gradients."""

_FEWEST_BINS, _MOST_BINS = 3, 40
_LEAST_SAMPLED, _LARGEST_RIDGE = 65_536, 0.1


@dataclass(frozen=True)
class Shares:
    """The shares of µ² (of ε, for pure ε) of each release; they add up to 1."""

    partition: float
    counts: float
    moments: float
    gradients: float

    @property
    def learns_weights(self) -> bool:
        """Whether weights are learned; otherwise all are 1, as in naive Bayes."""
        return self.gradients > 0


def shares_of(n: int, mu: float, columns: int, numbers: int, *, pure: bool) -> Shares:
    """Return the shares for n records and µ (infinite without noise)."""
    partition = 0.12 if numbers else 0.0
    if pure or n * mu / columns**1.5 < 4:
        counts = 0.43
        total = partition + counts
        return Shares(partition / total, counts / total, 0.0, 0.0)
    ratio = n * mu / (columns + 2 * numbers)
    scarce = min(math.log(100 / ratio) / math.log(20), 1.0) if ratio < 100 else 0.0
    counts = 0.3 + 0.2 * scarce
    rest = 1 - partition - counts
    return Shares(partition, counts, 0.26 * rest, 0.74 * rest)


def most_bins(n: int, deviation: float) -> int:
    """Return the number of bins that a number is divided into, for noise on labelled counts."""
    if deviation == 0:
        return _MOST_BINS
    return int(np.clip(0.75 * math.sqrt(n / deviation), _FEWEST_BINS, _MOST_BINS))


def levels_of(n: int, deviation: float) -> int:
    """Return how often cells are divided, for the noise on counts if there were one level."""
    if deviation == 0:
        return LEVELS
    return 1 if n / deviation < 12 else 2 if n / deviation < 25 else LEVELS


def most_cells(bins: int, levels: int) -> int:
    """Return the largest number of cells of a number at the last level, without the missing one.

    A cell is divided only if it has more than n/(4·bins) records, by counts that add up to n: fewer
    than 4·bins are.
    """
    cells = BRANCHES
    for _ in range(levels - 1):
        cells += (BRANCHES - 1) * min(cells, 4 * bins)
    return cells


def most_merged(bins: int) -> int:
    """Return the largest number of bins of a number, without the missing one; see `merge`."""
    return 2 * bins + 2


def sampled_records(n: int, ridge: float) -> int:
    """Return how many records second moments are computed from.

    Records that are left out contribute zero to the sum over n that is released, so its sensitivity
    stays the same, and it is multiplied by n over their number afterwards, with its noise. So many
    are used that the ridge, which is in proportion to the noise, is at most a tenth of the mean
    eigenvalue, 1 over the number of features.

    Parameters
    ----------
    n : int
        The number of all records.
    ridge : float
        The ridge for all n records, times the number of features.
    """
    return min(n, max(_LEAST_SAMPLED, math.ceil(n * ridge / _LARGEST_RIDGE)))
