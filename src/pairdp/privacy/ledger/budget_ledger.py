"""The ledger: one budget for all releases of a data set, stored on disk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pairdp._checks import text
from pairdp._files import Draft
from pairdp.privacy.accounting.budget import Budget, check_budget
from pairdp.privacy.accounting.events import ApproximateEvent, Event, PureEvent
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.errors import BudgetExceededError, LedgerError
from pairdp.privacy.ledger.balance import Balance, Remaining
from pairdp.privacy.ledger.document import LedgerState, Spend, StreamEntry
from pairdp.privacy.ledger.stores import FileStore, MemoryStore, reason

Cost = Certificate | Budget | Event


class BudgetLedger:
    """A budget that all releases of one data set share.

    A spend is on disk before `spend` returns, and so before any noise is drawn: after a crash a
    release may be lost, but its budget counts as spent. Processes that share the file lock it, so
    no two of them can spend the same remainder.

    Parameters
    ----------
    budget : Budget
        The budget of all releases together.
    path : path-like, optional
        The file of the ledger. An existing ledger is continued, and must have this budget. Links
        are resolved once, when the ledger is opened. Without a path the ledger is in the memory of
        this process, and no other process can spend from it.
    adaptive : bool, default=False
        Whether the *amount* of noise of a release may be chosen after seeing the results of earlier
        ones. This has a small cost: see the notes.
    timeout : float, default=60
        Seconds to wait for another process that is spending.

    Notes
    -----
    Gaussian releases compose exactly, pure ε adds up, and mixtures compose by their privacy losses.
    *What* a release computes may always depend on earlier results. *How much it costs* may do so
    only if the budget is pure, or all releases are Gaussian (decided in advance), or
    ``adaptive=True``: then costs are added up as Rényi divergences of one order that the budget
    determines, which is valid for any adaptive choice (`pairdp.privacy.accounting.renyi_filter`),
    and costs that are known only as (ε, δ) raise an error.

    A copy of a ledger is the same ledger (`copy.copy`, `copy.deepcopy`, `sklearn.clone`). A forked
    or pickled ledger uses the same file; without a file it raises an error. An open ledger
    remembers the state of its file, and raises an error if the file does not extend it: if it was
    reset to an earlier state, replaced, or removed. A file ``.NAME.identity`` in the same directory
    stores the identity of the ledger, so that a ledger which was removed is not started again with
    its full budget.

    Some resets cannot be detected: a backup that is restored while no process has the ledger open,
    or on another machine, has its earlier budget, and so has a copy of the ledger under another
    name. Digests do not protect against forged files either. Never restore a ledger from a backup
    to spend from it.

    Examples
    --------
    >>> ledger = BudgetLedger(Budget(1.0))
    >>> spent = ledger.spend(PureEvent(0.75), "first model")
    >>> ledger.spend(PureEvent(0.5), "second model")
    Traceback (most recent call last):
    ...
    pairdp.privacy.errors.BudgetExceededError: second model does not fit ...
    >>> ledger.remaining().pure_epsilon
    0.25
    """

    _store: MemoryStore | FileStore

    def __init__(
        self,
        budget: Budget,
        path: str | Path | None = None,
        *,
        adaptive: bool = False,
        timeout: float = 60.0,
    ) -> None:
        check_budget(budget)
        state = LedgerState(budget, bool(adaptive))
        self._store = MemoryStore(state) if path is None else FileStore(path, timeout, state)
        if self.budget != budget:
            raise LedgerError(
                f"{self._store} has {self.budget}, not {budget}: open it with its own budget, or "
                "with BudgetLedger.load"
            )
        if self.adaptive != bool(adaptive):
            raise LedgerError(
                f"{self._store} has adaptive={self.adaptive}, not {bool(adaptive)}: open it as it "
                "is, or with BudgetLedger.load"
            )

    @classmethod
    def load(cls, path: str | Path, *, timeout: float = 60.0) -> BudgetLedger:
        """Return the ledger of a file, with the budget of the file."""
        ledger = cls.__new__(cls)
        ledger._store = FileStore(path, timeout)
        return ledger

    def __sklearn_clone__(self) -> BudgetLedger:
        """Return itself: a copy could spend the same budget twice."""
        return self

    def __copy__(self) -> BudgetLedger:
        return self

    def __deepcopy__(self, memo: object) -> BudgetLedger:
        return self

    @property
    def identity(self) -> str:
        """A random name that identifies the ledger."""
        return self._store.state.identity

    @property
    def budget(self) -> Budget:
        """The budget of all releases together."""
        return self._store.state.budget

    @property
    def adaptive(self) -> bool:
        """Whether amounts of noise may be chosen adaptively."""
        return self._store.state.adaptive

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Everything spent so far, by any process."""
        with self._store.exclusive():
            return self._store.state.spends

    def spent(self) -> float:
        """Return the ε spent so far, at the δ of the ledger."""
        return self._balance().epsilon()

    def remaining(self) -> Remaining:
        """Return the largest cost of one more release."""
        return self._balance().remaining()

    def check(self, cost: Cost, label: str = "the release") -> None:
        """Raise an error if a cost does not fit at the moment, without spending it.

        Raises
        ------
        BudgetExceededError
            If it does not fit.
        """
        event, balance = _event(cost), self._balance()
        if not balance.fits(event):
            raise balance.exceeded(label)

    def _balance(self) -> Balance:
        """Return the current balance."""
        with self._store.exclusive():
            return self._store.state.balance()

    def spend(self, cost: Cost, label: str | None = None) -> Spend:
        """Spend the cost of a release from the budget, durably, before it is made.

        Parameters
        ----------
        cost : Certificate, Budget or Event
            The cost of the release. A certificate composes best; a Budget stands for a release that
            is only known to be (ε, δ)-DP.
        label : str, optional
            The name of the release; the algorithm of a certificate by default.

        Raises
        ------
        BudgetExceededError
            If it does not fit; nothing is spent, and the error states the remaining budget.
        LedgerError
            If the file is damaged, or is locked for longer than the timeout.
        """
        spend = self._entry(cost, label)
        self._add(spend)
        return spend

    def _entry(self, cost: Cost, label: str | None) -> Spend:
        event = _event(cost)
        if label is None and isinstance(cost, Certificate):
            label = cost.algorithm
        return Spend(text("label", label), _now(), event)

    def _add(self, spend: Spend) -> None:
        with self._store.exclusive() as write:
            balance = self._store.state.balance()
            if balance.fits(spend.event):
                write(self._store.state.with_spend(spend))
                return
        raise balance.exceeded(spend.label)  # outside the lock, as it is slow to compute

    def release(self, cost: Cost, draft: Draft, label: str | None = None) -> Spend:
        """Spend for a file that is complete on disk, and then rename it to its final name.

        So a full disk is detected before anything is spent, and nothing is released without being
        accounted for. If it fails before the spend is on disk, the draft is removed. If it fails
        after that, the draft is kept and the error says what was spent and where the file is.

        Parameters
        ----------
        cost, label
            As for `spend`.
        draft : Draft
            The file.

        Raises
        ------
        BudgetExceededError, LedgerError
            As for `spend`; or if the file could not be renamed after the spend.
        KeyboardInterrupt
            With a message that says what was spent.
        """
        try:
            spend = self._entry(cost, label)
        except BaseException:
            draft.discard()
            raise
        try:
            self._add(spend)
            draft.publish()
        except BudgetExceededError:
            draft.discard()
            raise
        except LedgerError as error:
            draft.discard()
            raise LedgerError(f"{error}. Nothing was released") from None
        except BaseException as error:
            message = self._failure_message(error, spend, cost, draft)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(message) from error
            raise LedgerError(message) from error
        return spend

    def _failure_message(self, error: BaseException, spend: Spend, cost: Cost, draft: Draft) -> str:
        """Return a message on what a failed release has spent, and where its file is."""
        failed = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{reason(error)}"
        try:
            spent = any(entry.id == spend.id for entry in self.spends)
        except (LedgerError, KeyboardInterrupt):
            spent = None
        if spent is False:
            draft.discard()
            return f"{failed}: nothing was spent from {self._store}, and nothing was released"
        amount = f"{_in_words(cost)} for {spend.label}"
        was = f"{amount} was spent from {self._store}"
        if spent is None:
            was = f"{amount} may have been spent from {self._store}, which cannot be read now"
        if draft.is_published:
            return f"{failed}: {was}, and {draft.path} is in place"
        return (
            f"{failed}: {was}, and the file is complete in {draft.beside}, but was not given its "
            f"name: rename it to {draft.path}"
        )

    def save_stream(self, token: str) -> None:
        """Record that a stream is about to be saved, to a file with this token.

        The ledger of a stream records which of its files were resumed: an unknown file, or one that
        was resumed before, raises an error.
        """
        with self._store.exclusive() as write:
            state = self._store.state
            if state.actions(token):
                raise LedgerError("a stream was already saved with this token")
            write(state.with_stream(StreamEntry(token, "saved", _now())))

    def resume_stream(self, token: str) -> None:
        """Record that the file of a stream with this token is resumed.

        Raises
        ------
        LedgerError
            If it was resumed before, or is not the file of a stream of this ledger.
        """
        with self._store.exclusive() as write:
            state = self._store.state
            actions = state.actions(token)
            if "saved" not in actions:
                raise LedgerError("the ledger does not know this file of a stream")
            if "resumed" in actions:
                raise LedgerError(
                    "this file of a stream was resumed before, and is a copy: its records would be "
                    "used twice and accounted for once"
                )
            write(state.with_stream(StreamEntry(token, "resumed", _now())))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _in_words(cost: Cost) -> str:
    budget = cost.budget if isinstance(cost, Certificate) else cost
    if isinstance(budget, Budget):
        return f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
    return str(budget)


def _event(cost: Cost) -> Event:
    if isinstance(cost, Certificate):
        return cost.event
    if isinstance(cost, Budget):
        pure = cost.is_pure
        return PureEvent(cost.epsilon) if pure else ApproximateEvent(cost.epsilon, cost.delta)
    if isinstance(cost, Event):
        return cost
    raise TypeError(
        f"a cost is a Certificate, a Budget or a privacy event, got {type(cost).__name__}"
    )
