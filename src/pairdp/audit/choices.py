"""Auditing the private choice of a model, on the neighbours that change its odds most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.audit.attacks import columns
from pairdp.audit.functions import FEWEST, analyze_runs
from pairdp.audit.repeated_runs import run_many
from pairdp.audit.report import AuditReport, check_confidence
from pairdp.evaluation.selection import SelectionPlan
from pairdp.privacy import Budget, NoiseSource
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.unit import records_of

Array = NDArray[np.float64]
_RUNS = 4000


def audit_choice(
    plan: SelectionPlan,
    *,
    claimed: Budget | None = None,
    runs: int | None = None,
    confidence: float = 0.9999,
    jobs: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> AuditReport:
    """Bound the ε of the choice among models from below; every sample is a run of the plan.

    Parameters
    ----------
    plan : SelectionPlan
        The choice.
    claimed : Budget, optional
        The claim to test; by default that of the plan.
    runs : int, optional
        The number of choices on each data set; by default 4000.
    confidence, jobs, seed, progress
        As for `audit`.

    Examples
    --------
    >>> from pairdp.evaluation.selection import ModelSelection
    >>> report = audit_choice(ModelSelection(2).plan(100, Budget(2.0)), runs=2000)
    >>> report.verdict, report.lower_bound > 1.0
    ('consistent', True)
    """
    claim = plan.certificate.budget if claimed is None else claimed
    if claim is None:
        raise ValueError("the choice claims no privacy")
    check_budget(claim)
    check_confidence(confidence)
    number = integer("runs", _RUNS if runs is None else runs, at_least=FEWEST)
    one, other = worst_scores(plan)
    signs = [_signs(plan)] * plan.selection.models

    def place(scores: list[Array], run: int) -> Array:
        return np.array([plan.run(scores, signs, NoiseSource(run)) == 0], dtype=np.float64)

    here, there = run_many(place, one, other, number, seed=seed, jobs=jobs, progress=progress)
    return analyze_runs(
        here,
        there,
        claim,
        confidence=confidence,
        attack=columns(1, ["whether the first model is chosen"]),
        certificate_epsilon=plan.certificate.epsilon(claim.delta),
        name=plan.certificate.algorithm,
        notes=(f"{number} choices on each of two data sets, from scores and labels",),
    )


def worst_scores(plan: SelectionPlan) -> tuple[list[Array], list[Array]]:
    """Return the scores of all models on two neighbours that change the odds of the first most.

    Its AUC is the smallest in the one data set. In the other, in which all records of one unit have
    opposite scores, it is as large as that of the second model. Of permute-and-flip with noise for
    this change, the chance of the first model grows by the factor e^ε.
    """
    moved = _moved(plan)
    scores = np.zeros(plan.n)
    scores[: 2 * moved] = -1.0
    changed = scores.copy()
    changed[:moved] = 1.0
    others = [scores] * (plan.selection.models - 2)
    return [scores, -scores, *others], [changed, -changed, *others]


def _moved(plan: SelectionPlan) -> int:
    return max(min(records_of(plan.certificate.unit), plan.n // 4), 1)


def _signs(plan: SelectionPlan) -> Array:
    """Return the signs: there are twice as many positive records as are replaced."""
    return np.where(np.arange(plan.n) < 2 * _moved(plan), 1.0, -1.0)
