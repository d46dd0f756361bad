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

import numpy as np

from pairdp._checks import integer, non_negative, positive
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    NoisyGradientDescent,
    Plan,
    ScatterMetric,
    StreamGradientDescent,
)
from pairdp.algorithms.noise import deviation
from pairdp.choice.base import Candidate, Choice
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric, MetricLoss
from pairdp.privacy import Budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem

_MOST_RECORDS = 5000
_SPREAD = 0.1  # of the records, as a share of R²
_BETWEEN = 0.05  # scatter of class means, as a share of the spread
_TURN = 0.2  # how far noise may turn the Euclidean metric, as a share of it
_TURN_COST = 0.15  # what that loses, as a share of the gain that is there
_FOUND = {"means": 1.0, "pairs": 0.5, "loss": 0.1}  # gain without noise, against the best
_FEW_STEPS, _MANY_STEPS = 20, 200
_BATCH = 256
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
    facts = _Facts(
        n, features, budget, positive("data_norm", data_norm), positive("radius", radius)
    )
    problem = facts.problem(loss or LogisticMetric(), regularization)
    candidates = [] if loss is not None else list(_from_scatter(facts, problem))
    for make in _MINI_BATCHES if n > _MOST_RECORDS else _OVER_ALL_PAIRS:
        candidates += _tried(facts, problem, make, regularization is None)
    if not candidates:
        for make in _OVER_ALL_PAIRS:
            candidates += _tried(facts, problem, make, regularization is None)
    if not candidates:
        raise ValueError(
            f"no algorithm minimises {type(problem.loss).__name__} within this budget: set "
            "delta > 0, use a convex and smooth loss such as LogisticMetric(), or leave the loss "
            "out"
        )
    return Choice(n, features, budget, tuple(candidates))


@dataclass(frozen=True)
class _Facts:
    """What is public about a task, and what is expected of it."""

    n: int
    features: int
    budget: Budget | None
    data_norm: float
    radius: float

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
        both = [abs(float(loss.slope(squared, np.array([alike]))[0])) for alike in (True, False)]
        return sum(both) / 2 * _BETWEEN * spread

    def problem(self, loss: MetricLoss, regularization: float | None) -> Problem:
        """Return the problem, pulled to the Euclidean metric as hard as the noise asks for."""
        constraint, center = PSDFrobeniusBall(self.radius), self.euclidean * np.eye(self.features)
        problem = Problem(loss, constraint, 0.0, center, self.data_norm)
        if regularization is None:
            noise = problem.sensitivity(self.n) * self.unit_noise * self.edge
            signal = self.slope(loss) / self.euclidean
            regularization = max(noise / (_TURN * self.euclidean), signal)
        return Problem(loss, constraint, regularization, center, self.data_norm)


def _from_scatter(facts: _Facts, problem: Problem) -> Iterator[Candidate]:
    """Yield the metrics from noisy scatter."""
    for algorithm in (ScatterMetric("means"), ScatterMetric("pairs")):
        plan = algorithm.plan(problem, facts.n, facts.features, facts.budget)
        release = plan.certificate.releases[-1]
        # Records are scaled to their spread, so what they fill of their bound does not matter.
        signal = _BETWEEN if algorithm.statistics == "means" else 0.3 / facts.features
        noise = deviation(release) * (facts.edge + 1) / facts.data_norm**2
        kept = _FOUND[algorithm.statistics] / (1 + noise / signal)
        expected = (
            "the metric is expected to stay Euclidean"
            if noise >= signal
            else f"it keeps {kept:.0%} of what can be gained over the Euclidean metric, and "
            "directions lost in noise are left as they are"
        )
        yield Candidate(
            problem,
            algorithm,
            1 - kept,
            f"noise of size {noise:.3g} on the {release.name} against a typical signal of "
            f"{signal:.3g}: {expected}",
        )


