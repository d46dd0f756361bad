"""A stream being learnt: the released model, the buffer, and how far it is."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp.algorithms.base import Plan
from pairdp.algorithms.noise import add_noise
from pairdp.algorithms.one_against import one_against
from pairdp.privacy import NoiseSource
from pairdp.records import Records

Array = NDArray[np.float64]


class OnlineSession:
    """Learns records one after the other, up to the horizon that its plan covers.

    Parameters
    ----------
    plan : Plan
        Of `OnlineDescent`; its n is the horizon.
    noise : NoiseSource, optional
        Where randomness comes from.

    Notes
    -----
    The buffer holds raw records and leaves the session in no way: a session is not pickled.
    """

    def __init__(self, plan: Plan, noise: NoiseSource | None = None) -> None:
        source = NoiseSource() if noise is None else noise
        self.plan = plan
        self.certificate = plan.certificate.with_noise_source(source)
        self.seen = 0
        self._generator = source.stream("stream noise")
        self._point = plan.problem.constraint.initial(plan.task.features)
        size = int(plan.settings["buffer"])  # type: ignore[arg-type]
        # Twice the buffer, so that the latest records lie side by side without copies each time.
        room = min(2 * size, plan.task.n)
        self._x = np.empty((room, plan.task.features))
        self._y = np.empty(room)
        self._size, self._start, self._end = size, 0, 0
        self._codes: dict[object, int] = {}

    @property
    def parameters(self) -> Array:
        """The model that was released last."""
        return self._point.copy()

    @property
    def left(self) -> int:
        """How many records the plan still covers."""
        return self.plan.task.n - self.seen

    def learn(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Learn some records, in their order, and return the model after the last of them."""
        problem = self.plan.problem
        if problem.loss.binary:
            return self.learn_records(problem.records(x, y))
        # Labels only name classes: the same name must get the same code in every batch.
        codes = [self._codes.setdefault(label, len(self._codes)) for label in np.ravel(y).tolist()]
        records = problem.records(x, codes)
        return self.learn_records(records.beside(records.x, np.array(codes, dtype=np.float64)))

    def learn_records(self, records: Records) -> Array:
        """Learn records that were clipped by the plan's problem."""
        task = self.plan.task
        if records.features != task.features:
            raise ValueError(f"the plan is for {task.features} features, got {records.features}")
        task.problem.check_records(records)
        if task.problem.loss.binary and not records.binary:
            raise ValueError("the loss is of two classes and the records have any")
        if records.n > self.left:
            raise ValueError(
                f"the plan covers {task.n} records, of which {self.left} are left, and {records.n} "
                "more would not be protected: plan a longer horizon with a new budget"
            )
        for i in range(records.n):
            self._learn_one(records.part(slice(i, i + 1)))
        return self.parameters

    def _learn_one(self, record: Records) -> None:
        problem = self.plan.problem
        self.seen += 1
        if self._end > self._start:
            earlier = record.beside(
                self._x[self._start : self._end], self._y[self._start : self._end]
            )
            gradient = one_against(problem.loss, self._point, record, 0, earlier) / earlier.n
            (release,) = self.plan.certificate.releases
            noisy = add_noise(release.mechanism, gradient, self._generator)
            step = self._step_size() * (noisy + problem.pull(self._point))
            self._point = problem.constraint.project(self._point - step)
        self._remember(record)

    def _step_size(self) -> float:
        settings, problem = self.plan.settings, self.plan.problem
        if not settings["decreasing"]:
            return float(settings["step_size"])  # type: ignore[arg-type]
        alpha = problem.regularization
        bend = problem.loss.smoothness(problem.domain()) + alpha
        return min(2 / (alpha * self.seen), 2 / (bend + alpha))

    def _remember(self, record: Records) -> None:
        if self._end == len(self._x):
            kept = slice(self._end - self._size + 1, self._end)
            count = kept.stop - max(kept.start, 0)
            self._x[:count], self._y[:count] = self._x[kept].copy(), self._y[kept].copy()
            self._start, self._end = 0, count
        self._x[self._end], self._y[self._end] = record.x[0], record.y[0]
        self._end += 1
        self._start = max(0, self._end - self._size)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session holds raw records and a noise stream, and is not pickled")
