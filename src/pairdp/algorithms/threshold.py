"""A model with a threshold for its scores, paid for out of one budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import keep, real
from pairdp._sums import weighted_rows
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.moments import MomentRelease
from pairdp.algorithms.plan import Plan, Progress, RunResult
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


@dataclass(frozen=True)
class ThresholdSettings(Settings):
    """The settings of the model, and the share of its threshold unless that is free."""

    model: Settings
    threshold_share: float | None = None

    def to_dict(self) -> dict[str, Scalar]:
        """Return the settings of the model and the share by name."""
        share = {} if self.threshold_share is None else {"threshold_share": self.threshold_share}
        return {**self.model.to_dict(), **share}


@dataclass(frozen=True)
class WithThreshold(Algorithm[ThresholdSettings]):
    r"""An algorithm for rankers, and the score midway between the means of the two classes.

    The mean scores s = ⟨w, x⟩/|w| of the classes are made of Σys/n, Σs/n and Σy/n, which one
    record moves by at most 2√2·R/n together. They are released with a share of the budget once
    w is; what is left is the algorithm's. Moments of the classes, where the algorithm
    releases them, have the means already, and nothing more is spent.

    Parameters
    ----------
    algorithm : Algorithm
        What makes the model.
    share : float
        Share of μ² (of ε, for pure ε) that the threshold gets.
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
        """What certificates call it."""
        return self.algorithm.name

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the algorithm needs."""
        return self.algorithm.needs

    @property
    def needs_delta(self) -> bool:  # type: ignore[override]
        """Whether the algorithm cannot be pure."""
        return self.algorithm.needs_delta

    @property
    def is_printed(self) -> bool:  # type: ignore[override]
        """Whether a paper prints the algorithm's noise."""
        return self.algorithm.is_printed

    @property
    def instead(self) -> str:  # type: ignore[override]
        """What to use where the algorithm does not serve."""
        return self.algorithm.instead

    @property
    def one_pass(self) -> bool:
        """Whether sums over the records are all that it needs."""
        return self.is_free

    @property
    def is_free(self) -> bool:
        """Whether the algorithm releases the means of the classes anyway."""
        return isinstance(self.algorithm, MomentRelease) and self.algorithm.statistics == "class"

    def draft_from(self, other: Algorithm, draft: PlanDraft) -> PlanDraft[ThresholdSettings] | None:
        """Return the other one's draft, if that is its model and the threshold is free."""
        if self.is_free and self.algorithm == other:
            return self._without_release(draft)
        return super().draft_from(other, draft)

    def draft(self, task: Task) -> PlanDraft[ThresholdSettings]:
        """Decide the model's releases and the threshold's."""
        if task.problem.loss.matrix or not isinstance(task.problem.loss, PairwiseLoss):
            what = "a metric" if task.problem.loss.matrix else "one record"
            raise ValueError(f"a threshold is for rankers, and the problem's loss is of {what}")
        if self.is_free:
            return self._without_release(self.algorithm.draft(task))
        moved = Sensitivity.of("means of scores", largest=task.problem.data_norm, n=task.n)
        if task.budget is None:
            return self._with(self.algorithm.draft(task), NoMechanism(), None)
        if task.budget.is_pure:
            mechanism: Mechanism = KNormMechanism(
                moved.value, moved.value / (self.share * _SLACK * task.budget.epsilon)
            )
            left = Budget((1 - self.share) * task.budget.epsilon)
            return self._with(self.algorithm.draft(replace(task, budget=left)), mechanism, moved)
        mu = gdp_mu(task.budget.epsilon, task.budget.delta) * _SLACK
        mechanism = GaussianMechanism(moved.value, moved.value / (math.sqrt(self.share) * mu))
        left = _budget_of(math.sqrt(1 - self.share) * mu, task.budget)
        while True:
            both = self._with(self.algorithm.draft(replace(task, budget=left)), mechanism, moved)
            # Exact when all noise is Gaussian; sampled steps may need a little more noise.
            certificate = Certificate(self.name, task.budget, task.n, both.releases)
            if task.is_printed or certificate.holds:
                return both
            left = _budget_of(_LESS * gdp_mu(left.epsilon, left.delta), task.budget)

    def _without_release(self, draft: PlanDraft) -> PlanDraft[ThresholdSettings]:
        """Return a draft of the model, whose releases have the threshold already."""
        settings = ThresholdSettings(draft.settings)
        return PlanDraft(draft.releases, settings, draft.reasons, draft.problem)

    def _with(
        self, draft: PlanDraft, mechanism: Mechanism, moved: Sensitivity | None
    ) -> PlanDraft[ThresholdSettings]:
        """Return a draft of the model with the release of a threshold."""
        reason = "the threshold is midway between the classes' mean scores, and paid for"
        release = Release(THRESHOLD, mechanism, moved, dimension=3)
        return PlanDraft(
            (*draft.releases, release),
            ThresholdSettings(draft.settings, self.share),
            (*draft.reasons, reason),
            draft.problem,
        )

    def settings_from(self, recorded: Mapping[str, Any]) -> ThresholdSettings:
        """Return the settings that a certificate records."""
        of_model = dict(recorded)
        share = of_model.pop("threshold_share", None)
        return ThresholdSettings(self.algorithm.settings_from(of_model), share)

    def noise_to_signal(self, plan: Plan[ThresholdSettings]) -> float:
        """Return that of the model alone."""
        return self.algorithm.noise_to_signal(self._of_model(plan))

    def _of_model(self, plan: Plan[ThresholdSettings]) -> Plan:
        """Return the plan of the model, without the release of a threshold."""
        releases = plan.certificate.releases if self.is_free else plan.certificate.releases[:-1]
        certificate = replace(plan.certificate, releases=releases)
        return Plan(self.algorithm, plan.task, certificate, plan.settings.model, plan.reasons)

    def execute(
        self, plan: Plan[ThresholdSettings], records: Any, noise: NoiseSource, progress: Progress
    ) -> RunResult:
        """Return the model and its threshold."""
        found = self.algorithm.execute(self._of_model(plan), records, noise, progress)
        parameters, statistics = found if isinstance(found, RunResult) else (found, {})
        if self.is_free:
            return RunResult(parameters, {**statistics, THRESHOLD: _midway(parameters, statistics)})
        *_, release = plan.certificate.releases
        direction, size = _direction(parameters)
        scores = _scores(records, direction)
        means = _score_means(scores, records.y, plan.problem.data_norm)
        noisy = release.mechanism.release(means, noise.stream("threshold noise"))
        threshold = size * _midpoint(noisy, plan.problem.data_norm, records.n)
        return RunResult(parameters, {**statistics, THRESHOLD: np.array([threshold])})


