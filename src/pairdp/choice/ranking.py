r"""Which ranker to take: predicted noise against the signal of a typical data set.

Nothing is known of the data but n, d and the bounds. So every candidate is judged on one
imagined data set, with the same spread in all directions and classes a typical distance D
apart. There it is predicted to rank with

.. math:: \text{AUC} = Φ\Bigl(\frac{D}{√2}·\frac{e}{√(1 + t^2 + s^2)}\Bigr),

where t is the length of its noise over that of its signal, s the same for drawing so few
records, and e says how much of the covariance it uses: 1 for all of it, less the more its
ridge, its regulariser or its few steps hide. The error is what is missing to Φ(D/√2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from pairdp._checks import integer
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PhasedSGD,
    StreamGradientDescent,
)
from pairdp.algorithms.descent import known_radius
from pairdp.choice.base import Candidate, Choice
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresRanking, LogisticRanking, RankingLoss
from pairdp.privacy import Budget, GaussianMechanism, KNormMechanism, Release
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem
from pairdp.records import check_data_norm

# The imagined data set: classes 1.5 standard deviations apart (an AUC of 0.856), records that
# spread by a fifth of the bound, as bounds are wider than data, and π(1-π) of 28 % positives.
_DISTANCE, _SPREAD, _POSITIVE_NEGATIVE = 1.5, 0.2, 0.2
# |1-2π| and |μ|/R, which errors in the mean of records and in π are multiplied by.
_IMBALANCE, _OFFSET = 0.5, 0.2
# The e of a direction that ignores the covariance, such as the difference of class means.
_IGNORANT = 0.92
# How fast a ridge hides the covariance, in units of an average eigenvalue; below 1 because the
# largest eigenvalues matter most.
_HIDING = 0.2
# Noise on w hits all directions alike, also those in which data spread more; noise of moments
# is divided by the covariance.
_UNWEIGHTED = 1.2
# A free loss is so steep that the ball cuts off no good direction.
_STEEPNESS = 200.0
# Chosen from: shares of the budget for second moments, λ over the smoothness, steps.
_SHARES = (0.05, 0.1, 0.2, 0.3)
_RELATIVE = tuple(10.0 ** (-i / 2) for i in range(10))
_STEPS = (3, 10, 30, 100, 300)
# Records above which nobody waits for an algorithm that reads them n times.
_QUADRATIC_UP_TO = 20_000
# Parts of the data that a batch is one of, and what drawing them costs in noise.
_BATCHES, _COST_OF_BATCHES = 10, 1.25


def choose_ranker(
    n: int,
    features: int,
    budget: Budget | None,
    *,
    data_norm: float = 1.0,
    radius: float = 1.0,
    loss: RankingLoss | None = None,
    regularization: float | None = None,
) -> Choice:
    """Return the rankers that there are for a task, the most promising first.

    Parameters
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        What may be spent; None for a baseline without noise.
    data_norm : float
        R, which records are clipped to.
    radius : float
        B, the largest norm of the weights.
    loss : RankingLoss, optional
        The loss; by default whichever promises most.
    regularization : float, optional
        λ; by default what promises most for each algorithm.

    Examples
    --------
    >>> choice = choose_ranker(1000, 8, Budget(1.0, 1e-5))
    >>> choice.best.algorithm.name
    'Least squares from moments'
    >>> plan = choice.plan()
    """
    if loss is not None and not isinstance(loss, RankingLoss):
        raise TypeError(f"loss must be a RankingLoss such as LogisticRanking(), got {loss!r}")
    if budget is not None:
        check_budget(budget)
    data_norm, ball = check_data_norm(data_norm), L2Ball(radius)
    typical = _Typical(
        integer("n", n, at_least=2), integer("features", features), budget, data_norm
    )
    steep = data_norm * ball.radius / _STEEPNESS
    # A given λ regularises the more, the flatter the loss is: that may then be chosen.
    flatter = (1, 4, 16, 64, 256) if regularization else (1,)
    logistic = [LogisticRanking(temperature=steep * i) for i in flatter]
    problems = [
        Problem(each, ball, regularization or 0.0, data_norm=data_norm)
        for each in (logistic if loss is None else [loss])
    ]
    squares = replace(problems[0], loss=loss or LeastSquaresRanking(temperature=steep))
    found = _from_moments(typical, squares)
    for problem in problems:
        found += _minimisers(typical, problem, regularization)
        found += _descents(typical, problem)
    if not found and not problems[0].is_convex:
        raise ValueError(
            f"{type(problems[0].loss).__name__} is not convex, and a pure budget has no algorithm "
            "for it: set delta > 0, or use a convex loss such as LogisticRanking()"
        )
    if not found:
        # Neither smooth nor with δ > 0: what is left needs a convex loss and bounded gradients.
        why = "the loss is not smooth and the budget pure, which one pass of SGD serves"
        found = [Candidate(problems[0], PhasedSGD(), 1.0, why)]
    return Choice(n, features, budget, _best_of_each(found))


def _best_of_each(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the best hyper-parameters of each algorithm and kind of output."""
    best: dict[tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        algorithm = candidate.algorithm
        kinds = "output", "batch_size", "second_moments"
        key = algorithm.name, *(getattr(algorithm, kind, None) for kind in kinds)
        if key not in best or candidate.error < best[key].error:
            best[key] = candidate
    return tuple(best.values())


@dataclass(frozen=True)
class _Typical:
    """The imagined data set, of public size, and the budget."""

    n: int
    features: int
    budget: Budget | None
    data_norm: float

    @property
    def difference(self) -> float:
        """|v|: the length of the difference of class sums."""
        apart = _DISTANCE * _SPREAD * self.data_norm / math.sqrt(self.features)
        return _POSITIVE_NEGATIVE * apart

    @property
    def eigenvalue(self) -> float:
        """An eigenvalue of S, the scatter between classes."""
        return 2 * _POSITIVE_NEGATIVE * (_SPREAD * self.data_norm) ** 2 / self.features

    def noise(self, sensitivity: float) -> float:
        """Return the length of the noise on d numbers of a sensitivity."""
        if self.budget is None:
            return 0.0
        if self.budget.is_pure:
            return sensitivity * self.features / self.budget.epsilon
        mu = gdp_mu(self.budget.epsilon, self.budget.delta)
        return sensitivity * math.sqrt(self.features) / mu

    def candidate(
        self, problem: Problem, algorithm: Algorithm, noise: float, hidden: float
    ) -> Candidate:
        """Return a candidate whose noise is ``noise`` signals long, with its error.

        ``hidden`` is its ridge, or what acts as one, over an average curvature.
        """
        used = 1 / (1 + _HIDING * hidden)
        drawn = self.features / (self.n * _POSITIVE_NEGATIVE * _DISTANCE**2)
        best = _DISTANCE / math.sqrt(2)
        reached = best * (_IGNORANT + (1 - _IGNORANT) * used) / math.sqrt(1 + noise**2 + drawn)
        reason = (
            f"noise {noise:.2g} of the expected signal; {used:.0%} of what the covariance offers "
            f"is used; an AUC of {ndtr(reached):.3f} where {ndtr(best):.3f} could be had"
        )
        return Candidate(problem, algorithm, float(ndtr(best) - ndtr(reached)), reason)


def _from_moments(typical: _Typical, problem: Problem) -> list[Candidate]:
    """Return least squares from first moments, and from both for some shares of the budget."""
    if not isinstance(problem.loss, LeastSquaresRanking):
        return []
    both = [MomentRelease(share=share) for share in _SHARES]
    if typical.budget is None:
        # A ridge well below the error of drawing so few records.
        both = [MomentRelease(ridge=typical.eigenvalue * typical.features / (10 * typical.n))]
    found = []
    for algorithm in (MomentRelease(second_moments=False), *both):
        plan = algorithm.plan(problem, typical.n, typical.features, typical.budget)
        # The error of v = (a - ȳμ)/2, from those of a, βμ and βRȳ, where ȳ is 2π - 1.
        d, release = typical.features, plan.certificate.releases[0]
        lost = d + (d * _IMBALANCE**2 + _OFFSET**2) / algorithm.weight**2
        noise = _length(release) * math.sqrt(lost / release.dimension) / 2 / typical.difference
        ridge = math.inf if plan.settings.ridge is None else plan.settings.ridge
        found.append(typical.candidate(problem, algorithm, noise, ridge / typical.eigenvalue))
    return found


def _length(release: Release) -> float:
    """Return about how long the noise of a release is."""
    mechanism = release.mechanism
    if isinstance(mechanism, GaussianMechanism):
        return mechanism.scale * math.sqrt(release.dimension)
    return mechanism.scale * release.dimension if isinstance(mechanism, KNormMechanism) else 0.0


class _Bowl:
    """The risk of a problem on the imagined data set: a parabola, with its slope at zero."""

    def __init__(self, typical: _Typical, problem: Problem) -> None:
        loss: RankingLoss = problem.loss  # type: ignore[assignment]
        steep = abs(float(loss.slope(np.zeros(1))[0]))
        curvature = loss.curvature(loss.margin_bound(problem.domain()))
        # A corner is spread over the margins of the data.
        curvature = curvature if 0 < curvature < math.inf else 1.0
        self.slope = loss.orders * loss.scale * steep * typical.difference
        self.curvature = loss.orders * loss.scale**2 * curvature * typical.eigenvalue
        self.radius = problem.constraint.radius

    def judge(self, pull: float, noise: float) -> tuple[float, float]:
        """Return noise over signal and what is hidden, of a point that a pull holds back."""
        # The edge of the ball holds back as a regulariser does.
        pull = max(pull, self.slope / self.radius - self.curvature)
        signal = self.slope / (pull + self.curvature)
        return _UNWEIGHTED * noise / signal, pull / self.curvature


def _minimisers(
    typical: _Typical, problem: Problem, regularization: float | None
) -> Iterator[Candidate]:
    """Yield what adds noise to the minimiser of a regularised problem."""
    smoothness = problem.constants(typical.n).smoothness
    if not problem.is_convex or not math.isfinite(smoothness) or regularization == 0:
        return
    n, bowl = typical.n, _Bowl(typical, problem)
    pulls = [smoothness * share for share in _RELATIVE]
    for pull in pulls if regularization is None else [regularization]:
        regular = replace(problem, regularization=pull)
        record_diameter = problem.record_diameter(n, known_radius(regular, 1 / pull, 2))
        moved = min(record_diameter / (pull * n), 2 * bowl.radius)
        judged = bowl.judge(pull, typical.noise(moved))
        yield typical.candidate(regular, MinimizerRelease(), *judged)
        yield typical.candidate(regular, GradientDescent("last"), *judged)
        if n <= _QUADRATIC_UP_TO:
            # The worst place for a record moves the average about ln(n)/2 times as much.
            moved = min(max(1.0, math.log(n) / 2) * moved, 2 * bowl.radius)
            judged = bowl.judge(pull, typical.noise(moved))
            yield typical.candidate(regular, StreamGradientDescent(), *judged)


def _descents(typical: _Typical, problem: Problem) -> Iterator[Candidate]:
    """Yield descents; few steps hold back as a regulariser does."""
    n, bowl, constants = typical.n, _Bowl(typical, problem), problem.constants(typical.n)
    smooth = 0 < constants.smoothness < math.inf
    for steps in _STEPS:
        far = bowl.radius / (constants.lipschitz * math.sqrt(steps))
        size = 1 / constants.smoothness if smooth else far
        travel = size * steps
        last, average = (i / travel + problem.regularization for i in (1, 2))
        if typical.budget is None or not typical.budget.is_pure:
            # T gradients of √T-fold noise add up to the travel times one of them; the noise of
            # the average is 1/√3 of that.
            noise = typical.noise(travel * problem.record_diameter(n) / n)
            algorithm = NoisyGradientDescent("last", steps, size)
            yield typical.candidate(problem, algorithm, *bowl.judge(last, noise))
            algorithm = NoisyGradientDescent("average", steps, size)
            judged = bowl.judge(average, noise / math.sqrt(3))
            yield typical.candidate(problem, algorithm, *judged)
            if n >= 10 * _BATCHES:
                algorithm = NoisyGradientDescent("average", steps, size, n // _BATCHES)
                judged = judged[0] * _COST_OF_BATCHES, judged[1]
                yield typical.candidate(problem, algorithm, *judged)
        if smooth and problem.is_convex:
            record_diameter = problem.record_diameter(n, known_radius(problem, size, steps))
            noise = typical.noise(min(travel * record_diameter / (2 * n), 2 * bowl.radius))
            output = GradientDescent("average", steps, size)
            yield typical.candidate(problem, output, *bowl.judge(average, noise))
    if smooth and problem.is_convex and 4 <= n <= _QUADRATIC_UP_TO:
        # The first part, of half the records, decides.
        epochs = EpochGradientDescent()
        plan = epochs.plan(problem, n, typical.features, typical.budget)
        travel = plan.settings.step_size / 4 * (n // 2)
        noise = _length(plan.certificate.releases[0])
        judged = bowl.judge(2 / travel + problem.regularization, noise)
        yield typical.candidate(problem, epochs, *judged)
