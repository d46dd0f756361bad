"""A private centre of records, and the radius around it, from counts of norms and a mean.

`pairdp.algorithms.centering` does the same from mean squared norms. Here noise is smaller where
records are few: a histogram of norms has the same noise whatever the bound R is.
"""

from __future__ import annotations

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
COUNTS_OF_NORMS = 21
"""The number of counts of norms: up to 2R, and half of that each, with all below in the last."""

_MEAN = 0.04
_NORM_COUNTS = 8.0
"""How many standard deviations of noise the number of records should be, for counts of norms."""

_NORM_SHARES = (0.01, 0.04)
_FIRST_QUANTILE, _QUANTILE = 0.7, 0.3
"""The share of records that are not clipped for the mean, and that lie within the radius."""

_STANDS_OUT = 2.0


def location_statistics(task: Task) -> tuple[Statistic, ...]:
    """Return the statistics that `located` releases; they take at most 0.12 of the budget."""
    norms = task.sensitivity("histograms of columns", columns=1)
    share = count_share(task, norms, COUNTS_OF_NORMS, _NORM_COUNTS, *_NORM_SHARES)
    mean = task.sensitivity("mean of records", data_norm=task.problem.data_norm, n=task.n)
    return (
        Statistic(NORMS, norms, COUNTS_OF_NORMS, share),
        Statistic(MEAN, mean, task.features, _MEAN),
        Statistic(DISTANCES, norms, COUNTS_OF_NORMS, share),
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


def located(records: Records | PartitionedRecords, noisy: NoisyStatistics) -> tuple[Array, float]:
    """Return a centre, and a radius around it in units of R.

    The centre is the noisy mean of records that are clipped to a noisy quantile of their norms,
    times the factor of James and Stein, which is 0 if it does not stand out from its noise. The
    radius is a noisy quantile of the distances from it.
    """
    norm, d = records.data_norm, records.features
    first = _quantile(records, np.zeros(d), noisy, NORMS, _FIRST_QUANTILE)
    mean = first * noisy(MEAN, ScaledRecords(records, np.zeros(d), first).mean())
    square, noise = float(mean @ mean), d * (first * noisy.sigma[MEAN]) ** 2
    center = mean * max(0.0, 1 - noise / square) if square else mean
    center = center * min(1.0, norm / max(float(np.linalg.norm(center)), 1e-300))
    return center, _quantile(records, center, noisy, DISTANCES, _QUANTILE)


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
