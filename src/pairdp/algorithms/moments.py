"""Least squares from noisy class moments: release them once, then solve by post-processing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, keep, keep_given, non_negative, one_of, real
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, best, register_candidates
from pairdp.algorithms.class_moments import ClassMoments
from pairdp.algorithms.moment_noise import moment_noise
from pairdp.algorithms.noise import deviation, noise_to_signal, shared_release
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.losses import GradedRanking, LeastSquaresRanking
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import (
    NoiseSource,
    Sensitivity,
    pack,
    unpack,
)
from pairdp.privacy.mechanisms.packing import packed_dimension
from pairdp.problem import Problem
from pairdp.records import Records

if TYPE_CHECKING:
    from pairdp.algorithms.choice import RankingTask

Array = NDArray[np.float64]
_SHARES = (0.05, 0.1, 0.2, 0.3)  # shares of the budget for second moments, for `auto`


@dataclass(frozen=True)
class MomentSettings(Settings):
    """Which moments are released, β of class moments, and the share and ridge of second moments."""

    statistics: str
    second_moments: bool
    weight: float | None = None
    share: float | None = None
    ridge: float | None = None


@dataclass(frozen=True)
class MomentRelease(Algorithm[MomentSettings]):
    r"""Least-squares ranking from noisy class moments, which determine the risk.

    .. math::
        L(w) = \text{const} + m(k^2 wᵀSw - 2k·vᵀw), \quad
        v = \frac{Σ_{+,-}(x_i - x_j)}{n(n-1)}, \quad
        S = \frac{Σ_{+,-}(x_i - x_j)(x_i - x_j)ᵀ}{n(n-1)}.

    The sensitivities of v and S are 2R/n and 4R²/n. But they are functions of *class* moments with
    smaller sensitivities: with a = Σyx/n, μ = Σx/n, T± = Σ±xxᵀ/n and π the fraction of positives,

    .. math::
        v ∝ \tfrac12(a + (1-2π)μ), \quad S ∝ (1-π)T_+ + πT_- - M_+M_-ᵀ - M_-M_+ᵀ, \quad
        M_± = \tfrac12(μ ± a).

    a has sensitivity 2R/n and enters v with the factor 1/2; T± together have √2·R²/n. The default
    releases these, which reduces the noise in v by a factor of up to 2 and in S by up to 4. The
    means are released together as (a, βμ, βR(2π-1)), with sensitivity 2R√(1+β²)/n: a replacement
    that changes the fraction of positives changes the other two by at most 2R/n together, so
    releasing π needs no more noise.

    Parameters
    ----------
    statistics : {"class", "pair"}
        What is released: class moments, or v and S themselves.
    second_moments : bool
        Whether S is used. Without it the direction v is released: the gradient at zero,
        the limit of strong regularisation, which ranks well at small budgets.
    share : float
        Share of μ² (of ε, for pure ε) that is spent on second moments.
    weight : float
        β, at most 1: the precision of μ and π relative to a. The default is optimal if |1-2π| is
        0.4.
    ridge : float, optional
        The ridge that is added to the noisy S; by default the size σ√(2d) of its noise,
        which is known in advance.
    name : str
        Name in certificates.
    """

    statistics: str = "class"
    second_moments: bool = True
    share: float = 0.1
    weight: float = 0.6
    ridge: float | None = None
    name: str = "Least squares from moments"

    settings_type = MomentSettings
    offers_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("statistics", self.statistics, "class", "pair")
        check_moment_parameters(self)

    @property
    def needs(self) -> tuple[Need, ...]:
        """No general properties; `draft` checks for a least-squares loss."""
        return ()

    @property
    def one_pass(self) -> bool:
        """True: it needs only sums over the records."""
        return True

    @property
    def releases_class_means(self) -> bool:
        """Whether class moments are released, and not those of pairs."""
        return self.statistics == "class"

    def draft(self, task: Task) -> PlanDraft[MomentSettings]:
        """Decide the noise of each moment and the ridge."""
        problem = task.problem
        if isinstance(problem.loss, GradedRanking):
            raise ValueError(
                f"{self.name} releases moments of two classes, and responses are graded: use an "
                'algorithm for any ranking loss, such as "DPGDC2" or NoisyGradientDescent'
            )
        if not isinstance(problem.loss, LeastSquaresRanking):
            raise ValueError(
                f"{self.name} solves least squares, and the problem's loss is "
                f"{type(problem.loss).__name__}: use LeastSquaresRanking()"
            )
        classes = self.statistics == "class"
        first, second = _class_moments(task, self.weight) if classes else _pair_moments(task)
        share = self.share if self.second_moments else 0.0
        releases = [shared_release(first.name, task, first.sensitivity, first.dimension, 1 - share)]
        settings = MomentSettings(
            self.statistics, self.second_moments, self.weight if classes else None
        )
        reasons = []
        if self.second_moments:
            releases.append(
                shared_release(second.name, task, second.sensitivity, second.dimension, share)
            )
            ridge = self.ridge
            if ridge is None:
                ridge = deviation(releases[-1]) * math.sqrt(2 * task.features)
                reasons.append("ridge is the size of the noise on S, σ√(2d)")
            settings = replace(settings, share=share, ridge=ridge)
        return PlanDraft(tuple(releases), settings, tuple(reasons))

    def noise_to_signal(self, plan: Plan[MomentSettings]) -> float:
        """Return the noise-to-signal ratio of the first moments, which determine the direction."""
        return noise_to_signal(plan.certificate.releases[0], plan.task.n)

    @property
    def noise_needs_statistics(self) -> bool:
        """True: the noise of the weights depends on the moments."""
        return True

    def _parameter_noise(self, plan: Plan[MomentSettings], fit: Fit) -> ParameterNoise:
        moments = noisy_quadratic(plan, fit.statistics)
        return moment_noise(plan, fit.parameters, fit.statistics, *moments)

    def check_parts(self, plan: Plan[MomentSettings]) -> None:
        """Do nothing: it needs only sums."""

    def execute(
        self,
        plan: Plan[MomentSettings],
        records: Records | PartitionedRecords | ClassMoments,
        noise: NoiseSource,
        progress: Progress,
    ) -> RunResult:
        """Return the minimiser of the noisy risk over the constraint set, and the moments."""
        problem = plan.problem
        sums = records if isinstance(records, ClassMoments) else ClassMoments.of(records)
        by_class = self.statistics == "class"
        weight = self.weight * problem.data_norm
        values = _class_values(sums, self.weight, weight) if by_class else _pair_values(sums)
        noisy = [
            release.mechanism.release(value, noise.stream("moment noise", i))
            for i, (release, value) in enumerate(
                # Second moments come last, and are omitted if they are not planned.
                zip(plan.certificate.releases, values, strict=False)
            )
        ]
        released = {
            release.name: value
            for release, value in zip(plan.certificate.releases, noisy, strict=True)
        }
        if by_class:
            means = unpacked_means(noisy[0], self.weight, weight)
            means = shrunk_means(means, deviation(plan.certificate.releases[0]) / self.weight)
            released |= means._asdict()
        return self.solve(plan, released)

    @property
    def solves_from_release(self) -> bool:
        """True: the moments determine the model."""
        return True

    def solve(self, plan: Plan[MomentSettings], statistics: Mapping[str, Array]) -> RunResult:
        """Return the minimiser of the risk with released moments: for any ridge and radius."""
        v, s = noisy_quadratic(plan, statistics)
        model = least_squares_model(plan.problem, v, s, plan.settings.ridge or 0.0)
        return RunResult(model, statistics)


def noisy_quadratic(
    plan: Plan[MomentSettings], released: Mapping[str, Array]
) -> tuple[Array, Array | None]:
    """Return v and S from the released moments; S is None if it was not released."""
    first, *more = (released[release.name] for release in plan.certificate.releases)
    second = more[0] if more else None
    if plan.settings.statistics == "pair":
        return first, None if second is None else unpack(second)
    means = ClassMeans(*(released[name] for name in ClassMeans._fields))
    return from_classes(means, second, plan.task.n)


def check_moment_parameters(algorithm: Any) -> None:
    """Raise ValueError for an invalid share, weight or ridge."""
    flag("second_moments", algorithm.second_moments)
    for name, most in (("share", 1.0), ("weight", math.nextafter(1.0, 2.0))):
        value = real(name, getattr(algorithm, name))
        keep(algorithm, name, value)
        if not 0 < value < most:
            limit = "below 1" if name == "share" else "at most 1"
            raise ValueError(f"{name} must be above 0 and {limit}, got {value!r}")
    keep_given(algorithm, "ridge", non_negative)


class _Moment(NamedTuple):
    """A statistic to release: its sensitivity bound and its dimension."""

    name: str
    sensitivity: Sensitivity
    dimension: int


class ClassMeans(NamedTuple):
    """Means over all records: of yx, of x, and of y."""

    signed: Array
    mean: Array
    balance: Array


def _class_moments(task: Task, weight: float) -> tuple[_Moment, _Moment]:
    n, norm, d = task.n, task.problem.data_norm, task.features
    first = task.sensitivity("means of classes", data_norm=norm, n=n, weight=weight)
    second = task.sensitivity("second moments of classes", data_norm=norm, n=n)
    return (
        _Moment("means of classes", first, 2 * d + 1),
        _Moment("second moments of classes", second, 2 * packed_dimension(d)),
    )


def _pair_moments(task: Task) -> tuple[_Moment, _Moment]:
    n, norm, d = task.n, task.problem.data_norm, task.features
    first = task.sensitivity("difference of class sums", data_norm=norm, n=n)
    second = task.sensitivity("scatter between classes", data_norm=norm, n=n)
    return (
        _Moment("difference of class sums", first, d),
        _Moment("scatter between classes", second, packed_dimension(d)),
    )


def _class_values(sums: ClassMoments, of_mean: float, of_balance: float) -> list[Array]:
    """Return Σ(yx, βx, βRy)/n, and Σ₊xxᵀ/n with Σ₋xxᵀ/n."""
    n = sums.n
    balance = np.array([(sums.positives - sums.negatives) * of_balance])
    squares = np.concatenate([pack(sums.ups / n), pack(sums.downs / n)])
    return [np.concatenate([sums.signed, of_mean * sums.plain, balance]) / n, squares]


def unpacked_means(packed: Array, of_mean: float, of_balance: float) -> ClassMeans:
    """Return the means that `_class_values` packed."""
    d = packed.size // 2
    return ClassMeans(packed[:d], packed[d : 2 * d] / of_mean, packed[2 * d :] / of_balance)


def shrunk_means(means: ClassMeans, spread: float) -> ClassMeans:
    """Return the means with James-Stein shrinkage of μ towards zero.

    v contains the product of μ and the balance; shrinkage limits the product of their noises.
    """
    size = float(means.mean @ means.mean)
    shrinkage = max(0.0, 1 - means.mean.size * spread**2 / size) if size > 0 else 0.0
    return means._replace(mean=shrinkage * means.mean)


def _pair_values(sums: ClassMoments) -> list[Array]:
    packed, squares = _class_values(sums, 1.0, 1.0)
    present = (sums.positives + sums.negatives) / sums.n
    v, s = from_classes(unpacked_means(packed, 1.0, 1.0), squares, sums.n, present)
    return [v, pack(s if s is not None else np.zeros((v.size, v.size)))]


def from_classes(
    means: ClassMeans, squares: Array | None, n: int, present: float = 1.0
) -> tuple[Array, Array | None]:
    """Return v and S from class moments.

    ``present`` is the fraction of records that are not null. It is private and not released: for
    noisy moments it is assumed to be 1.
    """
    balance = float(np.clip(means.balance[0], -1.0, 1.0))
    signed, mean = means.signed, means.mean
    scale = n / (n - 1)
    v = scale * (present * signed - balance * mean) / 2
    if squares is None:
        return v, None
    ups, downs = (unpack(half) for half in np.split(squares, 2))
    cross = np.outer((mean + signed) / 2, (mean - signed) / 2)
    within = (present - balance) / 2 * ups + (present + balance) / 2 * downs
    return v, scale * (within - cross - cross.T)


def least_squares_model(problem: Problem, v: Array, s: Array | None, ridge: float) -> Array:
    """Return the minimiser of the risk with these moments; without S, v scaled to norm B.

    Parameters
    ----------
    problem : Problem
        A problem with a least-squares loss.
    v, s : arrays
        The moments; see `MomentRelease`.
    ridge : float
        The ridge that is added to S.
    """
    loss = problem.loss
    if not isinstance(loss, LeastSquaresRanking):
        raise TypeError("the loss must be LeastSquaresRanking")
    if s is None:
        return _scale_to_radius(v, problem.constraint.radius)
    factor = 2 * loss.orders * loss.scale
    linear = factor * v + problem.regularization * (problem.center + np.zeros_like(v))
    return minimise_in_ball(
        factor * loss.scale * s,
        linear,
        problem.regularization + factor * loss.scale * ridge,
        problem.constraint.radius,
    )


def _scale_to_radius(v: Array, radius: float) -> Array:
    norm = float(np.linalg.norm(v))
    return v if not math.isfinite(radius) or norm == 0 else v * (radius / norm)


def minimise_in_ball(quadratic: Array, linear: Array, ridge: float, radius: float) -> Array:
    """Return the minimiser of wᵀQ₊w/2 - linearᵀw + ridge|w|²/2 with |w| <= radius.

    Q₊ is the positive part of Q: noise may have made some of its eigenvalues negative.
    """
    values, vectors = np.linalg.eigh(quadratic)
    values = np.maximum(values, 0.0) + ridge
    along = vectors.T @ linear
    size = float(np.linalg.norm(along))
    if size == 0:
        return np.zeros_like(linear)
    # Smaller eigenvalues are due to rounding.
    floor = 1e-15 * max(float(values.max()), size / radius) or 1e-15 * size

    def solution(more: float) -> Array:
        return np.asarray(along / np.maximum(values + more, floor))

    if np.linalg.norm(solution(0.0)) <= radius:
        return np.asarray(vectors @ solution(0.0))
    # The norm decreases in the ridge, and is at most the radius for a ridge of |linear|/radius.
    low, high = 0.0, size / radius
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.linalg.norm(solution(middle)) > radius else (low, middle)
    return np.asarray(vectors @ solution(high))


register_algorithm("moments", MomentRelease())


@register_candidates("ranking", order=0)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    """Yield least squares from first moments, and from both with the best share of the budget."""
    problem = task.problem(task.loss or LeastSquaresRanking(temperature=task.temperature))
    if not isinstance(problem.loss, LeastSquaresRanking):
        return
    both = [MomentRelease(share=share) for share in _SHARES]
    if task.budget is None:
        # A ridge well below the sampling error.
        both = [MomentRelease(ridge=task.eigenvalue * task.features / (10 * task.n))]
    yield _candidate(task, problem, MomentRelease(second_moments=False))
    yield from best(_candidate(task, problem, algorithm) for algorithm in both)


def _candidate(task: RankingTask, problem: Problem, algorithm: MomentRelease) -> Candidate:
    """Return a candidate with the error of v = (a - ȳμ)/2, from those of a, βμ and βRȳ."""
    draft = task.draft(problem, algorithm)
    d, release = task.features, draft.releases[0]
    variance = d + (d * task.imbalance**2 + task.offset**2) / algorithm.weight**2  # ȳ is 2π - 1
    noise = task.noise_of(release) * math.sqrt(variance / release.dimension) / 2 / task.difference
    ridge = math.inf if draft.settings.ridge is None else draft.settings.ridge
    return task.candidate(problem, algorithm, noise, ridge / task.eigenvalue, draft)
