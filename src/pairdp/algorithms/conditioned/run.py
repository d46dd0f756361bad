"""A run of a conditioned descent: what it releases, in order, and the weights that follow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.conditioned.descent import (
    Descent,
    RowParts,
    Rows,
    mean_squares,
    second_moments,
)
from pairdp.algorithms.conditioned.features import CONSTANT, Features
from pairdp.algorithms.conditioned.folding import Folding
from pairdp.algorithms.conditioned.location import (
    Location,
    common_radius,
    distances,
    shrunk_centre,
)
from pairdp.algorithms.conditioned.settings import ConditionedSettings
from pairdp.algorithms.conditioned.slopes import Slopes
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.plan import Progress, RunResult
from pairdp.algorithms.scorecard.descent import Whitening
from pairdp.constraints import Constraint
from pairdp.engines.parts import Parts
from pairdp.losses import PointwiseLoss
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource, Release
from pairdp.records import Records

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
MEANS, RADIUS, SCALES = "means of classes", "counts of rows", "mean squares of rows"
MOMENTS, GRADIENTS = "second moments of features", "clipped gradients"
_WIDE = 1.5
"""Rows are clipped to this many radii for the scales of an expansion."""
_FEWEST = 0.01


@dataclass(frozen=True)
class RunFacts:
    """Public facts of a run.

    Attributes
    ----------
    loss : PointwiseLoss
        The loss of one record.
    largest : float
        The largest norm of the numbers of a row, without a constant feature.
    d : int
        Their number.
    centred : bool
        Whether there is a centre and an intercept.
    constant : float
        The value of the constant feature; 0 if there is none.
    folded : bool
        Whether the weights are those of the original rows.
    """

    loss: PointwiseLoss
    largest: float
    d: int
    centred: bool
    constant: float
    folded: bool

    @property
    def target(self) -> float:
        """Y: labels are divided by it for the means."""
        return 1.0 if self.loss.binary else float(self.loss.label_bound or 1.0)


class Numbers(NamedTuple):
    """The numbers of some records: as private as the data.

    Attributes
    ----------
    x : array
        Rows without a constant feature, clipped to their largest norm.
    y : array
        Labels within ±1; 0 for null records.
    counted : array
        Whether a record is no null record.
    start : int
        The number of records before these.
    away : array or None
        The distance of each record from the centre, once there is one; null records are infinitely
        far.
    """

    x: Array
    y: Array
    counted: Mask
    start: int
    away: Array | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """The records of a run, which enter what it returns through releases only.

    Attributes
    ----------
    facts : RunFacts
        Public facts.
    records : Records or PartitionedRecords
        The records.
    releases : sequence of Release
        The planned releases.
    noise : NoiseSource
        The source of their noise.
    """

    facts: RunFacts
    records: Records | PartitionedRecords
    releases: Sequence[Release]
    noise: NoiseSource

    def _release(self, name: str, values: Array, *step: int) -> Array:
        release = next(one for one in self.releases if one.name == name)
        return release.mechanism.release(values, self.noise.stream(name, *step))

    def _deviation(self, name: str) -> float:
        return deviation(next(one for one in self.releases if one.name == name))

    def learn(
        self, settings: ConditionedSettings, constraint: Constraint, progress: Progress
    ) -> RunResult:
        """Return the weights, and the released statistics that describe them."""
        facts, n = self.facts, self.records.n
        numbers = self.numbers()
        location, released, numbers = self.locate(numbers)
        middle = float(released["balance"][0]) if facts.centred else 0.0
        if settings.used < n:
            numbers = numbers.map(_evenly, settings.used, n)
        features = self._features(settings, location, numbers)
        rows = self._rows(features, numbers, settings.used)
        descent = Descent(
            rows,
            self._whitening(settings, rows),
            None if settings.gradient == "pairwise" else Slopes(facts.loss),
            self._spread(middle),
        )
        shown = progress.steps(settings.steps, "learning weights")

        def noisy_gradient(mean: Array, step: int) -> Array:
            next(shown, None)
            return self._release(GRADIENTS, mean, step)

        weights, noise = descent.run(
            self._initial(features, middle),
            settings.steps,
            noisy_gradient,
            self._deviation(GRADIENTS),
            # The length of the weights of a ranker does not matter.
            shrunk=settings.gradient == "records",
        )
        shown.close()
        spread = noise * descent.whitening.matrix
        if not facts.folded:
            released |= {"centre": features.centre, "scales": features.scales}
            factors = np.full(weights.size, features.largest)
            factors[-1] = CONSTANT
            released["deviations"] = factors * np.linalg.norm(spread, axis=1)
            return RunResult(factors * weights, released)
        folding = Folding(features, facts.constant)
        plain = found = folding.weights(weights)
        if not facts.loss.binary and np.linalg.norm(found) > constraint.radius:
            found = folding.closest(weights, descent.whitening, constraint.radius)
        found = constraint.project(found)
        deviations = np.linalg.norm(folding.weights(spread), axis=1)
        length = float(np.linalg.norm(plain))
        ratio = float(np.linalg.norm(found)) / length if length > 0 else 1.0
        released["deviations"] = np.asarray(ratio * deviations)
        return RunResult(found, released)

    def numbers(self) -> Parts:
        """Return the parts of the `Numbers` of all records."""
        return self.records.map(_numbers, self.facts)

    def locate(self, numbers: Parts) -> tuple[Location, dict[str, Array], Parts]:
        """Return where rows are, the released means of the classes, and numbers with distances."""
        facts = self.facts
        released: dict[str, Array] = {}
        centre = np.zeros(facts.d)
        if facts.centred:
            signed, mean, middle = self._means(numbers)
            centre = shrunk_centre(mean, self._deviation(MEANS), facts.largest)
            released = {"signed": signed, "mean": centre, "balance": np.array([middle])}
        numbers = numbers.map(_with_distances, centre)
        return Location(centre, self._radius(numbers)), released, numbers

    def _means(self, numbers: Parts) -> tuple[Array, Array, float]:
        """Release the means of (yx, x, Ry)."""
        d, largest = self.facts.d, self.facts.largest
        total: Total = numbers.map_sum(_sums, largest)
        noisy = self._release(MEANS, total.high / self.records.n)
        middle = float(np.clip(noisy[-1] / largest, -1.0, 1.0))
        return noisy[:d], noisy[d : 2 * d], middle

    def _radius(self, numbers: Parts) -> float:
        """Release counts of rows within distances, and return a radius that most are within."""
        steps = itertools.count()

        def within(distance: float) -> float:
            count = np.array([float(numbers.map_sum(_count_within, distance))])
            return float(self._release(RADIUS, count, next(steps))[0])

        return common_radius(within, self.records.n, self.facts.largest)

    def _features(
        self, settings: ConditionedSettings, location: Location, numbers: Parts
    ) -> Features:
        facts, radius = self.facts, location.radius
        if settings.expansion == "linear":
            scales = np.full(facts.d, radius)
            return Features("linear", location.centre, scales, facts.centred)
        scales = self.scales(location, numbers, settings.used)
        return Features(settings.expansion, location.centre, scales, facts.centred)

    def scales(self, location: Location, numbers: Parts, used: int) -> Array:
        """Release the mean squares of centred rows, and return the scale of each feature."""
        wide = _WIDE * location.radius
        plain = Features("linear", location.centre, np.full(self.facts.d, wide), intercept=False)
        noisy = self._release(SCALES, mean_squares(self._rows(plain, numbers, used)))
        least = max(self._deviation(SCALES), 1e-9)
        return np.asarray(wide * np.sqrt(np.maximum(noisy, least)))

    def _rows(self, features: Features, numbers: Parts, used: int) -> RowParts:
        """Return the rows of features of the records that are used."""
        parts = numbers.map(_rows_of, features, self.facts.target)
        return RowParts(parts, min(used, self.records.n), features)

    def _whitening(self, settings: ConditionedSettings, rows: RowParts) -> Whitening:
        if settings.scaling == "matrix":
            exact = second_moments(rows)
            release = next(one for one in self.releases if one.name == MOMENTS)
            noisy = release.mechanism.release_symmetric(exact, self.noise.stream(MOMENTS))
            return Whitening.of(noisy, settings.ridge)
        squares, numbers = mean_squares(rows), rows.features.size - rows.features.intercept
        noisy = self._release(MOMENTS, squares[:numbers])
        known = [CONSTANT**2] if rows.features.intercept else []
        return Whitening.of_squares(np.array([*noisy, *known]), settings.ridge)

    def _spread(self, middle: float) -> float:
        """Return 4π(1-π) of two classes, 1 for targets."""
        if not self.facts.loss.binary or not self.facts.centred:
            return 1.0
        share = self._share(middle)
        return 4 * share * (1 - share)

    @staticmethod
    def _share(middle: float) -> float:
        return float(np.clip((1 + middle) / 2, _FEWEST, 1 - _FEWEST))

    def _initial(self, features: Features, middle: float) -> Array:
        """Return weights of zero, and the score of the mean label for the constant."""
        weights = np.zeros(features.size)
        if features.intercept:
            binary = self.facts.loss.binary
            score = float(logit(self._share(middle))) if binary else middle * self.facts.target
            weights[-1] = score / CONSTANT
        return weights


def _numbers(records: Records, facts: RunFacts) -> Numbers:
    y = records.y if facts.target == 1 else records.y / facts.target
    if not facts.constant:
        return Numbers(records.x, y, ~records.null, records.start)
    x = np.array(records.x[:, :-1])
    for start in range(0, len(x), BLOCK):
        rows = x[start : start + BLOCK]
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        rows *= (facts.largest / np.maximum(norms, facts.largest))[:, None]
    return Numbers(x, y, ~records.null, records.start)


def _sums(numbers: Numbers, largest: float) -> Total:
    """Return Σ(yx, x, Ry)."""
    x, y = numbers.x, numbers.y
    total = Total.zeros(2 * x.shape[1] + 1)
    for start in range(0, len(x), BLOCK):
        rows, labels = x[start : start + BLOCK], y[start : start + BLOCK]
        plain = np.ones(len(rows)) @ rows
        total += np.concatenate([labels @ rows, plain, [largest * labels.sum()]])
    return total


def _with_distances(numbers: Numbers, centre: Array) -> Numbers:
    away = distances(numbers.x, centre)
    away[~numbers.counted] = math.inf
    return numbers._replace(away=away)


def _count_within(numbers: Numbers, distance: float) -> int:
    return int(np.count_nonzero(np.asarray(numbers.away) <= distance))


def _evenly(numbers: Numbers, used: int, n: int) -> Numbers:
    """Return those at the places ⌊in/used⌋ of all n records, for i = 0 … used - 1."""
    start, stop = numbers.start, numbers.start + len(numbers.x)
    first, last = (-(-place * used // n) for place in (start, stop))
    places = np.arange(first, last) * n // used - start
    away = None if numbers.away is None else numbers.away[places]
    return Numbers(numbers.x[places], numbers.y[places], numbers.counted[places], start, away)


def _rows_of(numbers: Numbers, features: Features, target: float) -> Rows:
    y = numbers.y if target == 1 else numbers.y * target
    return Rows.of(features, numbers.x, y, numbers.counted, numbers.away)
