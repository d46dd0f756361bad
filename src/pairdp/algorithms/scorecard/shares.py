r"""How a scorecard divides its budget, from public facts.

With d columns of which m are numbers, µ the GDP parameter of the budget, κ = nµ/d^1.5 and
ρ = nµ/(d + 2m): if κ < 5, weights cannot be learned, and the budget is spent on counts alone, with
0.22·√(m/d) of µ² for the partition of numbers. Otherwise labelled counts get 0.3 to 0.5 of µ², more
for small ρ, the partition 0.12·√(m/d), and of the rest 0.15 is for second moments and 0.85 for
gradients: 6 of them, or 4 if nµ < 30(d + m). (The numbers were chosen on adult, german and
synthetic tables.) For pure ε, shares are of ε, and weights of the shapes alone are learned if
nε/d² ≥ 300: 0.12 for the partition, 0.33 for counts, 0.15 for second moments and 0.4 for gradients.
If pairs of columns are to be chosen, 0.05 of µ² is for that, and the others are divided in the same
way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairdp.algorithms.scorecard.cells import BRANCHES, LEVELS

_LEAST_SIGNAL, _LEAST_PURE_SIGNAL = 5.0, 300.0
_CHOICE = 0.05
_FEWEST_BINS, _MOST_BINS = 3, 40
_LEAST_SAMPLED, _LARGEST_RIDGE = 100_000, 0.3


@dataclass(frozen=True)
class Shares:
    """The shares of µ² (of ε, for pure ε) of each release; they add up to 1."""

    partition: float
    counts: float
    moments: float
    gradients: float
    choice: float = 0.0

    @property
    def learns_weights(self) -> bool:
        """Whether weights are learned; otherwise all are 1, as in naive Bayes."""
        return self.gradients > 0


def shares_of(
    n: int, mu: float, columns: int, numbers: int, *, pure: bool, chooses: bool = False
) -> Shares:
    """Return the shares for n records and µ (infinite without noise)."""
    partition = 0.12 * math.sqrt(numbers / columns)
    if pure and n * mu / columns**2 >= _LEAST_PURE_SIGNAL:
        first = 0.12 if numbers else 0.0
        return Shares(first, 0.45 - first, 0.15, 0.4)
    if pure or n * mu / columns**1.5 < _LEAST_SIGNAL:
        first = partition * 0.22 / 0.12
        return Shares(first, 1 - first, 0.0, 0.0)
    ratio = _ratio(n, mu, columns, numbers)
    scarce = min(math.log(100 / ratio) / math.log(20), 1.0) if ratio < 100 else 0.0
    counts = 0.3 + 0.2 * scarce
    rest = 1 - partition - counts
    choice = _CHOICE if chooses else 0.0
    kept = 1 - choice
    return Shares(kept * partition, kept * counts, 0.15 * kept * rest, 0.85 * kept * rest, choice)


def steps_of(n: int, mu: float, columns: int, numbers: int) -> int:
    """Return the number of noisy gradients."""
    return 4 if n * mu < 30 * (columns + numbers) else 6


def _ratio(n: int, mu: float, columns: int, numbers: int) -> float:
    return n * mu / (columns + 2 * numbers)


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
    """Return how many records second moments are computed from; gradients, from twice as many.

    Records that are left out contribute zero to the sums over n that are released, so sensitivities
    stay the same, and the sums are multiplied by n over their number afterwards, with their noise.
    So many are used that the ridge, which is in proportion to the noise, is at most 0.3 of the mean
    eigenvalue, which is 1.

    Parameters
    ----------
    n : int
        The number of all records.
    ridge : float
        The ridge for all n records.
    """
    return min(n, max(_LEAST_SAMPLED, math.ceil(n * ridge / _LARGEST_RIDGE)))
