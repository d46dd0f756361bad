r"""Which metric learner to take, and how much to regularise it, from public facts alone.

What noise does to a metric is known in advance: it turns each eigenvalue by about σ√(2d). What
there is to find is not, so a typical case is assumed: records that spread over a tenth of their
bound, and classes whose means explain a twentieth of that. A candidate is predicted by three
numbers:

- N, its noise against the typical signal: of the gain that is there, 1/(1+N) is kept;
- how much of the gain it finds without noise, measured on synthetic data;
- its noise against the Euclidean metric, which it falls back to: a part of what it turns is lost.

The error is 0 for the best metric and 1 for the Euclidean one; above 1 it is worse than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from pairdp._checks import integer, non_negative, positive
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, Choice, candidates_for
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.task import S, Task
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric, MetricLoss
from pairdp.privacy import Budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem

_MOST_RECORDS = 5000
_SPREAD = 0.1  # of the records, as a share of R²
_TURN = 0.2  # how far noise may turn the Euclidean metric, as a share of it
_TURN_COST = 0.15  # what that loses, as a share of the gain that is there
_FOUND = 0.1  # gain of minimising a loss without noise, against the best
_FEW_STEPS, _MANY_STEPS = 20, 200
_ROUNDS = 3


def choose_metric(
    n: int,
    features: int,
    budget: Budget | None,
    *,
    data_norm: float = 1.0,
    radius: float = 1.0,
    loss: MetricLoss | None = None,
    regularization: float | None = None,
) -> Choice:
    r"""List metric learners for a task, the one with the least predicted error first.

    Parameters
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        What may be spent; None for no noise.
    data_norm : float
        R, which records are clipped to.
    radius : float
        B, the Frobenius norm that a metric may have.
    loss : MetricLoss, optional
        A loss that must be minimised, which leaves `ScatterMetric` out. By default any method
        will do, and those with a loss take `LogisticMetric`.
    regularization : float, optional
        λ, the pull towards a multiple of the identity, which is the Euclidean metric. By default so
        large that noise turns that metric by at most a fifth: much noise falls back to that.

    Returns
    -------
    Choice
        For n above 5000 with mini-batches instead of what passes over all pairs, unless nothing
        else suits.

    Raises
    ------
    ValueError
        If no algorithm can minimise the loss within the budget; it says what to change.

    Examples
    --------
    >>> choice = choose_metric(1000, 5, Budget(1.0, 1e-5))
    >>> type(choice.best.algorithm).__name__
    'ScatterMetric'
    """
    n, features = integer("n", n, at_least=2), integer("features", features)
    if budget is not None and not isinstance(budget, Budget):
        raise TypeError(f"budget must be a Budget or None, got {budget!r}")
    if loss is not None and not isinstance(loss, MetricLoss):
        raise TypeError(f"loss must be a metric loss such as LogisticMetric(), got {loss!r}")
    if regularization is not None:
        non_negative("regularization", regularization)
    task = MetricTask(
        n,
        features,
        budget,
        positive("data_norm", data_norm),
        positive("radius", radius),
        loss,
        regularization,
        all_pairs=n <= _MOST_RECORDS,
    )
    found = candidates_for("metric", task)
    if not found and not task.all_pairs:
        found = candidates_for("metric", replace(task, all_pairs=True))
    if not found:
        raise ValueError(
            f"no algorithm minimises {type(task.problem.loss).__name__} within this budget: set "
            "delta > 0, use a convex and smooth loss such as LogisticMetric(), or leave the loss "
            "out"
        )
    return Choice(n, features, budget, found)


@dataclass(frozen=True)
class MetricTask:
    """The public facts of a metric, and the typical data that candidates are judged on.

    Attributes
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        What may be spent.
    data_norm, radius : float
        R, and the Frobenius norm that a metric may have.
    loss : MetricLoss or None
        The loss, None if it is left open.
    regularization : float or None
        λ, None if it is left open.
    all_pairs : bool
        Whether there are so few records that passes over all their pairs are no matter.
    """

    n: int
    features: int
    budget: Budget | None
    data_norm: float
    radius: float
    loss: MetricLoss | None = None
    regularization: float | None = None
    all_pairs: bool = True

    between: ClassVar[float] = 0.05
    """The scatter of class means, as a share of the spread of records."""

    @property
    def edge(self) -> float:
        """The size of the largest eigenvalue of noise of unit standard deviation."""
        return math.sqrt(2 * self.features)

    @property
    def euclidean(self) -> float:
        """The eigenvalue of the Euclidean metric, of half the norm that a metric may have."""
        return self.radius / (2 * math.sqrt(self.features))

    @property
    def unit_noise(self) -> float:
        """The standard deviation of noise for a sensitivity of 1, on d(d+1)/2 numbers."""
        if self.budget is None:
            return 0.0
        if self.budget.is_pure:
            return math.sqrt(self.features * (self.features + 1) / 2 + 1) / self.budget.epsilon
        return 1 / gdp_mu(self.budget.epsilon, self.budget.delta)

    def slope(self, loss: MetricLoss) -> float:
        """Return the typical eigenvalue, parting classes, of the gradient at W = I."""
        spread = 2 * _SPREAD * self.data_norm**2
        squared = np.array([spread * self.euclidean])
        both = [abs(float(loss.slope(squared, np.array([same]))[0])) for same in (True, False)]
        return sum(both) / 2 * self.between * spread

    @cached_property
    def problem(self) -> Problem:
        """The problem, pulled to the Euclidean metric as hard as the noise asks for."""
        constraint, center = PSDFrobeniusBall(self.radius), self.euclidean * np.eye(self.features)
        problem = Problem(self.loss or LogisticMetric(), constraint, 0.0, center, self.data_norm)
        if self.regularization is not None:
            return replace(problem, regularization=self.regularization)
        noise = problem.sensitivity(self.n) * self.unit_noise * self.edge
        signal = self.slope(problem.loss) / self.euclidean  # type: ignore[arg-type]
        return replace(problem, regularization=max(noise / (_TURN * self.euclidean), signal))

    def draft(self, problem: Problem, algorithm: Algorithm[S]) -> PlanDraft[S]:
        """Return what an algorithm decides for a problem."""
        return algorithm.prepare(Task(problem, self.n, self.features, self.budget))

    def steps(self, problem: Problem) -> tuple[int, float]:
        """Return how many steps, and of what size, come within 5 % of the Euclidean metric."""
        smoothness = problem.constants(self.n).smoothness
        if not math.isfinite(smoothness):  # a corner: steps that travel the radius
            lipschitz = problem.constants(self.n).lipschitz
            smoothness = max(problem.regularization, lipschitz / self.radius)
        size = 1 / smoothness
        pull = size * problem.regularization
        steps = math.ceil(3 / pull) if pull > 0 else _FEW_STEPS
        return min(max(steps, 2), _MANY_STEPS), size

    def noise_of(self, draft: PlanDraft) -> float:
        """Return the standard deviation of each number of a draft's releases, added up."""
        return math.sqrt(sum(deviation(release) ** 2 for release in draft.releases))

    def minimized(
        self,
        make: Callable[[Problem], Algorithm[S]],
        effect: Callable[[Problem, PlanDraft[S]], tuple[float, float]],
    ) -> Iterator[Candidate]:
        """Yield a candidate that minimises the loss, if its algorithm suits.

        The noise falls about as the pull grows. Where λ is open, a few rounds bring it to where
        noise turns the Euclidean metric by no more than it may.

        Parameters
        ----------
        make : callable
            Returns the algorithm for a problem.
        effect : callable
            Returns, from the problem that is solved and the algorithm's draft, the standard
            deviation of the noise on each number of the metric, and the sum of the step sizes,
            infinite for what ends at the minimiser.
        """
        problem = self.problem
        for _ in range(_ROUNDS):
            algorithm = make(problem)
            try:
                draft = self.draft(problem, algorithm)
            except ValueError:
                return
            solved = draft.problem or problem
            found, turned = self._judged(solved, algorithm, *effect(solved, draft))
            if solved == problem:
                found = replace(found, draft=draft)
            if self.regularization is not None or turned <= 1.1 * _TURN:
                break
            more = problem.regularization * min(turned / _TURN, 100.0)
            problem = replace(problem, regularization=more)
        yield found

    def _judged(
        self, problem: Problem, algorithm: Algorithm, noise: float, travel: float
    ) -> tuple[Candidate, float]:
        """Return a candidate, and how far its noise turns the Euclidean metric."""
        turned, pull = noise * self.edge, problem.regularization
        settled = 1 - math.exp(-pull * travel) if travel < math.inf else 1.0
        slope = self.slope(problem.loss)  # type: ignore[arg-type]
        signal = min(slope * min(travel, 1 / pull if pull else math.inf), self.euclidean)
        kept = _FOUND / (1 + turned / signal)
        fallback = max(settled * self.euclidean, 1e-3 * self.euclidean)
        candidate = Candidate(
            problem,
            algorithm,
            1 - kept + _TURN_COST * turned / fallback,
            f"noise of size {turned:.3g} on the metric against a typical signal of {signal:.3g} "
            f"keeps {kept:.0%} of what can be gained over the Euclidean metric, and turns that "
            f"metric by {turned / fallback:.0%}",
        )
        return candidate, turned / fallback
