"""A model with a private threshold for its scores, within one budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import keep, real
from pairdp._sums import BLOCK, Total
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.losses import PairwiseLoss
from pairdp.privacy import (
    Budget,
    Certificate,
    GaussianMechanism,
    KNormMechanism,
    Mechanism,
    NoiseSource,
    NoMechanism,
    Release,
    Sensitivity,
)
from pairdp.privacy.accounting.gaussian import delta, epsilon, gdp_mu
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.records import Records

Array = NDArray[np.float64]
THRESHOLD = "threshold"
_SLACK = 1 - 1e-9
_LESS = 0.98
_MEANS = 3  # numbers that the threshold is computed from


@dataclass(frozen=True)
class ThresholdSettings(Settings):
    """The settings of the model, and the budget share of the threshold if it needs one."""

    model: Settings
    threshold_share: float | None = None

    def to_dict(self) -> dict[str, Scalar]:
        """Return the settings of the model and the share by name."""
        share = {} if self.threshold_share is None else {"threshold_share": self.threshold_share}
        return {**self.model.to_dict(), **share}


@dataclass(frozen=True)
class WithThreshold(Algorithm[ThresholdSettings]):
    r"""An algorithm for rankers with a threshold midway between the mean scores of the classes.

    The mean scores s = ⟨w, x⟩/|w| of the classes are functions of Σys/n, Σs/n and Σy/n, whose joint
    sensitivity is at most 2√2·R/n. They are released after w with a share of the budget; the
    algorithm gets the rest. If the algorithm releases class moments, these contain the means, and
    no more budget is spent.

    Parameters
    ----------
    algorithm : Algorithm
        The algorithm that fits the model.
    share : float
        Share of μ² (of ε, for pure ε) that is spent on the threshold.
    """

    algorithm: Algorithm
    share: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, Algorithm):
            raise TypeError(f"algorithm must be an Algorithm, got {self.algorithm!r}")
        keep(self, "share", real("share", self.share))
        if not 0 < self.share < 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name in certificates."""
        return self.algorithm.name

    @property
    def needs(self) -> tuple[Need, ...]:
        """The properties that the algorithm requires."""
        return self.algorithm.needs

    @property
    def needs_delta(self) -> bool:  # type: ignore[override]
        """Whether the algorithm needs δ > 0."""
        return self.algorithm.needs_delta

    @property
    def is_printed(self) -> bool:  # type: ignore[override]
        """Whether a paper prints the algorithm's noise."""
        return self.algorithm.is_printed

    @property
    def offers_units(self) -> bool:  # type: ignore[override]
        """Whether the algorithm offers units; the threshold does."""
        return self.algorithm.offers_units

    @property
    def why_no_units(self) -> str:  # type: ignore[override]
        """Why the algorithm offers no units."""
        return self.algorithm.why_no_units

    @property
    def has_theorem(self) -> bool:  # type: ignore[override]
        """Whether a theorem states the algorithm's schedule."""
        return self.algorithm.has_theorem

    @property
    def one_pass(self) -> bool:
        """Whether it needs only sums over the records."""
        return self.is_free and self.algorithm.one_pass

    @property
    def is_free(self) -> bool:
        """Whether the algorithm releases the class means already."""
        return self.algorithm.releases_class_means

    def draft_from(self, other: Algorithm, draft: PlanDraft) -> PlanDraft[ThresholdSettings] | None:
        """Return its draft if the other algorithm fits its model and the threshold is free."""
        if self.is_free and self.algorithm == other:
            return self._without_release(draft)
        return super().draft_from(other, draft)

    def check(self, task: Task) -> None:
        """Raise ValueError if the task lacks what the algorithm or a threshold needs."""
        self.algorithm.check(task)
        loss = task.problem.loss
        if loss.matrix or not isinstance(loss, PairwiseLoss):
            what = "a metric" if loss.matrix else "one record"
            raise ValueError(f"a threshold is for rankers, and the problem has a loss of {what}")
        if not loss.binary:
            raise ValueError(
                f"a threshold separates two classes, which {type(loss).__name__} does not have"
            )

    def draft(self, task: Task) -> PlanDraft[ThresholdSettings]:
        """Decide the releases of the model and of the threshold."""
        if self.is_free:
            return self._without_release(self.algorithm.draft(task))
        sensitivity = task.sensitivity("means of scores", largest=task.problem.data_norm, n=task.n)
        if task.budget is None:
            return self._with(task, self.algorithm.draft(task), NoMechanism(), None)
        if task.budget.is_pure:
            epsilon = self.share * _SLACK * task.budget.epsilon
            mechanism: Mechanism = KNormMechanism.for_epsilon(epsilon, sensitivity.value, _MEANS)
            remaining = Budget((1 - self.share) * task.budget.epsilon)
            draft = self.algorithm.draft(replace(task, budget=remaining))
            return self._with(task, draft, mechanism, sensitivity)
        mu = gdp_mu(task.budget.epsilon, task.budget.delta) * _SLACK
        threshold_mu = math.sqrt(self.share) * mu
        mechanism = GaussianMechanism.for_mu(threshold_mu, sensitivity.value, _MEANS)
        remaining = _budget_of(math.sqrt(1 - self.share) * mu, task.budget)
        while True:
            draft = self.algorithm.draft(replace(task, budget=remaining))
            both = self._with(task, draft, mechanism, sensitivity)
            # Exact if all noise is Gaussian; sampled steps may need slightly more noise.
            certificate = Certificate(self.name, task.budget, task.n, both.releases, unit=task.unit)
            if task.is_printed or certificate.holds:
                return both
            remaining = _budget_of(_LESS * gdp_mu(remaining.epsilon, remaining.delta), task.budget)

    def _without_release(self, draft: PlanDraft) -> PlanDraft[ThresholdSettings]:
        """Return the draft of the model, whose releases determine the threshold."""
        settings = ThresholdSettings(draft.settings)
        return PlanDraft(draft.releases, settings, draft.reasons, draft.problem, draft.departures)

    def _with(
        self, task: Task, draft: PlanDraft, mechanism: Mechanism, sensitivity: Sensitivity | None
    ) -> PlanDraft[ThresholdSettings]:
        """Return the draft of the model with the release of the threshold added."""
        reason = "the threshold is midway between the noisy mean scores of the classes"
        release = Release(THRESHOLD, mechanism, sensitivity, _MEANS)
        departures = draft.departures
        if task.follows_theorem:
            added = "a threshold is released too, and the model has the rest of the budget"
            departures = (*departures, added)
        return PlanDraft(
            (*draft.releases, release),
            ThresholdSettings(draft.settings, self.share),
            (*draft.reasons, reason),
            draft.problem,
            departures,
        )

    def settings_from(self, recorded: Mapping[str, Any]) -> ThresholdSettings:
        """Return the settings that a certificate records."""
        of_model = dict(recorded)
        share = of_model.pop("threshold_share", None)
        return ThresholdSettings(self.algorithm.settings_from(of_model), share)

    def noise_to_signal(self, plan: Plan[ThresholdSettings]) -> float:
        """Return the ratio of the model alone."""
        return self.algorithm.noise_to_signal(self._of_model(plan))

    @property
    def noise_needs_statistics(self) -> bool:
        """Whether the algorithm uses released statistics."""
        return self.algorithm.noise_needs_statistics

    def _parameter_noise(self, plan: Plan[ThresholdSettings], fit: Fit) -> ParameterNoise:
        return self.algorithm.noise_of(self._of_model(plan), fit)

    def _of_model(self, plan: Plan[ThresholdSettings]) -> Plan:
        """Return the plan of the model, without the release of the threshold."""
        releases = plan.certificate.releases if self.is_free else plan.certificate.releases[:-1]
        certificate = replace(plan.certificate, releases=releases)
        return Plan(self.algorithm, plan.task, certificate, plan.settings.model, plan.reasons)

    @property
    def solves_from_release(self) -> bool:
        """Whether what the algorithm releases determines the model and the threshold."""
        return self.is_free and self.algorithm.solves_from_release

    def solve(
        self, plan: Plan[ThresholdSettings], statistics: Mapping[str, Array]
    ) -> RunResult | None:
        """Return the model and its threshold, if the algorithm releases the class means."""
        found = self.algorithm.solve(self._of_model(plan), statistics) if self.is_free else None
        return None if found is None else _with_free_threshold(*found)

    def check_parts(self, plan: Plan[ThresholdSettings]) -> None:
        """Raise ValueError if the model needs more than sums; the threshold does not."""
        self.algorithm.check_parts(self._of_model(plan))

    def execute(
        self, plan: Plan[ThresholdSettings], records: Any, noise: NoiseSource, progress: Progress
    ) -> RunResult:
        """Return the model and its threshold."""
        found = self.algorithm.execute(self._of_model(plan), records, noise, progress)
        parameters, statistics = found if isinstance(found, RunResult) else (found, {})
        if self.is_free:
            return _with_free_threshold(parameters, statistics)
        *_, release = plan.certificate.releases
        direction, size = _direction(parameters)
        sums = records.map_sum(_score_sums, direction, plan.problem.data_norm)
        means = sums.high / records.n
        noisy = release.mechanism.release(means, noise.stream("threshold noise"))
        threshold = size * _midpoint(noisy, plan.problem.data_norm, records.n)
        return RunResult(parameters, {**statistics, THRESHOLD: np.array([threshold])})


