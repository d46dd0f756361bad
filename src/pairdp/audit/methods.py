"""Three ways to audit a plan: draws of its noise, its noisy values, or what it releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.algorithms import Plan
from pairdp.audit.attacks import columns
from pairdp.audit.counting import Counts, best_normal_threshold, best_threshold
from pairdp.audit.densities import NoisyValue, together
from pairdp.audit.functions import FEWEST, evidence_of, judge
from pairdp.audit.neighbours import Neighbours
from pairdp.audit.recording import Data, TranscriptScores, listen
from pairdp.audit.repeated_runs import progress_bar, run_many
from pairdp.audit.report import AuditReport
from pairdp.online import OnlineAlgorithm
from pairdp.privacy import Budget, GaussianMechanism, NoiseSource

Array = NDArray[np.float64]
_SAMPLES, _RUNS = 2_000_000, 2000
_FEW_RUNS, _RUN_STEPS = 200, 100_000
_PILOT, _BLOCK = 1_000_000, 2**20
_SCORES = ("likelihood ratio", "closeness of noise")
_ALL_SEEN = "the attacker saw every noisy value, as the certificate accounts for each"
_SOME_SEEN = "the attacker saw {} of {} noisy values, on which the others depend"
_RELEASED_SEEN = "the attacker saw what is released, and nothing in between"


@dataclass(frozen=True)
class Facts:
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
        """The ε that the certificate proves at the claimed δ."""
        return self.plan.certificate.epsilon(self.claim.delta)

    @property
    def full_runs(self) -> int:
        """How many runs of everything, on each data set."""
        if self.runs is not None:
            return integer("runs", self.runs, at_least=FEWEST)
        steps = max(
            sum(release.count for release in self.plan.certificate.releases),
            getattr(self.plan.settings, "steps", 1),
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


def is_secret(plan: Plan) -> bool:
    """Whether the guarantee rests on draws of records that no one sees."""
    return any(release.sampling is not None for release in plan.certificate.releases)


def audit_noise(facts: Facts, values: list[NoisyValue], in_all: int) -> AuditReport:
    """Audit values that are fixed by drawing their noise alone, in blocks."""
    samples = integer("runs", _SAMPLES if facts.runs is None else facts.runs, at_least=100)
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


def audit_transcript(facts: Facts, pair: Neighbours) -> AuditReport:
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


def audit_release(facts: Facts, pair: Neighbours) -> AuditReport:
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
        records = self.plan.problem.records(*data, invalid="null")
        return _flat(self.plan.run(records, NoiseSource(seed), progress=False))


def _flat(fit: object) -> Array:
    arrays = [fit.parameters, *fit.statistics.values()]  # type: ignore[attr-defined]
    return np.concatenate([np.ravel(array) for array in arrays])


def output_of(plan: Plan, data: Data, seed: int, *, noiseless: bool) -> Array:
    """Return all numbers that a run releases, in a row."""
    return _flat(listen(plan, data, seed, noiseless=noiseless).fit)


def _mean_output(plan: Plan, data: Data, draws: int = 8) -> Array:
    """Return the output without noise, averaged over a few draws of records if there are such."""
    seeds = range(draws if is_secret(plan) else 1)
    outputs = [output_of(plan, data, seed, noiseless=True) for seed in seeds]
    return np.asarray(np.mean(outputs, axis=0))
