"""A metric from noisy class means and variances of standardised features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import RECORDS, between, integer, keep, one_of
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.center_and_radius import count_share, located, location_statistics
from pairdp.algorithms.centering import NoisyStatistics, Statistic
from pairdp.algorithms.choice.candidates import Candidate, register_candidates
from pairdp.algorithms.class_separation import ClassCode
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.algorithms.scaling_rounds import (
    is_round,
    round_noise,
    round_statistics,
    standardized_sums,
)
from pairdp.algorithms.separating_metric import separating_metric
from pairdp.algorithms.task import Settings, Task
from pairdp.losses import MetricLoss
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource, Release, pack, packed_dimension, unpack
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import MetricTask

Array = NDArray[np.float64]
_MOMENTS = "second moments of standardised records"
_COUNTS = "counts of classes"
_BUCKETS, _PURE_BUCKETS, _MOST_BUCKETS = 256, 8, 2**20
_MOMENTS_SHARE = 0.15
_CLASS_COUNTS = 20.0
"""How many standard deviations of noise the number of records should be, for counts of classes."""

_COUNT_SHARES = (0.02, 0.2)
_FALSE_ALARMS = 0.05
"""How often an empty bucket is taken for a class: more lost by noise than by classes missed."""


_LARGEST_HIDDEN, _LARGEST_SAMPLED = 0.7, 0.1
"""The largest share of variance between classes that noise alone, or sampling alone, may hide.

