"""A metric from noisy class means and variances of standardised features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import RECORDS, between, integer, keep, one_of
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.centering import (
    NoisyStatistics,
    Statistic,
    centered,
    centering_statistics,
)
from pairdp.algorithms.choice.candidates import Candidate, register_candidates
from pairdp.algorithms.class_separation import (
    ClassMeans,
    diagonal_metric,
    full_metric,
    significance,
)
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.algorithms.task import Settings, Task
from pairdp.losses import MetricLoss
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource, Release, pack, packed_dimension, unpack
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import MetricTask

Array = NDArray[np.float64]
_SQUARES, _AGAIN = "mean squares of features", "mean squares of scaled features"
_MOMENTS = "second moments of standardised records"
_SUMS = "class sums with counts"
_BUCKETS, _PURE_BUCKETS, _MOST_BUCKETS = 256, 8, 2**20
_SPREAD = 1.0
_LEAST_WEIGHT = 0.15
_LEAST_VARIANCE = 0.01
_DIAGONAL_GAIN = 0.75
"""The gain of the diagonal form relative to the full one: about 0.7 on all families at ε = 8."""

_LARGEST_HIDDEN = {"diagonal": 0.1, "full": 0.15}
"""The largest share of variance between classes that noise may hide.

If it hides more, some of the features that separate classes stand out and others do not, and the
metric is often worse than the Euclidean one.
"""

_TYPICAL_GAINS = (0.0, 0.12)
"""The gains in 3-NN accuracy without noise between which most synthetic families lie."""


@dataclass(frozen=True)
class FisherSettings(Settings):
    """The form of the metric, ξ, the number of buckets, and whether the metric is learned."""

    form: Literal["diagonal", "full"]
    euclidean: float
    buckets: int
    learns: bool


@dataclass(frozen=True)
class FisherMetric(Algorithm[FisherSettings]):
    r"""The Euclidean metric, stretched along features that separate classes.

    With f_j the share of the variance v_j of feature j that is between classes (the correlation
    ratio, from Fisher's discriminant), λ_j = f_j/(1-f_j) and v̄ the mean variance,

    .. math::
        M ∝ \mathrm{diag}(a/v̄ + λ_j/v_j), \qquad a = \max(ξ·\max_j λ_j, 0.15).

    With ``form="full"`` the correlations of features are used as well: in standardised
    coordinates W⁻¹ÛW⁻¹ is added, the stretch of linear discriminant analysis, and a is
    at least ξ times the largest eigenvalue of W⁻¹Û. Then d(d+1)/2 second moments are released too.

    **Releases.** Centre and spread (see `pairdp.algorithms.centering`), then the mean squares of
    the centred features, of sensitivity √2·R²/n. Features are divided by the released roots, so
    that noise is small relative to each of them, and records are clipped to norm R again. The mean
    squares of the result are released and divided by once more, of the same sensitivity: noise
    hides the variance of a feature that is small beside the others until it is scaled. Of these
    records, the sums over each class with the counts, of sensitivity 2R/n together (see
    `pairdp.privacy.bounds.class_sums`), and for the full form the second moments, √2·R²/n.
    Everything else is a function of these: class means, f_j less the variance that noise and
    sampling add to it, and the matrix.

    **Classes** are buckets: a public function of its label alone says which bucket a record is in
    (see `pairdp.label_coding.label_keys`), so neither the names nor the number of classes need to
    be known. Integers fall into different buckets if there are as many. Buckets whose noisy share
    is not above the noise are ignored.

    **Gate.** If noise hides every f_j below 0.15 (0.1 for the diagonal form) even with two classes
    of equal size, too little can be learned: the plan warns, and the metric is the Euclidean one.
    The same is the result of a run if noise hides as much with the classes that were released, or
    if no f_j (no eigenvalue of Û) stands out from the noise.

    Parameters
    ----------
    form : {"diagonal", "full"}
        Whether features are weighted, or directions.
    euclidean : float
        ξ, the least weight of the Euclidean metric relative to the largest stretch.
    buckets : int, optional
        The number of buckets; by default 256, and 8 for pure ε, where noise grows with it.
    name : str
        Name in certificates.

    Notes
    -----
    The loss may be any metric loss; it is not used, nor are regulariser and centre. M is scaled so
    that its trace is the radius of the constraint set (d if it is unbounded), and projected. The
    time is O(nd), or O(nd²) for the full form.

    Examples
    --------
    >>> from pairdp import Budget
    >>> from pairdp.constraints import PSDFrobeniusBall
    >>> from pairdp.losses import LogisticMetric
    >>> from pairdp.problem import Problem
    >>> problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    >>> plan = FisherMetric().plan(problem, 1000, 5, Budget(1.0, 1e-5))
    >>> [release.name for release in plan.certificate.releases][-1]
    'class sums with counts'
    """

    form: Literal["diagonal", "full"] = "diagonal"
    euclidean: float = 0.03
    buckets: int | None = None
    name: str = "Fisher metric"

    settings_type = FisherSettings
    offers_units: ClassVar[bool] = True
    most_noise: ClassVar[str] = "it may be for a metric to be learned"
    without_signal: ClassVar[str] = "the metric will be the Euclidean one, which costs nothing"
    max_noise_to_signal: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        one_of("form", self.form, "diagonal", "full")
        keep(self, "euclidean", between("euclidean", self.euclidean, *RECORDS))
        if self.buckets is not None:
            given = integer("buckets", self.buckets, at_least=2, at_most=_MOST_BUCKETS)
            keep(self, "buckets", given)

    @property
    def needs(self) -> tuple[Need, ...]:
        """No general properties; `draft` checks for a metric loss."""
        return ()

    def draft(self, task: Task) -> PlanDraft[FisherSettings]:
        """Decide the noise of each statistic, and whether anything can be learned."""
        if not isinstance(task.problem.loss, MetricLoss):
            raise ValueError(
                f"{self.name} learns a metric, and the problem's loss is "
                f"{type(task.problem.loss).__name__}: use a metric loss such as LogisticMetric()"
            )
        pure = task.budget is not None and task.budget.is_pure
        buckets = self.buckets or (_PURE_BUCKETS if pure else _BUCKETS)
        releases = tuple(wanted.release(task) for wanted in self._wanted(task, buckets))
        cut = smallest_signal(releases[-1], task)
        settings = FisherSettings(
            self.form, self.euclidean, buckets, cut < _LARGEST_HIDDEN[self.form]
        )
        reasons = ["records are centred and scaled by the first releases; noise is in these units"]
        if task.budget is not None:
            reasons.append(
                f"with two classes of equal size, a feature stands out if more than {cut:.2g} of "
                "its variance is between classes; the metric is Euclidean if none does"
            )
        return PlanDraft(releases, settings, tuple(reasons))

    def noise_to_signal(self, plan: Plan[FisherSettings]) -> float:
        """Return the smallest share of variance that stands out, relative to its limit."""
        cut = smallest_signal(plan.certificate.releases[-1], plan.task)
        return cut / _LARGEST_HIDDEN[self.form]

    def _wanted(self, task: Task, buckets: int) -> tuple[Statistic, ...]:
        norm, d = task.problem.data_norm, task.features
        inputs = {"data_norm": norm, "n": task.n}
        squares = task.sensitivity("mean squares of features", **inputs)
        sums = task.sensitivity("class sums with counts", **inputs)
        width = buckets * (d + 1)
        if self.form == "diagonal":
            return (
                *centering_statistics(task),
                Statistic(_SQUARES, squares, d, 0.09),
                Statistic(_AGAIN, squares, d, 0.13),
                Statistic(_SUMS, sums, width, 0.66),
            )
        moments = task.sensitivity("second moments of records", **inputs)
        return (
            *centering_statistics(task),
            Statistic(_SQUARES, squares, d, 0.05),
            Statistic(_AGAIN, squares, d, 0.08),
            Statistic(_MOMENTS, moments, packed_dimension(d), 0.3),
            Statistic(_SUMS, sums, width, 0.45),
        )

    def _parameter_noise(self, plan: Plan[FisherSettings], fit: Fit) -> ParameterNoise:
        return unknown_noise(
            "the metric is computed from several noisy statistics, and what does not stand out "
            "from their noise stays Euclidean"
        )

    def check_parts(self, plan: Plan[FisherSettings]) -> None:
        """Do nothing: it needs only sums."""

    def execute(
        self,
        plan: Plan[FisherSettings],
        records: Records | PartitionedRecords,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the metric, projected."""
        noisy = NoisyStatistics(plan.certificate.releases, noise, "fisher noise")
        rows = centered(records, noisy, _SPREAD)
        norm, d = records.data_norm, records.features
        for name, floor in ((_SQUARES, 2.0), (_AGAIN, 1.0)):
            squares = noisy(name, rows.squares())
            variances = _floored(squares, floor * noisy.sigma[name], norm**2)
            # The mean squared norm of the scaled records is about R².
            unit = rows.unit * np.sqrt(variances * d) / norm
            rows = ScaledRecords(records, rows.center, unit)
        metric = np.eye(d)
        scale = math.sqrt(d) / norm  # to features of unit variance
        total = np.eye(d)
        if self.form == "full":
            total = scale**2 * unpack(noisy(_MOMENTS, pack(rows.moments())))
        buckets = plan.settings.buckets
        sums = noisy(_SUMS, rows.bucket_sums(buckets).ravel()).reshape(buckets, d + 1)
        sigma = noisy.sigma[_SUMS]
        means = ClassMeans.of(
            scale * sums[:, :-1], sums[:, -1] / norm, scale * sigma, sigma / norm, records.n
        )
        if plan.settings.learns:
            found = self._stretch(means, total, scale**2 * noisy.sigma.get(_MOMENTS, 0.0))
            if found is not None:
                inner, weight = found
                # Relative to the largest, so that no square underflows.
                divisor = unit / unit.max()
                metric = inner / np.outer(divisor, divisor)
                metric += weight / float(np.mean(divisor**2)) * np.eye(d)
        constraint = plan.problem.constraint
        trace = constraint.radius if math.isfinite(constraint.radius) else float(d)
        return constraint.project(metric * (trace / float(np.trace(metric))))

    def _stretch(
        self, means: ClassMeans, total: Array, total_noise: float
    ) -> tuple[Array, float] | None:
        """Return the stretch of standardised records and the weight of the Euclidean metric.

        None if too little stands out from the noise.
        """
        if means.smallest_signal > _LARGEST_HIDDEN[self.form]:
            return None
        stretch, weight, found = np.zeros_like(total), 0.0, False
        explained = means.explained()
        if explained.any():
            ratios, weight = diagonal_metric(explained, self.euclidean, _LEAST_WEIGHT)
            stretch, found = np.diag(ratios), True
        scatter = means.scatter() if self.form == "full" else stretch
        if self.form == "full" and scatter.any():
            along, more = full_metric(total, scatter, total_noise, self.euclidean, _LEAST_WEIGHT)
            stretch, weight, found = stretch + along, max(weight, more), True
        return (stretch, weight) if found else None


def _floored(squares: Array, noise: float, largest: float) -> Array:
    """Return positive variances: at least about their noise, and 1 % of their mean."""
    found = np.hypot(np.maximum(squares, 0.0), noise)
    least = max(_LEAST_VARIANCE * float(found.mean()), 1e-12 * largest)
    return np.maximum(found, least)


def class_noise(release: Release, task: Task) -> float:
    """Return the standard deviation of f_j from noise on the sums of two classes of equal size.

    4σ²d in units of R: σ is the noise on the sums of records of mean squared norm R².
    """
    return 4 * task.features * (deviation(release) / task.problem.data_norm) ** 2


def smallest_signal(release: Release, task: Task) -> float:
    """Return the smallest f_j that stands out from the noise on the sums of two classes."""
    return significance(task.features) * class_noise(release, task)


def moment_noise(draft: PlanDraft[FisherSettings], task: MetricTask) -> float:
    """Return the largest eigenvalue of the noise on the moments of standardised records."""
    releases = {release.name: release for release in draft.releases}
    return task.features * task.edge * deviation(releases[_MOMENTS]) / task.data_norm**2


register_algorithm("fisher", FisherMetric(), "metric")


@register_candidates("metric", order=1)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    """Yield both forms, unless a loss must be minimised."""
    if task.loss is not None:
        return
    forms: tuple[Literal["diagonal", "full"], ...] = ("full", "diagonal")
    for form in forms:
        algorithm = FisherMetric(form)
        draft = task.draft(task.problem, algorithm)
        noise = class_noise(draft.releases[-1], task.task(task.problem))
        found = _DIAGONAL_GAIN if form == "diagonal" else 1 / (1 + moment_noise(draft, task) / 10)
        kept = found / (1 + noise / task.between) if draft.settings.learns else 0.0
        least, most = (100 * kept * gain for gain in _TYPICAL_GAINS)
        expected = (
            f"it keeps {kept:.0%} of the possible gain over the Euclidean metric, typically "
            f"{least:.0f} to {most:.0f} points of 3-NN accuracy, and what does not stand out "
            "stays Euclidean"
            if kept
            else "too little can be learned, and the metric stays Euclidean"
        )
        reason = (
            f"noise of size {noise:.3g} on the variance between classes and a typical signal of "
            f"{task.between:.3g}: {expected}"
        )
        yield Candidate(task.problem, algorithm, 1 - kept, reason, draft)
