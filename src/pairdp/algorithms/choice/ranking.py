r"""Which ranker to take: predicted noise against the signal of a typical data set.

Nothing is known of the data but n, d and the bounds. So every candidate is judged on one
typical data set, with the same spread in all directions and classes a typical distance D
apart. There it is predicted to rank with

.. math:: \text{AUC} = Φ\Bigl(\frac{D}{√2}·\frac{e}{√(1 + t^2 + s^2)}\Bigr),

where t is the norm of its noise over that of its signal, s the same for the error of a sample of
n, and e says how much of the covariance it uses: 1 for all of it, less the larger its ridge is, or
what acts as one (a regulariser, few steps). The error is what is missing to Φ(D/√2).
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
from pairdp.algorithms.choice.candidates import Candidate, Choice, candidates_for
from pairdp.algorithms.descent import known_radius
from pairdp.algorithms.task import S, Task
from pairdp.clipping import check_data_norm
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking, RankingLoss
from pairdp.privacy import Budget, GaussianMechanism, KNormMechanism, Release
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem

# The typical data set: classes 1.5 standard deviations apart (an AUC of 0.856), records that
# spread by a fifth of the bound, as bounds are wider than data, and π(1-π) of 28 % positives.
_DISTANCE, _SPREAD, _POSITIVE_NEGATIVE = 1.5, 0.2, 0.2
# The e of a direction that ignores the covariance, such as the difference of class means.
_WITHOUT_COVARIANCE = 0.92
# How fast a ridge lowers e, in units of an average eigenvalue; below 1 because the largest
# eigenvalues matter most.
_COST_OF_RIDGE = 0.2
# Noise on w is the same in all directions, also those in which data spread more; noise of moments
# is divided by the covariance.
_COST_OF_ISOTROPY = 1.2
# A loss that is left open is so steep that the ball cuts off no good direction.
_STEEPNESS = 200.0
# Chosen from: λ over the smoothness, and steps.
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
    task = RankingTask(
        integer("n", n, at_least=2),
        integer("features", features),
        budget,
        check_data_norm(data_norm),
        L2Ball(radius),
        loss,
        regularization,
    )
    found = candidates_for("ranking", task)
    if not found:
        raise ValueError(
            f"{type(task.problems[0].loss).__name__} is not convex, and a pure budget has no "
            "algorithm for it: set delta > 0, or use a convex loss such as LogisticRanking()"
        )
    return Choice(n, features, budget, found)


@dataclass(frozen=True)
class RankingTask:
    """The public facts of a ranker, and the typical data set that candidates are judged on.

    Attributes
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        What may be spent.
    data_norm : float
        R.
    ball : L2Ball
        Where the weights are.
    loss : RankingLoss or None
        The loss, None if it is left open.
    regularization : float or None
        λ, None if it is left open.
    """

    n: int
    features: int
    budget: Budget | None
    data_norm: float
    ball: L2Ball
    loss: RankingLoss | None = None
    regularization: float | None = None

    imbalance: ClassVar[float] = 0.5
    """|1-2π| of the typical data set, which errors in the mean of records are multiplied by."""
    offset: ClassVar[float] = 0.2
    """|μ|/R of the typical data set, which errors in π are multiplied by."""

    @property
    def temperature(self) -> float:
        """That of a loss that is left open."""
        return self.data_norm * self.ball.radius / _STEEPNESS

    def problem(self, loss: RankingLoss) -> Problem:
        """Return the problem of minimising a loss."""
        return Problem(loss, self.ball, self.regularization or 0.0, data_norm=self.data_norm)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The problems to choose from, for what minimises any loss."""
        if self.loss is not None:
            return (self.problem(self.loss),)
        # A given λ regularises the more, the flatter the loss is: that may then be chosen.
        flatter = (1, 4, 16, 64, 256) if self.regularization else (1,)
        losses = (LogisticRanking(temperature=self.temperature * i) for i in flatter)
        return tuple(self.problem(loss) for loss in losses)

    @cached_property
    def regularized(self) -> tuple[tuple[Problem, float], ...]:
        """Regularised problems to choose from, and how far one record moves their minimisers."""
        found = []
        for problem in self.problems:
            smoothness = problem.constants(self.n).smoothness
            if not problem.is_convex or not math.isfinite(smoothness) or self.regularization == 0:
                continue
            given = self.regularization
            for pull in [smoothness * i for i in _RELATIVE] if given is None else [given]:
                regular = replace(problem, regularization=pull)
                diameter = problem.record_diameter(self.n, known_radius(regular, 1 / pull, 2))
                moved = min(diameter / (pull * self.n), 2 * self.ball.radius)
                found.append((regular, moved))
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

    def contracts(self, problem: Problem) -> bool:
        """Return whether gradient descent on a problem contracts: it is convex and smooth."""
        return problem.is_convex and 0 < problem.constants(self.n).smoothness < math.inf

    def draft(self, problem: Problem, algorithm: Algorithm[S]) -> PlanDraft[S]:
        """Return what an algorithm decides for a problem."""
        return algorithm.prepare(Task(problem, self.n, self.features, self.budget))

    @property
    def difference(self) -> float:
        """|v|: the norm of the difference of class sums."""
        apart = _DISTANCE * _SPREAD * self.data_norm / math.sqrt(self.features)
        return _POSITIVE_NEGATIVE * apart

    @property
    def eigenvalue(self) -> float:
        """An eigenvalue of S, the scatter between classes."""
        return 2 * _POSITIVE_NEGATIVE * (_SPREAD * self.data_norm) ** 2 / self.features

    def noise(self, sensitivity: float) -> float:
        """Return the norm of the noise on d numbers of a sensitivity."""
        if self.budget is None:
            return 0.0
        if self.budget.is_pure:
            return sensitivity * self.features / self.budget.epsilon
        mu = gdp_mu(self.budget.epsilon, self.budget.delta)
        return sensitivity * math.sqrt(self.features) / mu

    def noise_of(self, release: Release) -> float:
        """Return about the norm of a release's noise."""
        mechanism = release.mechanism
        if isinstance(mechanism, GaussianMechanism):
            return mechanism.scale * math.sqrt(release.dimension)
        return mechanism.scale * release.dimension if isinstance(mechanism, KNormMechanism) else 0.0

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
            What is solved, and how.
        noise : float
            The norm of its noise over that of its signal.
        ridge : float
            Its ridge, or what acts as one, over an average curvature.
        draft : PlanDraft, optional
            What the algorithm decided, if that was asked for already.
        """
        used = 1 / (1 + _COST_OF_RIDGE * ridge)
        sampling = self.features / (self.n * _POSITIVE_NEGATIVE * _DISTANCE**2)
        best = _DISTANCE / math.sqrt(2)
        reached = best * (_WITHOUT_COVARIANCE + (1 - _WITHOUT_COVARIANCE) * used)
        reached /= math.sqrt(1 + noise**2 + sampling)
        reason = (
            f"noise {noise:.2g} of the expected signal; {used:.0%} of what the covariance offers "
            f"is used; an AUC of {ndtr(reached):.3f} where {ndtr(best):.3f} could be had"
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
        """Return a candidate that releases about the minimiser of the regularised risk.

        Parameters
        ----------
        problem, algorithm
            What is solved, and how.
        regularization : float
            What its regulariser, or few steps, amount to.
        noise : float
            The norm of the noise on the weights.
        draft : PlanDraft, optional
            What the algorithm decided, if that was asked for already.
        cost : float
            How many times as much the noise counts.
        """
        slope, curvature = self._risk(problem)
        # The edge of the ball holds back as a regulariser does.
        held = max(regularization, slope / self.ball.radius - curvature)
        signal = slope / (held + curvature)
        noise = _COST_OF_ISOTROPY * noise / signal * cost
        return self.candidate(problem, algorithm, noise, held / curvature, draft)

    def _risk(self, problem: Problem) -> tuple[float, float]:
        """Return slope at zero and curvature of the typical risk, taken as quadratic."""
        loss: RankingLoss = problem.loss  # type: ignore[assignment]
        steep = abs(float(loss.slope(np.zeros(1))[0]))
        curvature = loss.curvature(loss.margin_bound(problem.domain()))
        # A corner is spread over the margins of the data.
        curvature = curvature if 0 < curvature < math.inf else 1.0
        slope = loss.orders * loss.scale * steep * self.difference
        return slope, loss.orders * loss.scale**2 * curvature * self.eigenvalue
