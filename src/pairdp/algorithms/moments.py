"""Least squares from noisy class moments: release them once, then solve without more noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import non_negative
from pairdp.algorithms.base import Algorithm, Draft, Plan, Task
from pairdp.algorithms.progress import Progress
from pairdp.algorithms.requirements import Need
from pairdp.losses import LeastSquaresRanking
from pairdp.pairs.products import weighted_rows
from pairdp.privacy import (
    GaussianMechanism,
    KNormMechanism,
    NoiseSource,
    NoMechanism,
    Release,
    Sensitivity,
    pack,
    unpack,
)
from pairdp.privacy.gaussian import ratio
from pairdp.privacy.packing import packed_dimension
from pairdp.records import Records

Array = NDArray[np.float64]
_TYPICAL_IMBALANCE = 0.4
_SHARE_OF_COUNT = 0.02
_RIDGE = 4.0
_BLOCK = 8192


@dataclass(frozen=True)
class MomentRelease(Algorithm):
    r"""The least-squares ranking risk depends on a few class moments; release these.

    .. math::
        L(w) = \text{const} + m(k^2 wᵀSw - 2k·vᵀw), \quad
        v = \frac{Σ_{+,-}(x_i - x_j)}{n(n-1)}, \quad
        S = \frac{Σ_{+,-}(x_i - x_j)(x_i - x_j)ᵀ}{n(n-1)}.

    v and S move by at most 2R/n and 4R²/n when a record is replaced. But they are made of
    *class* moments that move less: with a = Σyx/n, μ = Σx/n, T± = Σ±xxᵀ/n and π the share of
    positives,

    .. math::
        v ∝ \tfrac12(a + (1-2π)μ), \quad S ∝ (1-π)T_+ + πT_- - M_+M_-ᵀ - M_-M_+ᵀ, \quad
        M_± = \tfrac12(μ ± a).

    a moves by 2R/n and enters v by half; T± move together by √2·R²/n. The default releases
    these, with up to twice less noise in v and up to four times less in S.

    Parameters
    ----------
    statistics : {"class", "pair"}
        What is released: class moments, or v and S themselves.
    second_moments : bool
        Whether S is used. Without it the direction v is released: the gradient at zero,
        the limit of strong regularisation, which ranks well at small budgets.
    share : float
        Share of the squared privacy ratio (of ε, for pure ε) that second moments get.
    ridge : float, optional
        What is added to the noisy S before solving; by default 4 times the size σ√(2d) of its
        noise, which is known in advance.
    name : str
        What certificates call it.
    """

    statistics: str = "class"
    second_moments: bool = True
    share: float = 0.1
    ridge: float | None = None
    name: str = "Least squares from moments"

    def __post_init__(self) -> None:
        if self.statistics not in ("class", "pair"):
            raise ValueError(f'statistics must be "class" or "pair", got {self.statistics!r}')
        if not 0 < self.share < 1:
            raise ValueError(f"share must be above 0 and below 1, got {self.share!r}")
        if self.ridge is not None:
            non_negative("ridge", self.ridge)

    @property
    def needs(self) -> tuple[Need, ...]:
        """Nothing but least squares, which `draft` asks for."""
        return ()

    def draft(self, task: Task) -> Draft:
        """Decide the noise of each moment and the ridge."""
        problem = task.problem
        if not isinstance(problem.loss, LeastSquaresRanking):
            raise ValueError(
                f"{self.name} solves least squares, and the problem's loss is "
                f"{type(problem.loss).__name__}: use LeastSquaresRanking()"
            )
        if task.is_printed:
            raise ValueError(f"{self.name} is in none of the papers: use certified")
        wanted = _class_moments(task) if self.statistics == "class" else _pair_moments(task)
        first, second = wanted[:-1], wanted[-1]
        share = self.share if self.second_moments else 0.0
        total = sum(moment.weight for moment in first)
        releases = [_release(task, m, (1 - share) * m.weight / total) for m in first]
        settings: dict[str, str | bool | float] = {
            "statistics": self.statistics,
            "second_moments": self.second_moments,
        }
        reasons = []
        if self.second_moments:
            releases.append(_release(task, second, share))
            ridge = self.ridge
            if ridge is None:
                noise = getattr(releases[-1].mechanism, "scale", 0.0)
                if isinstance(releases[-1].mechanism, KNormMechanism):
                    noise *= math.sqrt(second.dimension)
                ridge = _RIDGE * noise * math.sqrt(2 * task.features)
                reasons.append("ridge is 4 times the size of the noise on S, σ√(2d)")
            settings |= {"share": share, "ridge": ridge}
        return Draft(tuple(releases), settings, tuple(reasons))

    def execute(
        self, plan: Plan, records: Records, noise: NoiseSource, progress: Progress
    ) -> Array:
        """Return the minimiser of the noisy risk over the constraint set."""
        problem = plan.problem
        loss = problem.loss
        if not isinstance(loss, LeastSquaresRanking):
            raise TypeError("the plan was made for another loss")
        values = _class_values(records) if self.statistics == "class" else _pair_values(records)
        noisy = [
            release.mechanism.release(value, noise.stream("moment noise", i))
            for i, (release, value) in enumerate(
                # Second moments come last, and are left out when not planned.
                zip(plan.certificate.releases, values, strict=False)
            )
        ]
        combine = _from_classes if self.statistics == "class" else _from_pairs
        v, s = combine(noisy, records.n, self.second_moments)
        if s is None:
            return _to_the_edge(v, problem.constraint.radius)
        factor = 2 * loss.orders * loss.scale
        ridge = factor * loss.scale * float(plan.settings["ridge"])  # type: ignore[arg-type]
        linear = factor * v + problem.regularization * (problem.center + np.zeros_like(v))
        return minimise_in_ball(
            factor * loss.scale * s,
            linear,
            problem.regularization + ridge,
            problem.constraint.radius,
        )


class _Moment(NamedTuple):
    """A statistic to release: its bound, its size, and its share of the budget."""

    name: str
    sensitivity: Sensitivity
    dimension: int
    weight: float


def _class_moments(task: Task) -> tuple[_Moment, ...]:
    n, norm, d = task.n, task.problem.data_norm, task.features

    def of(bound: str) -> Sensitivity:
        return Sensitivity.of(bound, data_norm=norm, n=n)

    return (
        _Moment(
            "share of positives", Sensitivity.of("share of positives", n=n), 1, _SHARE_OF_COUNT
        ),
        _Moment("mean of signed records", of("mean of signed records"), d, 1.0),
        # It enters v times 1 - 2π, so noise on it costs less.
        _Moment("mean of records", of("mean of records"), d, _TYPICAL_IMBALANCE),
        _Moment(
            "second moments of classes",
            of("second moments of classes"),
            2 * packed_dimension(d),
            1.0,
        ),
    )


def _pair_moments(task: Task) -> tuple[_Moment, ...]:
    n, norm, d = task.n, task.problem.data_norm, task.features
    first = Sensitivity.of("difference of class sums", data_norm=norm, n=n)
    second = Sensitivity.of("scatter between classes", data_norm=norm, n=n)
    return (
        _Moment("difference of class sums", first, d, 1.0),
        _Moment("scatter between classes", second, packed_dimension(d), 1.0),
    )


def _release(task: Task, moment: _Moment, share: float) -> Release:
    """Return a release with its share: of μ² for Gaussian noise, of ε for pure ε."""
    budget, sensitivity = task.budget, moment.sensitivity
    if budget is None:
        return Release(moment.name, NoMechanism(), None, moment.dimension)
    slack = 1 - 1e-9
    mechanism: GaussianMechanism | KNormMechanism
    if budget.is_pure:
        spent = share * slack * budget.epsilon
        mechanism = KNormMechanism(sensitivity.value, sensitivity.value / spent)
    else:
        mu = ratio(budget.epsilon, budget.delta) * slack * math.sqrt(share)
        mechanism = GaussianMechanism(sensitivity.value, sensitivity.value / mu)
    return Release(moment.name, mechanism, sensitivity, moment.dimension)


def _class_values(records: Records) -> list[Array]:
    n, x, y = records.n, records.x, records.y
    squares = [pack(gram / n) for gram in _grams(records)]
    share = np.array([records.positive.sum() / n])
    signed, plain = weighted_rows(x, y), weighted_rows(x, np.ones(n))
    return [share, signed / n, plain / n, np.concatenate(squares)]


def _pair_values(records: Records) -> list[Array]:
    values = _class_values(records)
    v, s = _from_classes(values, records.n, second=True)
    return [v, pack(s if s is not None else np.zeros((v.size, v.size)))]


def _grams(records: Records) -> tuple[Array, Array]:
    """Return Σxxᵀ over the positives and over the negatives, block by block."""
    grams = np.zeros((2, records.features, records.features))
    for start in range(0, records.n, _BLOCK):
        some = slice(start, start + _BLOCK)
        x, positive = records.x[some], records.positive[some] == 1
        for gram, chosen in zip(grams, (positive, ~positive), strict=True):
            part = x[chosen]
            gram += part.T @ part
    ups, downs = (grams + grams.transpose(0, 2, 1)) / 2
    return ups, downs


def _from_classes(values: list[Array], n: int, second: bool) -> tuple[Array, Array | None]:
    """Return v and S from class moments."""
    share = float(np.clip(values[0][0], 0.0, 1.0))
    signed, mean = values[1], values[2]
    scale = n / (n - 1)
    v = scale * (signed + (1 - 2 * share) * mean) / 2
    if not second:
        return v, None
    ups, downs = (unpack(half) for half in np.split(values[3], 2))
    cross = np.outer((mean + signed) / 2, (mean - signed) / 2)
    return v, scale * ((1 - share) * ups + share * downs - cross - cross.T)


def _from_pairs(values: list[Array], n: int, second: bool) -> tuple[Array, Array | None]:
    return values[0], unpack(values[1]) if second else None


def _to_the_edge(v: Array, radius: float) -> Array:
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
    floor = 1e-15 * (float(values.max()) + size)

    def solution(more: float) -> Array:
        return np.asarray(along / np.maximum(values + more, floor))

    if np.linalg.norm(solution(0.0)) <= radius:
        return np.asarray(vectors @ solution(0.0))
    # The norm falls as more is added to the ridge; at |linear|/radius it is within.
    low, high = 0.0, size / radius
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.linalg.norm(solution(middle)) > radius else (low, middle)
    return np.asarray(vectors @ solution(high))
