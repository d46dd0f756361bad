"""The learner of centred moments: a centre, a radius, and running moments, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import Total
from pairdp.algorithms.moments import (
    ClassMeans,
    from_classes,
    least_squares_model,
    shrunk_means,
    unpacked_means,
)
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.plan import Plan
from pairdp.clipping import clip_rows
from pairdp.constraints.vectors import shrink_to
from pairdp.online.learner import Learner
from pairdp.online.moments import OnlineMoments, OnlineMomentSettings, check_batch
from pairdp.online.running_moments import RunningMoments, checked_array, first_sums
from pairdp.records import Records

Array = NDArray[np.float64]

CENTER_WEIGHT = 1.0
"""β of the class sums of the first records: the mean of x is as precise as that of yx."""

RADII = 15
"""The number of radii in the histogram: 2R, √2·R, R, …, R/64."""


@dataclass(frozen=True)
class CenteredMomentSettings(OnlineMomentSettings):
    """Settings of the running moments, the records before them, and the factor of the radius."""

    center_records: int = 0
    radius_records: int = 0
    factor: float | None = None


class CenteredLearner(Learner):
    """Learns a centre and a radius, and then keeps noisy running sums of class moments.

    Parameters
    ----------
    moments : OnlineMoments
        The hyper-parameters of the running moments.
    plan : Plan
        A plan of `CenteredMoments`.
    generator : numpy.random.Generator
        The source of noise.
    """

    def __init__(
        self,
        moments: OnlineMoments,
        plan: Plan[OnlineMomentSettings],
        generator: np.random.Generator,
    ) -> None:
        settings, problem = plan.settings, plan.problem
        if not isinstance(settings, CenteredMomentSettings):
            raise TypeError("the plan must be one of CenteredMoments")
        self._plan, self._ridge, self._generator = plan, moments.ridge, generator
        self.batch_size, self._factor = settings.batch_size, settings.factor or 1.0
        self._ends = settings.center_records, settings.center_records + settings.radius_records
        self._running = RunningMoments(
            plan.certificate.releases[2 if settings.center_records else 0 :],
            settings.steps,
            self.batch_size,
            moments.weight,
            problem.data_norm,
            generator,
        )
        # Secret, and zero again once they are released.
        self._class_sums = Total.zeros(2 * plan.task.features + 1)
        self._numbers = np.zeros(RADII)
        # Released.
        self._noisy_sums = np.zeros(2 * plan.task.features + 1)
        self._noisy_numbers = np.zeros(RADII)
        self._seen, self._in_sums, self._in_numbers = 0, 0, 0
        self._found: tuple[Array, float] | None = None
        self._model: Array | None = None

    @property
    def holds_raw_records(self) -> bool:
        """True: there are sums of batches without noise."""
        return True

    def learn(self, batch: Records) -> None:
        """Add a batch to the sums of its part of the stream; release them if they are complete."""
        check_batch(self._plan, batch, self.batch_size)
        first, second = self._ends
        if self._seen < first:
            self._add_to_center(batch)
        elif self._seen < second:
            self._add_to_radius(batch)
        else:
            self._running.add(self._conditioned(batch) if first else batch)
        self._seen += batch.n
        self._model = None

    def _add_to_center(self, batch: Records) -> None:
        norm = self._plan.problem.data_norm
        self._class_sums = self._class_sums + first_sums(batch, CENTER_WEIGHT, norm)
        self._in_sums += batch.n
        if self._seen + batch.n >= self._ends[0]:
            mechanism = self._plan.certificate.releases[0].mechanism
            self._noisy_sums = mechanism.release(self._class_sums.high, self._generator)
            self._class_sums = Total.zeros(self._noisy_sums.size)

    def _add_to_radius(self, batch: Records) -> None:
        # Null records are left out last, so that the arithmetic of a row depends on no other one.
        rows = batch.x - self._center()
        distances = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        # The place of a record is the number of radii below 2R that are at least its distance.
        places = (distances[:, None] <= self._radii()[1:]).sum(axis=1)
        self._numbers += np.bincount(places[~batch.null], minlength=RADII)
        self._in_numbers += batch.n
        if self._seen + batch.n >= self._ends[1]:
            mechanism = self._plan.certificate.releases[1].mechanism
            self._noisy_numbers = mechanism.release(self._numbers, self._generator)
            self._numbers = np.zeros(RADII)

    def _radii(self) -> Array:
        return np.asarray(2 * self._plan.problem.data_norm * 2 ** (-np.arange(RADII) / 2))

    def _first_means(self) -> ClassMeans:
        """Return the means of the first records, functions of their noisy sums."""
        norm = self._plan.problem.data_norm
        means = unpacked_means(
            self._noisy_sums / self._in_sums, CENTER_WEIGHT, CENTER_WEIGHT * norm
        )
        return shrunk_means(means, self._noise_of_first() / CENTER_WEIGHT)

    def _noise_of_first(self) -> float:
        return deviation(self._plan.certificate.releases[0]) / self._in_sums

    def _center(self) -> Array:
        """Return m, of norm at most R."""
        return shrink_to(self._first_means().mean, self._plan.problem.data_norm)

    def _radius(self) -> float:
        """Return r, a function of the noisy numbers: the least radius with at most half beyond."""
        beyond = np.cumsum(self._noisy_numbers)[:-1]  # beyond all radii but 2R
        enough = beyond <= self._in_numbers / 2
        place = RADII - 1 if np.all(enough) else int(np.argmin(enough))
        return min(self._factor * float(self._radii()[place]), 2 * self._plan.problem.data_norm)

    def _conditioned(self, batch: Records) -> Records:
        """Return (x - m)·R/r, clipped to R; null records stay zero."""
        norm = self._plan.problem.data_norm
        if self._found is None:
            self._found = self._center(), self._radius()
        center, radius = self._found
        rows = clip_rows((batch.x - center) * (norm / radius), norm)
        rows[batch.null] = 0.0
        return batch.beside(rows, batch.y)

    @property
    def parameters(self) -> Array:  # type: ignore[override]
        """The last released model: a function of what was released."""
        if self._model is None:
            self._model = self._solve()
        return self._model.copy()

    def _solve(self) -> Array:
        problem, running, first = self._plan.problem, self._running, self._ends[0]
        if running.seen >= 2:
            v, s = running.quadratic()
            ridge = running.size_of_noise() if self._ridge is None else self._ridge
            if first:
                v, s, ridge = self._in_units_of_records(v, s, ridge)
            return least_squares_model(problem, v, s, ridge)
        if 0 < first <= self._seen:
            return least_squares_model(problem, self._first_direction(), None, 0.0)
        return problem.constraint.initial(self._plan.task.features)

    def _first_direction(self) -> Array:
        """Return v of the first records."""
        return from_classes(self._first_means(), None, max(self._in_sums, 2))[0]

    def _in_units_of_records(
        self, v: Array, s: Array | None, ridge: float
    ) -> tuple[Array, Array | None, float]:
        """Return moments of x - m from those of (x - m)·R/r, and the ridge in these units.

        v is averaged with that of the first records, by the variances of noise and of sampling.
        """
        scale = self._radius() / self._plan.problem.data_norm
        sampling = self._radius() ** 2 / v.size
        first = self._noise_of_first() ** 2 + sampling / self._in_sums
        later = (scale * self._running.noise_of_means()) ** 2 + sampling / self._running.seen
        share = later / (first + later)
        v = (1 - share) * scale * v + share * self._first_direction()
        if self._ridge is None:
            ridge *= scale**2
        return v, None if s is None else scale**2 * s, ridge

    def public_state(self) -> dict[str, Array]:
        """Return what was released, and the numbers of records so far and in each of the sums."""
        counts = np.array([self._seen, self._in_sums, self._in_numbers], dtype=np.float64)
        return {
            "prepared": counts,
            "class_sums": self._noisy_sums.copy(),
            "radius_numbers": self._noisy_numbers.copy(),
            **self._running.public_state(),
        }

    def secret_state(self) -> dict[str, Array]:
        """Return the sums that are not released yet, without noise."""
        return {
            "class_sums": np.array([self._class_sums.high, self._class_sums.low]),
            "radius_numbers": self._numbers.copy(),
            **self._running.secret_state(),
        }

    def restore(self, public: Mapping[str, Array], secret: Mapping[str, Array] | None) -> None:
        """Continue from a saved state.

        Without the secret state, the records so far are missing in what was not released yet: the
        sums of an unfinished part begin anew, and its end stays where it was planned.
        """
        seen, in_sums, in_numbers = map(int, checked_array(public, "prepared", (3,)))
        first, second = self._ends
        fits = (
            0 <= in_sums <= min(seen, first)
            and 0 <= in_numbers <= max(0, min(seen, second) - first)
            and seen <= self._plan.task.n
            and (seen < first or not first or in_sums > 0)
            and (seen < second or not first or in_numbers > 0)
        )
        if not fits:
            raise ValueError("the state does not belong to a stream of this plan")
        noisy = [
            checked_array(public, name, value.shape)
            for name, value in (
                ("class_sums", self._noisy_sums),
                ("radius_numbers", self._noisy_numbers),
            )
        ]
        sums, numbers = Total.zeros(self._noisy_sums.size), np.zeros(RADII)
        if secret is not None:
            sums = Total(*checked_array(secret, "class_sums", (2, self._noisy_sums.size)))
            numbers = checked_array(secret, "radius_numbers", (RADII,))
        elif seen < first:
            in_sums = 0
        elif seen < second:
            in_numbers = 0
        self._running.restore(public, secret)
        if self._running.seen != max(0, seen - second):
            raise ValueError("the state does not belong to a stream of this plan")
        self._noisy_sums, self._noisy_numbers = noisy
        self._class_sums, self._numbers = sums, numbers
        self._seen, self._in_sums, self._in_numbers = seen, in_sums, in_numbers
        self._found = self._model = None
