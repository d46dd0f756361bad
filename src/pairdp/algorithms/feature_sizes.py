"""A private centre, and the size of every feature, from counts and mean absolute values.

`pairdp.algorithms.centering` does the same from mean squares. Here noise is smaller where records
are few: a histogram of norms has the same noise whatever the bound R is, and the mean size of one
of d features of equal size is about R/√d with a sensitivity of √2·R/n, while its mean square is
R²/d with √2·R²/n. Later sensitivities are those of any records of norm R.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.centering import NoisyStatistics, Statistic
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.algorithms.task import Task
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import Sensitivity
from pairdp.records import Records

Array = NDArray[np.float64]
NORMS, MEAN, DISTANCES = "norms of records", "mean of records", "distances from the centre"
SIZES, AGAIN = "mean sizes of features", "mean sizes of scaled features"
COUNTS_OF_NORMS = 21
"""The number of counts of norms: up to 2R, and half of that each, with all below in the last."""

_MEAN, _SIZES, _AGAIN = 0.07, 0.08, 0.1
_NORM_COUNTS = 8.0
"""How many standard deviations of noise the number of records should be, for counts of norms."""

_NORM_SHARES = (0.01, 0.08)
_FIRST_QUANTILE, _QUANTILE = 0.8, 0.5
"""The share of records that are not clipped for the mean, and for the first sizes."""

_STANDS_OUT = 2.0
_LEAST_SIZE = 0.1  # of the mean size
_DEVIATION = math.sqrt(math.pi / 2)
"""The standard deviation of a normal number, over its mean absolute value."""


def size_statistics(task: Task) -> tuple[Statistic, ...]:
    """Return the statistics that `sized` releases; they take at most 0.41 of the budget."""
    inputs = {"data_norm": task.problem.data_norm, "n": task.n}
    d = task.features
    norms = task.sensitivity("histograms of columns", columns=1)
    share = count_share(task, norms, COUNTS_OF_NORMS, _NORM_COUNTS, *_NORM_SHARES)
    sizes = task.sensitivity("mean sizes of features", **inputs)
    return (
        Statistic(NORMS, norms, COUNTS_OF_NORMS, share),
        Statistic(MEAN, task.sensitivity("mean of records", **inputs), d, _MEAN),
        Statistic(DISTANCES, norms, COUNTS_OF_NORMS, share),
        Statistic(SIZES, sizes, d, _SIZES),
        Statistic(AGAIN, sizes, d, _AGAIN),
    )


def count_share(
    task: Task, sensitivity: Sensitivity, counts: int, parts: float, least: float, most: float
) -> float:
    """Return the share of the budget with which the noise on counts is n/parts, within limits.

    Parameters
    ----------
    task : Task
        The budget, and n.
    sensitivity : Sensitivity
        That of all counts.
    counts : int
        The number of counts.
    parts : float
        n over the wanted standard deviation of the noise on each count.
    least, most : float
        The limits.
    """
    if task.budget is None:
        return least
    whole = parts * deviation(Statistic("counts", sensitivity, counts, 1.0).release(task)) / task.n
    return min(max(whole if task.budget.is_pure else whole**2, least), most)


def sized(records: Records | PartitionedRecords, noisy: NoisyStatistics) -> ScaledRecords:
    """Return records with centred features of about equal size, clipped to norm R.

    The centre is the noisy mean of records that are clipped to a noisy quantile of their norms,
    times the factor of James and Stein, which is 0 if it does not stand out from its noise. The
    mean sizes of features are released twice: those of features that are small beside the others
    drown in noise until they are scaled. Each time they are drawn towards their mean by as much as
    noise explains. In the end R is about the root mean squared norm of the records.
    """
    norm, d = records.data_norm, records.features
    first = _quantile(records, np.zeros(d), noisy, NORMS, _FIRST_QUANTILE)
    mean = first * noisy(MEAN, ScaledRecords(records, np.zeros(d), first).mean())
    square, noise = float(mean @ mean), d * (first * noisy.sigma[MEAN]) ** 2
    center = mean * max(0.0, 1 - noise / square) if square else mean
    center = center * min(1.0, norm / max(float(np.linalg.norm(center)), 1e-300))
    unit = np.full(d, _quantile(records, center, noisy, DISTANCES, _QUANTILE))
    rows = ScaledRecords(records, center, unit)
    for name in (SIZES, AGAIN):
        sizes = _shrunk(noisy(name, rows.sizes()), noisy.sigma[name], norm)
        unit = unit * sizes * (_DEVIATION * math.sqrt(d) / norm)
        rows = ScaledRecords(records, center, unit)
    return rows


def _quantile(
    records: Records | PartitionedRecords,
    center: Array,
    noisy: NoisyStatistics,
    name: str,
    share: float,
) -> float:
    """Return a noisy quantile of distances from a centre in units of R, from counts of these.

    Counts of at most two standard deviations of noise are taken to be zero. If all are, it is 2.
    """
    rows = ScaledRecords(records, center)
    counts = noisy(name, rows.norm_counts(COUNTS_OF_NORMS))
    counts = np.where(counts > _STANDS_OUT * noisy.sigma[name], counts, 0.0)
    total = float(counts.sum())
    if total <= 0:
        return 2.0
    above = np.cumsum(counts) / total
    place = int(np.searchsorted(above, 1 - share))
    before = float(above[place - 1]) if place else 0.0
    within = (1 - share - before) / (float(above[place]) - before)
    return float(2.0 ** (1 - place - within))


def _shrunk(sizes: Array, noise: float, largest: float) -> Array:
    """Return positive sizes, drawn towards their mean by as much as noise explains."""
    mean = max(float(sizes.mean()), noise / math.sqrt(len(sizes)), 1e-12 * largest)
    spread = float(np.mean((sizes - mean) ** 2))
    kept = max(0.0, 1 - noise**2 / spread) if spread else 0.0
    return np.maximum(mean + kept * (sizes - mean), _LEAST_SIZE * mean)
