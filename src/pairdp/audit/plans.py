"""Auditing plans and algorithms of this library, with attacks that use their noise distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer
from pairdp.algorithms import Algorithm, Plan
from pairdp.algorithms.task import Calibration, Schedule
from pairdp.audit.fixed_values import fixed_values
from pairdp.audit.influential import influential_canaries
from pairdp.audit.methods import (
    AuditSettings,
    audit_noise,
    audit_release,
    audit_transcript,
    is_secret,
    output_of,
)
from pairdp.audit.neighbours import Neighbours, canaries, widened, worst_cases
from pairdp.audit.report import AuditReport, check_confidence
from pairdp.audit.search import search
from pairdp.audit.transcripts import distance, record_run
from pairdp.privacy import Budget, Unit
from pairdp.privacy.accounting.budget import check_budget
from pairdp.problem import Problem

Array = NDArray[np.float64]
View = Literal["auto", "release", "transcript"]
Canary = Literal["influential", "extreme"]
_ON_DATA = (
    "on a given data set with {} canary, at record {}: the report depends on that data and is NOT "
    "private, unless the data is public"
)


def audit_algorithm(
    algorithm: Algorithm,
    problem: Problem,
    n: int,
    features: int,
    budget: Budget,
    *,
    calibration: Calibration = "certified",
    schedule: Schedule | None = None,
    unit: Unit | None = None,
    **options: object,
) -> AuditReport:
    """Plan an algorithm and audit the plan; the options are those of `audit_plan`."""
    plan = algorithm.plan(
        problem, n, features, budget, calibration=calibration, schedule=schedule, unit=unit
    )
    return audit_plan(plan, **options)  # type: ignore[arg-type]


def audit_plan(
    plan: Plan,
    pair: Neighbours | None = None,
    *,
    data: tuple[Any, Any] | None = None,
    canary: Canary = "influential",
    claimed: Budget | None = None,
    view: View = "auto",
    full: bool = False,
    runs: int | None = None,
    confidence: float = 0.9999,
    climbs: int = 20,
    jobs: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> AuditReport:
    """Bound the ε of a plan from below, on the worst neighbours that are found.

    The attacker sees what the certificate accounts for: every noisy value if each is accounted for
    (such as the whole stream of an online learner), else only the release. Noisy values are scored
    by their likelihood ratio, releases by projection and trained distinguishers.

    If (nearly) all noisy values are deterministic functions of the data, as with output
    perturbation, they are computed once and *only the noise* is drawn, millions of times, from the
    plan's mechanism. ``full`` runs the whole plan instead, which also finds bugs in the code.

    Parameters
    ----------
    plan : Plan
        The plan to audit. It must have a budget, unless ``claimed`` is given.
    pair : Neighbours, optional
        The data sets to audit on; by default the worst that a search finds. For a plan with units,
        all records of one unit are replaced, as many as are used.
    data : tuple of features and labels, optional
        A data set of the size of the plan, with a canary in place of one of its records, or of
        those of a unit. The report then depends on it.
    canary : {"influential", "extreme"}
        How the canary is chosen: `influential_canaries` of the most influential records, or
        `canaries` of record 0. The worst of them for the plan is audited.
    claimed : Budget, optional
        The claim to test; by default that of the plan.
    view : {"auto", "release", "transcript"}
        What the attacker sees: the release, every noisy value, or by default the latter if the
        certificate accounts for it. If it does not, the transcript may refute a claim about the
        release that is true.
    full : bool
        Whether every sample is a full run of the plan.
    runs : int, optional
        The number of samples on each data set: by default two million draws of noise, or two
        thousand runs, fewer if runs have many steps, but at least 200.
    confidence : float
        The confidence of a violation.
    climbs : int
        The number of steps of the search for worse neighbours.
    jobs : int
        Number of processes; the report does not depend on it.
    seed : int
        Seed of the runs and the search.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    """
    claim = plan.task.budget if claimed is None else claimed
    if claim is None:
        raise ValueError("the plan claims no privacy: plan with a budget, or pass claimed")
    check_budget(claim)
    check_confidence(confidence)
    flag("full", full)
    integer("seed", seed, at_least=0)
    if data is not None:
        if pair is not None:
            raise ValueError("give either pair or data")
        pair = worst_canary(plan, *data, canary=canary, progress=progress)
    elif pair is None:
        pair = worst_neighbours(plan, climbs=climbs, seed=seed)
    elif not isinstance(pair, Neighbours):
        raise TypeError(f"pair must be Neighbours, got {type(pair).__name__}")
    if view not in ("auto", "release", "transcript"):
        raise ValueError(f'view must be "auto", "release" or "transcript", got {view!r}')
    if view == "auto":
        view = _view(plan, pair)
    settings = AuditSettings(plan, claim, confidence, runs, jobs, seed, progress)
    report = _audit(settings, pair, view, full)
    if data is None:
        return report
    kind = "an influential" if canary == "influential" else "an extreme"
    where = ", ".join(map(str, pair.rows))
    return replace(report, notes=(*report.notes, _ON_DATA.format(kind, where)))


def _audit(settings: AuditSettings, pair: Neighbours, view: View, full: bool) -> AuditReport:
    if view == "release":
        return audit_release(settings, pair)
    fixed = None if full else fixed_values(settings, pair)
    return audit_transcript(settings, pair) if fixed is None else audit_noise(settings, *fixed)


def worst_canary(
    plan: Plan,
    x: Any,
    y: Any,
    *,
    canary: Canary = "influential",
    progress: bool | None = None,
) -> Neighbours:
    """Return the canary in a data set with the largest distance, in units of the plan's noise.

    Parameters
    ----------
    plan : Plan
        The plan that determines the distance.
    x, y : array-like
        The data set, of the size that the plan is for.
    canary, progress
        As for `audit_plan`.
    """
    if canary not in ("influential", "extreme"):
        raise ValueError(f'canary must be "influential" or "extreme", got {canary!r}')
    planned, shape = (plan.task.n, plan.task.features), np.shape(x)
    if shape != planned:
        raise ValueError(f"the plan is for data of shape {planned}, got {shape}")
    if canary == "influential":
        starts = list(influential_canaries(plan.problem, x, y, progress=progress))
    else:
        starts = list(canaries(x, y, plan.problem.data_norm))
    starts = _of_units(plan, starts)
    return search(_distance_for(plan, starts[0]), starts, restarts=0, climbs=0).pair


def worst_neighbours(
    plan: Plan, *, climbs: int = 20, restarts: int = 4, seed: int = 0
) -> Neighbours:
    """Return the neighbours with the largest distance found, in units of the plan's noise.

    Parameters
    ----------
    plan : Plan
        The plan that determines the distance.
    climbs, restarts, seed : int
        As for `pairdp.audit.search`.
    """
    task = plan.task
    cases = [
        pair
        for place in _places(plan)
        for pair in worst_cases(plan.problem, task.n, task.features, place)
    ]
    starts = _of_units(plan, cases)
    found = search(
        _distance_for(plan, starts[0]),
        starts,
        norm=plan.problem.data_norm,
        climbs=climbs,
        restarts=restarts,
        seed=seed,
    )
    return found.pair


def _of_units(plan: Plan, pairs: list[Neighbours]) -> list[Neighbours]:
    """Return the neighbours, with all records of a unit replaced if the plan has units."""
    if plan.task.unit is None:
        return pairs
    return [widened(pair, plan.task.records) for pair in pairs]


def _distance_for(plan: Plan, example: Neighbours) -> Callable[[Neighbours], float]:
    """Return the distance of neighbours as a function, by noisy values or by the output.

    It is by the output if only that is accounted for, or if no mechanism was called: an algorithm
    may add its noise in another way. With the same seed for both, that noise cancels.
    """
    if _view(plan, example) == "transcript":
        return lambda pair: distance(plan, pair)

    def of_outputs(pair: Neighbours) -> float:
        one, other = (output_of(plan, data, 0, noiseless=True) for data in pair.both())
        return float(np.linalg.norm(other - one))

    return of_outputs


def _places(plan: Plan) -> list[int]:
    """Return the first two, middle and last record, and the first of every part."""
    n, start = plan.task.n, 0
    found = {0, 1, n // 2, n - 1}
    for release in plan.certificate.releases:
        if release.part is not None:
            found.add(start)
            start += release.part.size
    return sorted(place for place in found if place < n)


def _view(plan: Plan, pair: Neighbours) -> View:
    """Return whether every noisy value is accounted for, or only what is released."""
    if is_secret(plan):
        return "release"
    run = record_run(plan, pair.one, 0, noiseless=True)
    accounted = sum(release.count for release in plan.certificate.releases)
    every = len(run.calls) == accounted or (bool(run.calls) and "models" in run.fit.statistics)
    return "transcript" if every else "release"
