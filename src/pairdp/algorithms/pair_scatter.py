"""A metric from noisy scatters of similar and of dissimilar pairs; the rest is post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, keep
from pairdp._sums import Total, Totals, gram
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.noise import deviation, shared_release
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.scaled_records import ScaledRecords, Scaling
from pairdp.algorithms.task import Settings, Task
from pairdp.algorithms.threshold import THRESHOLD
from pairdp.losses import PairMetricLoss
from pairdp.privacy import NoiseSource, Sensitivity, pack, packed_dimension, unpack
from pairdp.records import Records

Array = NDArray[np.float64]
_SPREAD, _SPREAD_WITHOUT_NOISE = 0.4, 1.5
_ROOMY = 2.0
_LEAST_RADIUS = 1e-6
_RIDGE, _PRIOR, _CUT = 0.05, 0.05, 0.5
# Edges between the cells of squared distances, relative to their mean.
_EDGES = 2.0 ** (np.arange(-6, 7) / 2)

_FIRST, _SCALED = "mean squared norm", "mean squared norm, scaled"
_SHARES, _SCATTERS = "shares of similar and dissimilar pairs", "scatters of pairs"


@dataclass(frozen=True)
class PairScatterSettings(Settings):
    """Whether a threshold is released, and r² over the mean squared distance."""

    threshold: bool
    spread: float


@dataclass(frozen=True)
class PairScatter(Algorithm[PairScatterSettings]):
    r"""The metric of similar pairs, stretched along directions in which dissimilar pairs differ.

    .. math:: M ∝ W(Û/c + ξI)W, \quad W = c·(S + (ρ_S + 0.05c)I)^{-1}, \quad c = \mathrm{tr}(S)/d,

    where S and D are the mean of aaᵀ over similar and over dissimilar pairs, a = x - x', and Û is
    the positive part of U = D - S after shrinkage: its eigenvalues are √(u² - ρ²), or zero if u is
    below ρ, half the size of the noise. So M is W² of the similar pairs (the whitening of relevant
    component analysis) times ξ = 0.05, plus the stretch W·U·W of linear discriminant analysis where
    pairs show one. ρ_S = σ_S√(2d) is the size of the noise on S. If it exceeds S, then M = I.

    Σ₊aaᵀ/m and Σ₋aaᵀ/m are released side by side. A replaced pair changes them by at most √2·R²/m,
    whether or not its label flips, so two scatters cost as much as one. Their noise is small
    relative to the data only if the bound R is tight: the mean squared norm of a is released first,
    twice, and differences are scaled so that a radius r becomes R, and clipped to it. r² is 0.4
    times the mean squared norm (1.5 times without noise): most differences contribute only their
    direction. The shares of similar and of dissimilar pairs are released too.

    With ``threshold``, a tenth of the budget is spent on the distance that separates similar from
    dissimilar pairs with the fewest errors: the sums of labels are released in cells of the squared
    distance that are fixed by the releases before, and the best of 13 edges is taken.

    Parameters
    ----------
    threshold : bool
        Whether a threshold for distances is released too.
    name : str
        Name in certificates.

    Notes
    -----
    The problem's loss must be a `PairMetricLoss`; it is not used, nor are regulariser and centre. M
    is scaled so that its trace is the radius of the constraint set (d if it is unbounded), and
    projected. The time is O(md²).

    Examples
    --------
    >>> from pairdp import Budget
    >>> from pairdp.constraints import PSDFrobeniusBall
    >>> from pairdp.pointwise_problem import PointwiseProblem
    >>> problem = PointwiseProblem(PairMetricLoss(), PSDFrobeniusBall(1.0))
    >>> plan = PairScatter().plan(problem, 10_000, 5, Budget(1.0, 1e-6))
    >>> plan.certificate.holds
    True
    """

    threshold: bool = True
    name: str = "Metric from noisy scatters of pairs"

    settings_type = PairScatterSettings
    offers_units: ClassVar[bool] = True
    without_signal: ClassVar[str] = "the metric will be close to the Euclidean one"
    max_noise_to_signal: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        keep(self, "threshold", flag("threshold", self.threshold))

    @property
    def needs(self) -> tuple[Need, ...]:
        """No general properties; `draft` checks for a loss of pairs."""
        return ()

    def draft(self, task: Task) -> PlanDraft[PairScatterSettings]:
        """Decide the noise of each statistic."""
        if not isinstance(task.problem.loss, PairMetricLoss):
            raise ValueError(
                f"{self.name} learns from given pairs, and the problem's loss is "
                f"{type(task.problem.loss).__name__}: use PairMetricLoss()"
            )
        releases = tuple(
            shared_release(wanted.name, task, wanted.sensitivity, wanted.dimension, wanted.share)
            for wanted in self._wanted(task)
        )
        spread = _SPREAD_WITHOUT_NOISE if task.budget is None else _SPREAD
        reasons = ["differences are scaled by the first releases; noise is in these units"]
        if self.threshold:
            reasons.append("a tenth of the budget is spent on the threshold of distances")
        return PlanDraft(releases, PairScatterSettings(self.threshold, spread), tuple(reasons))

    def noise_to_signal(self, plan: Plan[PairScatterSettings]) -> float:
        """Return the ratio of ρ, for as many similar as dissimilar pairs, to the largest U."""
        scatters = next(r for r in plan.certificate.releases if r.name == _SCATTERS)
        size = _size(2 * math.sqrt(2) * deviation(scatters), plan.task.features)
        return size / plan.problem.data_norm**2

    def _wanted(self, task: Task) -> tuple[_Statistic, ...]:
        n, norm = task.n, task.problem.data_norm
        square = task.sensitivity("mean squared norm", data_norm=norm, n=n)
        scatters = task.sensitivity("second moments of classes", data_norm=norm, n=n)
        wanted = (
            _Statistic(_FIRST, square, 1, 0.03),
            _Statistic(_SCALED, square, 1, 0.03),
            _Statistic(_SHARES, task.sensitivity("shares of classes", n=n), 2, 0.04),
            _Statistic(
                _SCATTERS,
                scatters,
                2 * packed_dimension(task.features),
                0.8 if self.threshold else 0.9,
            ),
        )
        if not self.threshold:
            return wanted
        cells = task.sensitivity("signed histogram", n=n)
        return (*wanted, _Statistic(THRESHOLD, cells, len(_EDGES) + 1, 0.1))

    def _parameter_noise(self, plan: Plan[PairScatterSettings], fit: Fit) -> ParameterNoise:
        return unknown_noise(
            "the metric is computed from several noisy statistics, and eigenvalues below the size "
            "of their noise are set to zero"
        )

    def execute(
        self,
        plan: Plan[PairScatterSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> RunResult:
        """Return the metric, projected, and its threshold."""
        releases = {release.name: release for release in plan.certificate.releases}
        streams = {name: noise.stream("scatter noise", i) for i, name in enumerate(releases)}
        sigma = {name: deviation(release) for name, release in releases.items()}

        def noisy(name: str, value: Array) -> Array:
            return releases[name].mechanism.release(value, streams[name])

        rows, square = ScaledRecords(records), 0.0
        for name, factor in ((_FIRST, _ROOMY), (_SCALED, plan.settings.spread)):
            found = float(noisy(name, np.array([rows.square_norm()]))[0])
            square = float(rows.unit) ** 2 * max(found + 2 * sigma[name], 0.0)
            rows = _rescaled(records, factor * square)
        shares = noisy(_SHARES, _shares(records))
        packed = noisy(_SCATTERS, np.concatenate([pack(one) for one in _scatters(rows)]))
        scatters = [unpack(one) for one in np.split(packed, 2)]
        sure = 4 * sigma[_SHARES] + 1 / records.n
        metric = pair_metric(scatters, shares, sigma[_SCATTERS], sure)
        constraint = plan.problem.constraint
        trace = constraint.radius if math.isfinite(constraint.radius) else float(len(metric))
        metric = constraint.project(metric * (trace / float(np.trace(metric))))
        if not plan.settings.threshold:
            return RunResult(metric, {})
        edges = _edges(metric, scatters[0] + scatters[1], square)
        best = _best_edge(edges, noisy(THRESHOLD, _signed_cells(records, metric, edges)))
        return RunResult(metric, {THRESHOLD: np.array([math.sqrt(best)])})


class _Statistic(NamedTuple):
    """A statistic to release: its sensitivity bound, its dimension, and its share of the budget."""

    name: str
    sensitivity: Sensitivity
    dimension: int
    share: float


def pair_metric(scatters: list[Array], shares: Array, noise: float, sure: float) -> Array:
    """Return M from noisy sums of aaᵀ over similar and dissimilar pairs, and their shares.

    Parameters
    ----------
    scatters : list of two arrays
        Σ₊aaᵀ/m and Σ₋aaᵀ/m.
    shares : array of shape (2,)
        The shares of both kinds of pairs; those of at most ``sure`` are taken to be none.
    noise, sure : float
        The standard deviation of the noise on the scatters, and a bound on that of the shares.
    """
    d = len(scatters[0])
    if shares[0] <= sure:
        return np.eye(d)
    similar, similar_noise = scatters[0] / shares[0], noise / shares[0]
    spread, axes = np.linalg.eigh(similar)
    level = float(spread.mean())
    if level <= similar_noise:
        return np.eye(d)
    ridge = similar_noise * math.sqrt(2 * d) + _RIDGE * level
    whitening = (axes * (level / (np.maximum(spread, 0.0) + ridge))) @ axes.T
    stretch = _PRIOR * np.eye(d)
    if shares[1] > sure:
        values, vectors = np.linalg.eigh(scatters[1] / shares[1] - similar)
        cut = _size(math.hypot(similar_noise, noise / shares[1]), d)
        values = np.sqrt(np.maximum(values * np.abs(values) - cut**2, 0.0))
        stretch = stretch + (vectors * (values / level)) @ vectors.T
    return np.asarray(whitening @ stretch @ whitening)


def _size(noise: float, d: int) -> float:
    """Return ρ, half the largest eigenvalue of a symmetric matrix of noise."""
    return _CUT * noise * (math.sqrt(2 * d) + 1)


def _rescaled(records: Records, squared_radius: float) -> ScaledRecords:
    """Return the differences scaled so that a radius becomes R, and clipped."""
    bound = records.data_norm
    radius = min(max(math.sqrt(squared_radius), _LEAST_RADIUS * bound), 2 * bound)
    return ScaledRecords(records, np.zeros(records.features), radius / bound)


def _shares(records: Records) -> Array:
    return np.array([np.sum(records.y > 0), np.sum(records.y < 0)]) / records.n


def _scatters(rows: ScaledRecords) -> tuple[Array, Array]:
    """Return Σ₊aaᵀ/m and Σ₋aaᵀ/m."""
    similar, dissimilar = rows.total(_scatters_of)
    return similar.high / rows.records.n, dissimilar.high / rows.records.n


def _scatters_of(records: Records, scaling: Scaling) -> Totals:
    d = records.features
    similar, dissimilar = Total.zeros(d, d), Total.zeros(d, d)
    for x, labels in scaling.rows(records):
        similar += gram(x[labels > 0])
        dissimilar += gram(x[labels < 0])
    return Totals(similar, dissimilar)


def _edges(metric: Array, scatter: Array, square: float) -> Array:
    """Return the edges between cells: multiples of the mean squared distance, from releases."""
    total = float(np.trace(scatter))
    share = float(np.vdot(metric, scatter)) / total if total > 0 else 0.0
    # The mean of aᵀMa/|a|² is at most the largest and, but for noise, at least 0.
    largest = float(np.linalg.norm(metric, 2))
    share = min(max(share, _LEAST_RADIUS * largest), largest)
    return np.asarray(_EDGES * share * max(square, _LEAST_RADIUS**2))


def _signed_cells(records: Records, metric: Array, edges: Array) -> Array:
    """Return the sums of labels in the cells of the squared distance, over m; null ones are 0."""
    squared = np.einsum("ij,ij->i", records.x @ metric, records.x)
    cells = np.searchsorted(edges, squared, side="left")
    return np.bincount(cells, weights=records.y, minlength=len(edges) + 1) / records.n


def _best_edge(edges: Array, cells: Array) -> float:
    """Return the edge below which similar pairs most outnumber dissimilar ones."""
    return float(edges[int(np.argmax(np.cumsum(cells)[:-1]))])


register_algorithm("pair_scatter", PairScatter(), "given pairs")
