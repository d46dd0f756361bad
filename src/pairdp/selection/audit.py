"""Auditing a whole search: it is run many times on two neighbouring data sets, end to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp.algorithms.plan import Progress
from pairdp.audit import AuditReport
from pairdp.audit.functions import FEWEST, analyze_runs
from pairdp.audit.repeated_runs import run_many
from pairdp.audit.report import check_confidence
from pairdp.evaluation.selection import RepeatedChoice
from pairdp.privacy import Budget, NoiseSource
from pairdp.privacy.accounting.budget import check_budget
from pairdp.selection.plan import SearchPlan
from pairdp.selection.run import SearchRecords, choose, fit_candidates, parts_of, run_search
from pairdp.selection.search import PrivateSearch

Array = NDArray[np.float64]


def audit_search(
    search: PrivateSearch,
    one: tuple[ArrayLike, ArrayLike],
    other: tuple[ArrayLike, ArrayLike],
    *,
    claimed: Budget | None = None,
    runs: int = 1000,
    confidence: float = 0.9999,
    jobs: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> AuditReport:
    """Bound the ε of a search from below, on two data sets that differ in one record.

    Every sample is a whole search: candidates are fitted to the training records, and one is chosen
    on those held out. The attacker sees what the certificate covers: which candidate was chosen,
    and the scores that its model gives to the record that differs, in both versions. If candidates
    share a release or the budget, all of their models are covered, and the attacker sees the scores
    of each.

    Parameters
    ----------
    search : PrivateSearch
        The search, of estimators without a schema.
    one, other : tuple of arrays X and y
        Two data sets that differ in one record. The report depends on them: it is NOT private,
        unless they are public.
    claimed : Budget, optional
        The claim to test; by default that of the search.
    runs : int
        The number of searches on each data set.
    confidence, jobs, seed, progress
        As for `pairdp.audit.audit`.

    Raises
    ------
    ValueError
        If the data sets do not differ in exactly one record.
    """
    first, second = _arrays(*one), _arrays(*other)
    probes = _different_rows(first, second)
    n, features = first.rows.shape
    plan = search.plan(n, features)
    claim = plan.certificate.budget if claimed is None else claimed
    if claim is None:
        raise ValueError("a search needs a budget")
    check_budget(claim)
    check_confidence(confidence)
    if runs < FEWEST:
        raise ValueError(f"runs must be at least {FEWEST}, got {runs!r}")
    here, there = run_many(
        _Runs(plan, probes), first, second, runs, seed=seed, jobs=jobs, progress=progress
    )
    return analyze_runs(
        here,
        there,
        claim,
        confidence=confidence,
        certificate_epsilon=plan.certificate.epsilon(claim.delta),
        name=f"{plan.certificate.algorithm} ({plan.method})",
        notes=(f"{runs} searches on each of two data sets, end to end",),
    )


@dataclass(frozen=True, eq=False)
class _Runs:
    """A function that searches with a seed, and returns what an attacker sees."""

    plan: SearchPlan
    probes: Array

    def __call__(self, records: SearchRecords, seed: int) -> Array:
        source, quiet = NoiseSource(seed), Progress(False)
        scores = np.zeros((len(self.plan.candidates), len(self.probes)))
        if isinstance(self.plan.selection, RepeatedChoice):
            place, model = run_search(self.plan, records, source, None, quiet)
            models = {place: model}
        else:
            training, held_out = parts_of(self.plan, records)
            fitted = fit_candidates(self.plan, training, source, None, quiet)
            place = choose(self.plan, fitted, held_out, source, None)
            models = dict(enumerate(fitted))
        for number, model in models.items():
            rows = self.plan.candidates[number].candidate.columns(self.probes)
            scores[number] = np.nan_to_num(model.decision_function(rows))
        chosen = np.arange(len(scores)) == place
        return np.concatenate([chosen.astype(np.float64), scores.ravel()])


def _arrays(rows: ArrayLike, labels: ArrayLike) -> SearchRecords:
    """Return a data set as arrays."""
    x, y = np.asarray(rows, dtype=np.float64), np.asarray(labels)
    if x.ndim != 2 or y.shape != (len(x),):
        raise ValueError("each data set must be a table of numbers and its labels")
    return SearchRecords(x, y)


def _different_rows(one: SearchRecords, other: SearchRecords) -> Array:
    """Return both versions of the record that differs."""
    if one.rows.shape != other.rows.shape:
        raise ValueError("both data sets must have the same number of records and features")
    differs = (one.rows != other.rows).any(axis=1) | (one.labels != other.labels)
    if differs.sum() != 1:
        raise ValueError(f"the data sets must differ in one record, and not in {differs.sum()}")
    place = int(np.flatnonzero(differs)[0])
    return np.array([one.rows[place], other.rows[place]])
