"""Auditing private evaluations, on the neighbours that move what they release farthest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer
from pairdp.audit.attacks import columns
from pairdp.audit.functions import FEWEST, analyze_runs
from pairdp.audit.likelihood_ratios import (
    NoisyValue,
    composed_distance,
    log_likelihood_ratio,
)
from pairdp.audit.repeated_runs import run_many
from pairdp.audit.report import AuditReport, check_confidence
from pairdp.evaluation.accuracy import AccuracyPlan
from pairdp.evaluation.concordance import ConcordancePlan
from pairdp.evaluation.errors import ErrorPlan
from pairdp.evaluation.plan import EvaluationPlan
from pairdp.evaluation.planning import ScorePlan
from pairdp.privacy import Budget, GaussianMechanism, NoiseSource
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.unit import records_of

Array = NDArray[np.float64]
Records = tuple[Array, ...]
_DRAWS, _RUNS = 500_000, 4000


def audit_evaluation(
    plan: EvaluationPlan,
    *,
    claimed: Budget | None = None,
    full: bool = False,
    runs: int | None = None,
    confidence: float = 0.9999,
    jobs: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> AuditReport:
    """Bound the ε of an evaluation from below, on the worst neighbours that are known.

    Parameters
    ----------
    plan : EvaluationPlan
        The evaluation, from `pairdp.plan_evaluation` or an `Evaluation`.
    claimed : Budget, optional
        The claim to test; by default that of the plan.
    full : bool
        Whether every sample is a run of the plan. Otherwise only its noise is drawn.
    runs : int, optional
        The number of samples on each data set; by default 500 000, or 4000 runs.
    confidence, jobs, seed, progress
        As for `audit`.

    Examples
    --------
    >>> from pairdp import plan_evaluation
    >>> report = audit_evaluation(plan_evaluation(100, 1.0, measure="accuracy"), runs=20_000)
    >>> report.verdict, report.lower_bound > 0.7
    ('consistent', True)
    """
    claim = plan.certificate.budget if claimed is None else claimed
    if claim is None:
        raise ValueError("the evaluation claims no privacy")
    check_budget(claim)
    check_confidence(confidence)
    number = _RUNS if flag("full", full) else _DRAWS
    number = integer("runs", number if runs is None else runs, at_least=FEWEST)
    one, other = worst_records(plan)
    values = _values(plan, one, other)
    if full:
        here, there = run_many(
            RunRatios(plan, values), one, other, number, seed=seed, jobs=jobs, progress=progress
        )
        note = f"{number} runs on each of two data sets, from scores and labels"
    else:
        rng = np.random.default_rng((seed, 3))
        drawn = [value.log_ratios(number, rng) for value in values]
        here, there = (np.sum(ratios, axis=0)[:, None] for ratios in zip(*drawn, strict=True))
        note = (
            f"{number} draws of the noise for each of two data sets; the numbers without noise "
            "were computed once (use full=True, or --full)"
        )
    gaussian = all(isinstance(value.mechanism, GaussianMechanism) for value in values)
    return analyze_runs(
        here,
        there,
        claim,
        confidence=confidence,
        attack=columns(1, ["likelihood ratio"]),
        gaussian=gaussian and claim == plan.certificate.budget,
        certificate_epsilon=plan.certificate.epsilon(claim.delta),
        name=plan.certificate.algorithm,
        notes=(note,),
    )


def worst_records(plan: EvaluationPlan) -> tuple[Records, Records]:
    """Return what a plan runs on, for two neighbours that are farthest apart in its noise."""
    return max(_neighbours(plan), key=lambda pair: composed_distance(_values(plan, *pair)))


def _values(plan: EvaluationPlan, one: Records, other: Records) -> list[NoisyValue]:
    releases = plan.certificate.releases
    both = zip(releases, plan.exact(*one), plan.exact(*other), strict=True)
    return [NoisyValue(release.mechanism, here, there) for release, here, there in both]


def _neighbours(plan: EvaluationPlan) -> Iterator[tuple[Records, Records]]:
    """Yield neighbours, in which all records of one unit are replaced."""
    replaced = min(records_of(plan.certificate.unit), plan.items)
    if isinstance(plan, ScorePlan):
        yield from _of_scores(plan, replaced)
    elif isinstance(plan, AccuracyPlan | ConcordancePlan):
        right = np.ones(plan.items)
        for changed in (0.0, *([np.nan] if plan.certificate.problem["null_records"] else [])):
            yield (right,), (_with(right, changed, replaced),)
    elif isinstance(plan, ErrorPlan):
        low, high = plan.evaluation.target
        targets = np.full(plan.n, low)
        for changed in (high, *([np.nan] if plan.evaluation.null_records else [])):
            yield (targets, targets), (_with(targets, changed, replaced), targets)
            moved = _with(targets, changed, replaced)
            yield (targets, targets), (targets, moved)
            yield (targets, targets), (moved, moved)
    else:
        raise TypeError(f"there is no audit for {type(plan).__name__}")


def _of_scores(plan: ScorePlan, replaced: int) -> Iterator[tuple[Records, Records]]:
    """Yield scores and signs of which the first move to the other end, flip or become null."""
    items, edges = plan.items, plan.evaluation.edges
    top, bottom = (1.0, -1.0) if not edges else (edges[-1] + 1, edges[0] - 1)
    middle = (top + bottom) / 2
    for positives in {replaced, items // 11 or 1, items // 2, items - replaced}:
        signs = np.where(np.arange(items) < positives, 1.0, -1.0)
        for others in (middle, top, bottom):
            scores = _with(np.full(items, others), top, replaced)
            yield (scores, signs), (_with(scores, bottom, replaced), signs)
            yield (scores, signs), (scores, _with(signs, -1.0, replaced))
            moved = _with(scores, bottom, replaced)
            yield (scores, signs), (moved, _with(signs, -1.0, replaced))
            if plan.evaluation.null_records:
                yield (scores, signs), (scores, _with(signs, 0.0, replaced))


def _with(values: Array, value: float, replaced: int) -> Array:
    """Return values of which the first are replaced."""
    changed = values.copy()
    changed[:replaced] = value
    return changed


@dataclass(frozen=True, eq=False)
class RunRatios:
    """A function that runs a plan with a seed, and returns the likelihood ratio of its numbers."""

    plan: EvaluationPlan
    values: list[NoisyValue]

    def __call__(self, records: Records, seed: int) -> Array:
        """Return the log-likelihood ratio of one run."""
        noisy = self.plan.noisy(NoiseSource(seed), *records)
        ratios = (
            log_likelihood_ratio(value.mechanism, numbers, value.one, value.other)
            for value, numbers in zip(self.values, noisy, strict=True)
        )
        return np.array([sum(ratios)])
