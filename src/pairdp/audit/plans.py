"""Auditing plans and algorithms of this library, with attacks that know their noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, whole
from pairdp.algorithms import Algorithm, Plan
from pairdp.algorithms.task import Calibration
from pairdp.audit.attacks import columns
from pairdp.audit.counting import Counts, best_normal_threshold, best_threshold
from pairdp.audit.densities import NoisyValue, together
from pairdp.audit.functions import FEWEST, evidence_of, judge
from pairdp.audit.neighbours import Neighbours, worst_cases
from pairdp.audit.report import AuditReport, check_confidence
from pairdp.audit.running import progress_bar, run_many
from pairdp.audit.search import search
from pairdp.audit.taps import Data, TranscriptScores, distance, listen, listen_to_both
from pairdp.online import OnlineAlgorithm
from pairdp.privacy import Budget, GaussianMechanism, NoiseSource, NoMechanism
from pairdp.privacy.budget import check_budget
from pairdp.problem import Problem

Array = NDArray[np.float64]
View = Literal["auto", "release", "transcript"]
_SAMPLES, _RUNS = 2_000_000, 2000
_FEW_RUNS, _RUN_STEPS = 200, 100_000
_NEARLY_ALL, _LOOKS = 0.8, 8
_PILOT, _BLOCK = 1_000_000, 2**20
_SCORES = ("likelihood ratio", "closeness of noise")
_ALL_SEEN = "the attacker saw every noisy value, as the certificate accounts for each"
_SOME_SEEN = "the attacker saw {} of {} noisy values, on which the others depend"
_RELEASED_SEEN = "the attacker saw what is released, and nothing in between"


def audit_algorithm(
    algorithm: Algorithm,
    problem: Problem,
    n: int,
    features: int,
    budget: Budget,
    *,
    calibration: Calibration = "certified",
    **options: object,
) -> AuditReport:
    """Plan an algorithm and audit the plan; the options are those of `audit_plan`."""
    plan = algorithm.plan(problem, n, features, budget, calibration=calibration)
    return audit_plan(plan, **options)  # type: ignore[arg-type]


def audit_plan(
    plan: Plan,
    pair: Neighbours | None = None,
    *,
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

    What the attacker sees is what the certificate accounts for: every noisy value where each is
    accounted for (the whole stream of an online learner), else what is released. Every noisy value
    is judged by its likelihood ratio; releases by projection and trained distinguishers.

    Where (nearly) all noisy values do not depend on each other or on chance, as with noise on an
    output, they are computed once and the *noise alone* is drawn, millions of times, from the
    plan's mechanism. ``full`` runs everything instead, which finds mistakes in running code too.

    Parameters
    ----------
    plan : Plan
        What to audit; it must have a budget, or ``claimed`` be given.
    pair : Neighbours, optional
        Where to audit; by default the worst that a search finds.
    claimed : Budget, optional
        The claim to test, if not the plan's own.
    view : {"auto", "release", "transcript"}
        What the attacker sees: what is released, every noisy value, or by default the latter where
        the certificate accounts for it. A transcript that it does not account for may well
        refute a true claim about the release.
    full : bool
        Whether every sample is a run of its own.
    runs : int, optional
        How many on each data set: two million draws of noise, or two thousand runs, by default;
        fewer of runs with many steps, down to 200.
    confidence : float
        How sure a violation must be.
    climbs : int
        How many steps the search for worse neighbours takes.
    jobs : int
        How many processes; the report does not depend on it.
    seed : int
        For the runs and the search.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    """
    claim = plan.task.budget if claimed is None else claimed
    if claim is None:
        raise ValueError("the plan claims no privacy: plan with a budget, or give claimed")
    check_budget(claim)
    check_confidence(confidence)
    flag("full", full)
    whole("seed", seed, at_least=0)
    if pair is None:
        pair = worst_neighbours(plan, climbs=climbs, seed=seed)
    elif not isinstance(pair, Neighbours):
        raise TypeError(f"pair must be Neighbours, got {type(pair).__name__}")
    if view not in ("auto", "release", "transcript"):
        raise ValueError(f'view must be "auto", "release" or "transcript", got {view!r}')
    if view == "auto":
        view = _view(plan, pair)
    facts = _Facts(plan, claim, confidence, runs, jobs, seed, progress)
    if view == "release":
        return _audit_release(facts, pair)
    fixed = None if full else _fixed_values(plan, pair)
    return _audit_transcript(facts, pair) if fixed is None else _audit_noise(facts, *fixed)


