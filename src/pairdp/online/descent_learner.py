"""Learners of online descent, with noise in every gradient or on every model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.noise import add_noise
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.random_points import random_point
from pairdp.online.buffer import PartnerBuffer
from pairdp.online.learner import Learner
from pairdp.pairs import one_against
from pairdp.privacy import GaussianMechanism
from pairdp.privacy.mechanisms.repeated_release import RepeatedRelease
from pairdp.records import Records

Array = NDArray[np.float64]


class DescentLearner(Learner):
    """Base class of both readings: the buffer, gradients and step sizes.

    Parameters
    ----------
    plan : Plan
        A plan of `OnlineDescent`.
    generator : numpy.random.Generator
        The source of noise and of the reservoir's choices.
    buffer : PartnerBuffer
        The earlier records that new ones are paired with.
    step_sizes : array
        η of every step.
    """

    holds_raw_records: ClassVar[bool] = True

    def __init__(
        self,
        plan: Plan,
        generator: np.random.Generator,
        buffer: PartnerBuffer,
        step_sizes: Array,
    ) -> None:
        self._plan, self._generator, self._step_sizes = plan, generator, step_sizes
        self._buffer, self._steps = buffer, 0
        self.batch_size = buffer.batch
        self._problem = plan.problem
        self.parameters = plan.problem.constraint.initial(plan.task.features)

    def learn(self, batch: Records) -> None:
        """Take one step."""
        eta = float(self._step_sizes[self._steps])
        self._steps += 1
        met, together = self._buffer.held, self._buffer.arrive(batch)
        self._step(eta, together, met)
        self._buffer.keep()

    @abstractmethod
    def _step(self, eta: float, together: Records, met: int) -> None:
        """Take a step on the pairs of the records after the first ``met``."""

    def _gradient(self, point: Array, together: Records, met: int) -> Array | None:
        """Return the average gradient over the pairs of a step, or None if there are none."""
        # A last batch that is not full is averaged as if it were.
        b = self.batch_size
        pairs = b * met + b * (b - 1) / 2
        if pairs == 0:
            return None
        loss, total = self._problem.loss, np.zeros_like(point)
        for i in range(max(met, 1), together.n):
            total += one_against(loss, point, together, i, together.part(slice(0, i)))
        return np.asarray(total / pairs)

    def _descend(self, point: Array, eta: float, gradient: Array) -> Array:
        return self._problem.projected_step(point, eta, gradient)

    def public_state(self) -> dict[str, Array]:
        """Return the model and the number of steps."""
        return {"parameters": self.parameters.copy(), "steps": np.array([float(self._steps)])}

    def secret_state(self) -> dict[str, Array]:
        """Return the buffer."""
        return self._buffer.state()

    def restore(self, public: Mapping[str, Array], secret: Mapping[str, Array] | None) -> None:
        """Continue from a saved state; the buffer is empty if it was not saved."""
        self.parameters = _same_shape(public["parameters"], self.parameters)
        self._steps = int(_same_shape(public["steps"], np.zeros(1))[0])
        if not 0 <= self._steps <= self._step_sizes.size or self._steps != public["steps"][0]:
            raise ValueError("the number of steps is not within this plan")
        if secret is not None:
            self._buffer.restore(secret)

    def labels_held(self) -> Array | None:
        """Return the labels in the buffer, or None if it never drops a record."""
        return self._buffer.labels if self._buffer.size < self._plan.task.n else None


class NoisyGradients(DescentLearner):
    """Noise in every gradient; the state is the released model.

    Rounding moves a gradient by at most g√p, p its dimension, and all of T steps together by
    g√(pT), which the mechanism pays for: its dimension is that of all steps.

    Without its buffer it continues as a separate stream: later records are disjoint from earlier
    ones, and the sensitivity of a shorter stream is at most that of the plan.
    """

    def __init__(
        self,
        plan: Plan,
        generator: np.random.Generator,
        buffer: PartnerBuffer,
        step_sizes: Array,
    ) -> None:
        super().__init__(plan, generator, buffer, step_sizes)
        (release,) = plan.certificate.releases
        self._releases = RepeatedRelease(
            release.mechanism, plan.task.dimension, int(step_sizes.size)
        )

    def _step(self, eta: float, together: Records, met: int) -> None:
        gradient = self._gradient(self.parameters, together, met)
        if gradient is None:
            return
        noisy = add_noise(self._releases, gradient, self._generator)
        self.parameters = self._descend(self.parameters, eta, noisy)


class NoisyModels(DescentLearner):
    """Noise on every released model; the state has no noise and is kept secret.

    In units of u_s a model is rounded to a grid no coarser than that of the plan, g, so rounding
    moves all models together by at most g√(pT) of these units, as for gradients.

    Parameters
    ----------
    plan, generator, buffer, step_sizes
        As for `DescentLearner`.
    units : array
        u_s: the noise of step s is u_s times that of the plan.
    burn_in : int
        Number of random points that are released first, which depend on no record.
    random_share : float
        The share of the regulariser that is around a random point of the set instead of the
        problem's centre. The point is drawn first, is public, and depends on no record.
    """

    resumes_from_public: ClassVar[bool] = False

    def __init__(
        self,
        plan: Plan,
        generator: np.random.Generator,
        buffer: PartnerBuffer,
        step_sizes: Array,
        units: Array,
        burn_in: int = 0,
        random_share: float = 0.0,
    ) -> None:
        super().__init__(plan, generator, buffer, step_sizes)
        self._units, self._burn_in = units, burn_in
        self._state = self.parameters.copy()
        self._has_random_center = random_share > 0
        if self._has_random_center:
            drawn = random_share * self._random_point()
            self._set_center(drawn + (1 - random_share) * self._problem.center)

    def _random_point(self) -> Array:
        task = self._plan.task
        return random_point(self._problem.constraint, task.features, self._generator)

    def _set_center(self, center: Array) -> None:
        self._problem = replace(self._problem, center=center)

    def drawn(self) -> dict[str, Array]:
        """Return the centre of the regulariser, if it was drawn."""
        return {"center": np.array(self._problem.center)} if self._has_random_center else {}

    def _step(self, eta: float, together: Records, met: int) -> None:
        if self._steps <= self._burn_in:
            # It needs no grid, since it does not depend on the records.
            self._state = self._random_point()
            self.parameters = self._state.copy()
            return
        gradient = self._gradient(self._state, together, met)
        if gradient is None:
            return
        self._state = self._descend(self._state, eta, gradient)
        (release,) = self._plan.certificate.releases
        mechanism, unit = release.mechanism, float(self._units[self._steps - 1])
        noisy = self._state
        if isinstance(mechanism, GaussianMechanism):
            noisy = add_noise(mechanism.in_units(unit), self._state, self._generator)
        self.parameters = self._plan.problem.constraint.project(noisy)

    def public_state(self) -> dict[str, Array]:
        """Return the model, the number of steps, and a centre that was drawn."""
        return {**super().public_state(), **self.drawn()}

    def secret_state(self) -> dict[str, Array]:
        """Return the buffer and the state without noise."""
        return {**super().secret_state(), "state": self._state.copy()}

    def restore(self, public: Mapping[str, Array], secret: Mapping[str, Array] | None) -> None:
        """Continue from a saved state, which must include the state without noise."""
        if secret is None:
            raise ValueError("noise on models cannot continue without the secret state")
        super().restore(public, secret)
        self._state = _same_shape(secret["state"], self._state)
        if self._has_random_center:
            self._set_center(_same_shape(public["center"], self._state))


def _same_shape(values: Array, wanted: Array) -> Array:
    if values.shape != wanted.shape:
        raise ValueError(f"the state must have shape {wanted.shape}, got {values.shape}")
    return np.array(values)
