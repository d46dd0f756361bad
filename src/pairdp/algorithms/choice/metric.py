r"""The choice of a metric learner and of its regularisation, from public facts alone.

The effect of noise on a metric is known in advance: it perturbs eigenvalues by about σ√(2d). The
signal is not known, so a typical data set is assumed: the variance of records is a tenth of R², and
class means explain a twentieth of it. The prediction for a candidate depends on three numbers:

- N, the ratio of its noise to the typical signal: a fraction 1/(1+N) of the possible gain remains;
- the fraction of the possible gain that it reaches without noise, measured on synthetic data;
- the ratio of its noise to the Euclidean metric that it is regularised towards, which costs
  accuracy.

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
from pairdp.algorithms.choice.candidates import Candidate, Choice, ModelTask, candidates_for
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.task import S
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric, MetricLoss
from pairdp.privacy import Budget, Unit
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem

_MOST_RECORDS = 5000
_SPREAD = 0.1  # of the records, as a share of R²
_MAX_PERTURBATION = 0.2  # the largest perturbation of the Euclidean metric by noise, relative to it
_COST_OF_PERTURBATION = 0.15  # the cost of that perturbation, as a share of the possible gain
_GAIN_OF_MINIMISING = 0.1  # gain of minimising a loss without noise, relative to the best metric
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
    unit: Unit | None = None,
) -> Choice:
    r"""Return the metric learners for a task, the one with the smallest predicted error first.

    Parameters
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        The privacy budget; None for no noise.
    data_norm : float
        R, which records are clipped to.
    radius : float
        B, the largest Frobenius norm of the metric.
    loss : MetricLoss, optional
        The loss to minimise, which excludes `FisherMetric` and `ScatterMetric`. By default all
        algorithms are considered, and those that minimise a loss use `LogisticMetric`.
    regularization : float, optional
        λ, the regularisation towards a multiple of the identity, which is the Euclidean metric. By
        default so large that noise perturbs that metric by at most a fifth; if noise is large, the
        result is close to the Euclidean metric.
    unit : Unit, optional
        What is protected; a single record by default.

    Returns
    -------
    Choice
        For n above 5000, algorithms that sum over all pairs are replaced by mini-batches, unless no
        other algorithm applies.

    Raises
    ------
    ValueError
        If no algorithm can minimise the loss within the budget; the message says what to change.

    Examples
    --------
    >>> choice = choose_metric(1000, 5, Budget(1.0, 1e-5))
    >>> type(choice.best.algorithm).__name__
    'FisherMetric'
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
        unit=unit,
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
    return Choice(n, features, budget, found, unit)


