"""Descent in private coordinates: centred, scaled and whitened rows, then noisy gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, non_negative, one_of
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.conditioned.descent import CLIP, PAIR_CLIP, STEEPEST
from pairdp.algorithms.conditioned.expanded_scores import ExpandedScores
from pairdp.algorithms.conditioned.features import CONSTANT, feature_count
from pairdp.algorithms.conditioned.location import COUNTS
from pairdp.algorithms.conditioned.run import (
    GRADIENTS,
    MEANS,
    MOMENTS,
    RADIUS,
    SCALES,
    Run,
    RunFacts,
)
from pairdp.algorithms.conditioned.settings import ConditionedSettings
from pairdp.algorithms.conditioned.shares import (
    LARGEST_MATRIX,
    STEPS,
    chosen_expansion,
    chosen_scaling,
    mu_of,
    shares_of,
    used_records,
)
from pairdp.algorithms.noise import deviation, noise_to_signal, shared_release
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.score_models import ModelName, ScoreModel
from pairdp.algorithms.task import Task
from pairdp.losses import LogisticPointwise, PairwiseLoss
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource, Release
from pairdp.privacy.mechanisms.packing import packed_dimension
from pairdp.records import Records

Array = NDArray[np.float64]
Expansion = Literal["linear", "additive", "quadratic", "auto"]
_RIDGE, _WITHOUT_NOISE = 0.3, 1e-6


@dataclass(frozen=True)
class ConditionedDescent(ScoreModel, Algorithm[ConditionedSettings]):
    r"""Noisy gradient descent on rows that noisy moments have centred, scaled and whitened.

    1. Noisy means of yx, x and y give a centre, the share of positives, and the midpoint of the
       classes. Sensitivity 2√2·R/n. Without an intercept the centre is zero.
    2. Five noisy counts give a distance from the centre that most rows are within (`location`).
       Sensitivity 1 each.
    3. For an expansion, noisy mean squares give the scale of each feature. Sensitivity √2/n for
       rows in units of the radius.
    4. Noisy second moments of the features (`features`), which are in the unit ball, or their mean
       squares alone, give coordinates in which they are about isotropic. Sensitivity √2/n.
    5. Noisy gradients of rows that are clipped in these coordinates (`descent`). Sensitivity
       2·0.5/n.

    Shares, steps and sizes follow from public facts, and each sensitivity holds whatever was
    released before, so all releases compose as adaptive releases of fixed cost. Moments and
    gradients of very many records are computed from a part of them, spread evenly over the table.

    For a ranking problem the loss is logistic, of records or of pairs, whatever loss the problem
    has; a problem of single records is solved for its own loss. There is no penalty. The weights
    are those of the original rows, scaled down into the constraint set. Those of an expansion are
    of its features, followed by the intercept: see `ExpandedScores`.

    Parameters
    ----------
    expansion : {"linear", "additive", "quadratic", "auto"}
        The functions of rows that scores are linear in, at most 3000 for an expansion; "auto" takes
        the largest that nµ suffices for.
    gradient : {"auto", "logistic", "pairwise"}
        For a ranking problem, the logistic loss of records or of all pairs. "auto" is "logistic",
        whose signal is larger by 1/(π(1-π)) at the same noise.
    scaling : {"auto", "matrix", "features"}
        Whether a matrix of second moments whitens, or each feature is scaled alone. "auto" is
        "matrix", up to 3000 features.
    steps : int
        Number of noisy gradients.
    constant : float
        The value of the last feature, if it is the same in all records, for an intercept; 0 if
        there is no such feature. Records need not keep to it.
    name : str
        Name in certificates.
    """

    expansion: Expansion = "linear"
    gradient: Literal["auto", "logistic", "pairwise"] = "auto"
    scaling: Literal["auto", "matrix", "features"] = "auto"
    steps: int = STEPS
    constant: float = 0.0
    name: str = "Conditioned descent"

    settings_type = ConditionedSettings
    offers_units: ClassVar[bool] = True
    score_statistics: ClassVar[Mapping[str, int]] = {"centre": 1, "scales": 1}

    def __post_init__(self) -> None:
        one_of("expansion", self.expansion, "linear", "additive", "quadratic", "auto")
        one_of("gradient", self.gradient, "auto", "logistic", "pairwise")
        one_of("scaling", self.scaling, "auto", "matrix", "features")
        keep(self, "steps", integer("steps", self.steps, at_most=1000))
        keep(self, "constant", non_negative("constant", self.constant))

    @property
    def needs(self) -> tuple[Need, ...]:
        """Nothing of the loss: gradients are clipped."""
        return ()

    @property
    def is_linear(self) -> bool:
        """Whether the parameters are weights of the features."""
        return self.expansion == "linear"

    def model_of(self, plan: Plan) -> ModelName:
        """Return the expansion of a plan."""
        settings: ConditionedSettings = plan.settings  # type: ignore[assignment]
        return settings.expansion  # type: ignore[return-value]

    def score_function(
        self, plan: Plan, parameters: Array, statistics: Mapping[str, Array]
    ) -> ExpandedScores:
        """Return the scores of an expansion."""
        if not parameters.size or statistics["centre"].size != plan.task.features:
            raise ValueError("there is no intercept, or not one centre for each feature")
        return ExpandedScores.of(self.model_of(plan), parameters, statistics)

    @property
    def releases_class_means(self) -> bool:
        """Whether the statistics contain the class means of the rows of a linear ranker."""
        return self.expansion == "linear"

    def check(self, task: Task) -> None:
        """Raise ValueError for a metric, a graded response, a penalty, or a wrong constant."""
        super().check(task)
        problem, loss = task.problem, task.problem.loss
        pairs = isinstance(loss, PairwiseLoss)
        if loss.matrix or (pairs and not loss.binary):
            raise ValueError(
                f"{self.name} is for vectors of weights, and for two classes or losses of one "
                f"record: not for {type(loss).__name__}"
            )
        if problem.regularization > 0:
            raise ValueError(f"{self.name} has no penalty: leave out regularization")
        if self.gradient == "pairwise" and not pairs:
            raise ValueError(
                f'gradient="pairwise" needs a loss of pairs, not {type(loss).__name__}'
            )
        if self.constant and (pairs or not self.constant < problem.data_norm):
            raise ValueError("constant is for losses of one record, and below the norm of records")
        if self.constant and task.features < 2:
            raise ValueError("a constant feature needs another one beside it")
        if self.expansion in ("additive", "quadratic"):
            self._check_expansion(task.features - (self.constant > 0))
        if self.expansion != "linear" and not (pairs or self.constant):
            raise ValueError("an expansion needs an intercept: give the constant feature")

    def _check_expansion(self, numbers: int) -> None:
        """Raise ValueError if no run could compute with so many features."""
        features = feature_count(self.expansion, numbers, intercept=True)
        if features > LARGEST_MATRIX:
            raise ValueError(
                f"the {self.expansion} expansion of {numbers} numbers has {features} features, and "
                f'there can be {LARGEST_MATRIX}: use expansion="auto", or a scorecard'
            )

    def _facts(self, task: Task) -> RunFacts:
        pairs = isinstance(task.problem.loss, PairwiseLoss)
        norm = task.problem.data_norm
        return RunFacts(
            loss=LogisticPointwise() if pairs else task.problem.loss,  # type: ignore[arg-type]
            largest=math.sqrt(norm**2 - self.constant**2),
            d=task.features - (self.constant > 0),
            centred=pairs or self.constant > 0,
            constant=self.constant,
            folded=self.expansion == "linear",
        )

    def draft(self, task: Task) -> PlanDraft[ConditionedSettings]:
        """Decide shares, features, records and noise."""
        facts, mu = self._facts(task), mu_of(task)
        n, d = task.n, facts.d
        expansion: str = self.expansion
        reasons = []
        if expansion == "auto":
            expansion = chosen_expansion(n, mu, d)
            reasons.append(f"the expansion is {expansion}, from nµ per feature")
        features = feature_count(expansion, d, intercept=facts.centred)
        scaling = chosen_scaling(features) if self.scaling == "auto" else self.scaling
        gradient = "logistic" if self.gradient == "auto" else self.gradient
        if not isinstance(task.problem.loss, PairwiseLoss):
            gradient = "records"
        used = used_records(n, mu, features)
        if used < n:
            reasons.append(
                f"moments and gradients are those of {used} records, spread evenly over all"
            )
        shares = shares_of(centred=facts.centred, expanded=expansion != "linear")
        releases = []
        if facts.centred:
            means = task.sensitivity("means of clipped rows", largest=facts.largest, used=n)
            releases.append(shared_release(MEANS, task, means, 2 * d + 1, shares.means))
        count = task.sensitivity("number of records in a set", sets=1)
        counts = shared_release(RADIUS, task, count, 1, shares.radius / COUNTS)
        releases.append(replace(counts, count=COUNTS))
        squares = task.sensitivity("mean squares of clipped rows", largest=1.0, used=used)
        if expansion != "linear":
            releases.append(shared_release(SCALES, task, squares, d, shares.scales))
        moments, ridge = self._moments(
            task, features, used, scaling, shares.moments, centred=facts.centred
        )
        releases.append(moments)
        releases.append(
            self._gradients(task, features, used, gradient, ridge, shares.gradients / self.steps)
        )
        settings = ConditionedSettings(
            expansion, scaling, gradient, self.steps, features, used, ridge
        )
        return PlanDraft(tuple(releases), settings, tuple(reasons))

    def _moments(
        self, task: Task, features: int, used: int, scaling: str, share: float, *, centred: bool
    ) -> tuple[Release, float]:
        """Return the release of moments, and the ridge that is the size of its noise."""
        if scaling == "matrix":
            sensitivity = task.sensitivity("second moments of clipped rows", largest=1.0, used=used)
            moments = shared_release(MOMENTS, task, sensitivity, packed_dimension(features), share)
            size = _RIDGE * deviation(moments) * math.sqrt(2 * features)
        else:
            # Without the constant, whose square is public.
            constant = CONSTANT if centred else 0.0
            norm = math.sqrt(1 - constant**2)
            sensitivity = task.sensitivity("mean squares of clipped rows", largest=norm, used=used)
            moments = shared_release(MOMENTS, task, sensitivity, features - centred, share)
            size = deviation(moments)
        return moments, max(size, _WITHOUT_NOISE)

    def _gradients(
        self, task: Task, features: int, used: int, gradient: str, ridge: float, share: float
    ) -> Release:
        pairs = gradient == "pairwise"
        bound = "clipped gradients of pairs" if pairs else "clipped gradients of rows"
        sensitivity = task.sensitivity(
            bound,
            clip=PAIR_CLIP if pairs else CLIP,
            used=used,
            width=features,
            amplification=(1.0 if pairs else STEEPEST) * 0.5 / math.sqrt(ridge),
        )
        return replace(
            shared_release(GRADIENTS, task, sensitivity, features, share), count=self.steps
        )

    def noise_to_signal(self, plan: Plan[ConditionedSettings]) -> float:
        """Return the noise-to-signal ratio of the gradients, which determine the direction."""
        return noise_to_signal(plan.certificate.releases[-1], plan.settings.used)

    @property
    def noise_needs_statistics(self) -> bool:
        """Whether weights of features are released, whose noise depends on the coordinates."""
        return self.expansion == "linear"

    def _parameter_noise(self, plan: Plan[ConditionedSettings], fit: Fit) -> ParameterNoise:
        if self.expansion != "linear":
            return unknown_noise("the weights are those of an expansion")
        words = (
            "the noise of the gradients, propagated to each weight to first order; that of the "
            "coordinates is not included"
        )
        return ParameterNoise("first order", words, fit.statistics["deviations"])

    def check_parts(self, plan: Plan[ConditionedSettings]) -> None:
        """Do nothing: it needs only sums."""

    def execute(
        self,
        plan: Plan[ConditionedSettings],
        records: Records | PartitionedRecords,
        noise: NoiseSource,
        progress: Progress,
    ) -> RunResult:
        """Return the weights, and what was released on the way to them."""
        facts, settings = self._facts(plan.task), plan.settings
        run = Run(facts, records, plan.certificate.releases, noise)
        return run.learn(settings, plan.problem.constraint, progress)
