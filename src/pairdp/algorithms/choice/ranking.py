r"""The choice of a ranker: predicted noise relative to the signal of a typical data set.

Only n, d and the bounds are known. So every candidate is compared on one typical data set, with the
same variance in all directions and class means at a typical distance D. Its predicted AUC there is

.. math:: \text{AUC} = Φ\Bigl(\frac{D}{√2}·\frac{e}{√(1 + t^2 + s^2)}\Bigr),

where t is the ratio of the norms of noise and signal, s the same for the sampling error of n
records, and e ≤ 1 the efficiency with which the covariance is used: 1 without a ridge, and smaller
for a larger ridge or an equivalent (a regulariser, few steps). The error is the difference to
Φ(D/√2). A graded response is assumed to be uniform, and the concordance is predicted like the AUC.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from pairdp._checks import integer
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, Choice, ModelTask, candidates_for
from pairdp.algorithms.descent import known_radius
from pairdp.algorithms.noise import noise_length
from pairdp.algorithms.task import S
from pairdp.clipping import check_data_norm
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking, RankingLoss
from pairdp.losses.base import slow_sums
from pairdp.losses.graded_ranking import GradedRanking
from pairdp.privacy import Budget, Release, Unit
from pairdp.privacy.accounting.budget import check_budget
from pairdp.problem import Problem

# The typical data set: class means at a distance of 1.5 standard deviations (an AUC of 0.856),
# records with a standard deviation of a fifth of the bound, and π(1-π) for 28 % positives.
_DISTANCE, _SPREAD, _POSITIVE_NEGATIVE = 1.5, 0.2, 0.2
# The variance of a uniform response relative to that of two classes, 4π(1-π).
_UNIFORM = (1 / 3) / (4 * _POSITIVE_NEGATIVE)
# The limit for sums over all pairs of graded responses, whose time is quadratic in n, and the
# largest batch beyond it.
_MOST_RECORDS, _LARGEST_BATCH = 10_000, 2000
# The e of a direction that ignores the covariance, such as the difference of class means.
_WITHOUT_COVARIANCE = 0.92
# The rate at which a ridge lowers e, in units of an average eigenvalue; below 1 because the largest
# eigenvalues matter most.
_COST_OF_RIDGE = 0.2
# Noise on w is isotropic, although the variance of data differs between directions; noise on
# moments is divided by the covariance.
_COST_OF_ISOTROPY = 1.2
# If no loss is specified, its temperature is so small that the ball excludes no good direction.
_INVERSE_TEMPERATURE = 200.0
# The grids of λ/L and of the number of steps.
_RELATIVE = tuple(10.0 ** (-i / 2) for i in range(10))
_STEPS = (3, 10, 30, 100, 300)


def choose_ranker(
    n: int,
    features: int,
    budget: Budget | None,
    *,
    data_norm: float = 1.0,
    radius: float = 1.0,
    loss: RankingLoss | None = None,
    regularization: float | None = None,
    graded: GradedRanking | None = None,
    unit: Unit | None = None,
) -> Choice:
    """Return the rankers for a task, the one with the smallest predicted error first.

    Parameters
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        The privacy budget; None for a baseline without noise.
    data_norm : float
        R, which records are clipped to.
    radius : float
        B, the largest norm of the weights.
    loss : RankingLoss, optional
        The loss; by default the one with the smallest predicted error.
    regularization : float, optional
        λ; by default the one with the smallest predicted error for each algorithm.
    graded : GradedRanking, optional
        The bound and the levels of a graded response, with any ``ranking``; None for two classes.
    unit : Unit, optional
        What is protected; a single record by default.

    Examples
    --------
    >>> choice = choose_ranker(1000, 8, Budget(1.0, 1e-5))
    >>> choice.best.algorithm.name
    'Conditioned descent'
    >>> plan = choice.plan()
    """
    if loss is not None and not isinstance(loss, RankingLoss):
        raise TypeError(f"loss must be a RankingLoss such as LogisticRanking(), got {loss!r}")
    if budget is not None:
        check_budget(budget)
    task = RankingTask(
        integer("n", n, at_least=2),
        integer("features", features),
        budget,
        check_data_norm(data_norm),
        L2Ball(radius),
        loss,
        regularization,
        graded,
        unit=unit,
    )
    if n > _MOST_RECORDS and graded is not None and slow_sums(task.problems[0].loss):
        task = replace(task, all_pairs=False)
    found = candidates_for("ranking", task)
    if not found and not task.all_pairs:
        found = candidates_for("ranking", replace(task, all_pairs=True))
    if not found:
        raise ValueError(
            f"{type(task.problems[0].loss).__name__} is not convex, and there is no pure ε-DP "
            "algorithm for it: set delta > 0, or use a convex loss such as LogisticRanking()"
        )
    return Choice(n, features, budget, found, unit)


@dataclass(frozen=True)
class RankingTask(ModelTask):
    """The public facts of a ranker, and the typical data set that predictions assume.

    Attributes
    ----------
    data_norm : float
        R.
    ball : L2Ball
        The constraint set of the weights.
    loss : RankingLoss or None
        The loss, or None if it is to be chosen.
    regularization : float or None
        λ, or None if it is to be chosen.
    graded : GradedRanking or None
        The bound and the levels of a graded response; None for two classes.
    all_pairs : bool
        Whether sums over all pairs are fast enough.
    """

    data_norm: float
    ball: L2Ball
    loss: RankingLoss | None = None
    regularization: float | None = None
    graded: GradedRanking | None = None
    all_pairs: bool = True

    imbalance: ClassVar[float] = 0.5
    """|1-2π| of the typical data set, the factor of errors in the mean of records."""
    offset: ClassVar[float] = 0.2
    """|μ|/R of the typical data set, the factor of errors in π."""

    @property
    def temperature(self) -> float:
        """The temperature of a loss that is to be chosen."""
        return self.data_norm * self.ball.radius / _INVERSE_TEMPERATURE

    def problem(self, loss: RankingLoss) -> Problem:
        """Return the problem of minimising a loss, of classes or of graded responses."""
        of_pairs = loss if self.graded is None else replace(self.graded, ranking=loss)
        return Problem(of_pairs, self.ball, self.regularization or 0.0, data_norm=self.data_norm)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The problems to choose from, for algorithms that minimise any loss."""
        if self.loss is not None:
            return (self.problem(self.loss),)
        # With λ fixed, a larger temperature means stronger regularisation, so it may be chosen.
        flatter = (1, 4, 16, 64, 256) if self.regularization else (1,)
        losses = (LogisticRanking(temperature=self.temperature * i) for i in flatter)
        return tuple(self.problem(loss) for loss in losses)

    @cached_property
    def regularized(self) -> tuple[tuple[Problem, float], ...]:
        """Regularised problems to choose from, and the sensitivities of their minimisers."""
        found = []
        for problem in self.problems if self.all_pairs else ():
            smoothness = problem.constants(self.n).smoothness
            if not problem.is_convex or not math.isfinite(smoothness) or self.regularization == 0:
                continue
            fixed = self.regularization
            for strength in [smoothness * i for i in _RELATIVE] if fixed is None else [fixed]:
                regular = replace(problem, regularization=strength)
                diameter = problem.record_diameter(self.n, known_radius(regular, 1 / strength, 2))
                found.append((regular, diameter / (strength * self.n)))
        return tuple(found)

    @cached_property
    def descents(self) -> tuple[tuple[Problem, int, float], ...]:
        """Problems, steps and step sizes of gradient descent to choose from."""
        found = []
        for problem in self.problems:
            constants = problem.constants(self.n)
            for steps in _STEPS:
                size = self.ball.radius / (constants.lipschitz * math.sqrt(steps))
                if 0 < constants.smoothness < math.inf:
                    size = 1 / constants.smoothness
                found.append((problem, steps, size))
        return tuple(found)

    def noise_on_weights(self, sensitivity: float) -> float:
        """Return approximately the norm of the noise on weights in the ball."""
        return self.noise(sensitivity, 2 * self.ball.radius)

    def contracts(self, problem: Problem) -> bool:
        """Return whether full gradient descent contracts: the problem is convex and smooth."""
        return (
            self.all_pairs
            and problem.is_convex
            and 0 < problem.constants(self.n).smoothness < math.inf
        )

    def batch_size(self, parts: int) -> int:
        """Return the size of batches that are a fraction of the records, if it is not too large."""
        size = self.n // parts
        return size if self.all_pairs else min(size, _LARGEST_BATCH)

    def draft(self, problem: Problem, algorithm: Algorithm[S]) -> PlanDraft[S]:
        """Return the draft of an algorithm for a problem."""
        return algorithm.prepare(self.task(problem))

    @property
    def difference(self) -> float:
        """|v|: the norm of the difference of class sums."""
        distance = _DISTANCE * _SPREAD * self.data_norm / math.sqrt(self.features)
        return _POSITIVE_NEGATIVE * distance

    @property
    def eigenvalue(self) -> float:
        """An eigenvalue of S, the scatter between classes."""
        return 2 * _POSITIVE_NEGATIVE * (_SPREAD * self.data_norm) ** 2 / self.features

    def noise_of(self, release: Release) -> float:
        """Return approximately the norm of the noise of a release."""
        return noise_length(release)

    def candidate(
        self,
        problem: Problem,
        algorithm: Algorithm,
        noise: float,
        ridge: float,
        draft: PlanDraft | None = None,
    ) -> Candidate:
        """Return a candidate with its predicted error.

        Parameters
        ----------
        problem, algorithm
            The problem, and the algorithm that solves it.
        noise : float
            The ratio of the norms of noise and signal.
        ridge : float
            Its ridge, or an equivalent, divided by the average curvature.
        draft : PlanDraft, optional
            The draft of the algorithm, if it was computed already.
        """
        used = 1 / (1 + _COST_OF_RIDGE * ridge)
        sampling = self.features / (self.n * _POSITIVE_NEGATIVE * _DISTANCE**2)
        best = _DISTANCE / math.sqrt(2)
        reached = best * (_WITHOUT_COVARIANCE + (1 - _WITHOUT_COVARIANCE) * used)
        reached /= math.sqrt(1 + noise**2 + sampling)
        measure = "AUC" if self.graded is None else "concordance"
        reason = (
            f"noise {noise:.2g} times the expected signal; {used:.0%} of the gain from the "
            f"covariance; a predicted {measure} of {ndtr(reached):.3f}, at best {ndtr(best):.3f}"
        )
        return Candidate(problem, algorithm, float(ndtr(best) - ndtr(reached)), reason, draft)

    def regularized_candidate(
        self,
        problem: Problem,
        algorithm: Algorithm,
        regularization: float,
        noise: float,
        draft: PlanDraft | None = None,
        *,
        cost: float = 1.0,
    ) -> Candidate:
        """Return a candidate that approximately releases the minimiser of the regularised risk.

        Parameters
        ----------
        problem, algorithm
            The problem, and the algorithm that solves it.
        regularization : float
            λ, or the equivalent of few steps.
        noise : float
            The norm of the noise on the weights.
        draft : PlanDraft, optional
            The draft of the algorithm, if it was computed already.
        cost : float
            A factor on the noise.
        """
        slope, curvature = self._risk(problem)
        # The boundary of the ball acts as a regulariser.
        effective = max(regularization, slope / self.ball.radius - curvature)
        signal = slope / (effective + curvature)
        noise = _COST_OF_ISOTROPY * noise / signal * cost
        return self.candidate(problem, algorithm, noise, effective / curvature, draft)

    def _risk(self, problem: Problem) -> tuple[float, float]:
        """Return the slope at zero and the curvature of a quadratic model of the typical risk."""
        loss: RankingLoss = problem.loss  # type: ignore[assignment]
        spread = 1.0
        if isinstance(problem.loss, GradedRanking):
            loss, spread = problem.loss.two_class, _UNIFORM
        derivative = abs(float(loss.slope(np.zeros(1))[0]))
        curvature = loss.curvature(loss.margin_bound(problem.domain()))
        # A kink of the loss is averaged over the margins of the data.
        curvature = curvature if 0 < curvature < math.inf else 1.0
        slope = loss.orders * loss.scale * derivative * self.difference * spread
        return slope, loss.orders * loss.scale**2 * curvature * self.eigenvalue * spread
