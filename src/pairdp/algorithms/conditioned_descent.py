r"""The name of conditioned descent, and when "auto" takes it: predictions from nµ per feature.

In whitened coordinates a step of about 1/H, with H the curvature, leaves noise of σ·c·S/H on each
of D weights, where c = 2√D and σ is the noise of a gradient in units of c·S. Steps that overshoot
where the loss is flat about double it, and the average of the last half of the steps halves it: for
the logistic loss, about 5·D·σ in all, against weights of norm D₀, the distance of the typical class
means. The radius adds the noise of its counts, relative to a quarter of n. Rows are in units of
their own radius, so predictions depend on nµ/d, and not on how much of their ball rows fill. Below
nµ/d = 5 little can be learned in this way, and it is no candidate; for targets, below 20.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scipy.special import ndtr

from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.choice.candidates import Candidate, ModelTask, register_candidates
from pairdp.algorithms.conditioned.conditioned import ConditionedDescent
from pairdp.algorithms.conditioned.run import GRADIENTS, RADIUS
from pairdp.algorithms.conditioned.settings import ConditionedSettings
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.registry import register_algorithm
from pairdp.losses import LeastSquaresPointwise, LogisticPointwise, LogisticRanking
from pairdp.privacy.accounting.gaussian import gdp_mu

if TYPE_CHECKING:
    from pairdp.algorithms.choice import LinearTask, RankingTask

register_algorithm("conditioned", ConditionedDescent())

_MOST_NUMBERS = 2 * 10**8
"""Records are kept in memory: beyond, algorithms that need only sums are better."""
_TRAVEL, _DISTANCE = 4.8, 1.5
_LEAST = 5.0
_LEAST_OF = {LogisticPointwise: _LEAST, LeastSquaresPointwise: 20.0}
"""nµ per feature from which it is a candidate, for rankers and for losses of one record."""
_DISTANCES = (0.8, 2.5)
"""The range of distances between class means for predicted AUCs, in standard deviations."""
_EXCESS = 0.1
"""The excess risk of weights that are wrong by the norm of the signal."""


def _noise(draft: PlanDraft[ConditionedSettings], n: int) -> float:
    """Return the ratio of noise and signal for the typical data set."""
    found = {release.name: deviation(release) for release in draft.releases}
    gradients = _TRAVEL * draft.settings.features * found[GRADIENTS] / _DISTANCE
    return math.hypot(gradients, 4 * found[RADIUS] / n)


def _is_offered(task: ModelTask, least: float) -> bool:
    """Return whether a task has a budget that suffices; without noise, minimisers are exact."""
    if task.budget is None or task.budget.is_pure:
        return False
    mu = gdp_mu(task.budget.epsilon, task.budget.delta) / task.records
    return task.n * mu >= least * task.features and task.n * task.features <= _MOST_NUMBERS


@register_candidates("ranking", order=5)
def _ranking(task: RankingTask) -> Iterator[Candidate]:
    if task.graded is not None or task.regularization:
        return
    if not isinstance(task.loss, LogisticRanking | None) or not _is_offered(task, _LEAST):
        return
    problem = task.problem(task.loss or LogisticRanking(temperature=task.temperature))
    algorithm = ConditionedDescent()
    draft = task.draft(problem, algorithm)
    ridge = draft.settings.ridge * draft.settings.features
    yield task.candidate(problem, algorithm, _noise(draft, task.n), ridge, draft)


@register_candidates("linear", order=10)
def _linear(task: LinearTask) -> Iterator[Candidate]:
    least = _LEAST_OF.get(type(task.problem.loss))
    if task.regularization or least is None or not _is_offered(task, least):
        return
    algorithm = ConditionedDescent(constant=task.constant)
    draft = algorithm.prepare(task.task(task.problem))
    noise = _noise(draft, task.n)
    error = _EXCESS * noise**2
    reason = (
        f"rows centred and whitened by noisy moments, noise {noise:.2g} times the expected signal"
    )
    if task.problem.loss.binary:
        least, most = (ndtr(d / math.sqrt(2 * (1 + noise**2))) for d in _DISTANCES)
        reason += (
            f"; a predicted AUC of {least:.2f} to {most:.2f} for class means {_DISTANCES[0]} to "
            f"{_DISTANCES[1]} standard deviations apart"
        )
    yield Candidate(task.problem, algorithm, error, reason, draft)
