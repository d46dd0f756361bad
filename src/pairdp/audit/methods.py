"""Three ways to audit a plan: by draws of its noise, its noisy values, or its releases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.algorithms import Plan
from pairdp.audit.attacks import columns
from pairdp.audit.counting import Counts, best_normal_threshold, best_threshold
from pairdp.audit.functions import FEWEST, analyze_runs, evidence_of
from pairdp.audit.likelihood_ratios import NoisyValue, composed_distance
from pairdp.audit.neighbours import Neighbours
from pairdp.audit.repeated_runs import progress_bar, run_many
from pairdp.audit.report import AuditReport
from pairdp.audit.transcripts import Data, TranscriptScores, record_run, records_for
from pairdp.online import OnlineAlgorithm
from pairdp.privacy import Budget, GaussianMechanism, NoiseSource

Array = NDArray[np.float64]
_SAMPLES, _RUNS = 2_000_000, 2000
_FEW_RUNS, _RUN_STEPS = 200, 100_000
_PILOT, _BLOCK = 1_000_000, 2**20
_SCORES = ("likelihood ratio", "closeness of noise")
_ALL_SEEN = "the attacker saw every noisy value; the certificate accounts for each"
_SOME_SEEN = "the attacker saw {} of {} noisy values, on which the others depend"
_RELEASED_SEEN = "the attacker saw the release, and nothing in between"


@dataclass(frozen=True)
class AuditSettings:
    """The settings of an audit of a plan."""

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
        """The number of full runs on each data set."""
        if self.runs is not None:
            return integer("runs", self.runs, at_least=FEWEST)
        return self.usual_runs

    @property
    def usual_runs(self) -> int:
        """The number of full runs on each data set, if none is given."""
        steps = max(
            sum(release.count for release in self.plan.certificate.releases),
            getattr(self.plan.settings, "steps", None) or 1,
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
        """Whether the certificate proves the claim, so that its whole trade-off can be tested."""
        if self.claim == self.plan.task.budget:
            return self.plan.claim_is_proved  # more accurate than the ε at that δ
        return self.certificate_epsilon <= self.claim.epsilon * (1 + 1e-9)

    @property
    def tests(self) -> dict[str, Any]:
        """What `analyze_runs` tests besides the claim: a Gaussian or another trade-off."""
        if not self._is_proved or self.is_gaussian:
            return {"gaussian": self._is_proved, "curve": None}
        return {"gaussian": False, "curve": self.plan.certificate.delta}


def is_secret(plan: Plan) -> bool:
    """Return whether the guarantee rests on secret draws of records."""
    return any(release.sampling is not None for release in plan.certificate.releases)


def audit_noise(settings: AuditSettings, values: list[NoisyValue], total: int) -> AuditReport:
    """Audit fixed values, out of a total number, by drawing only their noise, in blocks."""
    samples = integer("runs", _SAMPLES if settings.runs is None else settings.runs, at_least=FEWEST)
    rng = np.random.default_rng((settings.seed, 2))

    def draw(count: int) -> tuple[Array, Array]:
        drawn = [value.log_ratios(count, rng) for value in values]
        return np.sum([one for one, _ in drawn], axis=0), np.sum([two for _, two in drawn], axis=0)

    # Likelihood ratios of Gaussian noise are normal. So the Gaussian bound is exact here, and
    # thresholds can be chosen without samples.
    gaussian = settings.is_gaussian
    error = (1 - settings.confidence) / (2 if gaussian else 1)
    kinds = (False, True) if gaussian else (False,)
    delta, counted = settings.claim.delta, samples
    if gaussian:
        thresholds = [
            best_normal_threshold(composed_distance(values), counted, delta, error, gaussian=kind)
            for kind in kinds
        ]
    else:
        pilot = draw(min(_PILOT, samples // 2))
        counted -= pilot[0].size
        thresholds = [best_threshold(*pilot, counted, delta, error)[0]]
    hits = np.zeros((len(kinds), 2), dtype=np.int64)
    with progress_bar(2 * counted, settings.progress) as bar:
        for start in range(0, counted, _BLOCK):
            one, other = draw(min(_BLOCK, counted - start))
            hits += [[int(np.sum(s > t)) for s in (one, other)] for t in thresholds]
            bar.update(2 * one.size)
    evidence = tuple(
        evidence_of(
            Counts(int(right), counted, int(wrong), counted),
            settings.claim,
            error,
            _SCORES[0],
            threshold,
            kind,
            gaussian,
        )
        for kind, threshold, (wrong, right) in zip(kinds, thresholds, hits, strict=True)
    )
    note = (
        f"{samples} draws of the noise for each of two data sets; the values without noise were "
        "computed once, so the code that runs was not audited (use full=True, or --full)"
    )
    return AuditReport(
        settings.plan.algorithm.name,
        settings.claim,
        settings.certificate_epsilon,
        settings.confidence,
        evidence,
        (note, _ALL_SEEN if len(values) == total else _SOME_SEEN.format(len(values), total)),
    )


def audit_transcript(settings: AuditSettings, pair: Neighbours) -> AuditReport:
    """Audit every noisy value of full runs."""
    scores = TranscriptScores(settings.plan, pair)
    return _audit_runs(settings, scores, False, True, _ALL_SEEN, attack=columns(2, _SCORES))


def audit_release(settings: AuditSettings, pair: Neighbours) -> AuditReport:
    """Audit the releases of full runs, where draws of records or earlier steps stay secret."""
    one, other = pair.both()
    noiseless = (_mean_output(settings.plan, one), _mean_output(settings.plan, other))
    released = ReleasedNumbers(settings.plan)
    return _audit_runs(settings, released, one, other, _RELEASED_SEEN, noiseless=noiseless)


def _audit_runs(
    settings: AuditSettings,
    mechanism: Callable[[Any, int], Array],
    one: object,
    other: object,
    note: str,
    **options: Any,
) -> AuditReport:
    """Run a plan many times on either data set, and report on the outputs."""
    runs = settings.full_runs
    here, there = run_many(
        mechanism,
        one,
        other,
        runs,
        seed=settings.seed,
        jobs=settings.jobs,
        progress=settings.progress,
    )
    return analyze_runs(
        here,
        there,
        settings.claim,
        confidence=settings.confidence,
        certificate_epsilon=settings.certificate_epsilon,
        name=settings.plan.algorithm.name,
        notes=(f"{runs} runs on each of two data sets, end to end", note),
        **settings.tests,
        **options,
    )


@dataclass(frozen=True, eq=False)
class ReleasedNumbers:
    """A function that runs a plan on a data set and returns all released numbers."""

    plan: Plan

    def __call__(self, data: Data, seed: int) -> Array:
        """Return parameters and statistics of one run."""
        records = records_for(self.plan, data)
        return _flat(self.plan.run(records, NoiseSource(seed), progress=False))


def _flat(fit: object) -> Array:
    arrays = [fit.parameters, *fit.statistics.values()]  # type: ignore[attr-defined]
    return np.concatenate([np.ravel(array) for array in arrays])


def output_of(plan: Plan, data: Data, seed: int, *, noiseless: bool) -> Array:
    """Return all released numbers of a run, as a vector."""
    return _flat(record_run(plan, data, seed, noiseless=noiseless).fit)


def _mean_output(plan: Plan, data: Data, draws: int = 8) -> Array:
    """Return the output without noise, averaged over a few draws if records are sampled."""
    seeds = range(draws if is_secret(plan) else 1)
    outputs = [output_of(plan, data, seed, noiseless=True) for seed in seeds]
    return np.asarray(np.mean(outputs, axis=0))