@dataclass(frozen=True)
class _Facts:
    """What all ways of auditing a plan share."""

    plan: Plan
    claim: Budget
    confidence: float
    runs: int | None
    jobs: int
    seed: int
    progress: bool | None

    @property
    def certificate_epsilon(self) -> float:
        return self.plan.certificate.epsilon(self.claim.delta)

    @property
    def full_runs(self) -> int:
        if self.runs is not None:
            return whole("runs", self.runs, at_least=FEWEST)
        steps = max(
            sum(release.count for release in self.plan.certificate.releases),
            int(self.plan.settings.get("steps", 1)),  # type: ignore[arg-type]
            self.plan.task.n if isinstance(self.plan.algorithm, OnlineAlgorithm) else 1,
        )
        return min(_RUNS, max(_FEW_RUNS, _RUN_STEPS // steps))

    @property
    def is_gaussian(self) -> bool:
        """Whether the certificate rests on Gaussian noise alone, without secret draws."""
        return all(
            isinstance(release.mechanism, GaussianMechanism) and release.sampling is None
            for release in self.plan.certificate.releases
        )

    @property
    def _is_proved(self) -> bool:
        """Whether the certificate proves the claim, and its whole trade-off may be tested."""
        if self.claim == self.plan.task.budget:
            return self.plan.claim_is_proved  # the ε at that δ is found to fewer digits
        return self.certificate_epsilon <= self.claim.epsilon * (1 + 1e-9)

    @property
    def tests(self) -> dict[str, Any]:
        """What `judge` is to test besides the claim: a Gaussian trade-off, or another one."""
        if not self._is_proved or self.is_gaussian:
            return {"gaussian": self._is_proved, "curve": None}
        return {"gaussian": False, "curve": self.plan.certificate.delta}


def worst_neighbours(
    plan: Plan, *, climbs: int = 20, restarts: int = 4, seed: int = 0
) -> Neighbours:
    """Return the neighbours that a search finds furthest apart, in units of the plan's noise.

    Parameters
    ----------
    plan : Plan
        What they are for.
    climbs, restarts, seed : int
        As for `pairdp.audit.search`.
    """
    task = plan.task
    starts = [
        pair
        for place in _places(plan)
        for pair in worst_cases(plan.problem, task.n, task.features, place)
    ]
    found = search(
        _distance_for(plan, starts[0]),
        starts,
        norm=plan.problem.data_norm,
        climbs=climbs,
        restarts=restarts,
        seed=seed,
    )
    return found.pair


def _distance_for(plan: Plan, example: Neighbours) -> Callable[[Neighbours], float]:
    """Return how far apart neighbours are, by noisy values or by the output.

    The output counts where it alone is accounted for, or where taps hear nothing: an algorithm may
    add its noise by other means. With the same seed for both, that noise cancels.
    """
    if not _is_secret(plan) and listen(plan, example.one, 0, noiseless=True).calls:
        return lambda pair: distance(plan, pair)

    def of_outputs(pair: Neighbours) -> float:
        one, other = (_output(plan, data, 0, noiseless=True) for data in pair.both())
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


def _is_secret(plan: Plan) -> bool:
    """Whether the guarantee rests on draws of records that no one sees."""
    return any(release.sampling is not None for release in plan.certificate.releases)


def _view(plan: Plan, pair: Neighbours) -> View:
    """Return whether every noisy value is accounted for, or only what is released."""
    if _is_secret(plan):
        return "release"
    run = listen(plan, pair.one, 0, noiseless=True)
    accounted = sum(release.count for release in plan.certificate.releases)
    every = len(run.calls) == accounted or (bool(run.calls) and "models" in run.fit.statistics)
    return "transcript" if every else "release"


def _fixed_values(plan: Plan, pair: Neighbours) -> tuple[list[NoisyValue], int] | None:
    """Return the noisy values that depend on the data alone, and how many there are in all.

    Noise is continuous: values that depend on it differ between two runs. Orders and draws of
    records are not, so some more runs are looked at. An attacker may well look at the fixed ones
    alone; None where that would give away too much.
    """
    runs = [listen_to_both(plan, pair, seed) for seed in range(_LOOKS)]
    values = [
        NoisyValue(here.mechanism, here.value, there.value)
        for here, there in zip(*runs[0], strict=True)
    ]
    fixed = [
        value
        for i, value in enumerate(values)
        if all(
            np.array_equal(value.one, one[i].value) and np.array_equal(value.other, other[i].value)
            for one, other in runs
        )
    ]
    without = any(isinstance(value.mechanism, NoMechanism) for value in values)
    if without or not fixed or together(fixed) < _NEARLY_ALL * together(values):
        return None
    return fixed, len(values)


def _audit_noise(facts: _Facts, values: list[NoisyValue], in_all: int) -> AuditReport:
    """Audit values that are fixed by drawing their noise alone, in blocks."""
    samples = whole("runs", _SAMPLES if facts.runs is None else facts.runs, at_least=100)
    rng = np.random.default_rng((facts.seed, 2))

    def draw(count: int) -> tuple[Array, Array]:
        drawn = [value.log_ratios(count, rng) for value in values]
        return np.sum([one for one, _ in drawn], axis=0), np.sum([two for _, two in drawn], axis=0)

    # Likelihood ratios of Gaussian noise are normal, so that the Gaussian reading is no estimate
    # here, and thresholds need no samples to be chosen on.
    gaussian = facts.is_gaussian
    error = (1 - facts.confidence) / (2 if gaussian else 1)
    kinds = (False, True) if gaussian else (False,)
    delta, counted = facts.claim.delta, samples
    if gaussian:
        thresholds = [
            best_normal_threshold(together(values), counted, delta, error, gaussian=kind)
            for kind in kinds
        ]
    else:
        pilot = draw(min(_PILOT, samples // 2))
        counted -= pilot[0].size
        thresholds = [best_threshold(*pilot, counted, delta, error)[0]]
    hits = np.zeros((len(kinds), 2), dtype=np.int64)
    with progress_bar(2 * counted, facts.progress) as bar:
        for start in range(0, counted, _BLOCK):
            one, other = draw(min(_BLOCK, counted - start))
            hits += [[int(np.sum(s > t)) for s in (one, other)] for t in thresholds]
            bar.update(2 * one.size)
    evidence = tuple(
        evidence_of(
            Counts(int(right), counted, int(wrong), counted),
            facts.claim,
            error,
            _SCORES[0],
            threshold,
            kind,
            gaussian,
        )
        for kind, threshold, (wrong, right) in zip(kinds, thresholds, hits, strict=True)
    )
    note = (
        f"{samples} draws of the noise for each of two data sets; the values under it were "
        "computed once, and the running code was not audited (full does)"
    )
    return AuditReport(
        facts.plan.algorithm.name,
        facts.claim,
        facts.certificate_epsilon,
        facts.confidence,
        evidence,
        (note, _ALL_SEEN if len(values) == in_all else _SOME_SEEN.format(len(values), in_all)),
    )


def _audit_transcript(facts: _Facts, pair: Neighbours) -> AuditReport:
    """Audit every noisy value of full runs."""
    runs = facts.full_runs
    here, there = run_many(
        TranscriptScores(facts.plan, pair),
        False,
        True,
        runs,
        seed=facts.seed,
        jobs=facts.jobs,
        progress=facts.progress,
    )
    return judge(
        here,
        there,
        facts.claim,
        confidence=facts.confidence,
        attack=columns(2, _SCORES),
        **facts.tests,
        certificate_epsilon=facts.certificate_epsilon,
        name=facts.plan.algorithm.name,
        notes=(f"{runs} runs on each of two data sets, end to end", _ALL_SEEN),
    )


def _audit_release(facts: _Facts, pair: Neighbours) -> AuditReport:
    """Audit what full runs release, where draws of records or earlier steps stay secret."""
    runs = facts.full_runs
    one, other = pair.both()
    ends = [_mean_output(facts.plan, data) for data in (one, other)]
    here, there = run_many(
        ReleasedNumbers(facts.plan),
        one,
        other,
        runs,
        seed=facts.seed,
        jobs=facts.jobs,
        progress=facts.progress,
    )
    return judge(
        here,
        there,
        facts.claim,
        confidence=facts.confidence,
        noiseless=(ends[0], ends[1]),
        **facts.tests,
        certificate_epsilon=facts.certificate_epsilon,
        name=facts.plan.algorithm.name,
        notes=(f"{runs} runs on each of two data sets, end to end", _RELEASED_SEEN),
    )


@dataclass(frozen=True, eq=False)
class ReleasedNumbers:
    """Runs a plan on a data set and returns all numbers that it releases."""

    plan: Plan

    def __call__(self, data: Data, seed: int) -> Array:
        """Return parameters and statistics of one run."""
        records = self.plan.problem.records(*data)
        return _flat(self.plan.run(records, NoiseSource(seed), progress=False))


def _flat(fit: object) -> Array:
    arrays = [fit.parameters, *fit.statistics.values()]  # type: ignore[attr-defined]
    return np.concatenate([np.ravel(array) for array in arrays])


def _output(plan: Plan, data: Data, seed: int, *, noiseless: bool) -> Array:
    return _flat(listen(plan, data, seed, noiseless=noiseless).fit)


def _mean_output(plan: Plan, data: Data, draws: int = 8) -> Array:
    """Return the output without noise, averaged over a few draws of records if there are such."""
    seeds = range(draws if _is_secret(plan) else 1)
    outputs = [_output(plan, data, seed, noiseless=True) for seed in seeds]
    return np.asarray(np.mean(outputs, axis=0))