If together they hide more, metrics that were learned from synthetic tables were as often worse than
the Euclidean one as better.
"""

_EUCLIDEAN_IN_NOISE = 0.5
"""The weight of the Euclidean metric, over the share of variance between classes noise hides."""

_DIAGONAL_GAIN = 0.75
"""The gain of the diagonal form relative to the full one, if noise hides little."""

_HALF_KEPT = 0.15
"""The noise on the variance between classes at which half of the possible gain was kept."""

_TYPICAL_GAINS = (0.0, 0.12)
"""The gains in 3-NN accuracy without noise between which most synthetic families lie."""


@dataclass(frozen=True)
class FisherSettings(Settings):
    """The form of the metric, ξ + h, the number of buckets, and whether the metric is learned."""

    form: Literal["diagonal", "full"]
    euclidean: float
    buckets: int
    learns: bool


@dataclass(frozen=True)
class FisherMetric(Algorithm[FisherSettings]):
    r"""The Euclidean metric, stretched along directions that separate classes.

    With D the differences of class means of standardised records, DᵀD their scatter, W the
    covariance within classes, v_j the variance of feature j and v̄ its mean,

    .. math::
        M ∝ V^{-1/2} W^{-1} D^⊤D W^{-1} V^{-1/2} + \frac{λ}{v̄} \left(φF + wI\right), \qquad
        w = b\left(\frac{0.3}{φ}ξ + h + 0.3\,\frac{1-q}{q}\right),

    where λ is the largest eigenvalue of DW⁻¹Dᵀ, F = diag(f_j/max f) with f_j the share of the
    variance of feature j between classes, and q the share of signal in D. ξ is ``euclidean``, and
    h half the share of variance that noise hides, which is public; b depends on the gain that
    released values predict, and φ, from 0.3 to 3, on how much of it features alone keep (see
    `pairdp.algorithms.separating_metric`). The first term has the directions of Fisher's
    discriminant. With ``form="diagonal"`` correlations within classes are neglected,
    W = diag(1 - f_j). With ``form="full"`` d(d+1)/2 second moments are released too, and M is the
    mean of the metrics with and without these correlations.

    **Releases.** Counts of norms, a mean and counts of distances from it locate the records (see
    `pairdp.algorithms.center_and_radius`), and noisy counts show the classes, of sensitivity √2.
    Then three rounds (two for pure ε) release the sum of e_c ⊗ x/n, with a unit vector e_c for each
    class, and the mean absolute value of each feature, together of sensitivity 2R/n; each round
    scales the features by the sizes that were found before, and clips records to norm R again (see
    `pairdp.algorithms.scaling_rounds`). For K classes of equal size these vectors leave (K-1)/K of
    the noise variance that sums over each class would have, half of it for two classes (see
    `pairdp.algorithms.class_separation`). The full form also releases second moments of the scaled
    records, √2·R²/n. Everything else is a function of these.

    **Shares** of the budget are functions of public facts. Counts have the more of it, the fewer
    records there are: 0.01 to 0.04 for either counts of norms, 0.02 to 0.2 for those of classes.

    **Shrinkage.** D is the posterior mean under a prior that is estimated from all features, as
    the noise is known; so features that do not stand out from noise and sampling count for less.

    **Classes** are buckets: a public function of its label alone says which bucket a record is in
    (see `pairdp.label_coding.label_keys`), so neither the names nor the number of classes need to
    be known. Integers fall into different buckets if there are as many. Buckets whose noisy count
    is not above the noise are ignored, and so are all but the 64 largest.

    **Gates.** With two classes of equal size, noise hides every f_j below some f, and sampling all
    below some g. If f/0.7 + g/0.1 ≥ 1, too little can be learned: the plan warns, and the metric is
    the Euclidean one. The same is the result of a run if less than half of D is signal, or if the
    accuracy of three nearest neighbours that released values predict is not above that of the
    Euclidean metric by 0.2/√n.

    Parameters
    ----------
    form : {"diagonal", "full"}
        Whether correlations of features within classes are neglected.
    euclidean : float
        ξ without noise, the weight of the Euclidean metric relative to the largest stretch.
    buckets : int, optional
        The number of buckets; by default 256, and 8 for pure ε, where noise grows with it.
    name : str
        Name in certificates.

    Notes
    -----
    The loss may be any metric loss; it is not used, nor are regulariser and centre. M is scaled so
    that its trace is the radius of the constraint set (d if it is unbounded), and projected. The
    time is O(nd + d³), or O(nd² + d³) for the full form.

    Examples
    --------
    >>> from pairdp import Budget
    >>> from pairdp.constraints import PSDFrobeniusBall
    >>> from pairdp.losses import LogisticMetric
    >>> from pairdp.problem import Problem
    >>> problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    >>> plan = FisherMetric().plan(problem, 1000, 5, Budget(1.0, 1e-5))
    >>> [release.name for release in plan.certificate.releases][-1]
    'class sums and mean sizes, round 3'
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
        cut = smallest_signal(releases, task)
        learns = task.budget is None or _hidden(releases, task) < 1
        euclidean = self.euclidean + _EUCLIDEAN_IN_NOISE * noise_on_signal(releases, task)
        settings = FisherSettings(self.form, euclidean, buckets, learns)
        reasons = ["records are centred and scaled by the first releases; noise is in these units"]
        if task.budget is not None:
            reasons.append(
                f"with two classes of equal size, a feature stands out if more than {cut:.2g} of "
                "its variance is between classes; the metric is Euclidean if too little does, or "
                "if what is released predicts no gain in accuracy"
            )
        return PlanDraft(releases, settings, tuple(reasons))

    def noise_to_signal(self, plan: Plan[FisherSettings]) -> float:
        """Return the shares of variance that noise and sampling hide, relative to their limits."""
        return _hidden(plan.certificate.releases, plan.task)

    def _wanted(self, task: Task, buckets: int) -> tuple[Statistic, ...]:
        counts = task.sensitivity("histograms of columns", columns=1)
        share = count_share(task, counts, buckets, _CLASS_COUNTS, *_COUNT_SHARES)
        first = *location_statistics(task), Statistic(_COUNTS, counts, buckets, share)
        last: tuple[Statistic, ...] = ()
        if self.form == "full":
            moments = task.sensitivity(
                "second moments of records", data_norm=task.problem.data_norm, n=task.n
            )
            dimension = packed_dimension(task.features)
            last = (Statistic(_MOMENTS, moments, dimension, _MOMENTS_SHARE),)
        rest = 1 - sum(each.share for each in (*first, *last))
        return (*first, *round_statistics(task, buckets, rest), *last)

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
        releases = plan.certificate.releases
        noisy = NoisyStatistics(releases, noise, "fisher noise")
        center, radius = located(records, noisy)
        buckets = plan.settings.buckets
        counts = noisy(_COUNTS, ScaledRecords(records, center).bucket_counts(buckets))
        code = ClassCode.of(counts, noisy.sigma[_COUNTS], _FALSE_ALARMS)
        rounds = [release.name for release in releases if is_round(release)]
        rows = standardized_sums(records, noisy, rounds, center, radius, code, buckets)
        norm, d, n = records.data_norm, records.features, records.n
        total, moment_noise = None, 0.0
        if self.form == "full":
            scale = math.sqrt(d) / norm  # to features of unit variance
            found = ScaledRecords(records, center, rows.unit).moments()
            total = scale**2 * unpack(noisy(_MOMENTS, pack(found)))
            moment_noise = scale**2 * noisy.sigma[_MOMENTS]
        metric = np.eye(d)
        if plan.settings.learns:
            separation = code.separation(rows.sums, rows.noise, n)
            weights = self.euclidean, plan.settings.euclidean - self.euclidean
            metric = separating_metric(separation, rows.unit, n, *weights, total, moment_noise)
        constraint = plan.problem.constraint
        trace = constraint.radius if math.isfinite(constraint.radius) else float(d)
        return constraint.project(metric * (trace / float(np.trace(metric))))