def _tried(facts: _Facts, problem: Problem, make: _Maker, free: bool) -> list[Candidate]:
    """Return a candidate for an algorithm, if it suits; with more of a pull if that is free.

    Its noise falls about as the pull grows, so a few rounds bring it to where it turns the
    Euclidean metric by no more than it may.
    """
    for _ in range(_ROUNDS):
        try:
            plan = make(facts, problem).plan(problem, facts.n, facts.features, facts.budget)
        except ValueError:
            return []
        found, turned = _of_plan(facts, plan)
        if not free or turned <= 1.1 * _TURN:
            break
        more = problem.regularization * min(turned / _TURN, 100.0)
        problem = replace(problem, regularization=more)
    return [found]


def _steps(facts: _Facts, problem: Problem) -> tuple[int, float]:
    """Return how many steps, and of what size, come within 5 % of the Euclidean metric."""
    bend = problem.constants(facts.n).smoothness
    if not math.isfinite(bend):  # a corner: steps that travel the radius
        bend = max(problem.regularization, problem.constants(facts.n).lipschitz / facts.radius)
    step = 1 / bend
    pull = step * problem.regularization
    steps = math.ceil(3 / pull) if pull > 0 else _FEW_STEPS
    return min(max(steps, 2), _MANY_STEPS), step


def _of_plan(facts: _Facts, plan: Plan) -> tuple[Candidate, float]:
    """Return a candidate, and how far its plan's noise turns the Euclidean metric."""
    noise, reach = _outcome(plan)
    turned = noise * facts.edge
    settled = 1 - math.exp(-plan.problem.regularization * reach) if reach < math.inf else 1.0
    loss = plan.problem.loss
    signal = facts.slope(loss) * min(  # type: ignore[arg-type]
        reach, 1 / plan.problem.regularization if plan.problem.regularization else math.inf
    )
    signal = min(signal, facts.euclidean)
    kept = _FOUND["loss"] / (1 + turned / signal)
    fallback = max(settled * facts.euclidean, 1e-3 * facts.euclidean)
    candidate = Candidate(
        plan.problem,
        plan.algorithm,
        1 - kept + _TURN_COST * turned / fallback,
        f"noise of size {turned:.3g} on the metric against a typical signal of {signal:.3g} keeps "
        f"{kept:.0%} of what can be gained over the Euclidean metric, and turns that metric by "
        f"{turned / fallback:.0%}",
    )
    return candidate, turned / fallback


def _outcome(plan: Plan) -> tuple[float, float]:
    """Return the standard deviation of each number of a metric, and how far its steps reach."""
    releases = plan.certificate.releases
    noise = math.sqrt(sum(deviation(release) ** 2 for release in releases))
    steps, step = (getattr(plan.settings, name, None) for name in ("steps", "step_size"))
    if not isinstance(steps, int) or not isinstance(step, float):
        return noise, math.inf
    reach = steps * step
    if isinstance(plan.algorithm, EpochGradientDescent):
        return noise, sum(
            step / 4**i * release.part.size
            for i, release in enumerate(releases, start=1)
            if release.part is not None
        )
    if isinstance(plan.algorithm, NoisyGradientDescent):
        # Noise of each step, forgotten as fast as the pull draws back.
        forgets = 1 - step * plan.problem.regularization
        kept = min(float(steps), 1 / max(1 - forgets**2, 1e-12))
        return noise * step * math.sqrt(kept), reach
    return noise, reach


_Maker = Callable[[_Facts, Problem], Algorithm]
_OVER_ALL_PAIRS: tuple[_Maker, ...] = (
    lambda facts, problem: MinimizerRelease(),
    lambda facts, problem: GradientDescent("last"),
    lambda facts, problem: GradientDescent("average"),
    lambda facts, problem: NoisyGradientDescent("last", *_steps(facts, problem)),
    lambda facts, problem: NoisyGradientDescent("average", *_steps(facts, problem)),
    lambda facts, problem: EpochGradientDescent(),
    lambda facts, problem: StreamGradientDescent(),
)
_MINI_BATCHES: tuple[_Maker, ...] = (
    lambda facts, problem: NoisyGradientDescent("last", *_steps(facts, problem), batch_size=_BATCH),
)
