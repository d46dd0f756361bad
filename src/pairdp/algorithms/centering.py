"""A private centre and spread of records, by which they are centred, scaled and clipped again.

Noise is small relative to the data only if the bound R is tight. So the mean and mean squared norm
of the records are released twice: of the records as they are, and of records that the first pair
has centred and scaled. Later sensitivities are those of any records of norm R.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.noise import deviation, shared_release
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.algorithms.task import Task
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource, Release, Sensitivity
from pairdp.records import Records

Array = NDArray[np.float64]
_ROOMY = 2.0
_LEAST_RADIUS = 1e-6
_FIRST = ("mean of records", "mean squared norm")
_SCALED = ("mean of scaled records", "mean squared norm, scaled")
SQUARES, AGAIN = "mean squares of features", "mean squares of scaled features"

# r² relative to the mean squared norm, for the second and third pass over the records, and for the
# features after the first scaling. Most records are clipped to norm R: noise makes estimates of
# their norm too large, and records that are small relative to R drown in it.
_FIRST_SPREAD, _SPREAD, _SCALED_SPREAD = 0.5, 0.2, 0.3
_LEAST_VARIANCE = 0.01
TYPICAL_NORM = 1 / math.sqrt(_FIRST_SPREAD * _SPREAD * _SCALED_SPREAD)
"""About the root mean squared norm of `standardized` records before they are clipped, over R."""


class Statistic(NamedTuple):
    """A statistic to release: its sensitivity bound, its dimension, and its share of the budget."""

    name: str
    sensitivity: Sensitivity
    dimension: int
    share: float

    def release(self, task: Task) -> Release:
        """Return its release."""
        return shared_release(self.name, task, self.sensitivity, self.dimension, self.share)


def centering_statistics(task: Task) -> tuple[Statistic, ...]:
    """Return the statistics of centre and spread, which take 0.12 of the budget."""
    n, norm, d = task.n, task.problem.data_norm, task.features
    mean = task.sensitivity("mean of records", data_norm=norm, n=n)
    square = task.sensitivity("mean squared norm", data_norm=norm, n=n)
    return (
        Statistic(_FIRST[0], mean, d, 0.03),
        Statistic(_FIRST[1], square, 1, 0.02),
        Statistic(_SCALED[0], mean, d, 0.05),
        Statistic(_SCALED[1], square, 1, 0.02),
    )


class NoisyStatistics:
    """The mechanisms of a plan by the name of their release, each with a stream of its own."""

    def __init__(self, releases: tuple[Release, ...], noise: NoiseSource, purpose: str) -> None:
        self._releases = {release.name: release for release in releases}
        self._streams = {name: noise.stream(purpose, i) for i, name in enumerate(self._releases)}
        self.sigma: Mapping[str, float] = {
            name: deviation(release) for name, release in self._releases.items()
        }

    def __call__(self, name: str, value: Array) -> Array:
        """Return a value with the noise of a release."""
        return self._releases[name].mechanism.release(value, self._streams[name])


def centered(
    records: Records | PartitionedRecords,
    noisy: NoisyStatistics,
    spread: float,
    first: float = _ROOMY,
) -> ScaledRecords:
    """Return the records centred, scaled so that a radius r becomes R, and clipped to R.

    r² is ``spread`` times the mean squared distance from the centre, and ``first`` times that for
    the second pair of statistics.
    """
    rows, center, unit = ScaledRecords(records), np.zeros(records.features), 1.0
    for names, factor in ((_FIRST, first), (_SCALED, spread)):
        mean = noisy(names[0], rows.mean())
        square = noisy(names[1], np.array([rows.square_norm()]))
        excess = len(mean) * noisy.sigma[names[0]] ** 2 + noisy.sigma[names[1]]
        around = unit**2 * max(float(square[0]) - float(mean @ mean) + 2 * excess, 0.0)
        center = center + unit * mean
        bound = records.data_norm
        inside = center * min(1.0, bound / max(float(np.linalg.norm(center)), 1e-300))
        radius = min(max(math.sqrt(factor * around), _LEAST_RADIUS * bound), 2 * bound)
        unit = radius / bound
        rows = ScaledRecords(records, inside, unit)
    return rows


def standardized(records: Records | PartitionedRecords, noisy: NoisyStatistics) -> ScaledRecords:
    """Return records with centred features of about equal variance, clipped to norm R.

    Mean squares of features are released twice, after `centered`: those of features that are small
    beside the others drown in noise until they are scaled.
    """
    rows = centered(records, noisy, _SPREAD, _FIRST_SPREAD)
    norm, d = records.data_norm, records.features
    for name, floor, spread in ((SQUARES, 2.0, _SCALED_SPREAD), (AGAIN, 1.0, 1.0)):
        squares = noisy(name, rows.squares())
        variances = _floored(squares, floor * noisy.sigma[name], norm**2)
        # The mean squared norm of the scaled records is at most R².
        unit = rows.unit * np.sqrt(spread * variances * d) / norm
        rows = ScaledRecords(records, rows.center, unit)
    return rows


def _floored(squares: Array, noise: float, largest: float) -> Array:
    """Return positive variances: at least about their noise, and 1 % of their mean."""
    found = np.hypot(np.maximum(squares, 0.0), noise)
    least = max(_LEAST_VARIANCE * float(found.mean()), 1e-12 * largest)
    return np.maximum(found, least)
