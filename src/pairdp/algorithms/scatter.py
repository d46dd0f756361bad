"""A metric from noisy second moments: release them once, the rest is post-processing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import RECORDS, between, keep, one_of
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.centering import (
    NoisyStatistics,
    Statistic,
    centered,
    centering_statistics,
)
from pairdp.algorithms.choice.candidates import Candidate, register_candidates
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.losses import MetricLoss
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import (
    NoiseSource,
    Release,
    Sensitivity,
    pack,
    packed_dimension,
    unpack,
)
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import MetricTask

Array = NDArray[np.float64]
_SPREAD, _SPREAD_WITHOUT_NOISE = 0.4, 1.5
_RIDGE = 0.05

# The names of the statistics that determine the metric.
_MEAN, _SECOND_MOMENTS = "mean of clipped records", "second moments"
_CLASS_MEANS, _WITHIN = "scatter of class means", "scatter within classes"


@dataclass(frozen=True)
class ScatterSettings(Settings):
    """The statistics, ρ, ξ, r² over the mean squared distance, and the size of the last noise."""

    statistics: Literal["means", "pairs"]
    mean_norm: float
    euclidean: float
    spread: float
    noise: float


@dataclass(frozen=True)
class ScatterMetric(Algorithm[ScatterSettings]):
    r"""The Euclidean metric, stretched along directions that separate classes.

    .. math::
        M ∝ ξI + c·W^{-1}ÛW^{-1}, \quad W = T - Û + (ρ_T + 0.05c)I, \quad c = \mathrm{tr}(T-Û)/d,

    where T is the covariance of all records and U = Σ_c (n_c/n) m_c m_cᵀ the scatter of the class
    means. Û has the eigenvectors of the noisy U and the eigenvalues √(u² - ρ_U²), or zero if u is
    below the size of the noise ρ_U = σ_U(√(2d) + 1): the optimal shrinkage of a low-rank matrix in
    such noise. ρ_T = σ_T√(2d) is the size of the noise on T; both are known in advance. So
    directions without significant signal remain Euclidean, and M = I if there are no others.
    W⁻¹UW⁻¹ is the stretch of linear discriminant analysis; if class means do not differ, nothing is
    stretched, because the scatter within classes alone does not distinguish noise from structure.

    Noise is small relative to the data only if the bound R is tight. So the mean and mean squared
    norm of the records are released first, twice: of the original records, and of records rescaled
    by the first pair. Then records are centred, scaled so that a radius r becomes R, and clipped to
    R; their mean μ and second moments are computed, and μμᵀ is subtracted from T and U. r² is 0.4
    times the mean squared distance from the centre: most records are clipped to norm R, and
    contribute only their direction, which is nearly all that matters. Without noise the factor is
    1.5. Centre and r are released before, so the sensitivities are those of any records of norm R:
    2R/n for the mean, √2·R²/n for T and 4ρR²/n for U (see `pairdp.privacy.bounds.scatter`). Labels
    are only used to compare classes; the number of classes is not released.

    With ``statistics="pairs"`` the metric is the inverse of the scatter within classes, S =
    Σ(x-x')(x-x')ᵀ/(n(n-1)) over ordered pairs of one class, which has sensitivity 8R²/n.
    Eigenvalues are shrunk towards their mean by the size of the noise, and are at least 5 % of the
    mean.

    Parameters
    ----------
    statistics : {"means", "pairs"}
        What is released: moments and class means, or the scatter within classes.
    mean_norm : float
        ρ, the fraction of R that class means are clipped to; at most 1/2.
    euclidean : float
        ξ, the weight of the Euclidean metric. A smaller weight stretches more.
    name : str
        Name in certificates.

    Notes
    -----
    The loss may be any metric loss; it is not used, nor are regulariser and centre. M is scaled so
    that its trace is the radius of the constraint set (d if it is unbounded), which does not affect
    nearest neighbours, and projected. The time is O(nd²).

    Examples
    --------
    >>> from pairdp import Budget
    >>> from pairdp.constraints import PSDFrobeniusBall
    >>> from pairdp.losses import LogisticMetric
    >>> from pairdp.problem import Problem
    >>> problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    >>> plan = ScatterMetric().plan(problem, 1000, 5, Budget(1.0, 1e-5))
    >>> [release.name for release in plan.certificate.releases][-1]
    'scatter of class means'
    """

    statistics: Literal["means", "pairs"] = "means"
    mean_norm: float = 0.4
    euclidean: float = 0.3
    name: str = "Metric from noisy scatter"

    settings_type = ScatterSettings
    offers_units: ClassVar[bool] = True
    without_signal: ClassVar[str] = "the metric will stay Euclidean"
    max_noise_to_signal: ClassVar[float] = 1.0  # eigenvalues below the noise are set to zero

    def __post_init__(self) -> None:
        one_of("statistics", self.statistics, "means", "pairs")
        for name in ("euclidean", "mean_norm"):
            keep(self, name, between(name, getattr(self, name), *RECORDS))
        if self.mean_norm > 0.5:
            raise ValueError(f"mean_norm must be at most 0.5, got {self.mean_norm!r}")

    @property
    def needs(self) -> tuple[Need, ...]:
        """No general properties; `draft` checks for a metric loss."""
        return ()

    def draft(self, task: Task) -> PlanDraft[ScatterSettings]:
        """Decide the noise of each statistic."""
        if not isinstance(task.problem.loss, MetricLoss):
            raise ValueError(
                f"{self.name} learns a metric, and the problem's loss is "
                f"{type(task.problem.loss).__name__}: use a metric loss such as LogisticMetric()"
            )
        releases = tuple(wanted.release(task) for wanted in self._wanted(task))
        settings = ScatterSettings(
            self.statistics,
            self.mean_norm,
            self.euclidean,
            _SPREAD_WITHOUT_NOISE if task.budget is None else _SPREAD,
            deviation(releases[-1]) * math.sqrt(2 * task.features),
        )
        reasons = ["records are centred and scaled by the first releases; noise is in these units"]
        if task.budget is not None:
            needed = self._cut(releases[-1], task) / self._largest(task)
            reasons.append(
                f"a direction is stretched if the {releases[-1].name} along it exceeds "
                f"{needed:.2g} of the largest possible value; others stay Euclidean"
            )
        return PlanDraft(releases, settings, tuple(reasons))

    def noise_to_signal(self, plan: Plan[ScatterSettings]) -> float:
        """Return the ratio of the noise threshold of eigenvalues to the largest eigenvalue."""
        return self._cut(plan.certificate.releases[-1], plan.task) / self._largest(plan.task)

    def _cut(self, release: Release, task: Task) -> float:
        """Return σ(√(2d) + 1), the size of the noise, below which eigenvalues are set to zero."""
        return deviation(release) * (math.sqrt(2 * task.features) + 1)

    def _largest(self, task: Task) -> float:
        """Return the largest possible eigenvalue: (ρR)² of class means, 2R² within classes.

        The latter bounds the mean of |x-x'|² over pairs, for large n twice a variance of at most
        R².
        """
        largest = self.mean_norm**2 if self.statistics == "means" else 2.0
        return largest * task.problem.data_norm**2

    def _wanted(self, task: Task) -> tuple[Statistic, ...]:
        n, norm, d = task.n, task.problem.data_norm, task.features
        p = packed_dimension(d)

        def of(bound: str, **more: float) -> Sensitivity:
            return task.sensitivity(bound, data_norm=norm, n=n, **more)

        first = centering_statistics(task)
        if self.statistics == "pairs":
            return (*first, Statistic(_WITHIN, of("scatter within classes"), p, 0.88))
        means = of("scatter of class means", mean_norm=self.mean_norm * norm)
        return (
            *first,
            Statistic(_MEAN, of("mean of records"), d, 0.09),
            Statistic(_SECOND_MOMENTS, of("second moments of records"), p, 0.26),
            Statistic(_CLASS_MEANS, means, p, 0.53),
        )

    def _parameter_noise(self, plan: Plan[ScatterSettings], fit: Fit) -> ParameterNoise:
        return unknown_noise(
            "the metric is computed from several noisy statistics, and eigenvalues below the size "
            "of their noise are set to zero: the number of directions says what stands out"
        )

    def check_parts(self, plan: Plan[ScatterSettings]) -> None:
        """Do nothing: it needs only sums."""

    def execute(
        self,
        plan: Plan[ScatterSettings],
        records: Records | PartitionedRecords,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the metric, projected."""
        noisy = NoisyStatistics(plan.certificate.releases, noise, "scatter noise")
        sigma = noisy.sigma

        def noisy_matrix(name: str, value: Array) -> Array:
            return unpack(noisy(name, pack(value)))

        rows = centered(records, noisy, plan.settings.spread)
        if self.statistics == "pairs":
            metric = inverse_scatter(noisy_matrix(_WITHIN, rows.within()), sigma[_WITHIN])
        else:
            mean = noisy(_MEAN, rows.mean())
            total = noisy_matrix(_SECOND_MOMENTS, rows.moments()) - np.outer(mean, mean)
            class_means = rows.class_means(self.mean_norm * records.data_norm)
            between = noisy_matrix(_CLASS_MEANS, class_means) - np.outer(mean, mean)
            error = 2 * float(np.linalg.norm(mean)) * sigma[_MEAN]
            noises = sigma[_SECOND_MOMENTS], sigma[_CLASS_MEANS]
            metric = stretched(total, between, *noises, error, self.euclidean)
        constraint = plan.problem.constraint
        trace = constraint.radius if math.isfinite(constraint.radius) else float(len(metric))
        return constraint.project(metric * (trace / float(np.trace(metric))))