@dataclass(frozen=True)
class MetricTask(ModelTask):
    """The public facts of a metric, and the typical data set that predictions assume.

    Attributes
    ----------
    data_norm, radius : float
        R, and the largest Frobenius norm of the metric.
    loss : MetricLoss or None
        The loss, or None if it is to be chosen.
    regularization : float or None
        λ, or None if it is to be chosen.
    all_pairs : bool
        Whether n is small enough for sums over all pairs.
    """

    data_norm: float
    radius: float
    loss: MetricLoss | None = None
    regularization: float | None = None
    all_pairs: bool = True

    between: ClassVar[float] = 0.05
    """The scatter of class means, as a share of the spread of records."""

    @property
    def edge(self) -> float:
        """The largest eigenvalue of a noise matrix of unit standard deviation."""
        return math.sqrt(2 * self.features)

    @property
    def euclidean(self) -> float:
        """The eigenvalue of the Euclidean metric with half the largest norm."""
        return self.radius / (2 * math.sqrt(self.features))

    @property
    def unit_noise(self) -> float:
        """The standard deviation of noise for a sensitivity of 1, on d(d+1)/2 numbers."""
        if self.budget is None:
            return 0.0
        if self.budget.is_pure:
            numbers = self.features * (self.features + 1) / 2
            return self.records * math.sqrt(numbers + 1) / self.budget.epsilon
        return self.records / gdp_mu(self.budget.epsilon, self.budget.delta)

    def slope(self, loss: MetricLoss) -> float:
        """Return the typical eigenvalue of the gradient at W = I that separates classes."""
        spread = 2 * _SPREAD * self.data_norm**2
        squared = np.array([spread * self.euclidean])
        both = [abs(float(loss.slope(squared, np.array([same]))[0])) for same in (True, False)]
        return sum(both) / 2 * self.between * spread

    @cached_property
    def problem(self) -> Problem:
        """The problem, regularised towards the Euclidean metric according to the noise."""
        constraint, center = PSDFrobeniusBall(self.radius), self.euclidean * np.eye(self.features)
        problem = Problem(self.loss or LogisticMetric(), constraint, 0.0, center, self.data_norm)
        if self.regularization is not None:
            return replace(problem, regularization=self.regularization)
        noise = problem.sensitivity(self.n) * self.unit_noise * self.edge
        signal = self.slope(problem.loss) / self.euclidean  # type: ignore[arg-type]
        needed = noise / (_MAX_PERTURBATION * self.euclidean)
        return replace(problem, regularization=max(needed, signal))

    def draft(self, problem: Problem, algorithm: Algorithm[S]) -> PlanDraft[S]:
        """Return the draft of an algorithm for a problem."""
        return algorithm.prepare(self.task(problem))

    def steps(self, problem: Problem) -> tuple[int, float]:
        """Return the number and size of steps that come within 5 % of the Euclidean metric."""
        smoothness = problem.constants(self.n).smoothness
        if not math.isfinite(smoothness):  # not smooth: steps of length up to B
            lipschitz = problem.constants(self.n).lipschitz
            smoothness = max(problem.regularization, lipschitz / self.radius)
        size = 1 / smoothness
        shrinkage = size * problem.regularization
        steps = math.ceil(3 / shrinkage) if shrinkage > 0 else _FEW_STEPS
        return min(max(steps, 2), _MANY_STEPS), size

    def noise_of(self, draft: PlanDraft) -> float:
        """Return the standard deviation per entry of the noise of all releases together."""
        return math.sqrt(sum(deviation(release) ** 2 for release in draft.releases))

    def minimized(
        self,
        make: Callable[[Problem], Algorithm[S]],
        effect: Callable[[Problem, PlanDraft[S]], tuple[float, float]],
    ) -> Iterator[Candidate]:
        """Yield a candidate that minimises the loss, if its algorithm applies.

        The noise is about inversely proportional to λ. If λ is to be chosen, a few iterations
        increase it until noise perturbs the Euclidean metric by no more than the limit.

        Parameters
        ----------
        make : callable
            Returns the algorithm for a problem.
        effect : callable
            Returns, from the problem that is solved and the algorithm's draft, the standard
            deviation of the noise on each number of the metric, and the sum of the step sizes,
            infinite if the algorithm returns the minimiser.
        """
        problem = self.problem
        for _ in range(_ROUNDS):
            algorithm = make(problem)
            try:
                draft = self.draft(problem, algorithm)
            except ValueError:
                return
            solved = draft.problem or problem
            found, perturbation = self._candidate(solved, algorithm, *effect(solved, draft))
            if solved == problem:
                found = replace(found, draft=draft)
            if self.regularization is not None or perturbation <= 1.1 * _MAX_PERTURBATION:
                break
            more = problem.regularization * min(perturbation / _MAX_PERTURBATION, 100.0)
            problem = replace(problem, regularization=more)
        yield found

    def _candidate(
        self, problem: Problem, algorithm: Algorithm, noise: float, travel: float
    ) -> tuple[Candidate, float]:
        """Return a candidate, and its noise relative to the Euclidean metric."""
        size, regularization = noise * self.edge, problem.regularization
        settled = 1 - math.exp(-regularization * travel) if travel < math.inf else 1.0
        slope = self.slope(problem.loss)  # type: ignore[arg-type]
        largest_travel = 1 / regularization if regularization else math.inf
        signal = min(slope * min(travel, largest_travel), self.euclidean)
        kept = _GAIN_OF_MINIMISING / (1 + size / signal)
        fallback = max(settled * self.euclidean, 1e-3 * self.euclidean)
        candidate = Candidate(
            problem,
            algorithm,
            1 - kept + _COST_OF_PERTURBATION * size / fallback,
            f"noise of size {size:.3g} on the metric and a typical signal of {signal:.3g} "
            f"leave {kept:.0%} of the possible gain over the Euclidean metric, and perturb that "
            f"metric by {size / fallback:.0%}",
        )
        return candidate, size / fallback
