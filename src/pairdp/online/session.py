"""Sessions that learn from a stream: batches, the horizon, and the budget spent."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid, label_array, read_labels, read_table, uses_null_records
from pairdp.algorithms.plan import Plan
from pairdp.online.average import OnlineToBatchAverage
from pairdp.online.learner import NO_SEED, Learner, OnlineAlgorithm, used_by_part
from pairdp.privacy import Budget, BudgetLedger, Certificate, NoiseSource, NoMechanism
from pairdp.privacy.accounting.gaussian import epsilon
from pairdp.privacy.mechanisms.noise_source import SEEDED
from pairdp.records import Records
from pairdp.storage import NotDurableFileError, Trusted

Array = NDArray[np.float64]


class OnlineSession:
    """Learns from records as they arrive, up to the horizon of its plan.

    Parameters
    ----------
    plan : Plan
        A plan of an online algorithm; its n is the horizon.
    noise : NoiseSource, optional
        The source of randomness.
    ledger : BudgetLedger, optional
        The ledger that is charged with the budget of the entire stream. A saved stream must be
        resumed with it.

    Attributes
    ----------
    plan : Plan
        The plan.
    certificate : Certificate
        The certificate of all models together.
    seen : int
        Number of records so far.
    watch : callable, optional
        Called with every released model.

    Notes
    -----
    A session holds raw records (the buffer and an unfinished batch). Only `save` writes them, and
    the file says so. A session cannot be pickled.

    A session that crashed must not be repeated, because its models have been released. Its records
    must not be used again (``seen`` is their number, also after an error). A new session for later
    records costs them no more than the first one would have, as no record is in both.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import Budget
    >>> from pairdp.constraints import L2Ball
    >>> from pairdp.losses import LogisticRanking
    >>> from pairdp.online import OnlineDescent, OnlineSession
    >>> from pairdp.problem import Problem
    >>> problem = Problem(LogisticRanking(), L2Ball(1.0))
    >>> plan = OnlineDescent(buffer=64, batch_size=10).plan(problem, 1000, 3, Budget(1.0, 1e-6))
    >>> session = OnlineSession(plan)
    >>> model = session.learn(np.ones((20, 3)) / 2, [1, -1] * 10)
    >>> session.left
    980
    """

    certificate: Certificate

    def __init__(
        self,
        plan: Plan,
        noise: NoiseSource | None = None,
        *,
        ledger: BudgetLedger | None = None,
    ) -> None:
        if not isinstance(plan.algorithm, OnlineAlgorithm):
            raise TypeError(
                f"{plan.algorithm.name} does not learn from a stream: plan with OnlineDescent or "
                "OnlineMoments"
            )
        self._begin(plan, 0, NoiseSource() if noise is None else noise, ledger)
        self.certificate = plan.certificate.with_noise_source(self._source)
        if ledger is not None:
            if self.certificate.noise_source == SEEDED:
                raise ValueError(NO_SEED)
            ledger.spend(self.certificate)

    def _begin(
        self, plan: Plan, seen: int, source: NoiseSource, ledger: BudgetLedger | None
    ) -> None:
        self.plan, self.seen, self._source, self._ledger = plan, seen, source, ledger
        algorithm: Any = plan.algorithm
        # A resumed stream draws new noise, even with the same seed.
        generator = source.stream("stream noise", seen)
        self._learner: Learner = algorithm.learner(plan, generator)
        self._average = OnlineToBatchAverage(self._learner.parameters)
        self._batch = self._learner.batch_size
        self._x = np.empty((self._batch, plan.task.features))
        self._y = np.empty(self._batch)
        self._waiting = 0
        self._codes: dict[Any, int] = {}
        self._next_code = 0
        self._process = os.getpid()
        self._spent: tuple[int, Budget | None] = (-1, None)
        self._closed = ""
        self.watch: Callable[[Array], None] | None = None

    @property
    def parameters(self) -> Array:
        """The last released model."""
        return np.array(self._learner.parameters)

    @property
    def average(self) -> Array:
        """The online-to-batch average of the models released so far (Huai 2020, equation 6).

        It is a function of released models, so that the guarantee of the stream covers it.
        """
        return np.array(self._average.mean)

    @property
    def left(self) -> int:
        """Number of records that the plan still covers."""
        return self.plan.task.n - self.seen

    @property
    def holds_raw_records(self) -> bool:
        """Whether there are raw records in memory, which `save` may write."""
        return self._learner.holds_raw_records or self._waiting > 0

    @property
    def spent(self) -> Budget | None:
        """The budget spent on the models so far, at the δ of the plan; None if nothing was spent.

        It depends on the number of records, and not on their values.
        """
        used = self.seen - self._waiting
        if self._spent[0] != used:
            self._spent = used, self._spent_on(used)
        return self._spent[1]

    def _spent_on(self, used: int) -> Budget | None:
        budget = self.plan.task.budget
        if budget is None:
            return None
        algorithm: Any = self.plan.algorithm
        releases = self.plan.certificate.releases
        parts = used_by_part(releases, used)
        squares = dict.fromkeys(parts, 0.0)
        for release in releases:
            mechanism, moved = release.mechanism, algorithm.moved_by(release, parts[release.part])
            if moved > 0 and not isinstance(mechanism, NoMechanism):
                squares[release.part] += ((moved + mechanism.rounding) / mechanism.scale) ** 2
        # A record is in one part, and in all releases on the whole stream.
        everywhere = squares.pop(None, 0.0)
        square = everywhere + max(squares.values(), default=0.0)
        if square == 0:
            return None
        found = epsilon(math.sqrt(square), budget.delta)
        if self.plan.claim_is_proved:
            found = min(found, budget.epsilon)  # inverting the privacy curve rounds up
        return Budget(found, budget.delta) if found > 0 else None

    def learn(self, x: ArrayLike, y: ArrayLike, *, invalid: Invalid = "error") -> Array:
        """Learn from records, in their order, and return the model after the last of them.

        Parameters
        ----------
        x : array-like of shape (n, d)
            Features, which are clipped to the problem's bound.
        y : array-like of shape (n,)
            Labels: -1 and +1 for ranking, any names of classes for metrics.
        invalid : {"error", "null"}
            What to do with records that cannot be read: raise an error before any of these records
            is used, or replace them by null records, which keep their position in the stream (they
            count in ``seen``, batches and the buffer) and contribute zero to every step.
        """
        self._check_open()
        problem = self.plan.problem
        if uses_null_records(invalid):
            x = read_table(x, self.plan.task.features)
        if problem.loss.binary:
            return self.learn_records(problem.records(x, y, invalid=invalid))
        labels = read_labels(y) if uses_null_records(invalid) else np.array(label_array(y))
        records = problem.records(x, labels, invalid=invalid)  # raises an error for invalid labels
        if labels.size > self.left:
            self._refuse(labels.size)
        start = 0
        while start < records.n:
            # Labels are class names: the same name must get the same code in every batch.
            some = slice(start, start + self._batch - self._waiting)
            codes = np.array(
                [
                    -1.0 if null else self._code(label)
                    for label, null in zip(labels[some].tolist(), records.null[some], strict=True)
                ]
            )
            self.learn_records(records.beside(records.x[some], codes))
            start = some.stop
        return self.parameters

    def _code(self, label: Any) -> float:
        if label not in self._codes:
            self._codes[label] = self._next_code
            self._next_code += 1
        return float(self._codes[label])

    def learn_records(self, records: Records) -> Array:
        """Learn from records that were made by the plan's problem."""
        task = self.plan.task
        self._check_open()
        if records.features != task.features:
            raise ValueError(f"the plan is for {task.features} features, got {records.features}")
        task.problem.check_records(records)
        if task.problem.loss.binary and not records.binary:
            raise ValueError("the loss needs two classes, and the records may have more")
        if records.n > self.left:
            self._refuse(records.n)
        start = 0
        while start < records.n:
            count = min(self._batch - self._waiting, records.n - start)
            self._wait(records, slice(start, start + count))
            start += count
        return self.parameters

    def _wait(self, records: Records, some: slice) -> None:
        """Add records to the unfinished batch, and take a step when it is complete."""
        count = some.stop - some.start
        place = slice(self._waiting, self._waiting + count)
        self._x[place], self._y[place] = records.x[some], records.y[some]
        self._waiting += count
        self.seen += count
        if self._waiting == self._batch or self.left == 0:
            batch = slice(0, self._waiting)
            self._waiting = 0
            self._average.serve(self._learner.parameters, batch.stop)
            try:
                self._learner.learn(records.beside(self._x[batch], self._y[batch]))
            except BaseException:
                self._closed = (
                    "a step of this stream was interrupted; it cannot continue: start a new one "
                    f"for the records after the first {self.seen}"
                )
                raise
            self._forget_labels()
            if self.watch is not None:
                self.watch(self.parameters)

    def _forget_labels(self) -> None:
        """Remove labels of records that are no longer in memory."""
        held = self._learner.labels_held() if self._codes else None
        if held is not None:
            kept = set(held.tolist())
            self._codes = {label: code for label, code in self._codes.items() if code in kept}

    def _refuse(self, count: int) -> NoReturn:
        raise ValueError(
            f"the plan covers {self.plan.task.n} records, of which {self.left} are left, and "
            f"{count} more would not be protected: plan a longer horizon with a new budget"
        )

    def save(
        self,
        path: str | Path,
        *,
        secrets: bool = True,
        estimator: dict[str, Any] | None = None,
        estimator_arrays: Mapping[str, Array] | None = None,
    ) -> None:
        """Write the state to a file and end this session; the file can be resumed once.

        The ledger of the stream records that the file was saved, with a random token.

        Parameters
        ----------
        path : path-like
            A new file.
        secrets : bool
            If True, the stream continues exactly where it stopped, and the file contains values
            that were never released: the raw records of the buffer and of an unfinished batch, sums
            or models without noise. Protect it like the data. If False, the file contains released
            values only: the stream continues with an empty buffer, and the records of an unfinished
            batch are lost. The file says which.
        estimator, estimator_arrays : optional
            Public values that an estimator adds.

        Raises
        ------
        ModelFileError
            If the file exists or cannot be written; the session then stays open.
        LedgerError
            If the ledger cannot record it; then there is no file, and the session stays open.
        """
        from pairdp.online.state_file import write_state

        self._check_open()
        saved = "this session was saved to a file: continue with OnlineSession.resume(path)"
        try:
            write_state(self, Path(path), secrets, estimator, estimator_arrays or {})
        except NotDurableFileError:
            self._closed = saved  # the file is there
            raise
        self._closed = saved

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(self._closed)
        if os.getpid() != self._process:
            raise ValueError(
                "this session belongs to another process, which draws the same noise: start it "
                "here, or save it there"
            )

    @property
    def is_open(self) -> bool:
        """Whether it can continue: it was neither saved nor interrupted."""
        return not self._closed

    @classmethod
    def resume(
        cls,
        path: str | Path,
        noise: NoiseSource | None = None,
        *,
        ledger: BudgetLedger | None = None,
        trusted: Iterable[type | str] = (),
    ) -> OnlineSession:
        """Continue a saved stream. The file is removed: it cannot be resumed twice.

        Parameters
        ----------
        path : path-like
            The file that `save` wrote. Copies of it must not be resumed: the records of the
            buffer would be used twice and accounted for once.
        noise : NoiseSource, optional
            The source of randomness.
        ledger : BudgetLedger, optional
            The ledger that the stream was started with, if any.
        trusted : iterable of class or str, default=()
            Classes outside pairdp that the stream may use; see `pairdp.load`.

        Notes
        -----
        The ledger rejects a file that was resumed before, and so every copy of it. Without a
        ledger, a copy made before the file was resumed cannot be detected. The same holds if the
        ledger was restored from a backup together with the file (see `BudgetLedger`).
        """
        from pairdp.online.state_file import take

        known = Trusted(trusted)
        with take(Path(path)) as file:
            session = file.session(cls, noise, ledger, known)
            file.use_up(ledger)
            return session

    @staticmethod
    def header_of(path: str | Path) -> dict[str, Any]:
        """Return the header of the file of a stream, such as ``holds_raw_records``."""
        from pairdp.online.state_file import stream_header

        return stream_header(path)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a session holds raw records and a noise stream, and cannot be pickled: use save"
        )

    def __repr__(self) -> str:
        return f"OnlineSession({self.plan.algorithm.name!r}, seen={self.seen}, left={self.left})"