def _budget_of(mu: float, budget: Budget) -> Budget:
    """Return the budget of a Gaussian release with parameter μ: its ε, or δ where ε would be 0."""
    found = epsilon(mu, budget.delta)
    if found > 0:
        return Budget(found, budget.delta)
    return Budget(budget.epsilon, delta(budget.epsilon, mu))


def _direction(parameters: Array) -> tuple[Array, float]:
    """Return parameters of norm 1, or zero, and the norm that they had."""
    largest = float(np.abs(parameters).max())
    if largest == 0:
        return np.zeros_like(parameters), 0.0
    unit = parameters / largest  # whose squares neither over- nor underflow
    norm = float(np.linalg.norm(unit))
    return unit / norm, norm * largest


def _scores(records: Records, direction: Array) -> Array:
    """Return ⟨w, x⟩ for a unit vector w, of size at most R whatever rounding did to it."""
    return np.clip(records.x @ direction, -records.data_norm, records.data_norm)


def _score_means(scores: Array, y: Array, largest: float) -> Array:
    """Return Σ(ys, s, yS)/n."""
    rows = np.column_stack([y * scores, scores, y * largest])
    return weighted_rows(rows, np.full(y.size, 1 / y.size))


def _midpoint(means: Array, largest: float, n: int) -> float:
    """Return the score midway between the two class means of noisy sums."""
    share = float(np.clip((1 + means[2] / largest) / 2, 1 / n, 1 - 1 / n))
    above = np.clip((means[1] + means[0]) / (2 * share), -largest, largest)
    below = np.clip((means[1] - means[0]) / (2 * (1 - share)), -largest, largest)
    return float(above + below) / 2


def _midway(parameters: Array, statistics: Mapping[str, Array]) -> Array:
    """Return the score of the point midway between two noisy class means."""
    signed, mean = statistics["signed"], statistics["mean"]
    share = float(np.clip((1 + statistics["balance"][0]) / 2, 1e-3, 1 - 1e-3))
    middle = (mean + signed) / (4 * share) + (mean - signed) / (4 * (1 - share))
    return np.array([float(middle @ parameters)])
