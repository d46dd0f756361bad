"""Least-squares ranking from running class moments, with noise that grows logarithmically."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep
from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.moments import check_moment_parameters, least_squares_model
from pairdp.algorithms.noise import deviation, shared_release
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.losses import LeastSquaresRanking
from pairdp.online.learner import Learner, OnlineAlgorithm
from pairdp.online.running_moments import RunningMoments
from pairdp.privacy import Release, Sensitivity
from pairdp.privacy.bounds.prefix_sums import batch_count
from pairdp.privacy.mechanisms.matrix_mechanism import PrefixFactor
from pairdp.privacy.mechanisms.packing import packed_dimension
from pairdp.records import Records

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OnlineMomentSettings(Settings):
    """The steps, β, and the share and ridge of second moments; without a ridge, one per step."""

    batch_size: int
    steps: int
    second_moments: bool
    weight: float
    share: float | None = None
    ridge: float | None = None


@dataclass(frozen=True)
class OnlineMoments(OnlineAlgorithm[OnlineMomentSettings]):
    r"""Online least-squares ranking from noisy running sums of class moments.

    The moments are those of `pairdp.algorithms.MomentRelease`: Σ(yx, βx, βRy), with sensitivity
    2R√(1+β²), and optionally Σ₊xxᵀ and Σ₋xxᵀ, with sensitivity √2·R². All their prefix sums are
    released by a matrix mechanism (`pairdp.privacy.mechanisms.matrix_mechanism`): the noise of the
    last sum is about 1 + ln(steps)/π times that of one release, where n releases with independent
    noise would have √n times. Every model is a function of the sums, and has no further privacy
    cost.

    Parameters
    ----------
    batch_size : int
        Number of records per step. Fewer steps have slightly less noise.
    second_moments : bool
        Whether S is used; see `pairdp.algorithms.MomentRelease`. Without it the model is the
        direction between the class means, and memory grows with d instead of d².
    share : float
        Share of μ² that is spent on second moments.
    weight : float
        β, at most 1.
    ridge : float, optional
        The ridge that is added to the noisy S; by default the size of its noise at each step.
    name : str
        Name in certificates.
    """

    batch_size: int = 1
    second_moments: bool = True
    share: float = 0.1
    weight: float = 0.6
    ridge: float | None = None
    name: str = "Online least squares from moments"

    settings_type = OnlineMomentSettings
    needs_delta: ClassVar[bool] = True
    only_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        keep(self, "batch_size", integer("batch_size", self.batch_size))
        check_moment_parameters(self)

    @property
    def needs(self) -> tuple[Need, ...]:
        """No general properties; `draft` checks for a least-squares loss."""
        return ()

    def draft(self, task: Task) -> PlanDraft[OnlineMomentSettings]:
        """Decide the noise of each moment."""
        problem = task.problem
        if not isinstance(problem.loss, LeastSquaresRanking):
            raise ValueError(
                f"{self.name} solves least squares, and the problem's loss is "
                f"{type(problem.loss).__name__}: use LeastSquaresRanking()"
            )
        size = min(self.batch_size, task.n)
        steps = batch_count(task.n, size)
        share = self.share if self.second_moments else 0.0
        releases = [self._means(task, size, steps, 1 - share)]
        settings = OnlineMomentSettings(size, steps, self.second_moments, self.weight)
        reasons = []
        if self.second_moments:
            releases.append(self._squares(task, size, steps, share))
            settings = replace(settings, share=share, ridge=self.ridge)
            if self.ridge is None:
                reasons.append("ridge is the size of the noise on S at each step, σ√(2d)")
        return PlanDraft(tuple(releases), settings, tuple(reasons))

    def _means(self, task: Task, size: int, steps: int, share: float) -> Release:
        sensitivity = Sensitivity.of(
            "prefix sums of class means",
            data_norm=task.problem.data_norm,
            n=task.n,
            weight=self.weight,
            batch_size=size,
        )
        name = "running sums of class means"
        return shared_release(name, task, sensitivity, steps * (2 * task.features + 1), share)

    def _squares(self, task: Task, size: int, steps: int, share: float) -> Release:
        sensitivity = Sensitivity.of(
            "prefix sums of second moments of classes",
            data_norm=task.problem.data_norm,
            n=task.n,
            batch_size=size,
        )
        name = "running sums of second moments of classes"
        dimension = 2 * packed_dimension(task.features)
        return shared_release(name, task, sensitivity, steps * dimension, share)

    def noise_to_signal(self, plan: Plan[OnlineMomentSettings]) -> float:
        """Return the ratio of the noise in the last sum of class means to the largest such sum."""
        return noise_of_last_sum(plan.certificate.releases[0], plan.settings.steps, plan.task.n)

    def moved_by(self, release: Release, used: int) -> float:
        """Return the sensitivity of the sums of the first ``used`` records.

        The factorisation is that of the entire stream, and even the first record has been released.
        The rounding included in the sensitivity grows faster with the steps than the column norm.
        """
        if used < 1 or release.sensitivity is None:
            return 0.0
        inputs = release.sensitivity.inputs
        size = int(inputs["batch_size"])
        factor = PrefixFactor.of(batch_count(int(inputs["n"]), size))
        so_far = factor.column_norm(batch_count(used, size)) / factor.column_norm()
        return release.sensitivity.value * so_far

    def learner(self, plan: Plan[OnlineMomentSettings], generator: np.random.Generator) -> Learner:
        """Return the learner of a plan, at the beginning of the stream."""
        return MomentLearner(self, plan, generator)


def noise_of_last_sum(means: Release, steps: int, n: int) -> float:
    """Return the ratio of the noise in the last sum of n records to the largest such sum."""
    if means.sensitivity is None:
        return 0.0
    factor = PrefixFactor.of(steps)
    sensitivity = means.sensitivity.value / factor.column_norm()  # the sensitivity of one sum
    noise = deviation(means) * factor.deviation(steps) * math.sqrt(means.dimension / steps)
    return noise / (n * sensitivity)


class MomentLearner(Learner):
    """Noisy running sums of class moments, and the models that are computed from them.

    Parameters
    ----------
    algorithm : OnlineMoments
        The algorithm with its hyper-parameters.
    plan : Plan
        Its plan.
    generator : numpy.random.Generator
        The source of noise.
    """

    def __init__(
        self,
        algorithm: OnlineMoments,
        plan: Plan[OnlineMomentSettings],
        generator: np.random.Generator,
    ) -> None:
        self._plan, self._ridge = plan, algorithm.ridge
        self.batch_size = plan.settings.batch_size
        self._sums = RunningMoments(
            plan.certificate.releases,
            plan.settings.steps,
            self.batch_size,
            algorithm.weight,
            plan.problem.data_norm,
            generator,
        )
        self._model: Array | None = None

    @property
    def holds_raw_records(self) -> bool:
        """True: the buffers are weighted sums of batches without noise."""
        return True

    def learn(self, batch: Records) -> None:
        """Add a batch to the sums."""
        check_batch(self._plan, batch, self.batch_size)
        self._sums.add(batch)
        self._model = None

    @property
    def parameters(self) -> Array:  # type: ignore[override]
        """The last released model: a function of the noisy sums."""
        if self._model is None:
            self._model = self._solve()
        return self._model.copy()

    def _solve(self) -> Array:
        problem = self._plan.problem
        if self._sums.seen < 2:  # no pair yet
            return problem.constraint.initial(self._plan.task.features)
        v, s = self._sums.quadratic()
        ridge = self._sums.size_of_noise() if self._ridge is None else self._ridge
        return least_squares_model(problem, v, s, ridge)

    def public_state(self) -> dict[str, Array]:
        """Return the noisy sums, the decoder, and the numbers of records, steps and noise draws."""
        return self._sums.public_state()

    def secret_state(self) -> dict[str, Array]:
        """Return the encoder: weighted sums of batches without noise."""
        return self._sums.secret_state()

    def restore(self, public: Mapping[str, Array], secret: Mapping[str, Array] | None) -> None:
        """Continue from a saved state; see `RunningMoments.restore`."""
        self._sums.restore(public, secret)
        self._model = None


def check_batch(plan: Plan[Settings], batch: Records, size: int) -> None:
    """Raise ValueError for a batch that a plan is not for."""
    task = plan.task
    if batch.features != task.features:
        raise ValueError(f"the plan is for {task.features} features, got {batch.features}")
    task.problem.check_records(batch)
    if not 1 <= batch.n <= size:
        raise ValueError(f"a batch has up to {size} records, got {batch.n}")
