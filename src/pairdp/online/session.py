"""A stream being learnt: batches, the horizon, and what was spent."""

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
from pairdp.online.learner import NO_SEED, Learner, OnlineAlgorithm
from pairdp.privacy import Budget, BudgetLedger, Certificate, NoiseSource, NoMechanism
from pairdp.privacy.accounting.gaussian import epsilon
from pairdp.privacy.mechanisms.noise_source import SEEDED
from pairdp.records import Records
from pairdp.storage import NotDurableFileError, Trusted

Array = NDArray[np.float64]


class OnlineSession:
    """Learns records as they come, up to the horizon that its plan covers.

    Parameters
    ----------
    plan : Plan
        Of an online algorithm; its n is the horizon.
    noise : NoiseSource, optional
        Where randomness comes from.
    ledger : BudgetLedger, optional
        Where the budget is drawn from, all of it now. A stream that is saved is resumed with it.

    Attributes
    ----------
    plan : Plan
        What was planned.
    certificate : Certificate
        Of all models together.
    seen : int
        How many records came.
    watch : callable, optional
        Called with every model that is released.

    Notes
    -----
    A session holds raw records (the buffer and an unfinished batch) and leaves them in no way but
    `save`, which says so in the file. It is not pickled.

    A session that ends in a crash must not be repeated: its models were seen. Its records must not
    be learnt again (``seen`` tells how many were, after an error too). A new session for records
    that have not come yet costs them no more than the first one would have, as no record is in
    both.

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
        # A stream that goes on takes other noise, even with the seed that it began with.
        generator = source.stream("stream noise", seen)
        self._learner: Learner = algorithm.learner(plan, generator)
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
        """The model that was released last."""
        return np.array(self._learner.parameters)

    @property
    def left(self) -> int:
        """How many records the plan still covers."""
        return self.plan.task.n - self.seen

    @property
    def holds_raw_records(self) -> bool:
        """Whether there are raw records in memory, which `save` would write."""
        return self._learner.holds_raw_records or self._waiting > 0

    @property
    def spent(self) -> Budget | None:
        """What the models so far cost, at the δ of the plan; None when that is nothing.

        It depends on how many records came, and not on the records.
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
        square = 0.0
        for release in self.plan.certificate.releases:
            if not isinstance(release.mechanism, NoMechanism):
                square += (algorithm.moved_by(release, used) / release.mechanism.scale) ** 2
        if square == 0:
            return None
        found = epsilon(math.sqrt(square), budget.delta)
        if self.plan.claim_is_proved:
            found = min(found, budget.epsilon)  # inverting the curve rounds up
        return Budget(found, budget.delta) if found > 0 else None

    def learn(self, x: ArrayLike, y: ArrayLike, *, invalid: Invalid = "error") -> Array:
        """Learn some records, in their order, and return the model after the last of them.

        Parameters
        ----------
        x : array-like of shape (n, d)
            Features, which are clipped to the problem's bound.
        y : array-like of shape (n,)
            Labels: -1 and +1 for ranking, any names of classes for metrics.
        invalid : {"error", "null"}
            What to do with records that cannot be read: raise an error before any of these records
            is learnt, or take null records for them, which have their place in the stream (they
            count in ``seen``, batches and the buffer) and add nothing to any step.
        """
        self._check_open()
        problem = self.plan.problem
        if uses_null_records(invalid):
            x = read_table(x, self.plan.task.features)
        if problem.loss.binary:
            return self.learn_records(problem.records(x, y, invalid=invalid))
        labels = read_labels(y) if uses_null_records(invalid) else np.array(label_array(y))
        records = problem.records(x, labels, invalid=invalid)  # refuses what are no labels
        if labels.size > self.left:
            self._refuse(labels.size)
        start = 0
        while start < records.n:
            # Labels only name classes: the same name must get the same code in every batch.
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
        """Learn records that were made by the plan's problem."""
        task = self.plan.task
        self._check_open()
        if records.features != task.features:
            raise ValueError(f"the plan is for {task.features} features, got {records.features}")
        task.problem.check_records(records)
        if task.problem.loss.binary and not records.binary:
            raise ValueError("the loss is of two classes and the records have any")
        if records.n > self.left:
            self._refuse(records.n)
        start = 0
        while start < records.n:
            count = min(self._batch - self._waiting, records.n - start)
            self._wait(records, slice(start, start + count))
            start += count
        return self.parameters

    def _wait(self, records: Records, some: slice) -> None:
        """Put records into the unfinished batch, and learn it when it is complete."""
        count = some.stop - some.start
        place = slice(self._waiting, self._waiting + count)
        self._x[place], self._y[place] = records.x[some], records.y[some]
        self._waiting += count
        self.seen += count
        if self._waiting == self._batch or self.left == 0:
            batch = slice(0, self._waiting)
            self._waiting = 0
            try:
                self._learner.learn(records.beside(self._x[batch], self._y[batch]))
            except BaseException:
                self._closed = (
                    "a step of this stream was interrupted, and it cannot go on: begin a new one "
                    f"for the records after the first {self.seen}"
                )
                raise
            self._forget_labels()
            if self.watch is not None:
                self.watch(self.parameters)

    def _forget_labels(self) -> None:
        """Keep no label of records that are gone."""
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
        """Write the state to a file and end this session; `resume` goes on with it, once.

        The ledger of a stream notes that the file was saved, and knows it by a random token.

        Parameters
        ----------
        path : path-like
            A new file.
        secrets : bool
            With them the stream goes on as if nothing had happened, and the file holds what was
            never released: the raw records of the buffer and of an unfinished batch, sums or models
            without noise. Keep it like the data. Without them the file holds released numbers only:
            the stream goes on with an empty buffer, and records of an unfinished batch are not
            learnt. The file says which.
        estimator, estimator_arrays : optional
            What an estimator adds of its own, all of it public.

        Raises
        ------
        ModelFileError
            If the file exists or cannot be written; the session then goes on.
        LedgerError
            If the ledger cannot note it; there is no file then, and the session goes on.
        """
        from pairdp.online.state_file import write_state

        self._check_open()
        saved = "this session was saved, and goes on from its file: use OnlineSession.resume(path)"
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
                "this session began in another process, which would draw the same noise: begin it "
                "here, or save it there"
            )

    @property
    def is_open(self) -> bool:
        """Whether it can go on: it was neither saved nor interrupted."""
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
        """Go on with a stream that was saved. The file is removed: it cannot be resumed twice.

        Parameters
        ----------
        path : path-like
            What `save` wrote. Copies of it must not be resumed: the records of its buffer would be
            paid for once and used twice.
        noise : NoiseSource, optional
            Where randomness comes from.
        ledger : BudgetLedger, optional
            The ledger that the stream began with; none if it began with none.
        trusted : iterable of class or str, default=()
            Classes outside pairdp that the stream may use; see `pairdp.load`.

        Notes
        -----
        The ledger refuses a file that was resumed before, and so every copy of it. Without a ledger
        there is nothing that could tell a copy, made before the file was resumed, from the file.
        Nor can a ledger that was put back together with the file (see `BudgetLedger`).
        """
        from pairdp.online.state_file import take

        known = Trusted(trusted)
        with take(Path(path)) as file:
            session = file.session(cls, noise, ledger, known)
            file.use_up(ledger)
            return session

    @staticmethod
    def header_of(path: str | Path) -> dict[str, Any]:
        """Return what the file of a stream says of itself, such as ``holds_raw_records``."""
        from pairdp.online.state_file import stream_header

        return stream_header(path)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a session holds raw records and a noise stream, and is not pickled: use save"
        )

    def __repr__(self) -> str:
        return f"OnlineSession({self.plan.algorithm.name!r}, seen={self.seen}, left={self.left})"
