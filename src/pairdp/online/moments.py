"""Least-squares ranking from running class moments, with noise that grows logarithmically."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep
from pairdp._sums import weighted_rows
from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.moments import (
    check_moment_parameters,
    from_classes,
    least_squares_model,
    shrunk_means,
    unpacked_means,
)
from pairdp.algorithms.noise import deviation, shared_release
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings, Task
from pairdp.losses import LeastSquaresRanking
from pairdp.online.learner import Learner, OnlineAlgorithm
from pairdp.privacy import Release, Sensitivity
from pairdp.privacy.bounds.prefix_sums import batch_count
from pairdp.privacy.mechanisms.matrix_mechanism import PrefixFactor, PrefixNoise
from pairdp.privacy.mechanisms.packing import pack_gram, packed_dimension
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
        means, steps = plan.certificate.releases[0], plan.settings.steps
        if means.sensitivity is None:
            return 0.0
        factor = PrefixFactor.of(steps)
        sensitivity = means.sensitivity.value / factor.column_norm()  # the sensitivity of one sum
        noise = deviation(means) * factor.deviation(steps) * math.sqrt(means.dimension / steps)
        return noise / (plan.task.n * sensitivity)

    def moved_by(self, release: Release, used: int) -> float:
        """Return the sensitivity of the sums of the first ``used`` records.

        The factorisation is that of the entire stream, and even the first record has been released.
        """
        if used < 1 or release.sensitivity is None:
            return 0.0
        inputs = release.sensitivity.inputs
        size = int(inputs["batch_size"])
        factor = PrefixFactor.of(batch_count(int(inputs["n"]), size))
        so_far = factor.column_norm(batch_count(used, size)) / factor.column_norm()
        return release.sensitivity.value * so_far

    def learner(
        self, plan: Plan[OnlineMomentSettings], generator: np.random.Generator
    ) -> MomentLearner:
        """Return the learner of a plan, at the beginning of the stream."""
        return MomentLearner(self, plan, generator)


class MomentLearner(Learner):
    """Noisy running sums of class moments, and the state of their correlated noise.

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
        self._algorithm, self._plan, self._generator = algorithm, plan, generator
        self._factor = PrefixFactor.of(plan.settings.steps)
        self.batch_size = plan.settings.batch_size
        self._sums = [
            np.zeros(release.dimension // self._factor.steps)
            for release in plan.certificate.releases
        ]
        self._start_noise()
        self._seen, self._steps, self._earlier_variance = 0, 0, 0.0

    def _start_noise(self) -> None:
        self._noise = [PrefixNoise(self._factor, sums.size) for sums in self._sums]
        self._steps_of_noise = 0
        self._model: Array | None = None

    @property
    def holds_raw_records(self) -> bool:
        """True: the state determines the sums of small batches without noise."""
        return True

    def learn(self, batch: Records) -> None:
        """Add a batch to the sums."""
        task = self._plan.task
        if batch.features != task.features:
            raise ValueError(f"the plan is for {task.features} features, got {batch.features}")
        task.problem.check_records(batch)
        if not 1 <= batch.n <= self.batch_size:
            raise ValueError(f"a batch has up to {self.batch_size} records, got {batch.n}")
        if self._steps == self._factor.steps:
            raise ValueError(f"the plan covers {self._factor.steps} steps: plan a longer horizon")
        values = [_first_sums(batch, self._algorithm.weight, task.problem.data_norm)]
        if self._algorithm.second_moments:
            values.append(_second_sums(batch))
        for sums, value, noise, release in zip(
            self._sums, values, self._noise, self._plan.certificate.releases, strict=True
        ):
            drawn = release.mechanism.noise(value.size, self._generator)
            # The noisy batch is added: sums without noise, whose rounding would depend on all
            # records so far, are never computed.
            sums += value + noise.increment(drawn)
        self._seen += batch.n
        self._steps += 1
        self._steps_of_noise += 1
        self._model = None

    @property
    def parameters(self) -> Array:  # type: ignore[override]
        """The last released model: a function of the noisy sums."""
        if self._model is None:
            self._model = self._solve()
        return self._model.copy()

    def _solve(self) -> Array:
        algorithm, plan, seen = self._algorithm, self._plan, self._seen
        problem = plan.problem
        if seen < 2:  # no pair yet
            return problem.constraint.initial(plan.task.features)
        spread = self._unit_deviation() / seen
        first, *second = plan.certificate.releases
        means = unpacked_means(
            self._sums[0] / seen, algorithm.weight, algorithm.weight * problem.data_norm
        )
        means = shrunk_means(means, deviation(first) * spread / algorithm.weight)
        v, s = from_classes(means, self._sums[1] / seen if second else None, seen)
        ridge = algorithm.ridge
        if ridge is None:
            ridge = sum(deviation(r) for r in second) * spread * math.sqrt(2 * v.size)
        return least_squares_model(problem, v, s, ridge)

    def _unit_deviation(self) -> float:
        """Return the standard deviation of the noise in the sums, for unit draws."""
        return math.hypot(
            math.sqrt(self._earlier_variance), self._factor.deviation(self._steps_of_noise)
        )

    def public_state(self) -> dict[str, Array]:
        """Return the noisy sums, and their numbers of records, steps and noise draws."""
        counts = np.array([self._seen, self._steps, self._steps_of_noise], dtype=np.float64)
        variance = np.array([self._earlier_variance])
        state = {"counts": counts, "earlier_variance": variance}
        return state | {f"sums_{i}": sums.copy() for i, sums in enumerate(self._sums)}

    def secret_state(self) -> dict[str, Array]:
        """Return the noise, which would allow removing it from these sums and from later ones."""
        return {f"noise_{i}": noise.state for i, noise in enumerate(self._noise)}

    def restore(self, public: Mapping[str, Array], secret: Mapping[str, Array] | None) -> None:
        """Continue from a saved state.

        Without the secret state, new noise is added to the noisy sums so far. Earlier records are
        only in the old sums and later records only in the new ones, so no record is used twice.
        """
        counts = _checked(public, "counts", (3,))
        variance = float(_checked(public, "earlier_variance", (1,))[0])
        seen, steps, of_noise = (int(count) for count in counts)
        fits = 0 <= of_noise <= steps <= self._factor.steps and steps <= seen
        if not fits or variance < 0 or seen > steps * self.batch_size:
            raise ValueError("the state does not belong to a stream of this plan")
        sums = [_checked(public, f"sums_{i}", s.shape) for i, s in enumerate(self._sums)]
        noise = [PrefixNoise(self._factor, s.size) for s in sums]
        if secret is not None:
            for i, one in enumerate(noise):
                if f"noise_{i}" not in secret:
                    raise ValueError(f"the secret state lacks noise_{i}")
                one.restore(secret[f"noise_{i}"])
        else:
            variance += self._factor.deviation(of_noise) ** 2
            of_noise = 0
        self._sums, self._noise, self._model = sums, noise, None
        self._seen, self._steps, self._steps_of_noise = seen, steps, of_noise
        self._earlier_variance = variance


def _checked(state: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    if name not in state:
        raise ValueError(f"the state lacks {name}")
    values = np.array(state[name], dtype=np.float64)
    if values.shape != shape or not np.all(np.isfinite(values)):
        raise ValueError(f"{name} must be finite and of shape {shape}, got shape {values.shape}")
    return values


def _first_sums(batch: Records, weight: float, data_norm: float) -> Array:
    """Return Σ(yx, βx, βRy)."""
    plain = weighted_rows(batch.x, np.ones(batch.n))
    balance = np.array([weight * data_norm * float(batch.y.sum())])
    return np.concatenate([weighted_rows(batch.x, batch.y), weight * plain, balance])


def _second_sums(batch: Records) -> Array:
    """Return Σ₊xxᵀ and Σ₋xxᵀ, each packed into a vector of the same norm."""
    return np.concatenate([pack_gram(batch.x[batch.y == label]) for label in (1, -1)])