def noise_on_signal(releases: Sequence[Release], task: Task) -> float:
    """Return the smallest f_j that stands out from noise, for two classes of equal size.

    2 ln 2d times its variance, the largest of d squared normal numbers. The variance of the noise
    on √p_c(m_c - m) is σ²d in units of R, with σ the noise on the sums of records of mean squared
    norm R² (see `pairdp.algorithms.scaling_rounds.round_noise`).
    """
    variance = task.features * (round_noise(releases) / task.problem.data_norm) ** 2
    return 2 * math.log(2 * task.features) * variance


def smallest_signal(releases: Sequence[Release], task: Task) -> float:
    """Return the smallest f_j that stands out from noise and sampling, for two equal classes."""
    return noise_on_signal(releases, task) + _sampling_on_signal(task)


def _sampling_on_signal(task: Task) -> float:
    return 2 * math.log(2 * task.features) / task.n


def _hidden(releases: Sequence[Release], task: Task) -> float:
    """Return the shares of variance that noise and sampling hide, relative to their limits."""
    noise, sampling = noise_on_signal(releases, task), _sampling_on_signal(task)
    return noise / _LARGEST_HIDDEN + sampling / _LARGEST_SAMPLED


def moment_noise(draft: PlanDraft[FisherSettings], task: MetricTask) -> float:
    """Return the largest eigenvalue of the noise on the moments of standardised records."""
    releases = {release.name: release for release in draft.releases}
    return task.features * task.edge * deviation(releases[_MOMENTS]) / task.data_norm**2


register_algorithm("fisher", FisherMetric(), "metric")


@register_candidates("metric", order=0)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    """Yield both forms, unless a loss must be minimised."""
    if task.loss is not None:
        return
    forms: tuple[Literal["diagonal", "full"], ...] = ("full", "diagonal")
    for form in forms:
        algorithm = FisherMetric(form)
        draft = task.draft(task.problem, algorithm)
        noise = noise_on_signal(draft.releases, task.task(task.problem))
        found = _DIAGONAL_GAIN if form == "diagonal" else 1 / (1 + moment_noise(draft, task) / 20)
        kept = found / (1 + noise / _HALF_KEPT) if draft.settings.learns else 0.0
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
            f"{_HALF_KEPT:.3g}: {expected}"
        )
        yield Candidate(task.problem, algorithm, 1 - kept, reason, draft)