def stretched(
    total: Array, between: Array, total_noise: float, noise: float, error: float, euclidean: float
) -> Array:
    """Return ξI + c·W⁻¹ÛW⁻¹ from noisy T and U and the standard deviations of their entries.

    ``error`` is the error of U caused by the noise of the subtracted mean; it is added to ρ_U.
    """
    d = len(total)
    edge = math.sqrt(2 * d)
    values, vectors = np.linalg.eigh(between)
    cut = noise * (edge + 1) + error
    values = np.sqrt(np.maximum(values * np.abs(values) - cut**2, 0.0))
    kept = (vectors * values) @ vectors.T
    spread, axes = np.linalg.eigh(total - kept)
    level = float(spread.mean())
    if level <= total_noise or not values.any():
        return np.eye(d)
    ridged = np.maximum(spread, 0.0) + total_noise * edge + _RIDGE * level
    inverse = (axes / ridged) @ axes.T
    return np.asarray(euclidean * np.eye(d) + level * (inverse @ kept @ inverse))


def inverse_scatter(scatter: Array, noise: float) -> Array:
    """Return the inverse of a noisy scatter with eigenvalues shrunk towards their mean."""
    d = len(scatter)
    values, vectors = np.linalg.eigh(scatter)
    level = float(values.mean())
    if level <= noise:
        return np.eye(d)
    from_level = values - level
    less = np.maximum(np.abs(from_level) - noise * (math.sqrt(2 * d) + 1), 0.0)
    values = np.maximum(level + np.sign(from_level) * less, _RIDGE * level)
    return np.asarray((vectors * (level / values)) @ vectors.T)


register_algorithm("scatter", ScatterMetric(), "metric")


@register_candidates("metric", order=1)
def _metric(task: MetricTask) -> Iterator[Candidate]:
    """Yield both metrics, unless a loss must be minimised."""
    if task.loss is not None:
        return
    for algorithm, found, signal in (
        (ScatterMetric("means"), 1.0, task.between),
        (ScatterMetric("pairs"), 0.5, 0.3 / task.features),
    ):
        draft = task.draft(task.problem, algorithm)
        release = draft.releases[-1]
        # Records are rescaled, so their spread relative to the bound does not matter.
        noise = deviation(release) * (task.edge + 1) / task.data_norm**2
        kept = found / (1 + noise / signal)
        expected = (
            "the metric is expected to stay Euclidean"
            if noise >= signal
            else f"it keeps {kept:.0%} of the possible gain over the Euclidean metric, and "
            "directions without significant signal stay Euclidean"
        )
        reason = (
            f"noise of size {noise:.3g} on the {release.name} and a typical signal of "
            f"{signal:.3g}: {expected}"
        )
        yield Candidate(task.problem, algorithm, 1 - kept, reason, draft)