def _with_free_threshold(parameters: Array, statistics: Mapping[str, Array]) -> RunResult:
    return RunResult(parameters, {**statistics, THRESHOLD: _midway(parameters, statistics)})


def _budget_of(mu: float, budget: Budget) -> Budget:
    """Return the budget of a μ-GDP release: the ε at δ, or a smaller δ if ε would be 0."""
    found = epsilon(mu, budget.delta)
    if found > 0:
        return Budget(found, budget.delta)
    return Budget(budget.epsilon, delta(budget.epsilon, mu))


def _direction(parameters: Array) -> tuple[Array, float]:
    """Return the parameters scaled to norm 1 (or zero), and their norm."""
    largest = float(np.abs(parameters).max())
    if largest == 0:
        return np.zeros_like(parameters), 0.0
    unit = parameters / largest  # avoids overflow and underflow of squares
    norm = float(np.linalg.norm(unit))
    return unit / norm, norm * largest


def _score_sums(records: Records, direction: Array, largest: float) -> Total:
    """Return Σ(ys, s, yS) of the scores s = ⟨w, x⟩, clipped to R to exclude rounding errors."""
    total = Total.zeros(_MEANS)
    for start in range(0, records.n, BLOCK):
        some = slice(start, start + BLOCK)
        y, scores = records.y[some], records.x[some] @ direction
        np.clip(scores, -records.data_norm, records.data_norm, out=scores)
        total += np.array([y @ scores, scores.sum(), largest * y.sum()])
    return total


def _midpoint(means: Array, largest: float, n: int) -> float:
    """Return the midpoint of the class means from noisy sums."""
    share = float(np.clip((1 + means[2] / largest) / 2, 1 / n, 1 - 1 / n))
    above = np.clip((means[1] + means[0]) / (2 * share), -largest, largest)
    below = np.clip((means[1] - means[0]) / (2 * (1 - share)), -largest, largest)
    return float(above + below) / 2


def _midway(parameters: Array, statistics: Mapping[str, Array]) -> Array:
    """Return the score of the midpoint between two noisy class means."""
    signed, mean = statistics["signed"], statistics["mean"]
    share = float(np.clip((1 + statistics["balance"][0]) / 2, 1e-3, 1 - 1e-3))
    middle = (mean + signed) / (4 * share) + (mean - signed) / (4 * (1 - share))
    return np.array([float(middle @ parameters)])
