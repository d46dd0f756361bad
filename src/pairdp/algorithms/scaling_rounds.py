r"""Sums over classes and sizes of features, in rounds that scale the features by those before.

A round releases the encoded sums over classes and the mean size of every feature of records that
are clipped to norm R, with the sensitivity 2R/n of the sums alone (see
`pairdp.privacy.bounds.class_sums`). Noise hides a feature that is small beside the others, so each
round divides the features by the sizes that the rounds before found. Every round measures the same
sums and sizes, each feature with noise relative to its divisor: all are averaged by inverse
variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.centering import NoisyStatistics, Statistic
from pairdp.algorithms.class_separation import MOST_CLASSES, ClassCode
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.algorithms.task import Task
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import Release
from pairdp.records import Records

Array = NDArray[np.float64]
_NAME = "class sums and mean sizes, round "
_ROUNDS, _PURE_ROUNDS = 3, 2
"""For pure ε, where the noise of two rounds together is √2 times that of one, there are fewer."""

_DEVIATION = math.sqrt(math.pi / 2)
"""The standard deviation of a normal number, over its mean absolute value."""

_LEAST_SIZE = 0.1  # of the mean size


@dataclass(frozen=True)
class StandardizedSums:
    """Encoded sums over classes of standardised records, and what standardises them.

    Attributes
    ----------
    unit : array of shape (d,)
        The divisors of the features, which give centred records a norm of about R.
    sums : array of shape (K, d)
        The noisy mean of e_c ⊗ x, with features of about unit variance.
    noise : float
        The standard deviation of the noise on each number of ``sums``, in quadratic mean.
    """

    unit: Array
    sums: Array
    noise: float


def round_statistics(task: Task, buckets: int, share: float) -> tuple[Statistic, ...]:
    """Return the statistic of each round, with equal parts of a share of the budget."""
    pure = task.budget is not None and task.budget.is_pure
    rounds = _PURE_ROUNDS if pure else _ROUNDS
    moved = task.sensitivity(
        "class sums and mean sizes", data_norm=task.problem.data_norm, n=task.n
    )
    width = (min(buckets, MOST_CLASSES) + 1) * task.features
    return tuple(
        Statistic(f"{_NAME}{i}", moved, width, share / rounds) for i in range(1, rounds + 1)
    )


def is_round(release: Release) -> bool:
    """Return whether a release is that of a round."""
    return release.name.startswith(_NAME)


def round_noise(releases: Iterable[Release]) -> float:
    """Return the standard deviation of the noise on the average of rounds of one scaling."""
    deviations = [deviation(release) for release in releases if is_round(release)]
    if not all(deviations):
        return 0.0
    return 1 / math.sqrt(sum(1 / each**2 for each in deviations))


def standardized_sums(
    records: Records | PartitionedRecords,
    noisy: NoisyStatistics,
    names: Sequence[str],
    center: Array,
    radius: float,
    code: ClassCode,
    buckets: int,
) -> StandardizedSums:
    """Release the statistics of all rounds, and return what they say together.

    Parameters
    ----------
    records : Records or PartitionedRecords
        The data.
    noisy : NoisyStatistics
        The mechanisms.
    names : sequence of str
        The names of the rounds.
    center : array of shape (d,)
        The centre of the records.
    radius : float
        The first divisor of all features.
    code : ClassCode
        The vectors of the classes.
    buckets : int
        The number of buckets that classes fall into.
    """
    norm, d = records.data_norm, records.features
    unit = np.ones(d)  # relative to the radius, so that no square underflows
    sums, sizes = _Average(), _Average()
    for name in names:
        rows = ScaledRecords(records, center, radius * unit)
        both = rows.bucket_sums_and_sizes(buckets)
        encoded = code.encoded(both[:-1])
        wanted = np.vstack([encoded, both[-1:]])
        found, noise = noisy(name, wanted.ravel()).reshape(wanted.shape), noisy.sigma[name]
        # In units in which records of norm R have features of unit variance.
        scale = math.sqrt(d) / norm * unit
        sums.add(scale * found[:-1], scale, noise)
        sizes.add(_DEVIATION * scale * found[-1], _DEVIATION * scale, noise)
        unit = unit * _shrunk(sizes.mean / unit, sizes.variance / unit**2)
    variance = sums.variance / unit**2
    return StandardizedSums(radius * unit, sums.mean / unit, math.sqrt(float(variance.mean())))


class _Average:
    """The average of measurements by inverse variance, feature by feature."""

    def __init__(self) -> None:
        self._sum: Array | float = 0.0
        self._weight: Array | float = 0.0
        self._noise = 0.0

    def add(self, value: Array, scale: Array, noise: float) -> None:
        """Add a measurement whose noise has the standard deviation ``scale * noise``.

        Without noise, measurements count as if they had noise.
        """
        self._noise = 1.0 if noise else 0.0
        weight = 1 / (scale * (noise or 1.0)) ** 2
        self._sum = self._sum + weight * value
        self._weight = self._weight + weight

    @property
    def mean(self) -> Array:
        return np.asarray(self._sum / self._weight)

    @property
    def variance(self) -> Array:
        return np.asarray(self._noise / self._weight)


def _shrunk(sizes: Array, noise: Array) -> Array:
    """Return positive sizes, drawn towards their mean by as much as noise explains.

    ``noise`` is the variance of the noise on each.
    """
    level = float(noise.mean())
    mean = max(float(sizes.mean()), math.sqrt(level / len(sizes)), 1e-12)
    spread = max(0.0, float(np.mean((sizes - mean) ** 2)) - level)
    kept = spread / (spread + noise) if spread else np.zeros(len(sizes))
    return np.maximum(mean + kept * (sizes - mean), _LEAST_SIZE * mean)
